//! Drawing. A picture is SVG that stands by itself: no script, no `style` attribute, no address
//! but those of its legend, every colour an attribute where it is used.
//!
//! What a script may rely upon, to make it livelier:
//!
//! - the root: `class="weir-chart"`, `data-chart` (its name), `data-plot` (`time`, `bars`,
//!   `words`, `map`), `data-from`, `data-to` (hours since 1970), `data-by`; where its title has a
//!   time in it, `data-name` is the title without;
//! - the plot's rectangle, in the picture's own units: `data-left`, `data-right`, `data-top`,
//!   `data-bottom`; the values at its bottom and top: `data-least`, `data-most`;
//! - over time, `data-points`: where each point of the table is from left to right, in the order
//!   of time. A point stands in the middle of what it covers;
//! - `<g class="series" data-key data-name>`: one line or band;
//! - `<g class="item" data-key data-name data-value>`: one bar, word or place, with a `<title>`;
//! - `<g class="legend">` with an entry `<g class="entry" data-key data-shown="yes|no">` for each
//!   series; where there are addresses, an `<a>` is around its content.

mod axis;
mod bars;
mod calendar;
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

use crate::asked::{Look, Theme};
use crate::figure::{Figure, Plot};
use crate::text::Language;

use colour::{Paint, paint};
pub use colour::{sheet, without_sheet};
use ink::{ID, Ink, escape, length};

/// Letters that a name, a key or a note may have.
const LETTERS: usize = 200;
/// A family of letters that is on every system.
const FAMILY: &str = "system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,Liberation Sans,sans-serif";

/// The address of a chart that shows the series of these keys only; none: all of them.
pub type Links<'a> = &'a dyn Fn(&[String]) -> String;

/// Draws a figure. `links`, where there are any, make a filter of the legend.
pub fn draw(
    figure: &Figure,
    chart: &str,
    look: &Look,
    language: Language,
    links: Option<Links>,
) -> String {
    let (from, to) = calendar::bounded(figure.from, figure.to);
    let mut canvas = Canvas {
        figure,
        from,
        to,
        theme: look.theme,
        language,
        links,
        width: f64::from(look.width.clamp(200, 4000)),
        height: f64::from(look.height.clamp(120, 4000)),
        notes: Vec::new(),
        with_notes: look.notes,
        fit: look.fit,
        ink: Ink::default(),
    };
    let drawn = match &figure.plot {
        Plot::Time(lines) => lines::draw(&mut canvas, lines),
        Plot::Bars(bars) => bars::draw(&mut canvas, bars),
        Plot::Words(words) => cloud::draw(&mut canvas, words),
        Plot::Map { points, heat } => map::draw(&mut canvas, points, *heat),
    };
    canvas.finish(chart, &drawn)
}

/// A name; the key, where there is none.
fn named<'a>(name: &'a str, key: &'a str) -> &'a str {
    match name.trim() {
        "" => key,
        name => name,
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn width(&self) -> f64 {
        (self.right - self.left).max(1.0)
    }

    fn height(&self) -> f64 {
        (self.bottom - self.top).max(1.0)
    }
}

/// What became of a plot.
#[derive(Default)]
struct Drawn {
    area: Area,
    least: f64,
    most: f64,
    /// Of the points of a plot over time, from left to right.
    points: Vec<f64>,
    /// What there is to see, in a sentence or two.
    gist: String,
}

/// What all parts of a picture know.
struct Canvas<'a> {
    figure: &'a Figure,
    /// Of the figure, within the calendar.
    from: i64,
    to: i64,
    theme: Theme,
    language: Language,
    links: Option<Links<'a>>,
    width: f64,
    height: f64,
    /// Beside those of the figure.
    notes: Vec<String>,
    /// Those of the figure are at the bottom, too.
    with_notes: bool,
    /// It may not be higher than asked for.
    fit: bool,
    ink: Ink,
}

/// Where a text stands from its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas<'_> {
    /// Too little room for what stands beside one another elsewhere.
    fn narrow(&self) -> bool {
        self.width < 520.0
    }

    fn fill(&self, classes: &str, paint: Paint) -> String {
        self::paint(self.theme, classes, Some(paint), None)
    }

    fn stroke(&self, classes: &str, paint: Paint) -> String {
        self::paint(self.theme, classes, None, Some(paint))
    }

    /// Writes a text, of a size, as it is.
    fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, paint: Paint, text: &str) {
        let fill = self.fill("", paint);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.ink.put(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{fill}>{}</text>",
            length(at.0),
            length(at.1),
            length(size),
            escape(text, LETTERS)
        ));
    }

    /// Begins a bar, a word or a place; the other end is `</g>`.
    fn item(&mut self, key: &str, name: &str, value: f64) {
        let name = escape(named(name, key), LETTERS);
        self.ink.put(format_args!(
            "<g class=\"item\" data-key=\"{}\" data-name=\"{name}\" data-value=\"{value}\">\
             <title>{name}: {}</title>",
            escape(key, LETTERS),
            number::number(value, self.language)
        ));
    }

    /// Says that there is nothing to see.
    fn nothing(&mut self, area: Area) -> String {
        let text = self.language.of("No data here", "Hier sind keine Daten");
        self.instead(area, text)
    }

    /// Says so where there would be something to see.
    fn instead(&mut self, area: Area, text: &str) -> String {
        let at = (
            (area.left + area.right) / 2.0,
            (area.top + area.bottom) / 2.0 + 5.0,
        );
        self.text(at, 15.0, Anchor::Middle, Paint::Muted, text);
        format!("{text}.")
    }

    /// Puts the root around what was drawn.
    fn finish(self, chart: &str, drawn: &Drawn) -> String {
        let mut out = Ink(String::with_capacity(self.ink.0.len() + 6000));
        let (width, height) = (length(self.width), length(self.height));
        // What is within a picture cannot be reached by keys.
        let role = if self.links.is_some() { "group" } else { "img" };
        let theme = match self.theme {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        out.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weir-chart\" role=\"{role}\" \
             aria-labelledby=\"{ID}-t {ID}-d\" lang=\"{}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" data-chart=\"{}\" \
             data-plot=\"{}\" data-theme=\"{theme}\" data-from=\"{}\" data-to=\"{}\" \
             data-by=\"{}\"",
            self.language.word(),
            escape(chart, LETTERS),
            match self.figure.plot {
                Plot::Time(_) => "time",
                Plot::Bars(_) => "bars",
                Plot::Words(_) => "words",
                Plot::Map { .. } => "map",
            },
            self.from,
            self.to,
            self.figure.by.word(),
        ));
        for (name, value) in [
            ("left", drawn.area.left),
            ("right", drawn.area.right),
            ("top", drawn.area.top),
            ("bottom", drawn.area.bottom),
        ] {
            out.put(format_args!(" data-{name}=\"{}\"", length(value)));
        }
        out.put(format_args!(
            " data-least=\"{}\" data-most=\"{}\"",
            drawn.least, drawn.most
        ));
        if !drawn.points.is_empty() {
            let points: Vec<String> = drawn.points.iter().map(|at| length(*at)).collect();
            out.put(format_args!(" data-points=\"{}\"", points.join(" ")));
        }
        if self.figure.name != self.figure.title {
            let name = escape(&self.figure.name, LETTERS);
            out.put(format_args!(" data-name=\"{name}\""));
        }
        let notes: Vec<&str> = self.all_notes().collect();
        out.put(format_args!(
            "><title id=\"{ID}-t\">{}</title><desc id=\"{ID}-d\">{}</desc>",
            escape(&self.figure.title, LETTERS),
            escape(&format!("{} {}", drawn.gist, notes.join(" ")), 2000)
        ));
        if self.theme == Theme::Auto {
            out.0.push_str(&colour::element());
        }
        let ground = self.fill("", Paint::Ground);
        out.put(format_args!(
            "<rect width=\"{width}\" height=\"{height}\"{ground}/>"
        ));
        out.0.push_str(&self.ink.0);
        out.0.push_str("</svg>");
        let id = format!("w{:x}", colour::hash(&out.0));
        out.0.replace(ID, &id)
    }

    fn all_notes(&self) -> impl Iterator<Item = &str> {
        let own = self.notes.iter().map(String::as_str);
        self.figure.notes.iter().map(String::as_str).chain(own)
    }
}
