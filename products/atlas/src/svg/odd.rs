//! Disbelieved numbers: marks in a band above the plot, without a scale, so that the others define
//! the scale. Triangles show the direction in which a number is odd; for several communities,
//! diamonds show where the sum lacks numbers.

use super::calendar;
use super::canvas::{Anchor, Area, Canvas, LETTERS};
use super::colour::Paint;
use super::ink::{escape, length};
use super::manner::mark;
use super::number::number;
use crate::figure::Odd;
use crate::text::Language;

/// Height of the band.
const BAND: f64 = 38.0;
/// Least distance of marks, below which they merge, and the limit of their number.
const APART: f64 = 11.0;
const MARKS: f64 = 60.0;
/// Triangles of [`mark`], and a diamond.
const UP: usize = 2;
const DOWN: usize = 4;
const OF_SEVERAL: usize = 3;

/// Numbers behind a mark.
struct Mark {
    x: f64,
    first: Odd,
    last: i64,
    count: i64,
}

/// Removes the band at the top of a plot's area, if there are odd numbers, and returns the
/// remaining area.
pub(super) fn room(area: Area, odd: &[Odd]) -> Area {
    match odd.is_empty() {
        true => area,
        false => Area {
            top: (area.top + BAND).min(area.bottom - 20.0),
            ..area
        },
    }
}

/// Draws the band. `top`: its upper end; `area`: the plot, for the horizontal range.
pub(super) fn draw(canvas: &mut Canvas, odd: &[Odd], top: f64, area: Area) {
    let marks = marks(canvas, odd, area);
    if marks.is_empty() {
        return;
    }
    let language = canvas.language;
    let says = match marks[0].first.value {
        Some(_) => language.of(
            "not believed: ▲ above 100,000, ▼ below 0",
            "nicht glaubhaft: ▲ über 100.000, ▼ unter 0",
        ),
        None => language.of(
            "◆ not believed, and not in the sum",
            "◆ nicht glaubhaft, nicht in der Summe",
        ),
    };
    let at = (area.left, top + 11.0);
    canvas.text(at, 11.5, Anchor::Start, Paint::Muted, says);
    let (stroke, fill) = (
        canvas.stroke("", Paint::Grid),
        canvas.fill("odd", Paint::Text),
    );
    canvas.ink.put(format_args!(
        "<path d=\"M{} {}H{}\"{stroke}/><g{fill}>",
        length(area.left),
        length(top + 25.5),
        length(area.right)
    ));
    for one in marks {
        let (shape, y) = match one.first.value {
            Some(..0) => (DOWN, top + 31.0),
            Some(0..) => (UP, top + 20.0),
            None => (OF_SEVERAL, top + 25.5),
        };
        let path = mark(shape, one.x, y);
        let says = escape(&says_of(canvas, &one), LETTERS);
        canvas.ink.put(format_args!(
            "<path d=\"{path}\"><title>{says}</title></path>"
        ));
    }
    canvas.ink.0.push_str("</g>");
}

fn marks(canvas: &Canvas, odd: &[Odd], area: Area) -> Vec<Mark> {
    let (from, to, by) = (canvas.from, canvas.to, canvas.figure.by);
    let x = |hour: i64| {
        let hour = hour.clamp(from, to);
        area.left + (hour - from) as f64 / (to - from) as f64 * area.width()
    };
    let apart = APART.max(area.width() / MARKS);
    let mut marks: Vec<Mark> = Vec::new();
    for one in odd {
        let end = by.begin(by.number(one.at).saturating_add(1));
        if one.at >= to || end <= from {
            continue;
        }
        let x = (x(one.at) + x(end)) / 2.0;
        let below = |one: &Odd| one.value.is_some_and(|value| value < 0);
        let alike = |mark: &&mut Mark| below(&mark.first) == below(one);
        match marks.iter_mut().rev().find(alike) {
            Some(last) if x - last.x < apart => {
                last.last = one.at;
                last.count = last.count.saturating_add(one.count);
            }
            _ => marks.push(Mark {
                x,
                first: *one,
                last: one.at,
                count: one.count,
            }),
        }
    }
    marks
}

/// Returns a text such as "October 2019: 250,000 (3 hours)".
fn says_of(canvas: &Canvas, mark: &Mark) -> String {
    let (by, language) = (canvas.figure.by, canvas.language);
    let mut when = calendar::point(mark.first.at, by, language);
    if mark.last != mark.first.at {
        when = format!("{when} – {}", calendar::point(mark.last, by, language));
    }
    let count = language.whole(mark.count);
    let Some(value) = mark.first.value else {
        return match (mark.count, language) {
            (1, Language::English) => format!("{when}: 1 number is not in the sum"),
            (_, Language::English) => format!("{when}: {count} numbers are not in the sum"),
            (1, Language::German) => format!("{when}: 1 Zahl ist nicht in der Summe"),
            (_, Language::German) => format!("{when}: {count} Zahlen sind nicht in der Summe"),
        };
    };
    let value = number(value as f64, language);
    let hours = match (mark.count, language) {
        (1, Language::English) => "1 hour".to_owned(),
        (_, Language::English) => format!("{count} hours"),
        (1, Language::German) => "1 Stunde".to_owned(),
        (_, Language::German) => format!("{count} Stunden"),
    };
    format!("{when}: {value} ({hours})")
}
