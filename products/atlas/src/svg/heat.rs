//! Density: how many there are around each spot of a map, as areas of one hue.

use super::canvas::{Anchor, Canvas};
use super::colour::{LEVELS, Paint};
use super::ink::{Path, length};
use super::letters::width;
use super::number::number;
use super::view::{Place, View, item};

/// Height of the legend.
pub(super) const LEGEND: f64 = 56.0;
/// Spread of a place: kilometres, so that a density is the same in pictures of any size.
const SPREAD: f64 = 25.0;
/// Largest number of places with a dot.
const DOTS: usize = 400;

/// Density on a grid. Its edges are zero, so that all contours are closed.
struct Grid {
    wide: usize,
    high: usize,
    /// Distance of two nodes, in pixels.
    cell: f64,
    values: Vec<f64>,
}

/// Draws the map. Its legend is above `corner`: left, bottom. `largest`: the largest value of a
/// place at any time.
pub(super) fn draw(
    canvas: &mut Canvas,
    view: &View,
    places: &[Place],
    corner: (f64, f64),
    largest: f64,
) {
    let grid = Grid::of(view, places);
    let levels = levels(largest, spread(view) / view.scale);
    for (nth, level) in levels.iter().enumerate() {
        let path = grid.contour(*level, view);
        if path.is_empty() {
            continue;
        }
        let fill = canvas.fill("level", Paint::Heat(nth));
        canvas.ink.put(format_args!(
            "<path d=\"{}\" fill-rule=\"evenodd\"{fill}/>",
            path.text()
        ));
    }
    let fill = canvas.fill("", Paint::Text);
    canvas
        .ink
        .put(format_args!("<g fill-opacity=\".55\"{fill}>"));
    for place in places.iter().take(DOTS) {
        let (x, y) = view.at(place.at);
        item(canvas, place, x, y, 1.2);
    }
    canvas.ink.0.push_str("</g>");
    legend(canvas, corner, &levels);
}

/// Returns the steps of the colours, for a thousand square kilometres. Most directories share the
/// same steps, for comparison; other powers of ten are used if nothing would be visible. `spread`:
/// kilometres.
fn levels(largest: f64, spread: f64) -> [f64; LEVELS] {
    // Density at the centre of the bell.
    let most = largest * 1e3 / (2.0 * std::f64::consts::PI * spread * spread);
    let mut by = 1.0;
    while most < 50.0 * by && by > 1e-9 {
        by /= 10.0;
    }
    while most > 20_000.0 * by && by < 1e12 {
        by *= 10.0;
    }
    [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0].map(|level| level * by)
}

/// Returns the spread of a place in pixels: on a map of the world, large enough to be visible.
fn spread(view: &View) -> f64 {
    (SPREAD * view.scale).clamp(5.0, 30.0)
}

impl Grid {
    fn of(view: &View, places: &[Place]) -> Self {
        let area = view.area;
        let cell = (area.width() * area.height() / 12_000.0).sqrt().max(4.0);
        let wide = (area.width() / cell) as usize + 3;
        let high = (area.height() / cell) as usize + 3;
        let mut values = vec![0.0; wide * high];
        let spread = spread(view);
        let reach = (3.5 * spread / cell).ceil() as i64;
        // The sum over all square kilometres equals the number of nodes, per thousand of them.
        let peak = view.scale * view.scale / (2.0 * std::f64::consts::PI * spread * spread) * 1e3;
        for place in places {
            let (x, y) = view.at(place.at);
            let (x, y) = ((x - area.left) / cell + 1.0, (y - area.top) / cell + 1.0);
            for row in (y as i64 - reach).max(1)..=(y as i64 + reach).min(high as i64 - 2) {
                for column in (x as i64 - reach).max(1)..=(x as i64 + reach).min(wide as i64 - 2) {
                    let far = (row as f64 - y).powi(2) + (column as f64 - x).powi(2);
                    let far = far * cell * cell / (2.0 * spread * spread);
                    values[row as usize * wide + column as usize] +=
                        place.value * peak * (-far).exp();
                }
            }
        }
        Self {
            wide,
            high,
            cell,
            values,
        }
    }

    /// Returns the lines around all cells of at least `level` (marching squares).
    fn contour(&self, level: f64, view: &View) -> Path {
        // Path from an edge of a cell to the next. Edge 2n leads from node n right, 2n + 1 down.
        let mut next = vec![usize::MAX; self.wide * self.high * 2];
        for row in 0..self.high - 1 {
            for column in 0..self.wide - 1 {
                let node = row * self.wide + column;
                let (top, left) = (node * 2, node * 2 + 1);
                let (bottom, right) = (top + self.wide * 2, left + 2);
                let inside = |node: usize| self.values[node] >= level;
                let corners = (
                    inside(node),
                    inside(node + 1),
                    inside(node + self.wide + 1),
                    inside(node + self.wide),
                );
                // The inside is to the right of the path.
                let ways: &[(usize, usize)] = match corners {
                    (true, false, false, false) => &[(top, left)],
                    (false, true, false, false) => &[(right, top)],
                    (false, false, true, false) => &[(bottom, right)],
                    (false, false, false, true) => &[(left, bottom)],
                    (true, true, false, false) => &[(right, left)],
                    (false, true, true, false) => &[(bottom, top)],
                    (false, false, true, true) => &[(left, right)],
                    (true, false, false, true) => &[(top, bottom)],
                    (true, true, true, false) => &[(bottom, left)],
                    (false, true, true, true) => &[(left, top)],
                    (true, false, true, true) => &[(top, right)],
                    (true, true, false, true) => &[(right, bottom)],
                    (true, false, true, false) => &[(top, left), (bottom, right)],
                    (false, true, false, true) => &[(right, top), (left, bottom)],
                    _ => &[],
                };
                for (from, to) in ways {
                    next[*from] = *to;
                }
            }
        }
        let mut path = Path::default();
        for begin in 0..next.len() {
            let mut edge = begin;
            let mut first = true;
            while next[edge] != usize::MAX {
                let (x, y) = self.crossing(edge, level, view);
                if first {
                    path.begin(x, y)
                } else {
                    path.line(x, y)
                }
                first = false;
                edge = std::mem::replace(&mut next[edge], usize::MAX);
            }
            if !first {
                path.close();
            }
        }
        path
    }

    /// Returns the point of the level on an edge.
    fn crossing(&self, edge: usize, level: f64, view: &View) -> (f64, f64) {
        let node = edge / 2;
        let other = if edge.is_multiple_of(2) {
            node + 1
        } else {
            node + self.wide
        };
        let (here, there) = (self.values[node], self.values[other]);
        let part = ((level - here) / (there - here)).clamp(0.0, 1.0);
        let (x, y) = (
            (node % self.wide) as f64 - 1.0,
            (node / self.wide) as f64 - 1.0,
        );
        let (x, y) = if edge.is_multiple_of(2) {
            (x + part, y)
        } else {
            (x, y + part)
        };
        let area = view.area;
        (
            (area.left + x * self.cell).clamp(area.left, area.right),
            (area.top + y * self.cell).clamp(area.top, area.bottom),
        )
    }
}

/// Draws the legend of the colours.
fn legend(canvas: &mut Canvas, (left, bottom): (f64, f64), levels: &[f64; LEVELS]) {
    const WIDE: f64 = 38.0;
    let says = canvas.language.of(
        "nodes per 1,000 km², same steps at all times",
        "Knoten je 1.000 km², Stufen immer gleich",
    );
    let wide = (WIDE * LEVELS as f64).max(width(says, 12.0)) + 16.0;
    let ground = canvas.fill("", Paint::Ground);
    canvas.ink.put(format_args!(
        "<g class=\"legend\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"54\" rx=\"4\" \
         fill-opacity=\".85\"{ground}/>",
        length(left),
        length(bottom - 50.0),
        length(wide)
    ));
    canvas.text(
        (left + 8.0, bottom - 34.0),
        12.0,
        Anchor::Start,
        Paint::Muted,
        says,
    );
    for (nth, level) in levels.iter().enumerate() {
        let x = left + 8.0 + nth as f64 * WIDE;
        let fill = canvas.fill("", Paint::Heat(nth));
        canvas.ink.put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{WIDE}\" height=\"10\"{fill}/>",
            length(x),
            length(bottom - 27.0)
        ));
        let text = number(*level, canvas.language);
        canvas.text((x, bottom - 4.0), 11.0, Anchor::Start, Paint::Muted, &text);
    }
    canvas.ink.0.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Point;
    use crate::svg::canvas::Area;
    use crate::svg::view;

    #[test]
    fn a_density_is_what_it_says() {
        let area = Area {
            left: 0.0,
            right: 400.0,
            top: 0.0,
            bottom: 400.0,
        };
        let view = view::sample(area);
        let point = Point {
            key: String::new(),
            name: String::new(),
            latitude: 52.0,
            longitude: 10.0,
            value: 500.0,
        };
        let place = Place {
            point: &point,
            value: 500.0,
            at: (0.0, 0.0),
        };
        let grid = Grid::of(&view, &[place]);
        // Over all thousands of square kilometres there are as many as there are.
        let thousands = (grid.cell / view.scale).powi(2) / 1000.0;
        let all = grid.values.iter().sum::<f64>() * thousands;
        assert!((all - 500.0).abs() < 2.0, "{all}");
        // Half of the central density is where a bell has half of its height.
        let most = grid.values.iter().copied().fold(0.0, f64::max);
        let path = grid.contour(most / 2.0, &view);
        let far = SPREAD * view.scale * (2.0 * 2f64.ln()).sqrt();
        let begin = path.text().split(['M', ' ', 'l', 'h', 'v']);
        let begin: Vec<f64> = begin.skip(1).take(2).flat_map(str::parse).collect();
        let away = (begin[0] - 200.0).hypot(begin[1] - 200.0);
        assert!((away - far).abs() < 0.5, "{begin:?} {far}");
        assert_eq!(path.text().matches('M').count(), 1);
        assert!(path.text().ends_with('z'));
    }

    #[test]
    fn levels_are_the_same_for_like_figures() {
        assert_eq!(levels(300.0, SPREAD), levels(2000.0, SPREAD));
        assert_eq!(
            levels(3270.0, SPREAD),
            [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]
        );
        assert!(levels(1.0, SPREAD)[0] < 1.0 && levels(1e6, SPREAD)[0] > 3.0);
    }
}
