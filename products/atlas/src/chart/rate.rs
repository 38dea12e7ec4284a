//! Growth against a year before.

use jiff::ToSpan;
use rusqlite::Connection;

use super::Chart;
use super::helpers::{column, hundredths, lines, mean, nodes, odd};
use super::range::{Range, RowScope};
use super::sums::{self, Total};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Cell, Figure, Plot, Series, Style, Table};
use crate::text::Language;
use crate::time::{Unit, day, hour_of};

/// See the module.
pub struct Rate;

impl Chart for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Growth rate", "Wachstumsrate")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Nodes of all communities against a year before, in per cent",
            "Knoten aller Gemeinschaften gegenüber dem Vorjahr, in Prozent",
        )
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let range = Range::of(store, asked, RowScope::One)?;
        let by = range.by;
        let totals = sums::totals(store, by, range.numbers())?;
        let back =
            year_before(by, range.first) - slack(by)..=year_before(by, range.last) + slack(by);
        let before = match totals.is_empty() {
            true => Vec::new(),
            false => sums::totals(store, by, back)?,
        };
        let pairs = totals.iter().map(|total| {
            let number = year_before(by, total.number);
            let then = nearest(&before, number, slack(by)).map(of);
            (total.number, of(total), then)
        });
        let points = pairs
            .map(|(number, now, then)| {
                // A rate needs a base above zero.
                let rate = then.filter(|then| *then > 0.0).map(|then| now / then);
                (
                    number,
                    now,
                    then,
                    rate.map(|rate| hundredths(100.0 * (rate - 1.0))),
                )
            })
            .collect::<Vec<_>>();
        let numbers = points
            .iter()
            .map(|(number, ..)| *number)
            .collect::<Vec<_>>();
        let series = Series {
            key: "rate".into(),
            name: language
                .of("against a year before", "gegenüber dem Vorjahr")
                .into(),
            values: (points.iter())
                .map(|(.., rate)| rate.filter(|rate| *rate <= MOST))
                .collect(),
            style: Style::Line,
        };
        let mut notes = range.notes.clone();
        let unbelieved = totals.iter().map(|total| total.odd).sum();
        notes.extend(odd(unbelieved, language));
        if points.iter().any(|(.., rate)| *rate > Some(MOST)) {
            let note = language.of(
                "More than 300 % is in the table only",
                "Mehr als 300 % steht nur in der Tabelle",
            );
            notes.push(note.into());
        }
        let whole = |value: f64| Cell::Whole(value as i64);
        let rows = points.iter().map(|(number, now, then, rate)| {
            vec![
                Cell::Time(by.begin(*number)),
                rate.map_or(Cell::Nothing, Cell::Real),
                whole(*now),
                then.map_or(Cell::Nothing, whole),
            ]
        });
        Ok(Figure {
            title: self.title(language).into(),
            name: self.title(language).into(),
            notes,
            odd: unbelieved,
            from: range.from(),
            to: range.to(),
            by,
            plot: Plot::Time(lines(by, &numbers, vec![series], false, "%", asked)),
            table: Table {
                name: "series",
                columns: vec![
                    column("t", language.of("time", "Zeit")),
                    column("rate", "%"),
                    column("nodes", nodes(language)),
                    column("before", language.of("a year before", "ein Jahr zuvor")),
                ],
                rows: rows.collect(),
            },
        })
    }
}

/// Maximum drawn per cent: the first years of a directory have higher values, which would hide all
/// others.
const MOST: f64 = 300.0;

fn of(total: &Total) -> f64 {
    mean(total.nodes(), total.hours) as f64
}

/// Returns the allowed distance of a snapshot from the same day a year before: half a week, as some
/// directories were archived weekly.
fn slack(by: Unit) -> i64 {
    match by {
        Unit::Hour => 84,
        Unit::Day => 3,
        Unit::Month => 0,
    }
}

fn year_before(by: Unit, number: i64) -> i64 {
    if by == Unit::Month {
        return number - 12;
    }
    let hour = by.begin(number);
    let date = day(hour);
    let then = date.checked_sub(1.year()).unwrap_or(date);
    by.number(hour_of(then) + hour.rem_euclid(24))
}

fn nearest(totals: &[Total], number: i64, slack: i64) -> Option<&Total> {
    let at = totals.partition_point(|total| total.number < number);
    let around = totals[at.saturating_sub(1)..].iter().take(2);
    let distance = |total: &&Total| (total.number - number).abs();
    around
        .min_by_key(distance)
        .filter(|total| distance(total) <= slack)
}
