//! Axes.

use super::calendar;
use super::canvas::{Anchor, Area, Canvas};
use super::colour::Paint;
use super::ink::length;
use super::letters::width;
use super::number::{Scale, short, with_unit};

/// Size of the letters at an axis.
pub(super) const SIZE: f64 = 12.0;

/// Makes room for the axes of a plot over time: the rectangle that the values have.
pub(super) fn inside(canvas: &Canvas, area: Area, scale: &Scale, unit: &str) -> Area {
    let widest = (scale.ticks.iter())
        .map(|tick| width(&label(canvas, *tick, unit), SIZE))
        .fold(0.0, f64::max);
    let left = (area.left + widest + 8.0).min(area.right - 40.0);
    let ticks = calendar::ticks(canvas.from, canvas.to, area.right - left, canvas.language);
    let second = ticks.iter().any(|tick| tick.part_of.is_some());
    Area {
        left,
        right: area.right,
        top: area.top + if unit == "%" { 4.0 } else { 16.0 },
        bottom: area.bottom - if second { 32.0 } else { 22.0 },
    }
}

/// Draws the axis of values: a horizontal line for each number.
pub(super) fn values(canvas: &mut Canvas, area: Area, scale: &Scale, unit: &str) {
    let y = |value: f64| {
        area.bottom - (value - scale.least) / (scale.most - scale.least) * area.height()
    };
    let grid = canvas.stroke("grid", Paint::Grid);
    canvas.ink.put(format_args!("<g{grid}>"));
    for tick in &scale.ticks {
        canvas.ink.put(format_args!(
            "<path d=\"M{} {}H{}\"/>",
            length(area.left),
            length(y(*tick)),
            length(area.right)
        ));
    }
    canvas.ink.0.push_str("</g><g class=\"axis\">");
    for tick in &scale.ticks {
        let text = label(canvas, *tick, unit);
        let at = (area.left - 8.0, y(*tick) + 4.0);
        canvas.text(at, SIZE, Anchor::End, Paint::Muted, &text);
    }
    if unit != "%" {
        let at = (area.left, area.top - 9.0);
        canvas.text(at, SIZE, Anchor::Start, Paint::Muted, unit);
    }
    canvas.ink.0.push_str("</g>");
}

fn label(canvas: &Canvas, tick: f64, unit: &str) -> String {
    match unit {
        "%" => with_unit(tick, unit, canvas.language),
        _ => short(tick, canvas.language),
    }
}

/// Draws the axis of time, and the line of zero.
pub(super) fn times(canvas: &mut Canvas, area: Area, zero: f64) {
    let (from, to) = (canvas.from, canvas.to);
    let x = |hour: i64| area.left + (hour - from) as f64 / (to - from) as f64 * area.width();
    let ticks = calendar::ticks(from, to, area.width(), canvas.language);
    let stroke = canvas.stroke("", Paint::Axis);
    canvas.ink.put(format_args!(
        "<path d=\"M{} {}H{}\"{stroke}/>",
        length(area.left),
        length(zero),
        length(area.right)
    ));
    for tick in &ticks {
        canvas.ink.put(format_args!(
            "<path d=\"M{} {}v5\"{stroke}/>",
            length(x(tick.hour)),
            length(area.bottom)
        ));
    }
    canvas.ink.0.push_str("<g class=\"axis\">");
    // The containing unit is below its tick, from right to left: where two do not fit, the later
    // one is more useful.
    let mut free = canvas.width;
    for tick in ticks.iter().rev() {
        let at = x(tick.hour);
        let wide = canvas.width;
        let inside = |text: &str| {
            let half = width(text, SIZE) / 2.0;
            at.clamp(half + 2.0, (wide - half - 2.0).max(half + 2.0))
        };
        let middle = inside(&tick.label);
        let place = (middle, area.bottom + 18.0);
        canvas.text(place, SIZE, Anchor::Middle, Paint::Muted, &tick.label);
        let Some(part_of) = &tick.part_of else {
            continue;
        };
        let (half, middle) = (width(part_of, SIZE) / 2.0, inside(part_of));
        if middle + half + 6.0 < free {
            free = middle - half;
            let place = (middle, area.bottom + 33.0);
            canvas.text(place, SIZE, Anchor::Middle, Paint::Text, part_of);
        }
    }
    canvas.ink.0.push_str("</g>");
}
