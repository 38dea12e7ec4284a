//! The part of the earth that a map shows.

use super::canvas::{Area, Canvas};
use super::ink::length;
use super::outline::{Flat, Projection, project};
use crate::figure::Point;

/// A place that can be drawn.
pub(super) struct Place<'a> {
    pub(super) point: &'a Point,
    pub(super) value: f64,
    pub(super) at: Flat,
}

/// Views that stay the same over time, the closest first: Germany; with its southern neighbours.
/// Degrees: south, north, west, east.
const VIEWS: [(f64, f64, f64, f64); 2] = [(47.2, 55.1, 5.8, 15.1), (45.7, 55.1, 5.8, 17.2)];

/// Bounds of the inhabited land.
const WORLD: (f64, f64, f64, f64) = (-56.0, 75.0, -170.0, 180.0);

/// Mapping of kilometres to pixels.
pub(super) struct View {
    pub(super) middle: Flat,
    /// Pixels per kilometre.
    pub(super) scale: f64,
    pub(super) area: Area,
    pub(super) projection: Projection,
}

impl View {
    pub(super) fn at(&self, (x, y): Flat) -> (f64, f64) {
        let (left, top) = (
            (self.area.left + self.area.right) / 2.0,
            (self.area.top + self.area.bottom) / 2.0,
        );
        (
            left + (x - self.middle.0) * self.scale,
            top + (y - self.middle.1) * self.scale,
        )
    }

    pub(super) fn shows(&self, at: Flat) -> bool {
        let (x, y) = self.at(at);
        let area = self.area;
        (area.left..=area.right).contains(&x) && (area.top..=area.bottom).contains(&y)
    }
}

/// Builds a view for tests, with a pixel per two kilometres.
#[cfg(test)]
pub(super) fn sample(area: Area) -> View {
    View {
        middle: (0.0, 0.0),
        scale: 0.5,
        area,
        projection: Projection::Europe,
    }
}

/// Returns the part to show: for Europe one of [`VIEWS`], if nearly all places are within, so that
/// the map is stable from month to month; the whole [`WORLD`] for distant places; otherwise the
/// bounds of the places.
pub(super) fn view(places: &[Place], area: Area, projection: Projection) -> View {
    let inside = |(south, north, west, east): &(f64, f64, f64, f64)| {
        let inside = |place: &&Place| {
            (*south..=*north).contains(&place.point.latitude)
                && (*west..=*east).contains(&place.point.longitude)
        };
        places.iter().filter(inside).count() * 100 >= places.len() * 92
    };
    let view = VIEWS.iter().find(|view| inside(view));
    let (from, to) = match view.filter(|_| projection == Projection::Europe) {
        Some((south, north, west, east)) => {
            let corners = [
                project(*south, *west),
                project(*south, *east),
                project(*north, *west),
                project(*north, *east),
                project(*south, 10.0),
            ];
            bounds(corners.into_iter(), 0)
        }
        // Ignore one place in fifty as an outlier.
        None => bounds(places.iter().map(|place| place.at), places.len() / 50),
    };
    let (south, north, west, east) = WORLD;
    let (whole, end) = (
        projection.flat((north, west)),
        projection.flat((south, east)),
    );
    let far = projection != Projection::Europe && (to.0 - from.0) * 3.0 > end.0 - whole.0;
    let (from, to) = if far { (whole, end) } else { (from, to) };
    let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
    let (wide, high) = ((to.0 - from.0).max(200.0), (to.1 - from.1).max(200.0));
    let scale = (area.width() / wide).min(area.height() / high) * 0.96;
    View {
        middle,
        scale,
        area,
        projection,
    }
}

/// Returns the rectangle around places, without the outermost on each side.
fn bounds(places: impl Iterator<Item = Flat>, without: usize) -> (Flat, Flat) {
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = places.unzip();
    x.sort_by(f64::total_cmp);
    y.sort_by(f64::total_cmp);
    let ends = |all: &[f64]| match (
        all.get(without),
        all.get(all.len().wrapping_sub(1 + without)),
    ) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (0.0, 0.0),
    };
    let (x, y) = (ends(&x), ends(&y));
    ((x.0, y.0), (x.1, y.1))
}

/// Draws a place.
pub(super) fn item(canvas: &mut Canvas, place: &Place, x: f64, y: f64, radius: f64) {
    canvas.item(&place.point.key, &place.point.name, place.value);
    canvas.ink.put(format_args!(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/></g>",
        length(x),
        length(y),
        length(radius)
    ));
}
