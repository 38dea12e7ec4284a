//! Growth: nodes of all communities over time.

use rusqlite::Connection;

use super::helpers::{column, communities, lines, mean, means, nodes, odd, status, unknown};
use super::range::{Range, RowScope};
use super::{Chart, sums};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Cell, Figure, Odd, Plot, Series, Table};
use crate::text::Language;

/// See the module.
pub struct Growth;

impl Chart for Growth {
    fn name(&self) -> &'static str {
        "growth"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Growth", "Wachstum")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Nodes of all communities, from thirteen years down to an hour, and how old the \
             numbers are",
            "Knoten aller Gemeinschaften, von dreizehn Jahren bis zur Stunde, und wie alt die \
             Zahlen sind",
        )
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let range = Range::of(store, asked, RowScope::One)?;
        let totals = sums::totals(store, range.by, range.numbers())?;
        let parts = status(language);
        let series = parts.iter().enumerate().map(|(index, (key, name, style))| {
            let values = totals
                .iter()
                .map(|total| Some(mean(total.counted[index], total.hours) as f64));
            Series {
                key: (*key).into(),
                name: (*name).into(),
                values: values.collect(),
                style: *style,
            }
        });
        let numbers = totals.iter().map(|total| total.number).collect::<Vec<_>>();
        let series = series.collect();
        let mut plot = lines(range.by, &numbers, series, true, nodes(language), asked);
        let unbelieved = totals.iter().map(|total| total.odd).sum();
        // The sum lacks the disbelieved numbers of these points.
        let odd_at = totals.iter().filter(|total| total.odd > 0);
        plot.odd = odd_at
            .map(|total| Odd {
                at: range.by.begin(total.number),
                value: None,
                count: total.odd,
            })
            .collect();
        let rows = totals.iter().map(|total| {
            let sums = [total.nodes()].into_iter().chain(total.counted);
            [Cell::Time(range.by.begin(total.number))]
                .into_iter()
                .chain(
                    sums.chain([total.listed])
                        .map(|sum| Cell::Whole(mean(sum, total.hours))),
                )
                .chain((unbelieved > 0).then_some(Cell::Whole(total.odd)))
                .collect()
        });
        let [live, stale, frozen] = parts.map(|(key, name, _)| column(key, name));
        let mut notes = range.notes.clone();
        notes.extend(means(range.by, language));
        notes.extend(odd(unbelieved, language));
        notes.extend(unknown(asked, parts.iter().map(|(key, ..)| *key)));
        Ok(Figure {
            title: self.title(language).into(),
            name: self.title(language).into(),
            notes,
            odd: unbelieved,
            from: range.from(),
            to: range.to(),
            by: range.by,
            plot: Plot::Time(plot),
            table: Table {
                name: "series",
                columns: vec![
                    column("t", language.of("time", "Zeit")),
                    column("nodes", nodes(language)),
                    live,
                    stale,
                    frozen,
                    column("communities", communities(language)),
                ]
                .into_iter()
                .chain((unbelieved > 0).then(|| {
                    let title = language.of("numbers not believed", "nicht glaubhafte Zahlen");
                    column("odd", title)
                }))
                .collect(),
                rows: rows.collect(),
            },
        })
    }
}
