//! Numbers as texts for readers, and the ticks of an axis.

use crate::text::Language;

/// Greater values are drawn as this value: a picture needs no more, and sums stay finite.
const MOST: f64 = 1e15;

/// Values closer to zero count as zero.
const LEAST: f64 = 1e-9;

/// Returns a value that can be drawn; `None`: not a number.
pub(super) fn sane(value: f64) -> Option<f64> {
    match value {
        value if value.is_nan() => None,
        value if value.abs() < LEAST => Some(0.0),
        value => Some(value.clamp(-MOST, MOST)),
    }
}

/// Formats a number: `12,000`, `3.5`, `−4`; in German `12.000`, `3,5`.
pub(super) fn number(value: f64, language: Language) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 1.0 => 1,
        value if value >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{:.digits$}", value.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let (thousands, decimal) = match language {
        Language::English => (',', '.'),
        Language::German => ('.', ','),
    };
    let mut out = String::new();
    let part = part.trim_end_matches('0');
    if value < 0.0 && (!part.is_empty() || whole != "0") {
        out.push('−');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(thousands);
        }
        out.push(digit);
    }
    if !part.is_empty() {
        out.push(decimal);
        out.push_str(part);
    }
    out
}

/// Formats as [`number`], with the unit: `1,200 nodes`, `4.5%`.
pub(super) fn with_unit(value: f64, unit: &str, language: Language) -> String {
    let text = number(value, language);
    match (unit, language) {
        ("", _) => text,
        ("%", Language::English) => text + "%",
        (unit, _) => format!("{text}\u{a0}{}", one_or_many(unit, value == 1.0)),
    }
}

/// Returns the unit in singular or plural.
fn one_or_many(unit: &str, one: bool) -> &str {
    match (one, unit) {
        (true, "nodes") => "node",
        (true, "communities") => "community",
        (true, "Gemeinschaften") => "Gemeinschaft",
        _ => unit,
    }
}

/// Formats as [`number`], but briefly for large ones: `1.5 M`.
pub(super) fn short(value: f64, language: Language) -> String {
    let (by, word) = match value.abs() {
        value if value >= 1e12 => (1e12, language.of("T", "Bio.")),
        value if value >= 1e9 => (1e9, language.of("B", "Mrd.")),
        value if value >= 1e6 => (1e6, language.of("M", "Mio.")),
        _ => return number(value, language),
    };
    format!("{}\u{a0}{word}", number(value / by, language))
}

/// An axis of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) ticks: Vec<f64>,
}

/// Returns an axis from zero, or from below it, to a round number that is not below `most`, with
/// some `count` round numbers on it.
pub(super) fn scale(least: f64, most: f64, count: usize) -> Scale {
    let (mut least, mut most) = (least.min(0.0), most.max(0.0));
    if most - least <= 0.0 {
        most = 1.0;
    }
    let rough = (most - least) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|by| by * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(power * 10.0);
    let (first, last) = ((least / step).floor(), (most / step).ceil());
    (least, most) = (first * step, last * step);
    let ticks = (first as i64..=last as i64)
        .map(|at| at as f64 * step)
        .collect();
    Scale { least, most, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Language::{English, German};

    #[test]
    fn numbers_in_two_languages() {
        for (value, english, german) in [
            (12000.0, "12,000", "12.000"),
            (1234567.0, "1,234,567", "1.234.567"),
            (999.6, "1,000", "1.000"),
            (3.5, "3.5", "3,5"),
            (-40.0, "−40", "−40"),
            (-0.0001, "0", "0"),
            (0.25, "0.25", "0,25"),
        ] {
            assert_eq!(number(value, English), english);
            assert_eq!(number(value, German), german);
        }
        assert_eq!(with_unit(4.5, "%", English), "4.5%");
        assert_eq!(with_unit(4.5, "%", German), "4,5\u{a0}%");
        for (value, unit, language, text) in [
            (1.0, "nodes", English, "1\u{a0}node"),
            (2.0, "nodes", English, "2\u{a0}nodes"),
            (1.0, "communities", English, "1\u{a0}community"),
            (1.0, "Knoten", German, "1\u{a0}Knoten"),
            (1.0, "Gemeinschaften", German, "1\u{a0}Gemeinschaft"),
            (0.0, "Gemeinschaften", German, "0\u{a0}Gemeinschaften"),
        ] {
            assert_eq!(with_unit(value, unit, language), text);
        }
        assert_eq!(short(1_500_000.0, German), "1,5\u{a0}Mio.");
    }

    #[test]
    fn scales_are_round() {
        let growth = scale(0.0, 50700.0, 5);
        assert_eq!(growth.ticks.last(), Some(&60000.0));
        assert_eq!(growth.ticks.len(), 4);
        assert_eq!(scale(0.0, 0.0, 5).most, 1.0);
        let rate = scale(-12.0, 90.0, 5);
        assert_eq!((rate.least, rate.most), (-50.0, 100.0));
        for value in [LEAST, 0.3, 7.0, MOST] {
            let scale = scale(-value, value, 6);
            assert!(scale.most >= value && scale.least <= -value, "{scale:?}");
            assert!((2..=15).contains(&scale.ticks.len()), "{scale:?}");
        }
    }
}
