//! Store access of charts: sums of the directory and of communities, by hour, day or month, with
//! one interface for all three.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Error;
use crate::snapshot::Profile;
use crate::store;
use crate::time::Unit;

/// Sums of the whole directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub number: i64,
    /// Hours with a snapshot.
    pub hours: i64,
    /// Live, stale, frozen.
    pub counted: [i64; 3],
    pub listed: i64,
    pub odd: i64,
}

impl Total {
    pub fn nodes(&self) -> i64 {
        self.counted.iter().sum()
    }
}

/// Returns the points with a snapshot, in order.
pub(super) fn totals(
    store: &Connection,
    by: Unit,
    numbers: RangeInclusive<i64>,
) -> Result<Vec<Total>, Error> {
    let sql = match by {
        Unit::Hour => {
            "SELECT hour, 1, live, stale, frozen, listed, odd FROM hour_totals
             WHERE hour BETWEEN ?1 AND ?2 ORDER BY hour"
        }
        Unit::Day => {
            "SELECT day, hours, live, stale, frozen, listed, odd FROM day_totals
             WHERE day BETWEEN ?1 AND ?2 ORDER BY day"
        }
        Unit::Month => {
            "SELECT month, hours, live, stale, frozen, listed, odd FROM month_totals
             WHERE month BETWEEN ?1 AND ?2 ORDER BY month"
        }
    };
    let mut statement = store.prepare(sql)?;
    let rows = statement.query_map([*numbers.start(), *numbers.end()], |row| {
        Ok(Total {
            number: row.get(0)?,
            hours: row.get(1)?,
            counted: [row.get(2)?, row.get(3)?, row.get(4)?],
            listed: row.get(5)?,
            odd: row.get(6)?,
        })
    })?;
    let mut totals = rows.collect::<Result<Vec<_>, _>>()?;
    totals.retain(|total| total.hours > 0);
    Ok(totals)
}

/// Sums of one community.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub number: i64,
    pub community: i64,
    /// Hours with a number that is not odd.
    pub hours: i64,
    pub nodes: i64,
    pub least: Option<i64>,
    pub most: Option<i64>,
    /// Live, stale and frozen parts of `nodes`.
    pub counted: [i64; 3],
    pub listed: i64,
    pub odd: i64,
    pub profile: i64,
}

impl Sum {
    /// Returns the counted nodes, without those of another entry.
    pub fn counted(&self) -> i64 {
        self.counted.iter().sum()
    }

    fn read(row: &Row<'_>) -> Result<Self, rusqlite::Error> {
        Ok(Self {
            number: row.get(0)?,
            community: row.get(1)?,
            hours: row.get(2)?,
            nodes: row.get(3)?,
            least: row.get(4)?,
            most: row.get(5)?,
            counted: [row.get(6)?, row.get(7)?, row.get(8)?],
            listed: row.get(9)?,
            odd: row.get(10)?,
            profile: row.get(11)?,
        })
    }

    /// Adds a later one of the same community.
    pub fn add(&mut self, later: &Self) {
        self.hours += later.hours;
        self.nodes += later.nodes;
        self.listed += later.listed;
        self.odd += later.odd;
        for (sum, part) in self.counted.iter_mut().zip(later.counted) {
            *sum += part;
        }
        self.least = [self.least, later.least].into_iter().flatten().min();
        self.most = self.most.max(later.most);
        (self.number, self.profile) = (later.number, later.profile);
    }
}

const OF_MONTHS: &str = "month, community, hours, nodes, least, most, live, stale, frozen, listed,
    odd, profile FROM months WHERE month BETWEEN ?1 AND ?2";
const OF_DAYS: &str = "day, community, hours, nodes, least, most, live, stale, frozen, listed,
    odd, profile FROM days WHERE day BETWEEN ?1 AND ?2";
const OF_HOURS: &str = "o.hour, o.community, nodes IS NOT NULL AND status <> 3,
    iif(status <> 3, ifnull(nodes, 0), 0),
    iif(status <> 3, nodes, NULL), iif(status <> 3, nodes, NULL),
    iif(counted AND status = 0, ifnull(nodes, 0), 0),
    iif(counted AND status = 1, ifnull(nodes, 0), 0),
    iif(counted AND status = 2, ifnull(nodes, 0), 0),
    1, status = 3, profile";

/// Passes the sums of all communities to `to`, in order of time.
pub(super) fn each(
    store: &Connection,
    by: Unit,
    numbers: RangeInclusive<i64>,
    mut to: impl FnMut(Sum) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = match by {
        Unit::Hour => format!(
            "SELECT {OF_HOURS} FROM observations o WHERE o.hour BETWEEN ?1 AND ?2 ORDER BY o.hour"
        ),
        Unit::Day => format!("SELECT {OF_DAYS} ORDER BY day"),
        Unit::Month => format!("SELECT {OF_MONTHS} ORDER BY month"),
    };
    let mut statement = store.prepare(&sql)?;
    let mut rows = statement.query([*numbers.start(), *numbers.end()])?;
    while let Some(row) = rows.next()? {
        to(Sum::read(row)?)?;
    }
    Ok(())
}

/// Counts of a community while its profile was the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProfileCounts {
    pub number: i64,
    pub community: i64,
    pub profile: i64,
    /// Live, stale, frozen.
    pub counted: [i64; 3],
    pub listed: i64,
}

/// As [`each`], by profile: a point has several if the profile changed within. In any order.
pub(super) fn each_profile(
    store: &Connection,
    by: Unit,
    numbers: RangeInclusive<i64>,
    mut to: impl FnMut(ProfileCounts) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = match by {
        Unit::Hour => None,
        Unit::Day => Some(
            "SELECT day, community, profile, live, stale, frozen, listed FROM day_profiles
             WHERE day BETWEEN ?1 AND ?2",
        ),
        Unit::Month => Some(
            "SELECT month, community, profile, live, stale, frozen, listed FROM month_profiles
             WHERE month BETWEEN ?1 AND ?2",
        ),
    };
    let mut changed = HashSet::new();
    if let Some(sql) = sql {
        let mut statement = store.prepare(sql)?;
        let mut rows = statement.query([*numbers.start(), *numbers.end()])?;
        while let Some(row) = rows.next()? {
            let said = ProfileCounts {
                number: row.get(0)?,
                community: row.get(1)?,
                profile: row.get(2)?,
                counted: [row.get(3)?, row.get(4)?, row.get(5)?],
                listed: row.get(6)?,
            };
            changed.insert((said.number, said.community));
            to(said)?;
        }
    }
    each(store, by, numbers, |sum| {
        if changed.contains(&(sum.number, sum.community)) {
            return Ok(());
        }
        to(ProfileCounts {
            number: sum.number,
            community: sum.community,
            profile: sum.profile,
            counted: sum.counted,
            listed: sum.listed,
        })
    })
}

/// Returns the sums of one community, in order of time.
pub(super) fn of(
    store: &Connection,
    by: Unit,
    numbers: RangeInclusive<i64>,
    community: i64,
) -> Result<Vec<Sum>, Error> {
    let sql = match by {
        // Key by key: the hours themselves have all communities.
        Unit::Hour => format!(
            "SELECT {OF_HOURS} FROM hour_totals t CROSS JOIN observations o
             WHERE t.hour BETWEEN ?1 AND ?2 AND o.hour = t.hour AND o.community = ?3
             ORDER BY t.hour"
        ),
        Unit::Day => format!("SELECT {OF_DAYS} AND community = ?3 ORDER BY day"),
        Unit::Month => format!("SELECT {OF_MONTHS} AND community = ?3 ORDER BY month"),
    };
    let mut statement = store.prepare(&sql)?;
    let ends = [*numbers.start(), *numbers.end(), community];
    let rows = statement.query_map(ends, Sum::read)?;
    Ok(rows.collect::<Result<Vec<_>, _>>()?)
}

/// Returns the first disbelieved number of a community within a point.
pub(super) fn odd_of(
    store: &Connection,
    by: Unit,
    number: i64,
    community: i64,
) -> Result<Option<i64>, Error> {
    let sql = "SELECT nodes FROM hour_totals t CROSS JOIN observations o
        WHERE t.hour BETWEEN ?1 AND ?2 AND o.hour = t.hour AND o.community = ?3 AND o.status = 3
        ORDER BY t.hour LIMIT 1";
    let mut statement = store.prepare_cached(sql)?;
    let ends = [by.begin(number), by.begin(number + 1) - 1, community];
    let found = statement.query_row(ends, |row| row.get(0)).optional()?;
    Ok(found.flatten())
}

/// A community that was ever in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Community {
    pub id: i64,
    pub key: String,
    /// The latest.
    pub profile: Option<i64>,
    pub first_hour: Option<i64>,
    pub last_hour: Option<i64>,
}

/// Returns all communities, by key.
pub(super) fn communities(store: &Connection) -> Result<Vec<Community>, Error> {
    let sql = "SELECT id, key, profile, first_hour, last_hour FROM communities ORDER BY key";
    let mut statement = store.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(Community {
            id: row.get(0)?,
            key: row.get(1)?,
            profile: row.get(2)?,
            first_hour: row.get(3)?,
            last_hour: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<Vec<_>, _>>()?)
}

/// Profiles, each read once.
pub(super) struct Profiles<'a> {
    store: &'a Connection,
    known: HashMap<i64, Rc<Profile>>,
}

impl<'a> Profiles<'a> {
    pub fn new(store: &'a Connection) -> Self {
        Self {
            store,
            known: HashMap::new(),
        }
    }

    /// Returns a profile by number; an empty one if missing.
    pub fn get(&mut self, id: i64) -> Result<Rc<Profile>, Error> {
        if let Some(profile) = self.known.get(&id) {
            return Ok(profile.clone());
        }
        let profile = store::profile(self.store, id).optional()?;
        let profile = Rc::new(profile.unwrap_or_default());
        self.known.insert(id, profile.clone());
        Ok(profile)
    }
}
