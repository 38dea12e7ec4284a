//! Values over time: lines, bands one upon the other, columns.

use super::ink::{Path, escape};
use super::legend::{self, Entry};
use super::manner::{dash, hatch, hatches, inside, mark};
use super::number::{Scale, sane, scale, with_unit};
use super::thin::{follow, thin};
use super::{Area, Canvas, Drawn, LETTERS, Paint, axis, calendar, colour, frame, named, odd};
use crate::figure::{Lines, Style};
use crate::text::Language;

/// Series that are drawn, and as many that are named as hidden: more nobody can tell apart.
const SERIES: usize = 24;
/// What the series of a picture may take, in octets.
const OCTETS: usize = 90_000;
/// How far marks on a line are from each other.
const MARKS: f64 = 120.0;

/// A point's place: its middle, and where what it covers begins and ends.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    begin: f64,
    end: f64,
    drawn: bool,
}

/// From where to where a series goes at each point.
type Band = Vec<Option<(f64, f64)>>;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas, lines: &Lines) -> Drawn {
    let kept = keep(canvas, lines);
    let entries = entries(lines, &kept);
    let shown: Vec<&Entry> = entries.iter().filter(|entry| entry.shown).collect();
    let bands = bands(lines, &shown);
    let flat = || bands.iter().flatten().flatten();
    let least = flat().map(|(from, to)| from.min(*to)).fold(0.0, f64::min);
    let mut most = flat().map(|(from, to)| from.max(*to)).fold(0.0, f64::max);
    if lines.stacked && lines.unit == "%" {
        // Parts, each rounded, may be a hair more together.
        most = most.min(100.0);
    }

    hatches(canvas, shown.iter().map(|entry| (entry.slot, entry.hatch)));
    let one = entries.len() == 1 && entries[0].shown;
    let outer = frame::draw(canvas, if one { &[] } else { &entries });
    let scale = scale(
        least,
        most,
        (outer.height() / 60.0).clamp(2.0, 8.0) as usize,
    );
    let area = axis::inside(canvas, odd::room(outer, &lines.odd), &scale, &lines.unit);
    axis::values(canvas, area, &scale, &lines.unit);

    let places = places(canvas, lines, area);
    let empty = flat().next().is_none();
    if !empty {
        let series = fitting(canvas, &shown, &bands, &places, area, &scale);
        canvas.ink.0.push_str(&series);
    }
    let zero = area.bottom - (0.0 - scale.least) / (scale.most - scale.least) * area.height();
    axis::times(canvas, area, zero);
    odd::draw(canvas, &lines.odd, outer.top, area);
    let gist = match (empty, lines.odd.is_empty()) {
        (false, _) => gist(canvas, lines, &shown, &bands),
        (true, true) => canvas.nothing(area),
        (true, false) => {
            let text = canvas.language.of(
                "No number here that can be believed",
                "Keine glaubhafte Zahl hier",
            );
            canvas.instead(area, text)
        }
    };
    Drawn {
        area,
        least: scale.least,
        most: scale.most,
        points: places.iter().map(|place| place.x).collect(),
        gist,
    }
}

/// Which series are drawn or named, in their order.
fn keep(canvas: &mut Canvas, lines: &Lines) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut left = 0;
    for hidden in [false, true] {
        let of = |at: &usize| legend::is_hidden(&lines.series[*at]) == hidden;
        let mut these: Vec<usize> = (0..lines.series.len()).filter(of).collect();
        if these.len() > SERIES {
            let size = |at: &usize| {
                let values = lines.series[*at].values.iter().flatten();
                values
                    .filter_map(|value| sane(*value))
                    .map(f64::abs)
                    .sum::<f64>()
            };
            let mut sizes: Vec<(f64, usize)> = these.iter().map(|at| (size(at), *at)).collect();
            sizes.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            left += sizes.len() - SERIES;
            these = sizes.into_iter().take(SERIES).map(|(_, at)| at).collect();
        }
        kept.extend(these);
    }
    if left > 0 {
        canvas.notes.push(match canvas.language {
            Language::English => format!("{left} smaller series are not drawn."),
            Language::German => format!("{left} kleinere Reihen sind nicht gezeichnet."),
        });
    }
    kept.sort_unstable();
    kept
}

fn entries<'a>(lines: &'a Lines, kept: &[usize]) -> Vec<Entry<'a>> {
    let keys: Vec<&str> = kept
        .iter()
        .map(|at| lines.series[*at].key.as_str())
        .collect();
    let mut old = 0;
    kept.iter()
        .zip(colour::slots(&keys))
        .map(|(at, slot)| {
            let series = &lines.series[*at];
            Entry {
                series,
                slot,
                shown: !legend::is_hidden(series),
                hatch: hatch(series.style, slot, &mut old),
            }
        })
        .collect()
}

/// Where the points are from left to right.
fn places(canvas: &Canvas, lines: &Lines, area: Area) -> Vec<Place> {
    let (from, to, by) = (canvas.from, canvas.to, canvas.figure.by);
    let x = |hour: i64| {
        let hour = hour.clamp(from, to);
        area.left + (hour - from) as f64 / (to - from) as f64 * area.width()
    };
    let mut before = i64::MIN;
    let place = |at: &i64| {
        let (begin, end) = (*at, by.begin(by.number(*at).saturating_add(1)));
        let ascends = *at > before;
        before = before.max(*at);
        Place {
            x: (x(begin) + x(end)) / 2.0,
            begin: x(begin),
            end: x(end),
            drawn: ascends && begin < to && end > from,
        }
    };
    lines.at.iter().map(place).collect()
}

/// From where to where each shown series goes.
fn bands(lines: &Lines, shown: &[&Entry]) -> Vec<Band> {
    let value = |entry: &Entry, at: usize| entry.series.values.get(at).copied().flatten();
    // Where a series of what goes away has nothing, its edge is below zero too.
    let goes_down: Vec<bool> = (shown.iter())
        .map(|entry| {
            let values = || entry.series.values.iter().flatten();
            values().any(|value| *value < 0.0) && values().all(|value| *value <= 0.0)
        })
        .collect();
    let mut bands = vec![Band::with_capacity(lines.at.len()); shown.len()];
    for at in 0..lines.at.len() {
        let values: Vec<Option<f64>> = (shown.iter())
            .map(|entry| value(entry, at).and_then(sane))
            .collect();
        let known = values.iter().any(Option::is_some);
        let (mut above, mut below) = (0.0, 0.0);
        for ((band, value), goes_down) in bands.iter_mut().zip(values).zip(&goes_down) {
            if !lines.stacked {
                band.push(value.map(|value| (0.0, value)));
                continue;
            }
            // Nothing known of one is nothing of the whole, unless nothing is known of all.
            let value = value.unwrap_or(0.0);
            let down = value < 0.0 || value == 0.0 && *goes_down;
            let base = if down { &mut below } else { &mut above };
            let from = *base;
            *base += value;
            band.push(known.then_some((from, *base)));
        }
    }
    bands
}

/// The series, as finely as their room in octets allows.
fn fitting(
    canvas: &Canvas,
    shown: &[&Entry],
    bands: &[Band],
    places: &[Place],
    area: Area,
    scale: &Scale,
) -> String {
    let mut text = String::new();
    for coarse in 0..8 {
        text.clear();
        let several = shown.len() > 1;
        for (at, (entry, band)) in shown.iter().zip(bands).enumerate() {
            let drawing = Drawing {
                canvas,
                places,
                band,
                area,
                scale,
                coarse,
            };
            text.push_str(&drawing.series(entry, several.then_some((at, shown.len()))));
        }
        if text.len() <= OCTETS {
            break;
        }
    }
    text
}

/// One series.
struct Drawing<'a> {
    canvas: &'a Canvas<'a>,
    places: &'a [Place],
    band: &'a Band,
    area: Area,
    scale: &'a Scale,
    /// 0: every point, else the least and the most of each so many pixels (a power of two).
    coarse: u32,
}

impl Drawing<'_> {
    /// `among`: which of how many it is, where there are several.
    fn series(&self, entry: &Entry, among: Option<(usize, usize)>) -> String {
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

    /// How wide what a point covers is.
    fn pitch(&self) -> f64 {
        let drawn = self.places.iter().filter(|place| place.drawn);
        let widths = drawn.map(|place| place.end - place.begin);
        widths.fold(f64::INFINITY, f64::min)
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.scale.least) / (self.scale.most - self.scale.least);
        self.area.bottom - part * self.area.height()
    }

    /// Points without one between them that nobody knows: place, and y of the base and of the value.
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

    /// Marks tell a line from others without its colour.
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
            // Where a band has no height it has no edge.
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

/// First, last and most: of the whole where it is one, else of the first few series.
fn gist(canvas: &Canvas, lines: &Lines, shown: &[&Entry], bands: &[Band]) -> String {
    let whole = canvas.language.of("Together", "Zusammen").to_owned();
    let values = |band: &Band| -> Vec<Option<f64>> {
        band.iter().map(|band| band.map(|(_, to)| to)).collect()
    };
    let told: Vec<(String, Vec<Option<f64>>)> = match (lines.stacked, bands.last()) {
        (true, Some(last)) if bands.len() > 1 => vec![(whole, values(last))],
        _ => (shown.iter().zip(bands).take(3))
            .map(|(entry, band)| (entry.series.name.clone(), values(band)))
            .collect(),
    };
    let at = |hour: i64| calendar::point(hour, canvas.figure.by, canvas.language);
    let mut text = Vec::new();
    for (name, values) in told {
        let known = || {
            let known = lines.at.iter().zip(&values);
            known.filter_map(|(hour, value)| Some((*hour, (*value)?)))
        };
        let most = known().max_by(|one, other| one.1.total_cmp(&other.1));
        let (Some(first), Some(last), Some(most)) = (known().next(), known().next_back(), most)
        else {
            continue;
        };
        let number = |value| with_unit(value, &lines.unit, canvas.language);
        let most_word = canvas.language.of("most", "höchstens");
        text.push(format!(
            "{name}: {} ({}), {} ({}); {most_word} {} ({}).",
            number(first.1),
            at(first.0),
            number(last.1),
            at(last.0),
            number(most.1),
            at(most.0)
        ));
    }
    text.join(" ")
}
