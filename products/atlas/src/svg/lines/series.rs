//! Drawing of a series: as a line with marks, as columns, or as a band.

use crate::figure::Style;
use crate::svg::canvas::{Area, Canvas, LETTERS};
use crate::svg::colour;
use crate::svg::colour::Paint;
use crate::svg::ink::{Path, escape, named};
use crate::svg::manner::{Entry, dash, inside, mark};
use crate::svg::number::Scale;
use crate::svg::thin::{follow, thin};

/// Distance of marks on a line.
const MARKS: f64 = 120.0;

/// Place of a point: its middle, and the begin and end of its unit.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) drawn: bool,
}

/// Lower and upper value of a series at each point.
pub(super) type Band = Vec<Option<(f64, f64)>>;

/// Parameters for drawing a series.
pub(super) struct Drawing<'a> {
    pub canvas: &'a Canvas<'a>,
    pub places: &'a [Place],
    pub band: &'a Band,
    pub area: Area,
    pub scale: &'a Scale,
    /// 0: every point, otherwise only the least and the greatest in so many pixels (a power of
    /// two).
    pub coarse: u32,
}

impl Drawing<'_> {
    /// Draws a series. `among`: its index and the number of several.
    pub fn series(&self, entry: &Entry, among: Option<(usize, usize)>) -> String {
        let series = entry.series;
        let name = escape(named(&series.name, &series.key), LETTERS);
        let mut text = format!(
            "<g class=\"series\" data-key=\"{}\" data-name=\"{name}\"><title>{name}</title>",
            escape(&series.key, LETTERS)
        );
        match series.style {
            Style::Line => {
                self.line(&mut text, entry);
                if let Some(among) = among {
                    self.marks(&mut text, entry, among);
                }
            }
            Style::Columns if self.coarse == 0 && self.pitch() >= 0.8 => {
                self.columns(&mut text, entry)
            }
            _ => self.band(&mut text, entry),
        }
        text.push_str("</g>");
        text
    }

    /// Returns the width of a point's unit.
    fn pitch(&self) -> f64 {
        let drawn = self.places.iter().filter(|place| place.drawn);
        let widths = drawn.map(|place| place.end - place.begin);
        widths.fold(f64::INFINITY, f64::min)
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.scale.least) / (self.scale.most - self.scale.least);
        self.area.bottom - part * self.area.height()
    }

    /// Returns runs of known points: place, and y of the base and of the value.
    fn runs(&self) -> Vec<Vec<(Place, f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (place, band) in self.places.iter().zip(self.band) {
            match (place.drawn, band, runs.last_mut()) {
                (true, Some((from, to)), Some(run)) => {
                    run.push((*place, self.y(*from), self.y(*to)));
                }
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn line(&self, text: &mut String, entry: &Entry) {
        let (mut path, mut dots) = (Path::default(), String::new());
        for run in self.runs() {
            if let [(place, _, y)] = run[..] {
                dots.push_str(&mark(0, place.x, y));
                continue;
            }
            let points: Vec<_> = run.iter().map(|(place, _, y)| (place.x, *y)).collect();
            follow(&mut path, &thin(&points, self.coarse), true);
        }
        let stroke = self.canvas.stroke("", entry.slot.paint);
        if !path.is_empty() {
            text.push_str(&format!(
                "<path d=\"{}\" fill=\"none\"{stroke} stroke-width=\"2\" \
                 stroke-linejoin=\"round\"{}/>",
                path.text(),
                dash(entry)
            ));
        }
        if !dots.is_empty() {
            let fill = self.canvas.fill("", entry.slot.paint);
            text.push_str(&format!("<path d=\"{dots}\"{fill}/>"));
        }
    }

    /// Draws marks, which distinguish lines without colours.
    fn marks(&self, text: &mut String, entry: &Entry, (nth, count): (usize, usize)) {
        let mut marks = String::new();
        for run in self.runs() {
            let mut next = self.area.left + MARKS * (nth as f64 + 0.5) / count as f64;
            for (place, _, y) in &run {
                if place.x < next {
                    continue;
                }
                marks.push_str(&mark(entry.slot.mark, place.x, *y));
                next += ((place.x - next) / MARKS).floor().max(0.0) * MARKS + MARKS;
            }
        }
        if !marks.is_empty() {
            let colours = colour::paint(
                self.canvas.theme,
                "",
                Some(entry.slot.paint),
                Some(Paint::Ground),
            );
            text.push_str(&format!("<path d=\"{marks}\"{colours}/>"));
        }
    }

    fn columns(&self, text: &mut String, entry: &Entry) {
        let mut path = Path::default();
        for (place, base, y) in self.runs().into_iter().flatten() {
            if (base - y).abs() < 0.05 {
                continue;
            }
            let gap = match place.end - place.begin {
                wide if wide > 4.0 => 1.0,
                wide if wide > 2.0 => 0.3,
                _ => 0.0,
            };
            let (left, right) = (place.begin + gap / 2.0, place.end - gap / 2.0);
            path.begin(left, base);
            path.line(left, y);
            path.line(right, y);
            path.line(right, base);
            path.close();
        }
        let inside = match entry.hatch {
            Some(_) => inside(self.canvas, entry),
            None => self.canvas.fill("", entry.slot.paint),
        };
        text.push_str(&format!("<path d=\"{}\"{inside}/>", path.text()));
    }

    fn band(&self, text: &mut String, entry: &Entry) {
        let (mut inner, mut edge) = (Path::default(), Path::default());
        for run in self.runs() {
            let (mut base, mut top): (Vec<_>, Vec<_>) = (run.iter())
                .map(|(place, base, y)| ((place.x, *base), (place.x, *y)))
                .unzip();
            if let [(place, low, high)] = run[..] {
                base = vec![(place.begin, low), (place.end, low)];
                top = vec![(place.begin, high), (place.end, high)];
            }
            let (base, top) = (thin(&base, self.coarse), thin(&top, self.coarse));
            follow(&mut inner, &top, true);
            let back: Vec<_> = base.into_iter().rev().collect();
            follow(&mut inner, &back, false);
            inner.close();
            // A band without height has no edge.
            let high = run.iter().any(|(_, base, y)| (base - y).abs() > 0.05);
            if high {
                follow(&mut edge, &top, true);
            }
        }
        let stroke = self.canvas.stroke("", entry.slot.paint);
        text.push_str(&format!(
            "<path d=\"{}\"{}/>",
            inner.text(),
            inside(self.canvas, entry)
        ));
        if !edge.is_empty() {
            text.push_str(&format!(
                "<path d=\"{}\" fill=\"none\"{stroke} stroke-width=\"1.5\" \
                 stroke-linejoin=\"round\"/>",
                edge.text()
            ));
        }
    }
}
