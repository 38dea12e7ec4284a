//! Parts that charts are put together from.

use super::sums::Sum;
use crate::chart_query::ChartQuery;
use crate::figure::{Cell, Column, Lines, Series, Style};
use crate::suggestions::meant;
use crate::text::Language;
use crate::time::Unit;

/// Returns a mean, rounded half up; 0 without hours.
pub(super) fn mean(sum: i64, hours: i64) -> i64 {
    if hours <= 0 {
        return 0;
    }
    (sum.saturating_mul(2).saturating_add(hours)).div_euclid(hours * 2)
}

/// Returns a value rounded half up, as [`mean`] does.
pub(super) fn rounded(value: f64) -> i64 {
    (value + 0.5).floor() as i64
}

/// Rounds to two digits after the point: further digits are noise, and cost bytes.
pub(super) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

pub(super) fn column(key: &'static str, title: &str) -> Column {
    Column {
        key,
        title: title.to_owned(),
    }
}

/// Returns a cell with a text, or an empty cell.
pub(super) fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Nothing, |text| Cell::Text(text.to_owned()))
}

pub(super) fn nodes(language: Language) -> &'static str {
    language.of("nodes", "Knoten")
}

pub(super) fn communities(language: Language) -> &'static str {
    language.of("communities", "Gemeinschaften")
}

/// The key of nodes that other entries count.
pub(super) const ELSEWHERE: &str = "elsewhere";

pub(super) fn elsewhere(language: Language) -> &'static str {
    language.of("counted with others", "bei anderen mitgezählt")
}

/// Returns the states of nodes by credibility.
pub(super) fn status(language: Language) -> [(&'static str, &'static str, Style); 3] {
    [
        ("live", language.of("live", "aktuell"), Style::Area),
        ("stale", language.of("stale", "veraltet"), Style::Hatched),
        (
            "frozen",
            language.of("frozen", "eingefroren"),
            Style::Hatched,
        ),
    ]
}

/// Returns a note that each point is a mean.
pub(super) fn means(by: Unit, language: Language) -> Option<String> {
    let text = match by {
        Unit::Hour => return None,
        Unit::Day => language.of(
            "Each point is the mean of its day.",
            "Jeder Punkt ist das Mittel seines Tages.",
        ),
        Unit::Month => language.of(
            "Each point is the mean of its month.",
            "Jeder Punkt ist das Mittel seines Monats.",
        ),
    };
    Some(text.to_owned())
}

/// Returns a note on the number of disbelieved numbers.
pub(crate) fn odd(count: i64, language: Language) -> Option<String> {
    let many = language.whole(count);
    let text = match (count, language) {
        (..=0, _) => return None,
        (1, Language::English) => "1 number was not believed (below 0, or above 100,000), and is \
                                   not counted."
            .to_owned(),
        (_, Language::English) => format!(
            "{many} numbers were not believed (below 0, or above 100,000), and are not counted."
        ),
        (1, Language::German) => {
            "1 Zahl ist nicht glaubhaft (unter 0 oder über 100.000) und nicht \
                                  mitgezählt."
                .to_owned()
        }
        (_, Language::German) => format!(
            "{many} Zahlen sind nicht glaubhaft (unter 0 oder über 100.000) und nicht mitgezählt."
        ),
    };
    Some(text)
}

/// Returns a note on unknown keys in `only`.
pub(super) fn unknown<'a>(
    asked: &ChartQuery,
    keys: impl Iterator<Item = &'a str> + Clone,
) -> Vec<String> {
    let missing = asked
        .only
        .iter()
        .filter(|key| !keys.clone().any(|known| known == *key));
    missing
        .take(5)
        .map(|key| match asked.language {
            Language::English => format!("`{key}` is not in it{}", meant(key, keys.clone())),
            Language::German => format!("`{key}` kommt darin nicht vor."),
        })
        .collect()
}

/// Returns values over time, each series as long as `numbers`.
pub(super) fn lines(
    by: Unit,
    numbers: &[i64],
    mut series: Vec<Series>,
    stacked: bool,
    unit: &str,
    asked: &ChartQuery,
) -> Lines {
    for one in &mut series {
        if !asked.only.is_empty() && !asked.only.contains(&one.key) {
            one.style = Style::Hidden;
        }
    }
    let lines = Lines {
        at: numbers.iter().map(|number| by.begin(*number)).collect(),
        series,
        stacked,
        unit: unit.to_owned(),
        odd: Vec::new(),
    };
    lines.with_pauses(by)
}

/// Series and their columns.
pub(super) fn kinds(language: Language) -> [(&'static str, &'static str, Style); 4] {
    let [live, stale, frozen] = status(language);
    [
        live,
        stale,
        frozen,
        (ELSEWHERE, elsewhere(language), Style::Hatched),
    ]
}

/// Means of each of [`kinds`].
pub(super) fn parts(sum: &Sum) -> [i64; 4] {
    let [live, stale, frozen] = sum.counted;
    [live, stale, frozen, sum.nodes - sum.counted()].map(|part| mean(part, sum.hours))
}
