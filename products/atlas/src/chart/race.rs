//! The ranking of communities, point by point, for a race of bars.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::Connection;

use super::helpers::{column, mean, nodes, odd};
use super::range::{Range, RowScope};
use super::sums::{self, Profiles};
use super::{Chart, Parameter, rank};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Bar, Cell, Figure, Plot, Table};
use crate::text::Language;

const USUAL: usize = 10;

/// Rows of the table.
const ROWS: usize = 10_000;

/// A community at a point; the first is the largest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Runner {
    nodes: Reverse<i64>,
    /// Among all communities.
    place: usize,
    profile: i64,
}

/// See the module.
pub struct Race;

impl Chart for Race {
    fn name(&self) -> &'static str {
        "race"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Race", "Wettlauf")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "The largest communities as they overtake each other; the table has all times",
            "Die größten Gemeinschaften, wie sie einander überholen; die Tabelle hat alle Zeiten",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::At, Parameter::Count]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let range = Range::of(store, asked, RowScope::All)?;
        let n = asked.n.unwrap_or(USUAL);
        let communities = sums::communities(store)?;
        // Positions in the order of keys, which decides ties.
        let places = communities
            .iter()
            .enumerate()
            .filter(|(_, one)| asked.only.is_empty() || asked.only.contains(&one.key))
            .map(|(place, one)| (one.id, place))
            .collect::<HashMap<_, _>>();
        let mut races = Vec::<(i64, Vec<Runner>)>::new();
        let mut unbelieved = 0;
        sums::each(store, range.by, range.numbers(), |sum| {
            unbelieved += sum.odd;
            let place = places.get(&sum.community).filter(|_| sum.hours > 0);
            let Some(&place) = place else { return Ok(()) };
            let runner = Runner {
                nodes: Reverse(mean(sum.nodes, sum.hours)),
                place,
                profile: sum.profile,
            };
            match races.last_mut() {
                Some((number, runners)) if *number == sum.number => runners.push(runner),
                _ => races.push((sum.number, vec![runner])),
            }
            Ok(())
        })?;
        for (_, runners) in &mut races {
            runners.sort_unstable();
            runners.truncate(n);
        }
        let rows = races
            .iter()
            .map(|(_, runners)| runners.len())
            .sum::<usize>();
        if rows > ROWS {
            let error = format!(
                "{rows} places are more than {ROWS}: give a smaller `n`, a coarser `by`, or a \
                 shorter range"
            );
            return Err(Error::Asked(error));
        }
        // The bars are of the last point that begins before the end of `at`.
        let before = |(number, _): &&(i64, Vec<Runner>)| {
            asked.at.is_none_or(|at| range.by.begin(*number) < at.end)
        };
        let at = races.iter().rev().find(before);
        let mut profiles = Profiles::new(store);
        let mut bar = |runner: &Runner| -> Result<Bar, Error> {
            let key = &communities[runner.place].key;
            Ok(Bar {
                key: key.clone(),
                name: rank::named(&*profiles.get(runner.profile)?, key),
                value: runner.nodes.0 as f64,
            })
        };
        let mut rows = Vec::with_capacity(rows);
        let mut bars = Vec::new();
        for race in &races {
            for (place, runner) in (1..).zip(&race.1) {
                let bar = bar(runner)?;
                rows.push(vec![
                    Cell::Time(range.by.begin(race.0)),
                    Cell::Whole(place),
                    Cell::Text(bar.key.clone()),
                    Cell::Text(bar.name.clone()),
                    Cell::Whole(bar.value as i64),
                ]);
                if at.is_some_and(|at| at.0 == race.0) {
                    bars.push(bar);
                }
            }
        }
        rank::tell_apart(&mut bars);
        let mut notes = range.notes.clone();
        notes.extend(odd(unbelieved, language));
        let title = self.title(language);
        Ok(Figure {
            title: match at {
                Some((number, _)) => {
                    let label = super::range::label(range.by, *number, language);
                    format!("{title}, {label}")
                }
                None => title.to_owned(),
            },
            name: title.to_owned(),
            notes,
            odd: unbelieved,
            from: range.from(),
            to: range.to(),
            by: range.by,
            plot: Plot::Bars(bars),
            table: Table {
                name: "ranks",
                columns: vec![
                    column("t", language.of("time", "Zeit")),
                    column("rank", language.of("rank", "Rang")),
                    column("key", language.of("key", "Schlüssel")),
                    column("name", language.of("name", "Name")),
                    column("nodes", nodes(language)),
                ],
                rows,
            },
        })
    }
}
