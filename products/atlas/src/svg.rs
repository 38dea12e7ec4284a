//! Drawing. A picture is self-contained SVG: no script, no `style` attribute, no address but those
//! of its legend, every colour an attribute where it is used.
//!
//! Interface for scripts that add interaction:
//!
//! - the root: `class="weir-chart"`, `data-chart` (its name), `data-plot` (`time`, `bars`,
//!   `words`, `map`), `data-from`, `data-to` (hours since 1970), `data-by`; for a title with a
//!   time, `data-name` has the title without;
//! - the plot's rectangle, in the picture's own units: `data-left`, `data-right`, `data-top`,
//!   `data-bottom`; the values at its bottom and top: `data-least`, `data-most`;
//! - over time, `data-points`: positions of the table's points from left to right, in the order of
//!   time. A point is in the middle of its unit;
//! - `<g class="series" data-key data-name>`: one line or band;
//! - `<g class="item" data-key data-name data-value>`: one bar, word or place, with a `<title>`;
//! - `<g class="legend">` with an entry `<g class="entry" data-key data-shown="yes|no">` for each
//!   series; where there are addresses, an `<a>` is around its content.

mod axis;
mod bars;
mod calendar;
mod canvas;
mod cloud;
mod colour;
mod frame;
mod heat;
mod ink;
mod legend;
mod letters;
mod lines;
mod manner;
mod map;
mod number;
mod odd;
mod outline;
mod thin;
mod view;

use crate::chart_query::PictureStyle;
use crate::figure::{Figure, Plot};
use crate::text::Language;

use canvas::Canvas;
pub use canvas::Links;
pub use colour::{sheet, without_sheet};

/// Draws a figure. `links`, if any, turn the legend into a filter.
pub fn draw(
    figure: &Figure,
    chart: &str,
    look: &PictureStyle,
    language: Language,
    links: Option<Links>,
) -> String {
    let mut canvas = Canvas::new(figure, look, language, links);
    let drawn = match &figure.plot {
        Plot::Time(lines) => lines::draw(&mut canvas, lines),
        Plot::Bars(bars) => bars::draw(&mut canvas, bars),
        Plot::Words(words) => cloud::draw(&mut canvas, words),
        Plot::Map { points, heat } => map::draw(&mut canvas, points, *heat),
    };
    canvas.finish(chart, &drawn)
}
