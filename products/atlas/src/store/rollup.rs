//! Sums of observations: recomputes the days and months of some hours.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::AddAssign;

use rusqlite::{Connection, Row, params};

use crate::time::Unit;

/// Sums of counted nodes by status, and of hours in the directory.
#[derive(Clone, Copy, Default)]
struct Part {
    live: i64,
    stale: i64,
    frozen: i64,
    listed: i64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.live += other.live;
        self.stale += other.stale;
        self.frozen += other.frozen;
        self.listed += other.listed;
    }
}

/// Sums by profile.
type Parts = BTreeMap<i64, Part>;

/// A day or a month of one community.
#[derive(Default)]
struct Sum {
    hours: i64,
    nodes: i64,
    least: Option<i64>,
    most: Option<i64>,
    all: Part,
    odd: i64,
    profile: i64,
    /// Parts of `all`; empty for a single profile.
    parts: Parts,
}

/// `status` in the store.
const ODD: i64 = 3;

impl Sum {
    /// Adds an hour that is later than all before.
    fn observe(&mut self, nodes: Option<i64>, status: i64, counted: bool, profile: i64) {
        let mut part = Part {
            listed: 1,
            ..Part::default()
        };
        match nodes {
            _ if status == ODD => self.odd += 1,
            None => {}
            Some(nodes) => {
                self.hours += 1;
                self.nodes += nodes;
                self.least = Some(self.least.map_or(nodes, |least| least.min(nodes)));
                self.most = Some(self.most.map_or(nodes, |most| most.max(nodes)));
                match status {
                    _ if !counted => {}
                    0 => part.live = nodes,
                    1 => part.stale = nodes,
                    _ => part.frozen = nodes,
                }
            }
        }
        self.add(profile, part);
    }

    /// Adds a day that is later than all before.
    fn append(&mut self, day: &Self) {
        self.hours += day.hours;
        self.nodes += day.nodes;
        self.least = match (self.least, day.least) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.most = self.most.max(day.most);
        self.odd += day.odd;
        for (profile, part) in &day.parts {
            self.add(*profile, *part);
        }
        if day.parts.is_empty() {
            self.add(day.profile, day.all);
        }
        self.profile = day.profile;
    }

    fn add(&mut self, profile: i64, part: Part) {
        if self.parts.is_empty() && self.all.listed > 0 && self.profile != profile {
            self.parts.insert(self.profile, self.all);
        }
        if !self.parts.is_empty() {
            *self.parts.entry(profile).or_default() += part;
        }
        self.all += part;
        self.profile = profile;
    }
}

/// Recomputes the days and months of `hours`, and their totals, from the observations and totals of
/// all their hours.
pub(super) fn renew(store: &Connection, hours: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let numbers = |unit: Unit| hours.iter().map(move |hour| unit.number(*hour));
    for day in numbers(Unit::Day).collect::<BTreeSet<_>>() {
        let (begin, end) = (Unit::Day.begin(day), Unit::Day.begin(day + 1));
        write(store, Unit::Day, day, &of_hours(store, begin, end)?)?;
        let mut put = store.prepare_cached(
            "INSERT OR REPLACE INTO day_totals
             SELECT ?1, count(*), sum(live), sum(stale), sum(frozen), sum(listed), sum(odd)
             FROM hour_totals WHERE hour >= ?2 AND hour < ?3",
        )?;
        put.execute([day, begin, end])?;
    }
    for month in numbers(Unit::Month).collect::<BTreeSet<_>>() {
        let begin = Unit::Day.number(Unit::Month.begin(month));
        let end = Unit::Day.number(Unit::Month.begin(month + 1));
        write(store, Unit::Month, month, &of_days(store, begin, end)?)?;
        let mut put = store.prepare_cached(
            "INSERT OR REPLACE INTO month_totals
             SELECT ?1, sum(hours), sum(live), sum(stale), sum(frozen), sum(listed), sum(odd)
             FROM day_totals WHERE day >= ?2 AND day < ?3",
        )?;
        put.execute([month, begin, end])?;
    }
    Ok(())
}

fn of_hours(store: &Connection, begin: i64, end: i64) -> rusqlite::Result<BTreeMap<i64, Sum>> {
    let mut sums = BTreeMap::<i64, Sum>::new();
    let mut read = store.prepare_cached(
        "SELECT community, nodes, status, counted, profile FROM observations
         WHERE hour >= ?1 AND hour < ?2 ORDER BY hour",
    )?;
    let mut rows = read.query([begin, end])?;
    while let Some(row) = rows.next()? {
        let sum = sums.entry(row.get(0)?).or_default();
        sum.observe(row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
    }
    Ok(sums)
}

fn of_days(store: &Connection, begin: i64, end: i64) -> rusqlite::Result<BTreeMap<i64, Sum>> {
    let mut parts = parts_of_days(store, begin, end)?;
    let mut sums = BTreeMap::<i64, Sum>::new();
    let mut read = store.prepare_cached(
        "SELECT day, community, hours, nodes, least, most, live, stale, frozen, listed, odd, profile
         FROM days WHERE day >= ?1 AND day < ?2 ORDER BY day",
    )?;
    let mut rows = read.query([begin, end])?;
    while let Some(row) = rows.next()? {
        let (number, community) = (row.get(0)?, row.get(1)?);
        let day = Sum {
            hours: row.get(2)?,
            nodes: row.get(3)?,
            least: row.get(4)?,
            most: row.get(5)?,
            all: part(row, 6)?,
            odd: row.get(10)?,
            profile: row.get(11)?,
            parts: parts.remove(&(number, community)).unwrap_or_default(),
        };
        sums.entry(community).or_default().append(&day);
    }
    Ok(sums)
}

/// Computes sums by day and community.
fn parts_of_days(
    store: &Connection,
    begin: i64,
    end: i64,
) -> rusqlite::Result<HashMap<(i64, i64), Parts>> {
    let mut parts = HashMap::<_, Parts>::new();
    let mut read = store.prepare_cached(
        "SELECT day, community, profile, live, stale, frozen, listed FROM day_profiles
         WHERE day >= ?1 AND day < ?2",
    )?;
    let mut rows = read.query([begin, end])?;
    while let Some(row) = rows.next()? {
        let of = parts.entry((row.get(0)?, row.get(1)?)).or_default();
        of.insert(row.get(2)?, part(row, 3)?);
    }
    Ok(parts)
}

/// Reads the sums from a column on.
fn part(row: &Row<'_>, at: usize) -> rusqlite::Result<Part> {
    Ok(Part {
        live: row.get(at)?,
        stale: row.get(at + 1)?,
        frozen: row.get(at + 2)?,
        listed: row.get(at + 3)?,
    })
}

/// Observations are never removed: those missing in `sums` did not exist before. Profiles may be,
/// by a file of the same hour with a later fetch.
fn write(
    store: &Connection,
    unit: Unit,
    number: i64,
    sums: &BTreeMap<i64, Sum>,
) -> rusqlite::Result<()> {
    let word = unit.word();
    let mut put = store.prepare_cached(&format!(
        "INSERT OR REPLACE INTO {word}s
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    ))?;
    let mut clear =
        store.prepare_cached(&format!("DELETE FROM {word}_profiles WHERE {word} = ?1"))?;
    let mut put_part = store.prepare_cached(&format!(
        "INSERT INTO {word}_profiles VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    ))?;
    clear.execute([number])?;
    for (community, sum) in sums {
        let Part {
            live,
            stale,
            frozen,
            listed,
        } = sum.all;
        put.execute(params![
            number,
            community,
            sum.hours,
            sum.nodes,
            sum.least,
            sum.most,
            live,
            stale,
            frozen,
            listed,
            sum.odd,
            sum.profile,
        ])?;
        for (profile, part) in &sum.parts {
            put_part.execute([
                number,
                *community,
                *profile,
                part.live,
                part.stale,
                part.frozen,
                part.listed,
            ])?;
        }
    }
    Ok(())
}
