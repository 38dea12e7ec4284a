//! Frame of a plot: title, time range, legend, notes.

use super::calendar;
use super::canvas::{Anchor, Area, Canvas};
use super::colour::Paint;
use super::legend;
use super::letters::{fit, wrap};
use super::manner::Entry;
use crate::figure::Plot;
use crate::time::Unit;

/// Distance from the edge.
const MARGIN: f64 = 16.0;

/// Draws the frame, and returns the area left for the plot.
pub(super) fn draw(canvas: &mut Canvas, entries: &[Entry]) -> Area {
    let (left, right) = (MARGIN, canvas.width - MARGIN);
    let room = right - left;
    let large = if canvas.narrow() { 16.0 } else { 18.0 };
    let title = fit(&canvas.figure.title, large, room * 0.96);
    let fill = canvas.fill("title", Paint::Text);
    canvas
        .ink
        .put(format_args!("<g{fill} font-weight=\"600\">"));
    canvas.text((left, 28.0), large, Anchor::Start, Paint::Text, &title);
    canvas.ink.0.push_str("</g>");
    let mut top = 38.0;
    let about = subtitle(canvas);
    // A tiny picture has only its title; so has a picture with a complete title.
    if canvas.height >= 200.0 && !about.is_empty() && !canvas.figure.title.contains(&about) {
        let about = fit(&about, 13.0, room);
        canvas.text((left, 47.0), 13.0, Anchor::Start, Paint::Muted, &about);
        top = 58.0;
    }
    if !entries.is_empty() && canvas.height >= 160.0 {
        top = legend::draw(
            canvas,
            entries,
            Area {
                left,
                right,
                top,
                bottom: 0.0,
            },
        );
    }
    let bottom = canvas.height - MARGIN - notes(canvas, left, room);
    Area {
        left,
        right,
        top: top + 10.0,
        bottom: bottom.max(top + 20.0),
    }
}

/// Returns the time range and its unit.
fn subtitle(canvas: &Canvas) -> String {
    let (language, figure) = (canvas.language, canvas.figure);
    if figure.to <= figure.from {
        return String::new();
    }
    let span = calendar::span(canvas.from, canvas.to, language);
    let Plot::Time(_) = figure.plot else {
        return span;
    };
    let by = match figure.by {
        Unit::Hour => language.of("by hour", "nach Stunden"),
        Unit::Day => language.of("by day", "nach Tagen"),
        Unit::Month => language.of("by month", "nach Monaten"),
    };
    format!("{span}, {by}")
}

/// Draws the notes at the bottom; how high they are.
fn notes(canvas: &mut Canvas, left: f64, room: f64) -> f64 {
    let most = match canvas.height {
        height if height < 240.0 => return 0.0,
        height if height < 400.0 => 2,
        _ => 3,
    };
    let all = canvas.figure.notes.iter().filter(|_| canvas.with_notes);
    let all = all.chain(&canvas.notes).map(String::as_str);
    let text = all.collect::<Vec<_>>().join(" · ");
    let text: String = text.chars().take(1000).collect();
    let lines = wrap(&text, 11.5, room, most);
    let high = lines.len() as f64 * 15.0;
    let top = canvas.height - MARGIN - high;
    for (at, line) in lines.iter().enumerate() {
        let at = (left, top + at as f64 * 15.0 + 14.0);
        canvas.text(at, 11.5, Anchor::Start, Paint::Muted, line);
    }
    if lines.is_empty() { 0.0 } else { high + 4.0 }
}
