//! Style of a series: its hatch, dash and marks, and its sample in the legend.

use super::canvas::Canvas;
use super::colour::{self, Paint, ROUNDS, Slot};
use super::ink::{ID, length};
use crate::figure::{Series, Style};

/// A series in the legend.
pub(super) struct Entry<'a> {
    pub(super) series: &'a Series,
    pub(super) slot: Slot,
    /// True unless filtered out.
    pub(super) shown: bool,
    /// Index of the hatch.
    pub(super) hatch: Option<usize>,
}

/// Hatches for old numbers, with different angles and increasing density. Then hatches that
/// distinguish names of one colour: dots, and horizontal, vertical, crossed, broken and slanted
/// lines. Each: distance, angle, and path.
const HATCHES: [(u32, i32, &str); OLD + ROUNDS - 1] = [
    (6, 45, "M0 0V6"),
    (4, -45, "M0 0V4"),
    (5, 20, "M0 0V5"),
    (5, -20, "M0 0V5"),
    (5, 0, "M1 2.5h3"),
    (6, 90, "M0 0V6"),
    (6, 0, "M0 0V6"),
    (8, 0, "M0 4H8M4 0V8"),
    (8, 45, "M0 2h5M4 6h5"),
    (7, 35, "M0 0V7"),
    (7, -35, "M0 0V7"),
    (9, 65, "M0 0V9"),
    (5, -65, "M0 0V5"),
];
/// Number of hatches for old numbers.
const OLD: usize = 4;

pub(super) fn hatch(style: Style, slot: Slot) -> Option<usize> {
    match (style, slot.round) {
        (Style::Hatched, round) => Some(round % OLD),
        (Style::Line | Style::Hidden, _) | (_, 0) => None,
        (_, round) => Some(OLD + (round - 1) % (ROUNDS - 1)),
    }
}

/// Returns the attributes of a band's inside.
pub(super) fn inside(canvas: &Canvas, entry: &Entry) -> String {
    match entry.hatch {
        Some(hatch) => hatched(entry.slot, hatch),
        None => canvas.fill("", entry.slot.paint) + " fill-opacity=\".5\"",
    }
}

/// Returns the attribute of a hatched element.
pub(super) fn hatched(slot: Slot, hatch: usize) -> String {
    format!(" fill=\"url(#{})\"", pattern(slot, hatch))
}

/// Returns the id of a hatch.
fn pattern(slot: Slot, hatch: usize) -> String {
    format!("{ID}-h{hatch}-{}", slot.paint.name())
}

/// Defines the hatches in use.
pub(super) fn hatches(canvas: &mut Canvas, used: impl Iterator<Item = (Slot, Option<usize>)>) {
    let mut begun = false;
    let mut defined = Vec::new();
    for (slot, hatch) in used {
        let Some(hatch) = hatch else { continue };
        let name = pattern(slot, hatch);
        if defined.contains(&name) {
            continue;
        }
        let (apart, angle, path) = HATCHES[hatch % HATCHES.len()];
        if !begun {
            canvas.ink.0.push_str("<defs>");
            begun = true;
        }
        // Old numbers are pale.
        let opacity = if hatch < OLD { ".15" } else { ".5" };
        let (fill, stroke) = (canvas.fill("", slot.paint), canvas.stroke("", slot.paint));
        canvas.ink.put(format_args!(
            "<pattern id=\"{}\" width=\"{apart}\" height=\"{apart}\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({angle})\">\
             <rect width=\"{apart}\" height=\"{apart}\"{fill} fill-opacity=\"{opacity}\"/>\
             <path d=\"{path}\"{stroke} stroke-width=\"2.4\"/></pattern>",
            name
        ));
        defined.push(name);
    }
    if begun {
        canvas.ink.0.push_str("</defs>");
    }
}

/// Draws the sample of a series in the legend. `place`: left, middle.
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

/// Returns the dash, which distinguishes names of one colour.
pub(super) fn dash(entry: &Entry) -> &'static str {
    const DASHES: [&str; ROUNDS] = [
        "",
        " stroke-dasharray=\"7 3\"",
        " stroke-dasharray=\"2 3\"",
        " stroke-dasharray=\"9 3 2 3\"",
        " stroke-dasharray=\"14 4\"",
        " stroke-dasharray=\"9 3 2 3 2 3\"",
        " stroke-dasharray=\"4 4\"",
        " stroke-dasharray=\"20 3 2 3\"",
        " stroke-dasharray=\"5 2 1 2\"",
        " stroke-dasharray=\"14 3 5 3\"",
    ];
    DASHES[entry.slot.round % ROUNDS]
}

/// Draws a mark: one of each shape, all of equal visual size.
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
