//! Sums of what was observed: the days and months of some hours, computed anew.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params};

use crate::time::Unit;

/// A day or a month of one community.
#[derive(Default)]
struct Sum {
    hours: i64,
    nodes: i64,
    least: Option<i64>,
    most: Option<i64>,
    live: i64,
    stale: i64,
    frozen: i64,
    listed: i64,
    odd: i64,
    profile: i64,
}

/// `status` in the store.
const ODD: i64 = 3;

impl Sum {
    /// Adds an hour that is later than all before.
    fn observe(&mut self, nodes: Option<i64>, status: i64, counted: bool, profile: i64) {
        self.listed += 1;
        self.profile = profile;
        if status == ODD {
            self.odd += 1;
            return;
        }
        let Some(nodes) = nodes else { return };
        self.hours += 1;
        self.nodes += nodes;
        self.least = Some(self.least.map_or(nodes, |least| least.min(nodes)));
        self.most = Some(self.most.map_or(nodes, |most| most.max(nodes)));
        if counted {
            match status {
                0 => self.live += nodes,
                1 => self.stale += nodes,
                _ => self.frozen += nodes,
            }
        }
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
        self.live += day.live;
        self.stale += day.stale;
        self.frozen += day.frozen;
        self.listed += day.listed;
        self.odd += day.odd;
        self.profile = day.profile;
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<(i64, Self)> {
        let sum = Self {
            hours: row.get(1)?,
            nodes: row.get(2)?,
            least: row.get(3)?,
            most: row.get(4)?,
            live: row.get(5)?,
            stale: row.get(6)?,
            frozen: row.get(7)?,
            listed: row.get(8)?,
            odd: row.get(9)?,
            profile: row.get(10)?,
        };
        Ok((row.get(0)?, sum))
    }
}

/// Writes the days and months of `hours` anew, and their totals, by the observations and totals of
/// all their hours.
pub(super) fn renew(store: &Connection, hours: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let numbers = |unit: Unit| hours.iter().map(move |hour| unit.number(*hour));
    for day in numbers(Unit::Day).collect::<BTreeSet<_>>() {
        let (begin, end) = (Unit::Day.begin(day), Unit::Day.begin(day + 1));
        write(store, "days", day, &of_hours(store, begin, end)?)?;
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
        write(store, "months", month, &of_days(store, begin, end)?)?;
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
    let mut sums = BTreeMap::<i64, Sum>::new();
    let mut read = store.prepare_cached(
        "SELECT community, hours, nodes, least, most, live, stale, frozen, listed, odd, profile
         FROM days WHERE day >= ?1 AND day < ?2 ORDER BY day",
    )?;
    let mut rows = read.query([begin, end])?;
    while let Some(row) = rows.next()? {
        let (community, day) = Sum::read(row)?;
        sums.entry(community).or_default().append(&day);
    }
    Ok(sums)
}

/// Observations are never taken away: what is not in `sums` was not there before.
fn write(
    store: &Connection,
    table: &str,
    number: i64,
    sums: &BTreeMap<i64, Sum>,
) -> rusqlite::Result<()> {
    let mut put = store.prepare_cached(&format!(
        "INSERT OR REPLACE INTO {table} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    ))?;
    for (community, sum) in sums {
        put.execute(params![
            number,
            community,
            sum.hours,
            sum.nodes,
            sum.least,
            sum.most,
            sum.live,
            sum.stale,
            sum.frozen,
            sum.listed,
            sum.odd,
            sum.profile,
        ])?;
    }
    Ok(())
}
