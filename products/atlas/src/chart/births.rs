//! Communities that appeared, and that were last seen.

use rusqlite::Connection;

use super::helpers::{column, communities, lines, unknown};
use super::range::{Range, RowScope};
use super::{Chart, sums};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Cell, Figure, Plot, Series, Style, Table};
use crate::text::Language;

/// See the module.
pub struct Births;

impl Chart for Births {
    fn name(&self) -> &'static str {
        "births"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Births and deaths", "Geburten und Tode")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Communities that appeared in the directory, and that were last seen in it",
            "Gemeinschaften, die im Verzeichnis erschienen, und die zuletzt darin gesehen wurden",
        )
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let range = Range::of(store, asked, RowScope::One)?;
        let totals = sums::totals(store, range.by, range.numbers())?;
        // Counts: at the begin of the record, appeared, gone.
        let mut counts = vec![[0_i64; 3]; totals.len()];
        let (first, last) = range.record.unwrap_or_default();
        let mut count = |hour: i64, kind: usize| {
            let number = range.by.number(hour);
            if let Ok(at) = totals.binary_search_by_key(&number, |total| total.number) {
                counts[at][kind] += 1;
            }
        };
        for community in sums::communities(store)? {
            let (Some(from), Some(to)) = (community.first_hour, community.last_hour) else {
                continue;
            };
            count(from, usize::from(from > first));
            if to < last {
                count(to, 2);
            }
        }
        let kinds = [
            (
                "begin",
                language.of("begin of the record", "Beginn der Aufzeichnung"),
            ),
            ("appeared", language.of("appeared", "erschienen")),
            ("gone", language.of("last seen", "zuletzt gesehen")),
        ];
        let series = kinds.iter().enumerate().map(|(kind, (key, name))| {
            let sign = if kind == 2 { -1 } else { 1 };
            let values = counts
                .iter()
                .map(|counts| Some((counts[kind] * sign) as f64));
            Series {
                key: (*key).into(),
                name: (*name).into(),
                values: values.collect(),
                style: Style::Columns,
            }
        });
        // If the range does not contain the begin of the record, its series is left out.
        let begins = counts.iter().any(|[begin, ..]| *begin > 0);
        let series = series.skip(usize::from(!begins)).collect();
        let numbers = totals.iter().map(|total| total.number).collect::<Vec<_>>();
        let plot = lines(
            range.by,
            &numbers,
            series,
            true,
            communities(language),
            asked,
        );
        let rows = totals.iter().zip(&counts).map(|(total, counts)| {
            let time = Cell::Time(range.by.begin(total.number));
            [time].into_iter().chain(counts.map(Cell::Whole)).collect()
        });
        let mut notes = range.notes.clone();
        if begins {
            let note = language.of(
                "Those in the first snapshot of all may be older than the record.",
                "Was im allerersten Schnappschuss steht, kann älter sein als die Aufzeichnung.",
            );
            notes.push(note.to_owned());
        }
        notes.extend(unknown(asked, kinds.iter().map(|(key, _)| *key)));
        let mut columns = vec![column("t", language.of("time", "Zeit"))];
        columns.extend(kinds.map(|(key, name)| column(key, name)));
        Ok(Figure {
            title: self.title(language).into(),
            name: self.title(language).into(),
            notes,
            odd: 0,
            from: range.from(),
            to: range.to(),
            by: range.by,
            plot: Plot::Time(plot),
            table: Table {
                name: "series",
                columns,
                rows: rows.collect(),
            },
        })
    }
}
