//! Charts of communities grouped by a property (a protocol, a version, a size), over time.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;

use super::helpers::{column, communities, hundredths, lines, nodes, odd, rounded, unknown};
use super::range::{Range, RowScope};
use super::sums::{self, Profiles, Total};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Cell, Figure, Plot, Series, Style, Table};
use crate::snapshot::Profile;
use crate::text::Language;

/// Largest number of series without `only=`: more cannot be distinguished.
const DRAWN: usize = 10;

/// Key of the sum of all others.
const OTHER: &str = "other";

/// Key of communities without a value.
const UNKNOWN: &str = "unknown";

/// Sums of a group at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    nodes: f64,
    listed: f64,
}

/// Quantity that a chart draws of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Nodes,
    Communities,
}

/// The order of groups, in legends and from the bottom up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The largest first.
    Size,
    /// Order by key.
    Key,
}

/// Groups and their sums.
pub(super) struct Groups {
    range: Range,
    totals: Vec<Total>,
    names: Vec<(String, String)>,
    known: HashMap<String, usize>,
    /// Sums of each group, by point, if any: groups may change each hour.
    tallies: Vec<BTreeMap<usize, Tally>>,
}

/// Form of a figure of groups.
pub(super) struct Shape<'a> {
    pub title: &'a str,
    /// The column that has the groups: its key, and its title.
    pub column: (&'static str, &'a str),
    pub measure: Measure,
    pub order: Order,
    pub stacked: bool,
}

impl Groups {
    pub fn new(store: &Connection, range: Range) -> Result<Self, Error> {
        let totals = sums::totals(store, range.by, range.numbers())?;
        Ok(Self {
            range,
            totals,
            names: Vec::new(),
            known: HashMap::new(),
            tallies: Vec::new(),
        })
    }

    /// Groups all communities by the keys that `of` finds in their profiles; without a key a
    /// community is unknown. Each counts in full for each of its keys, or, if `divided`, by equal
    /// parts.
    pub fn of_profiles(
        store: &Connection,
        asked: &ChartQuery,
        divided: bool,
        of: impl Fn(&Profile) -> Vec<String>,
    ) -> Result<Self, Error> {
        let range = Range::of(store, asked, RowScope::All)?;
        let (by, numbers) = (range.by, range.numbers());
        let mut groups = Self::new(store, range)?;
        let mut profiles = Profiles::new(store);
        let mut known = HashMap::<i64, Vec<usize>>::new();
        sums::each_profile(store, by, numbers, |said| {
            let of = match known.entry(said.profile) {
                Entry::Occupied(old) => old.into_mut(),
                Entry::Vacant(new) => {
                    let keys = of(&*profiles.get(said.profile)?);
                    let mut of = keys
                        .iter()
                        .map(|key| groups.group(key, key))
                        .collect::<Vec<_>>();
                    if of.is_empty() {
                        of.push(
                            groups.group(UNKNOWN, asked.language.of("not said", "keine Angabe")),
                        );
                    }
                    new.insert(of)
                }
            };
            let parts = if divided { of.len() } else { 1 };
            let counted = said.counted.iter().sum::<i64>();
            for group in of {
                let nodes = counted as f64 / parts as f64;
                groups.add(*group, said.number, nodes, said.listed);
            }
            Ok(())
        })?;
        Ok(groups)
    }

    /// Returns the index of a group, for [`Self::add`].
    pub fn group(&mut self, key: &str, name: &str) -> usize {
        if let Some(&index) = self.known.get(key) {
            return index;
        }
        self.known.insert(key.to_owned(), self.names.len());
        self.names.push((key.to_owned(), name.to_owned()));
        self.tallies.push(BTreeMap::new());
        self.names.len() - 1
    }

    /// Adds sums over the hours of a point.
    pub fn add(&mut self, group: usize, number: i64, nodes: f64, listed: i64) {
        let at = self
            .totals
            .binary_search_by_key(&number, |total| total.number);
        if let (Some(tallies), Ok(at)) = (self.tallies.get_mut(group), at) {
            let tally = tallies.entry(at).or_default();
            tally.nodes += nodes;
            tally.listed += listed as f64;
        }
    }

    pub fn figure(self, asked: &ChartQuery, shape: &Shape<'_>) -> Figure {
        let language = asked.language;
        let order = self.order(shape);
        let of = |tally: &Tally| match shape.measure {
            Measure::Nodes => tally.nodes,
            Measure::Communities => tally.listed,
        };
        // Sums of all groups at each point, for percentages.
        let mut wholes = vec![0.0; self.totals.len()];
        for (at, tally) in self.tallies.iter().flatten() {
            wholes[*at] += of(tally);
        }
        let share = |value: f64, at: usize| match wholes[at] {
            whole if whole > 0.0 => hundredths(100.0 * value / whole),
            _ => 0.0,
        };
        let shown = |value: f64, at: usize| match asked.share {
            true => share(value, at),
            false => rounded(value / self.totals[at].hours as f64) as f64,
        };
        let stacked = shape.stacked || asked.share;
        let style = if stacked { Style::Area } else { Style::Line };
        let named = |key: &str| asked.only.iter().any(|only| only == key);
        let largest = self.largest();
        let chosen = |index: usize| largest[index] < DRAWN || named(&self.names[index].0);
        // A group that would be alone in `other` gets its own series.
        let alone = order.iter().filter(|index| !chosen(**index)).count() == 1;
        let drawn = |index: usize| alone || chosen(index);
        let mut series = Vec::new();
        for &index in order.iter().filter(|index| drawn(**index)) {
            let (key, name) = &self.names[index];
            let tallies = &self.tallies[index];
            series.push(Series {
                key: key.clone(),
                name: name.clone(),
                values: (0..self.totals.len())
                    .map(|at| Some(shown(tallies.get(&at).map_or(0.0, of), at)))
                    .collect(),
                style,
            });
        }
        let rest = order
            .iter()
            .filter(|index| !drawn(**index))
            .collect::<Vec<_>>();
        let mut notes = self.range.notes.clone();
        if !rest.is_empty() {
            let count = rest.len();
            notes.push(match language {
                Language::English if stacked => {
                    format!("The {count} smallest are drawn as one; the table has each.")
                }
                Language::German if stacked => {
                    format!("Die {count} kleinsten sind als eines gezeichnet; einzeln stehen sie in der Tabelle.")
                }
                Language::English => {
                    format!("The {count} smallest are in the table only.")
                }
                Language::German => {
                    format!("Die {count} kleinsten stehen nur in der Tabelle.")
                }
            });
        }
        if stacked && !rest.is_empty() {
            let mut sums = vec![0.0; self.totals.len()];
            for (at, tally) in rest.iter().flat_map(|index| &self.tallies[**index]) {
                sums[*at] += of(tally);
            }
            let sums = sums.into_iter().enumerate();
            series.push(Series {
                key: OTHER.into(),
                name: language.of("other", "andere").into(),
                values: sums.map(|(at, sum)| Some(shown(sum, at))).collect(),
                style,
            });
        }
        let unbelieved = self.totals.iter().map(|total| total.odd).sum();
        notes.extend(odd(unbelieved, language));
        let keys = self
            .names
            .iter()
            .map(|(key, _)| key.as_str())
            .chain([OTHER]);
        notes.extend(unknown(asked, keys));
        let mut columns = vec![
            column("t", language.of("time", "Zeit")),
            column(shape.column.0, shape.column.1),
            column("nodes", nodes(language)),
            column("communities", communities(language)),
        ];
        if asked.share {
            columns.push(column("share", "%"));
        }
        let hidden = |index: usize| {
            let named_itself = asked.only.is_empty() || named(&self.names[index].0);
            !named_itself && (drawn(index) || !named(OTHER))
        };
        let mut shown_at = vec![Vec::new(); self.totals.len()];
        for &index in order.iter().filter(|index| !hidden(**index)) {
            for (at, tally) in &self.tallies[index] {
                shown_at[*at].push((index, *tally));
            }
        }
        let mut rows = Vec::new();
        for ((at, total), groups) in self.totals.iter().enumerate().zip(shown_at) {
            for (index, tally) in groups {
                let (key, _) = &self.names[index];
                let mean = |sum: f64| Cell::Whole(rounded(sum / total.hours as f64));
                let mut row = vec![
                    Cell::Time(self.range.by.begin(total.number)),
                    Cell::Text(key.clone()),
                    mean(tally.nodes),
                    mean(tally.listed),
                ];
                if asked.share {
                    row.push(Cell::Real(share(of(&tally), at)));
                }
                rows.push(row);
            }
        }
        let unit = match (asked.share, shape.measure) {
            (true, _) => "%",
            (_, Measure::Nodes) => nodes(language),
            (_, Measure::Communities) => communities(language),
        };
        let numbers = self
            .totals
            .iter()
            .map(|total| total.number)
            .collect::<Vec<_>>();
        let plot = lines(self.range.by, &numbers, series, stacked, unit, asked);
        Figure {
            title: shape.title.to_owned(),
            name: shape.title.to_owned(),
            notes,
            odd: unbelieved,
            from: self.range.from(),
            to: self.range.to(),
            by: self.range.by,
            plot: Plot::Time(plot),
            table: Table {
                name: "series",
                columns,
                rows,
            },
        }
    }

    fn sizes(&self) -> Vec<(f64, f64)> {
        let sum = |tallies: &BTreeMap<usize, Tally>| {
            let nodes = tallies.values().map(|tally| tally.nodes).sum::<f64>();
            (
                nodes,
                tallies.values().map(|tally| tally.listed).sum::<f64>(),
            )
        };
        self.tallies.iter().map(sum).collect()
    }

    /// Indices of groups from the largest to the smallest, by nodes and then by communities.
    fn by_size(&self) -> Vec<usize> {
        let sizes = self.sizes();
        let mut order = (0..self.names.len()).collect::<Vec<_>>();
        order.sort_by(|&a, &b| {
            let larger = sizes[b].partial_cmp(&sizes[a]);
            let larger = larger.unwrap_or(std::cmp::Ordering::Equal);
            larger.then_with(|| self.names[a].0.cmp(&self.names[b].0))
        });
        order
    }

    /// Returns the rank of each group among the largest.
    fn largest(&self) -> Vec<usize> {
        let mut places = vec![0; self.names.len()];
        for (place, index) in self.by_size().into_iter().enumerate() {
            places[index] = place;
        }
        places
    }

    fn order(&self, shape: &Shape<'_>) -> Vec<usize> {
        let mut order = self.by_size();
        if shape.order == Order::Key {
            order.sort_by_key(|index| natural(&self.names[*index].0));
        }
        order
    }
}

/// Returns a sort key in which `0.4.9` precedes `0.4.10`.
fn natural(text: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let words = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        // Numbers too long for u64 sort after all others, and words after these.
        let number = number.parse().unwrap_or(u64::MAX);
        parts.push((number, tail[..words].to_owned()));
        rest = &tail[words..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn versions_are_in_their_order() {
        let mut versions = [
            "0.4.10",
            "unknown",
            "0.5",
            "0.4.9",
            "",
            "0.4",
            "99999999999999999999",
        ];
        versions.sort_by_key(|version| natural(version));
        assert_eq!(
            versions,
            [
                "",
                "0.4",
                "0.4.9",
                "0.4.10",
                "0.5",
                "99999999999999999999",
                "unknown"
            ]
        );
    }
}
