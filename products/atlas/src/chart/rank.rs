//! Communities at a time, the largest first.

use std::collections::HashMap;
use std::rc::Rc;

use rusqlite::Connection;

use super::helpers::{ELSEWHERE, elsewhere, mean, nodes, odd, status, unknown};
use super::range::{Period, Range};
use super::sums::{self, Profiles, Sum};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Bar, Cell, Column, Table};
use crate::snapshot::Profile;
use crate::text::{Language, folded};

/// A community, or a metacommunity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedCommunity {
    pub key: String,
    pub name: String,
    /// Name, with the key if the name is not unique.
    pub label: String,
    /// Last profile in that time; empty for a metacommunity.
    pub profile: Rc<Profile>,
    /// Means.
    pub nodes: i64,
    pub counted: [i64; 3],
}

/// Ranking of a time.
pub(super) struct Ranking {
    pub ranked: Vec<RankedCommunity>,
    pub notes: Vec<String>,
    /// Number of disbelieved numbers.
    pub odd: i64,
}

/// Ranks all communities, or those that `only` names; by metacommunity, if requested.
pub(super) fn of(
    store: &Connection,
    asked: &ChartQuery,
    period: &Period,
) -> Result<Ranking, Error> {
    let range = &period.range;
    let mut sums = HashMap::<i64, Sum>::new();
    sums::each(store, range.by, range.numbers(), |sum| {
        let all = sums.entry(sum.community).or_insert(Sum {
            community: sum.community,
            ..Sum::default()
        });
        all.add(&sum);
        Ok(())
    })?;
    let mut notes = range.notes.clone();
    let unbelieved = sums.values().map(|sum| sum.odd).sum();
    notes.extend(odd(unbelieved, asked.language));
    // An odd number alone has no hours.
    sums.retain(|_, sum| sum.hours > 0);
    let mut ranked = match asked.group {
        true => grouped(store, range, &sums)?,
        false => single(store, &sums)?,
    };
    apart(
        ranked
            .iter_mut()
            .map(|one| (&*one.name, &*one.key, &mut one.label)),
    );
    ranked.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.key.cmp(&b.key)));
    if !range.numbers().is_empty() {
        notes.extend(unknown(asked, ranked.iter().map(|one| one.key.as_str())));
    }
    if !asked.only.is_empty() {
        ranked.retain(|one| asked.only.contains(&one.key));
    }
    Ok(Ranking {
        ranked,
        notes,
        odd: unbelieved,
    })
}

/// Ranks each community by its own number, with its last profile.
fn single(store: &Connection, sums: &HashMap<i64, Sum>) -> Result<Vec<RankedCommunity>, Error> {
    let mut profiles = Profiles::new(store);
    let mut ranked = Vec::new();
    for community in sums::communities(store)? {
        let Some(sum) = sums.get(&community.id) else {
            continue;
        };
        let profile = profiles.get(sum.profile)?;
        let name = named(&profile, &community.key);
        ranked.push(RankedCommunity {
            label: name.clone(),
            name,
            key: community.key,
            profile,
            nodes: mean(sum.nodes, sum.hours),
            counted: sum.counted.map(|part| mean(part, sum.hours)),
        });
    }
    Ok(ranked)
}

/// Ranks metacommunities by the nodes of their members in the hours of membership, each node once.
/// Key: the name in lower case, as spellings vary.
fn grouped(
    store: &Connection,
    range: &Range,
    sums: &HashMap<i64, Sum>,
) -> Result<Vec<RankedCommunity>, Error> {
    let mut said = HashMap::<(i64, i64), [i64; 3]>::new();
    sums::each_profile(store, range.by, range.numbers(), |one| {
        if sums.contains_key(&one.community) {
            let counted = said.entry((one.community, one.profile)).or_default();
            add(counted, one.counted);
        }
        Ok(())
    })?;
    let communities = sums::communities(store)?;
    let keys: HashMap<_, _> = communities.iter().map(|one| (one.id, &one.key)).collect();
    let mut profiles = Profiles::new(store);
    let mut groups = HashMap::<String, (String, [i64; 3])>::new();
    for ((community, profile), counted) in said {
        let profile = profiles.get(profile)?;
        let meta = profile.metacommunity.as_deref().map(str::trim);
        let name = match meta.filter(|meta| !meta.is_empty()) {
            Some(meta) => meta.to_owned(),
            None => named(&profile, keys.get(&community).map_or("", |key| key)),
        };
        let (shown, sum) = groups
            .entry(folded(&name))
            .or_insert_with(|| (name.clone(), [0; 3]));
        add(sum, counted);
        // Always the same of those that they write.
        if name < *shown {
            *shown = name;
        }
    }
    let totals = sums::totals(store, range.by, range.numbers())?;
    let hours = totals.iter().map(|total| total.hours).sum();
    let groups = groups
        .into_iter()
        .map(|(key, (name, counted))| RankedCommunity {
            key,
            label: name.clone(),
            name,
            profile: Rc::default(),
            nodes: mean(counted.iter().sum(), hours),
            counted: counted.map(|part| mean(part, hours)),
        });
    Ok(groups.collect())
}

fn add(sum: &mut [i64; 3], counted: [i64; 3]) {
    for (all, part) in sum.iter_mut().zip(counted) {
        *all += part;
    }
}

/// Returns the name, otherwise the key.
pub(super) fn named(profile: &Profile, key: &str) -> String {
    let name = profile.name.trim();
    if name.is_empty() { key } else { name }.to_owned()
}

/// Puts its key behind each name that several have.
fn apart<'a>(all: impl Iterator<Item = (&'a str, &'a str, &'a mut String)>) {
    let mut named = HashMap::<String, Vec<(&str, &mut String)>>::new();
    for (name, key, label) in all {
        named.entry(folded(name)).or_default().push((key, label));
    }
    for (key, label) in named.into_values().filter(|all| all.len() > 1).flatten() {
        *label = format!("{label} ({key})");
    }
}

/// Puts the key behind the name of bars of one name.
pub(super) fn tell_apart(bars: &mut [Bar]) {
    let names: Vec<String> = bars.iter().map(|bar| bar.name.clone()).collect();
    let bars = bars.iter_mut().zip(&names);
    apart(bars.map(|(bar, name)| (name.as_str(), bar.key.as_str(), &mut bar.name)));
}

impl RankedCommunity {
    pub fn bar(&self) -> Bar {
        Bar {
            key: self.key.clone(),
            name: self.label.clone(),
            value: self.nodes as f64,
        }
    }
}

/// Returns the shown ones as a table; `columns` and `cells` add columns.
pub(super) fn table(
    shown: &[RankedCommunity],
    language: Language,
    columns: Vec<Column>,
    cells: impl Fn(&RankedCommunity) -> Vec<Cell>,
) -> Table {
    let column = |key, title: &str| Column {
        key,
        title: title.to_owned(),
    };
    let mut all = vec![
        column("key", language.of("key", "Schlüssel")),
        column("name", language.of("name", "Name")),
        column("nodes", nodes(language)),
    ];
    all.extend(status(language).map(|(key, name, _)| column(key, name)));
    all.push(column(ELSEWHERE, elsewhere(language)));
    all.extend(columns);
    let rows = shown.iter().map(|one| {
        let mut row = vec![
            Cell::Text(one.key.clone()),
            Cell::Text(one.name.clone()),
            Cell::Whole(one.nodes),
        ];
        row.extend(one.counted.map(Cell::Whole));
        let own: i64 = one.counted.iter().sum();
        row.push(Cell::Whole((one.nodes - own).max(0)));
        row.extend(cells(one));
        row
    });
    Table {
        name: "communities",
        columns: all,
        rows: rows.collect(),
    }
}

/// Returns a note on the number of communities that are parts of others.
pub(super) fn within_others(shown: &[RankedCommunity], language: Language) -> Option<String> {
    let within = |one: &&RankedCommunity| one.nodes > 0 && one.counted == [0; 3];
    let count = shown.iter().filter(within).count();
    let text = match (count, language) {
        (0, _) => return None,
        (1, Language::English) => {
            "1 of these communities is counted with others, as of the same name or metacommunity."
                .to_owned()
        }
        (_, Language::English) => format!(
            "{count} of these communities are counted with others, as of the same name or \
             metacommunity."
        ),
        (1, Language::German) => {
            "1 dieser Gemeinschaften zählt bei anderen mit, gleichen Namens oder gleicher \
             Metagemeinschaft."
                .to_owned()
        }
        (_, Language::German) => format!(
            "{count} dieser Gemeinschaften zählen bei anderen mit, gleichen Namens oder gleicher \
             Metagemeinschaft."
        ),
    };
    Some(text)
}
