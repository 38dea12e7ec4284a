//! Values over time: lines, stacked bands, columns.

mod series;

use super::canvas::{Area, Canvas, Drawn};
use super::legend;
use super::manner::{Entry, hatch, hatches};
use super::number::{Scale, sane, scale, with_unit};
use super::{axis, calendar, colour, frame, odd};
use crate::figure::Lines;
use crate::text::Language;

use series::{Band, Drawing, Place};

/// Largest number of series drawn, and of hidden ones named: more cannot be distinguished.
const SERIES: usize = 24;
/// Largest size of all series in a picture, in bytes.
const OCTETS: usize = 90_000;

/// Draws the series.
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

/// Returns the series to draw or name, in order.
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
            Language::English if left == 1 => "1 smaller series is not drawn.".to_owned(),
            Language::German if left == 1 => "1 kleinere Reihe ist nicht gezeichnet.".to_owned(),
            Language::English => format!("{left} smaller series are not drawn."),
            Language::German => format!("{left} kleinere Reihen sind nicht gezeichnet."),
        });
    }
    kept.sort_unstable();
    kept
}

fn entries<'a>(lines: &'a Lines, kept: &[usize]) -> Vec<Entry<'a>> {
    kept.iter()
        .map(|at| {
            let series = &lines.series[*at];
            let slot = colour::slot(&series.key);
            Entry {
                series,
                slot,
                shown: !legend::is_hidden(series),
                hatch: hatch(series.style, slot),
            }
        })
        .collect()
}

/// Returns the places of the points from left to right.
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

/// Returns the lower and upper values of each shown series.
fn bands(lines: &Lines, shown: &[&Entry]) -> Vec<Band> {
    let value = |entry: &Entry, at: usize| entry.series.values.get(at).copied().flatten();
    // A missing value in a negative series keeps its edge below zero.
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
            // A missing value counts as zero in a stack, unless all are missing.
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

/// Returns the series, as finely as their limit in bytes allows.
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

/// Describes first, last and largest values: of the whole, otherwise of the first few series.
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
