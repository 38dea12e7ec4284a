//! Canvas of a picture during drawing.

use super::calendar::bounded;
use super::colour::{self, Paint};
use super::ink::{ID, Ink, escape, length, named};
use super::number::number;
use crate::chart_query::{PictureStyle, Theme};
use crate::figure::{Figure, Plot};
use crate::text::Language;

/// Letters that a name, a key or a note may have.
pub(super) const LETTERS: usize = 200;
/// A family of letters that is on every system.
const FAMILY: &str = "system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,Liberation Sans,sans-serif";

/// Returns the address of a chart that shows only the series of these keys; empty: all series.
pub type Links<'a> = &'a dyn Fn(&[String]) -> String;

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        (self.right - self.left).max(1.0)
    }

    pub(super) fn height(&self) -> f64 {
        (self.bottom - self.top).max(1.0)
    }
}

/// Result of drawing a plot.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) area: Area,
    pub(super) least: f64,
    pub(super) most: f64,
    /// Positions of the points of a plot over time, from left to right.
    pub(super) points: Vec<f64>,
    /// Description, in a sentence or two.
    pub(super) gist: String,
}

/// Context of all parts of a picture.
pub(super) struct Canvas<'a> {
    pub(super) figure: &'a Figure,
    /// Range of the figure, within the calendar.
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) theme: Theme,
    pub(super) language: Language,
    pub(super) links: Option<Links<'a>>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Notes in addition to those of the figure.
    pub(super) notes: Vec<String>,
    /// True if the notes of the figure are at the bottom.
    pub(super) with_notes: bool,
    /// True if the height is fixed.
    pub(super) fit: bool,
    pub(super) ink: Ink,
}

/// Position of a text relative to its anchor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl<'a> Canvas<'a> {
    /// Creates an empty canvas.
    pub(super) fn new(
        figure: &'a Figure,
        look: &PictureStyle,
        language: Language,
        links: Option<Links<'a>>,
    ) -> Self {
        let (from, to) = bounded(figure.from, figure.to);
        Self {
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
        }
    }

    /// Returns true if the canvas is too narrow for parts side by side.
    pub(super) fn narrow(&self) -> bool {
        self.width < 520.0
    }

    pub(super) fn fill(&self, classes: &str, paint: Paint) -> String {
        colour::paint(self.theme, classes, Some(paint), None)
    }

    pub(super) fn stroke(&self, classes: &str, paint: Paint) -> String {
        colour::paint(self.theme, classes, None, Some(paint))
    }

    /// Writes a text, of a size, as it is.
    pub(super) fn text(
        &mut self,
        at: (f64, f64),
        size: f64,
        anchor: Anchor,
        paint: Paint,
        text: &str,
    ) {
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

    /// Begins a bar, a word or a place; `</g>` ends it.
    pub(super) fn item(&mut self, key: &str, name: &str, value: f64) {
        let name = escape(named(name, key), LETTERS);
        self.ink.put(format_args!(
            "<g class=\"item\" data-key=\"{}\" data-name=\"{name}\" data-value=\"{value}\">\
             <title>{name}: {}</title>",
            escape(key, LETTERS),
            number(value, self.language)
        ));
    }

    /// Draws a notice about missing data.
    pub(super) fn nothing(&mut self, area: Area) -> String {
        let text = self.language.of("No data here", "Hier sind keine Daten");
        self.instead(area, text)
    }

    /// Draws a notice in place of a plot.
    pub(super) fn instead(&mut self, area: Area, text: &str) -> String {
        let at = (
            (area.left + area.right) / 2.0,
            (area.top + area.bottom) / 2.0 + 5.0,
        );
        self.text(at, 15.0, Anchor::Middle, Paint::Muted, text);
        format!("{text}.")
    }

    /// Wraps the drawing into the root element.
    pub(super) fn finish(self, chart: &str, drawn: &Drawn) -> String {
        let mut out = Ink(String::with_capacity(self.ink.0.len() + 6000));
        let (width, height) = (length(self.width), length(self.height));
        // The keyboard cannot reach parts of an image.
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

/// Returns true if two rectangles overlap.
pub(super) fn overlap(one: &Area, other: &Area) -> bool {
    one.left < other.right
        && other.left < one.right
        && one.top < other.bottom
        && other.top < one.bottom
}
