//! How a series looks: its hatch, its dash, its marks, and a sample of it in the legend.

use super::colour::{self, Slot};
use super::ink::length;
use super::legend::Entry;
use super::{Canvas, ID, Paint};
use crate::figure::Style;

/// Hatches for what is old: each leans another way, and they get closer. Then those for colours that
/// are there before: dots, lines that lie, lines that stand. Each: how far apart, its angle, and the
/// path of one.
const HATCHES: [(u32, i32, &str); 7] = [
    (6, 45, "M0 0V6"),
    (4, -45, "M0 0V4"),
    (5, 20, "M0 0V5"),
    (5, -20, "M0 0V5"),
    (5, 0, "M1 2.5h3"),
    (6, 90, "M0 0V6"),
    (6, 0, "M0 0V6"),
];
/// How many of them are for what is old.
const OLD: usize = 4;

pub(super) fn hatch(style: Style, slot: Slot, old: &mut usize) -> Option<usize> {
    match (style, slot.round) {
        (Style::Hatched, _) => {
            *old += 1;
            Some((*old - 1) % OLD)
        }
        (Style::Line | Style::Hidden, _) | (_, 0) => None,
        (_, round) => Some(OLD + (round - 1) % (HATCHES.len() - OLD)),
    }
}

/// The attributes of a band's inside.
pub(super) fn inside(canvas: &Canvas, entry: &Entry) -> String {
    match entry.hatch {
        Some(hatch) => hatched(entry.slot, hatch),
        None => canvas.fill("", entry.slot.paint) + " fill-opacity=\".5\"",
    }
}

/// The attribute of what is hatched.
pub(super) fn hatched(slot: Slot, hatch: usize) -> String {
    format!(" fill=\"url(#{})\"", pattern(slot, hatch))
}

/// The id of a hatch.
fn pattern(slot: Slot, hatch: usize) -> String {
    format!("{ID}-h{hatch}-{}-{}", slot.mark, slot.round)
}

/// Defines the hatches of what is painted so.
pub(super) fn hatches(canvas: &mut Canvas, used: impl Iterator<Item = (Slot, Option<usize>)>) {
    let mut begun = false;
    for (slot, hatch) in used {
        let Some(hatch) = hatch else { continue };
        let (apart, angle, path) = HATCHES[hatch % HATCHES.len()];
        if !begun {
            canvas.ink.0.push_str("<defs>");
            begun = true;
        }
        let (fill, stroke) = (canvas.fill("", slot.paint), canvas.stroke("", slot.paint));
        canvas.ink.put(format_args!(
            "<pattern id=\"{}\" width=\"{apart}\" height=\"{apart}\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({angle})\">\
             <rect width=\"{apart}\" height=\"{apart}\"{fill} fill-opacity=\".15\"/>\
             <path d=\"{path}\"{stroke} stroke-width=\"2.4\"/></pattern>",
            pattern(slot, hatch)
        ));
    }
    if begun {
        canvas.ink.0.push_str("</defs>");
    }
}

/// How a series looks, in the legend. `place`: left, middle.
pub(super) fn sample(canvas: &mut Canvas, entry: &Entry, (x, y): (f64, f64)) {
    let paint = entry.slot.paint;
    if entry.series.style == Style::Line {
        let stroke = canvas.stroke("", paint);
        let both = colour::paint(canvas.theme, "", Some(paint), Some(Paint::Ground));
        canvas.ink.put(format_args!(
            "<path d=\"M{} {}h16\" fill=\"none\"{stroke} stroke-width=\"2\"{}/>\
             <path d=\"{}\"{both}/>",
            length(x),
            length(y),
            dash(entry),
            mark(entry.slot.mark, x + 8.0, y)
        ));
        return;
    }
    let inside = match entry.series.style {
        Style::Columns if entry.hatch.is_none() => canvas.fill("", paint),
        _ => inside(canvas, entry),
    };
    let stroke = canvas.stroke("", paint);
    canvas.ink.put(format_args!(
        "<rect x=\"{0}\" y=\"{1}\" width=\"15\" height=\"11\" rx=\"2\"{inside}/>\
         <rect x=\"{0}\" y=\"{1}\" width=\"15\" height=\"11\" rx=\"2\" fill=\"none\"{stroke}/>",
        length(x + 0.5),
        length(y - 5.5)
    ));
}

/// A colour that is there for the second time is dashed.
pub(super) fn dash(entry: &Entry) -> &'static str {
    match entry.slot.round {
        0 => "",
        1 => " stroke-dasharray=\"7 3\"",
        _ => " stroke-dasharray=\"2 3\"",
    }
}

/// A mark: of each shape one, all as large to the eye.
pub(super) fn mark(nth: usize, x: f64, y: f64) -> String {
    const SHAPES: [&str; 9] = [
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
        "m-3.5-3.5h7v7h-7z",
        "m0-5 4.7 8h-9.4z",
        "m0-5 5 5-5 5-5-5z",
        "m0 5 4.7-8h-9.4z",
        "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
        "m-2-4.5h4l2.5 4.5-2.5 4.5h-4l-2.5-4.5z",
        "m0-5.5 1.5 4 4 1.5-4 1.5-1.5 4-1.5-4-4-1.5 4-1.5z",
        "m-5-1.5h10v3h-10z",
    ];
    format!("M{} {}{}", length(x), length(y), SHAPES[nth % SHAPES.len()])
}
