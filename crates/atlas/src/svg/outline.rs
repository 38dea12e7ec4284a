//! Europe's coasts and borders, as a map needs them.
//!
//! `outline.txt` is made of Natural Earth's countries, 1:50m (naturalearthdata.com), which are in
//! the public domain; it says itself how.

use std::sync::LazyLock;

/// Degrees: where the outline ends.
pub(super) const WEST: f64 = -25.0;
pub(super) const EAST: f64 = 45.0;
pub(super) const SOUTH: f64 = 33.5;
pub(super) const NORTH: f64 = 71.5;

/// A place upon the earth as a place upon paper: kilometres, to the right and downwards.
pub(super) type Flat = (f64, f64);

/// Coasts and borders, projected.
pub(super) struct Outline {
    /// Closed.
    pub(super) land: Vec<Vec<Flat>>,
    pub(super) borders: Vec<Vec<Flat>>,
}

static OUTLINE: LazyLock<Outline> = LazyLock::new(|| {
    let mut outline = Outline {
        land: Vec::new(),
        borders: Vec::new(),
    };
    for line in include_str!("outline.txt").lines() {
        match line.as_bytes().first() {
            Some(b'L') => outline.land.push(places(&line[1..])),
            Some(b'B') => outline.borders.push(places(&line[1..])),
            _ => {}
        }
    }
    outline
});

/// All of it.
pub(super) fn outline() -> &'static Outline {
    &OUTLINE
}

/// Numbers stand behind a blank, or their own minus sign.
fn places(line: &str) -> Vec<Flat> {
    let spaced = line.replace('-', " -");
    let mut numbers = spaced
        .split(' ')
        .filter_map(|number| number.parse::<i32>().ok());
    let (mut longitude, mut latitude) = (0, 0);
    let mut places = Vec::new();
    while let (Some(x), Some(y)) = (numbers.next(), numbers.next()) {
        (longitude, latitude) = (longitude + x, latitude + y);
        places.push(project(
            f64::from(latitude) / 100.0,
            f64::from(longitude) / 100.0,
        ));
    }
    places
}

/// Lambert's azimuthal equal-area projection around 52° N, 10° E, as the European Union's offices
/// use it (EPSG 3035), upon a sphere. An area on the map is as large as on the earth, so that a
/// density is what it says.
pub(super) fn project(latitude: f64, longitude: f64) -> Flat {
    const RADIUS: f64 = 6371.0;
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
        // From Berlin to Munich it is 504 km.
        let (berlin, munich) = (project(52.52, 13.405), project(48.137, 11.575));
        let apart = (berlin.0 - munich.0).hypot(berlin.1 - munich.1);
        assert!((apart - 504.0).abs() < 3.0, "{apart}");
        let outline = outline();
        assert!(outline.land.len() > 50 && outline.borders.len() > 40);
        let longest = outline.land.iter().map(Vec::len).max();
        assert!(longest > Some(1000), "{longest:?}");
    }
}
