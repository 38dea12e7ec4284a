//! The legend: samples of all series, and with addresses a filter.

use super::canvas::{Anchor, Area, Canvas, LETTERS};
use super::colour::Paint;
use super::ink::{escape, length, named};
use super::letters::{fit, width};
use super::manner;
use super::manner::Entry;
use crate::figure::{Series, Style};

/// An address may be as long as browsers take it.
const ADDRESS: usize = 4000;
const SIZE: f64 = 13.0;
const ROW: f64 = 22.0;
/// Width of the sample with its gap to the name.
const SAMPLE: f64 = 22.0;

/// Draws the legend in rows from `area.top`; returns its lower end.
pub(super) fn draw(canvas: &mut Canvas, entries: &[Entry], area: Area) -> f64 {
    let most = if canvas.height < 300.0 { 2 } else { 4 };
    let longest = (area.width() * 0.6 - SAMPLE).max(40.0);
    let (mut x, mut row) = (area.left, 0);
    canvas.ink.0.push_str("<g class=\"legend\">");
    for (at, entry) in entries.iter().enumerate() {
        let name = named(&entry.series.name, &entry.series.key);
        let name = fit(name, SIZE, longest);
        let wide = SAMPLE + width(&name, SIZE);
        if x > area.left && x + wide > area.right {
            x = area.left;
            row += 1;
        }
        let left = entries.len() - at;
        // The last row keeps room for how many are left out.
        if row + 1 == most && left > 1 && x + wide + 60.0 > area.right || row >= most {
            let y = area.top + (row.min(most - 1) as f64) * ROW + 14.0;
            canvas.text(
                (x, y),
                SIZE,
                Anchor::Start,
                Paint::Muted,
                &format!("+ {left}"),
            );
            row = row.min(most - 1);
            break;
        }
        entry_at(canvas, entries, at, (x, area.top + row as f64 * ROW), &name);
        x += wide + 16.0;
    }
    canvas.ink.0.push_str("</g>");
    area.top + (row + 1) as f64 * ROW
}

fn entry_at(canvas: &mut Canvas, entries: &[Entry], at: usize, place: (f64, f64), name: &str) {
    let entry = &entries[at];
    let wide = SAMPLE + width(name, SIZE);
    canvas.ink.put(format_args!(
        "<g class=\"entry\" data-key=\"{}\" data-shown=\"{}\">",
        escape(&entry.series.key, LETTERS),
        if entry.shown { "yes" } else { "no" },
    ));
    let address = address(canvas, entries, at);
    if let Some(address) = &address {
        let (one, other) = if entry.shown {
            ("Hide", "ausblenden")
        } else {
            ("Show", "zeigen")
        };
        let name = escape(name, LETTERS);
        let says = match canvas.language {
            crate::text::Language::English => format!("{one} {name}"),
            crate::text::Language::German => format!("{name} {other}"),
        };
        canvas.ink.put(format_args!(
            "<a href=\"{}\" aria-label=\"{says}\"><title>{says}</title>",
            escape(address, ADDRESS)
        ));
        // The whole entry is clickable, not only its letters.
        canvas.ink.put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" \
             pointer-events=\"all\"/>",
            length(place.0 - 4.0),
            length(place.1 - 1.0),
            length(wide + 8.0),
            length(ROW)
        ));
    }
    let middle = place.1 + 10.0;
    if entry.shown {
        manner::sample(canvas, entry, (place.0, middle));
    } else {
        let stroke = canvas.stroke("", Paint::Axis);
        canvas.ink.put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"10\" rx=\"2\" fill=\"none\"{stroke}/>",
            length(place.0 + 0.5),
            length(middle - 5.0)
        ));
    }
    let paint = if entry.shown {
        Paint::Text
    } else {
        Paint::Muted
    };
    if !entry.shown {
        canvas
            .ink
            .0
            .push_str("<g text-decoration=\"line-through\">");
    }
    let at = (place.0 + SAMPLE, place.1 + 14.5);
    canvas.text(at, SIZE, Anchor::Start, paint, name);
    if !entry.shown {
        canvas.ink.0.push_str("</g>");
    }
    if address.is_some() {
        canvas.ink.0.push_str("</a>");
    }
    canvas.ink.0.push_str("</g>");
}

/// Returns the address that hides a series, or shows it again.
fn address(canvas: &Canvas, entries: &[Entry], at: usize) -> Option<String> {
    let links = canvas.links?;
    let shown = |(nth, entry): (usize, &Entry)| entry.shown != (nth == at);
    let keys: Vec<String> = (entries.iter().enumerate())
        .filter(|each| shown(*each))
        .map(|(_, entry)| entry.series.key.clone())
        .collect();
    // A filter needs some series, but not all.
    let address = if keys.len() == entries.len() {
        links(&[])
    } else {
        links(&keys)
    };
    (address.len() < ADDRESS).then_some(address)
}

/// Returns true if a series is filtered out.
pub(super) fn is_hidden(series: &Series) -> bool {
    series.style == Style::Hidden
}
