//! Several communities side by side: a line for each.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use crate::chart::helpers::{column, kinds, lines, mean, nodes, odd, parts, unknown};
use crate::chart::range::{Range, RowScope};
use crate::chart::rank;
use crate::chart::sums::{self, Community, Profiles, Sum};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Bar, Cell, Figure, Plot, Series, Style, Table};

pub(super) fn figure(
    store: &Connection,
    asked: &ChartQuery,
    communities: &[Community],
    profiles: &mut Profiles<'_>,
) -> Result<Figure, Error> {
    let language = asked.language;
    let range = Range::of(store, asked, RowScope::One)?;
    let mut named = Vec::new();
    let mut sums = Vec::new();
    let mut unbelieved = 0;
    for one in communities {
        let profile = profiles.get(one.profile.unwrap_or(0))?;
        named.push(Bar {
            key: one.key.clone(),
            name: rank::named(&profile, &one.key),
            value: 0.0,
        });
        let own = sums::of(store, range.by, range.numbers(), one.id)?;
        unbelieved += own.iter().map(|sum| sum.odd).sum::<i64>();
        let own = own.into_iter().filter(|sum| sum.hours > 0);
        sums.push(
            own.map(|sum| (sum.number, sum))
                .collect::<HashMap<i64, Sum>>(),
        );
    }
    let names: Vec<String> = named.iter().map(|one| one.name.clone()).collect();
    rank::tell_apart(&mut named);
    let numbers: BTreeSet<i64> = sums.iter().flat_map(HashMap::keys).copied().collect();
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let series = named.iter().zip(&sums).map(|(one, sums)| Series {
        key: one.key.clone(),
        name: one.name.clone(),
        values: numbers
            .iter()
            .map(|number| {
                sums.get(number)
                    .map(|sum| mean(sum.nodes, sum.hours) as f64)
            })
            .collect(),
        style: Style::Line,
    });
    let series = series.collect();
    let mut rows = Vec::new();
    for number in &numbers {
        for ((one, name), sums) in communities.iter().zip(&names).zip(&sums) {
            let Some(sum) = sums.get(number) else {
                continue;
            };
            if !asked.only.is_empty() && !asked.only.contains(&one.key) {
                continue;
            }
            let mut row = vec![
                Cell::Time(range.by.begin(*number)),
                Cell::Text(one.key.clone()),
                Cell::Text(name.clone()),
                Cell::Whole(mean(sum.nodes, sum.hours)),
            ];
            row.extend(parts(sum).map(Cell::Whole));
            rows.push(row);
        }
    }
    let mut columns = vec![
        column("t", language.of("time", "Zeit")),
        column("key", language.of("key", "Schlüssel")),
        column("name", language.of("name", "Name")),
        column("nodes", nodes(language)),
    ];
    columns.extend(kinds(language).map(|(key, name, _)| column(key, name)));
    let mut notes = range.notes.clone();
    notes.extend(odd(unbelieved, language));
    notes.extend(unknown(
        asked,
        communities.iter().map(|one| one.key.as_str()),
    ));
    let title: Vec<&str> = named.iter().map(|one| one.name.as_str()).collect();
    let title = title.join(", ");
    Ok(Figure {
        name: title.clone(),
        title,
        from: range.from(),
        to: range.to(),
        by: range.by,
        plot: Plot::Time(lines(
            range.by,
            &numbers,
            series,
            false,
            nodes(language),
            asked,
        )),
        notes,
        odd: unbelieved,
        table: Table {
            name: "series",
            columns,
            rows,
        },
    })
}
