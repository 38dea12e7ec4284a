//! Bars: one per row, with name and number.

use super::canvas::{Anchor, Area, Canvas, Drawn};
use super::colour::Paint;
use super::ink::{length, named};
use super::letters::{fit, width};
use super::number::{number, sane};
use super::{colour, frame, manner};
use crate::figure::{Bar, Style};
use crate::text::Language;

/// Rows that are drawn.
const ROWS: usize = 100;
/// Height of title and notes, in pixels; and without notes, as in a low picture.
const AROUND: f64 = 150.0;
const AROUND_LOW: f64 = 90.0;
/// Gap between letters and their neighbours, in pixels.
const GAP: f64 = 8.0;

/// Colour and hatch of a bar.
type Look = (colour::Slot, Option<usize>);

/// Layout of rows.
struct Rows {
    /// Distance of two rows.
    pitch: f64,
    thick: f64,
    size: f64,
    /// True if names are above their bars, for lack of room at the side.
    above: bool,
}

/// Returns true for names above their bars, the least height of a row, and the limit of rows.
fn room(canvas: &Canvas, rows: usize) -> (bool, f64, usize) {
    let (high, low) = (34.0, 20.0);
    if !canvas.fit {
        let above = canvas.narrow();
        return (above, if above { high } else { low }, ROWS);
    }
    let around = if canvas.height < 240.0 {
        AROUND_LOW
    } else {
        AROUND
    };
    let room = canvas.height - around;
    let above = canvas.narrow() && rows.min(ROWS) as f64 * high <= room;
    // Names still have room.
    let least = if above { high } else { low * 0.8 };
    (above, least, ((room / least) as usize).clamp(1, ROWS))
}

/// Draws the bars. If rows do not fit, the picture is higher than requested; with a fixed height,
/// some are omitted.
pub(super) fn draw(canvas: &mut Canvas, bars: &[Bar]) -> Drawn {
    let all: Vec<(&Bar, f64)> = (bars.iter())
        .filter_map(|bar| Some((bar, sane(bar.value)?)))
        .collect();
    let (above, least, most) = room(canvas, all.len());
    let left_out = bars.len() - all.len().min(most);
    if left_out > 0 {
        canvas.notes.push(match canvas.language {
            Language::English => format!("{left_out} more are not drawn."),
            Language::German => format!("{left_out} weitere sind nicht gezeichnet."),
        });
    }
    let shown = &all[..all.len().min(most)];
    if !canvas.fit {
        canvas.height = canvas.height.max(shown.len() as f64 * least + AROUND);
    }
    let outer = frame::draw(canvas, &[]);
    if shown.is_empty() {
        let gist = canvas.nothing(outer);
        return Drawn {
            area: outer,
            gist,
            ..Drawn::default()
        };
    }
    let pitch = (outer.height() / shown.len() as f64).clamp(least, 56.0);
    let rows = if above {
        Rows {
            pitch,
            thick: (pitch * 0.36).clamp(10.0, 16.0),
            size: 13.0,
            above,
        }
    } else {
        Rows {
            pitch,
            thick: (pitch * 0.62).min(28.0),
            size: 13.5,
            above,
        }
    };

    let looks: Vec<Look> = (shown.iter())
        .map(|(bar, _)| colour::slot(&colour::of_name(&bar.name, &bar.key)))
        .map(|slot| (slot, manner::hatch(Style::Columns, slot)))
        .collect();
    manner::hatches(canvas, looks.iter().copied());

    let texts: Vec<String> = shown
        .iter()
        .map(|bar| number(bar.1, canvas.language))
        .collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| {
        texts.map(|text| width(text, rows.size)).fold(0.0, f64::max)
    };
    let numbers = widest(&mut texts.iter().map(String::as_str)) + GAP;
    let names = if above {
        0.0
    } else {
        let widest = widest(&mut shown.iter().map(|bar| named(&bar.0.name, &bar.0.key)));
        widest.min(outer.width() * 0.34) + GAP * 1.5
    };
    let least = shown.iter().map(|bar| bar.1).fold(0.0, f64::min);
    let most = shown.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let most = if most <= least { least + 1.0 } else { most };
    let below = if least < 0.0 { numbers } else { 0.0 };
    let area = Area {
        left: outer.left + names + below,
        right: (outer.right - numbers).max(outer.left + names + below + 20.0),
        top: outer.top,
        bottom: outer.top + pitch * shown.len() as f64,
    };
    for (at, ((bar, value), text)) in shown.iter().zip(&texts).enumerate() {
        let x = |value: f64| area.left + (value - least) / (most - least) * area.width();
        let top = area.top + at as f64 * pitch;
        row(
            canvas,
            &rows,
            (outer.left, names, top),
            (bar, *value),
            looks[at],
            text,
            (x(0.0), x(*value)),
        );
    }
    Drawn {
        area,
        least,
        most,
        gist: gist(canvas, shown),
        ..Drawn::default()
    }
}

/// Draws a row. `place`: left, room for names, top; `ends`: of the bar.
fn row(
    canvas: &mut Canvas,
    rows: &Rows,
    place: (f64, f64, f64),
    (bar, value): (&Bar, f64),
    (slot, hatch): Look,
    number: &str,
    ends: (f64, f64),
) {
    let (left, names, top) = place;
    canvas.item(&bar.key, &bar.name, value);
    let middle = if rows.above {
        top + 20.0 + rows.thick / 2.0
    } else {
        top + rows.pitch / 2.0
    };
    let baseline = middle + rows.size * 0.36;
    if rows.above {
        let room = canvas.width - left * 2.0;
        let text = fit(named(&bar.name, &bar.key), rows.size, room);
        let at = (left, top + 14.0);
        canvas.text(at, rows.size, Anchor::Start, Paint::Text, &text);
    } else {
        let text = fit(named(&bar.name, &bar.key), rows.size, names - GAP);
        let at = (left + names - GAP * 1.5, baseline);
        canvas.text(at, rows.size, Anchor::End, Paint::Text, &text);
    }
    let (zero, end) = ends;
    let inside = match hatch {
        Some(hatch) => manner::hatched(slot, hatch) + &canvas.stroke("", slot.paint),
        None => canvas.fill("", slot.paint),
    };
    canvas.ink.put(format_args!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"{inside}/>",
        length(zero.min(end)),
        length(middle - rows.thick / 2.0),
        // A value other than zero is visible.
        length((zero - end).abs().max(1.0)),
        length(rows.thick)
    ));
    let (at, anchor) = if end < zero {
        (end - GAP, Anchor::End)
    } else {
        (end + GAP, Anchor::Start)
    };
    canvas.text((at, baseline), rows.size, anchor, Paint::Muted, number);
    canvas.ink.0.push_str("</g>");
}

/// Summarises the first three bars.
fn gist(canvas: &Canvas, shown: &[(&Bar, f64)]) -> String {
    let first: Vec<String> = (shown.iter().take(3))
        .map(|(bar, value)| {
            format!(
                "{}: {}",
                named(&bar.name, &bar.key),
                number(*value, canvas.language)
            )
        })
        .collect();
    format!("{}.", first.join(", "))
}
