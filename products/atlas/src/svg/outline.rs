//! Coasts and borders for maps, and projections of the globe: Europe finely, the world coarsely.
//!
//! `outline.txt` and `world.txt` are made of Natural Earth's countries (naturalearthdata.com),
//! which are in the public domain; both files describe their making.

use std::sync::LazyLock;

/// Latitude and longitude, WGS 84.
pub(super) type Degrees = (f64, f64);

/// End of the outline, in degrees.
pub(super) const WEST: f64 = -25.0;
pub(super) const EAST: f64 = 45.0;
pub(super) const SOUTH: f64 = 33.5;
pub(super) const NORTH: f64 = 71.5;

/// Radius of the earth, in kilometres.
pub(super) const RADIUS: f64 = 6371.0;

/// A place upon the earth as a place upon paper: kilometres, to the right and downwards.
pub(super) type Flat = (f64, f64);

/// Coasts and borders.
pub(super) struct Outline {
    /// Closed.
    pub(super) land: Vec<Vec<Degrees>>,
    pub(super) borders: Vec<Vec<Degrees>>,
}

static EUROPE: LazyLock<Outline> = LazyLock::new(|| read(include_str!("outline.txt"), 100.0));
static WORLD: LazyLock<Outline> = LazyLock::new(|| read(include_str!("world.txt"), 10.0));

/// Projection of the globe. All preserve areas, so that a density is correct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Projection {
    /// Projection of Europe: [`project`].
    Europe,
    /// Projection of the world: Lambert's cylinder, in which shapes at this latitude, in degrees,
    /// are undistorted.
    World(f64),
}

impl Projection {
    pub(super) fn flat(self, (latitude, longitude): Degrees) -> Flat {
        match self {
            Self::Europe => project(latitude, longitude),
            Self::World(upright) => {
                let cos = upright.to_radians().cos();
                let (north, east) = (latitude.to_radians(), longitude.to_radians());
                (RADIUS * east * cos, -RADIUS * north.sin() / cos)
            }
        }
    }

    /// Returns the coasts and borders.
    pub(super) fn outline(self) -> &'static Outline {
        match self {
            Self::Europe => &EUROPE,
            Self::World(_) => &WORLD,
        }
    }
}

/// Parses an outline. `by`: its numbers are in 1/`by` degrees.
fn read(text: &str, by: f64) -> Outline {
    let mut outline = Outline {
        land: Vec::new(),
        borders: Vec::new(),
    };
    for line in text.lines() {
        match line.as_bytes().first() {
            Some(b'L') => outline.land.push(places(&line[1..], by)),
            Some(b'B') => outline.borders.push(places(&line[1..], by)),
            _ => {}
        }
    }
    outline
}

/// Parses numbers, separated by a blank or a minus sign.
fn places(line: &str, by: f64) -> Vec<Degrees> {
    let spaced = line.replace('-', " -");
    let mut numbers = spaced
        .split(' ')
        .filter_map(|number| number.parse::<i32>().ok());
    let (mut longitude, mut latitude) = (0, 0);
    let mut places = Vec::new();
    while let (Some(x), Some(y)) = (numbers.next(), numbers.next()) {
        (longitude, latitude) = (longitude + x, latitude + y);
        places.push((f64::from(latitude) / by, f64::from(longitude) / by));
    }
    places
}

/// Projects a position: Lambert's azimuthal equal-area projection around 52° N, 10° E, as used by
/// the European Union's offices (EPSG 3035), on a sphere.
pub(super) fn project(latitude: f64, longitude: f64) -> Flat {
    let (north, east) = (latitude.to_radians(), (longitude - 10.0).to_radians());
    let (sin, cos) = 52f64.to_radians().sin_cos();
    let toward = 1.0 + sin * north.sin() + cos * north.cos() * east.cos();
    let by = RADIUS * (2.0 / toward.max(1e-9)).sqrt();
    (
        by * north.cos() * east.sin(),
        -by * (cos * north.sin() - sin * north.cos() * east.cos()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn europe_is_there() {
        let (x, y) = project(52.0, 10.0);
        assert!(x.abs() < 1e-6 && y.abs() < 1e-6);
        // Berlin to Munich: 504 km.
        let (berlin, munich) = (project(52.52, 13.405), project(48.137, 11.575));
        let apart = (berlin.0 - munich.0).hypot(berlin.1 - munich.1);
        assert!((apart - 504.0).abs() < 3.0, "{apart}");
        let outline = Projection::Europe.outline();
        assert!(outline.land.len() > 50 && outline.borders.len() > 40);
        let longest = outline.land.iter().map(Vec::len).max();
        assert!(longest > Some(1000), "{longest:?}");
    }

    #[test]
    fn the_world_is_there_and_areas_are_what_they_are() {
        let outline = Projection::World(0.0).outline();
        assert!(outline.land.len() > 90 && outline.borders.len() > 200);
        for upright in [0.0, 30.0, 60.0] {
            let flat = |at| Projection::World(upright).flat(at);
            let of = |ring: &Vec<Degrees>| {
                let ring: Vec<Flat> = ring.iter().map(|at| flat(*at)).collect();
                let parts = ring.iter().zip(ring.iter().cycle().skip(1));
                let twice: f64 = parts.map(|(one, two)| one.0 * two.1 - two.0 * one.1).sum();
                twice.abs() / 2.0
            };
            // Land without Antarctica has 135 million square kilometres. Lakes are not in it.
            let land: f64 = outline.land.iter().map(of).sum();
            assert!((land - 135e6).abs() < 4e6, "{upright}: {land}");
        }
        // Taipei to Tokyo: 2,100 km, undistorted at the cylinder's latitude.
        let flat = |at| Projection::World(30.0).flat(at);
        let (taipei, tokyo) = (flat((25.04, 121.56)), flat((35.68, 139.69)));
        let apart = (taipei.0 - tokyo.0).hypot(taipei.1 - tokyo.1);
        assert!((apart - 2100.0).abs() < 60.0, "{apart}");
    }
}
