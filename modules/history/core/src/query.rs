//! Queries of past traffic.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use monitor_core::count::{Counts, Traffic};
use rusqlite::{Connection, OptionalExtension};

use crate::Mac;
use crate::pending::{self, OTHER, Pending, Sums};
use crate::periods::{Calendar, Unit};
use crate::schema::{SUMS, State};
use crate::words::{ApplicationIds, OTHER_WORD};

/// Maximum number of periods in an answer, the oldest first; the next query starts at the end of
/// the last period. Two weeks of hours are 336.
pub const MOST_PERIODS: usize = 2000;

/// Query of past traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Unit of the periods.
    pub unit: Unit,
    /// Start of the query, at the period of this instant; seconds since 1970.
    pub from: i64,
    /// Up to periods that begin before this instant.
    pub to: i64,
    /// Restricts the query to a device.
    pub device: Option<Mac>,
    /// Division of each period.
    pub by: By,
    /// Maximum number of named parts in a period; the others are [`Key::Other`]. Bounds memory: 64
    /// is a good value.
    pub parts: usize,
}

/// Division of periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Hardware address.
    Device,
    /// Word.
    Application,
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "device" => Ok(Self::Device),
            "application" => Ok(Self::Application),
            _ => Err(format!(
                "cannot group by {text:?}: use device or application"
            )),
        }
    }
}

/// A period that had traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// First second of the period.
    pub start: i64,
    /// The first second of the next.
    pub end: i64,
    /// Traffic of all of it: the parts add up to this.
    pub traffic: Traffic,
    /// Parts with the largest Internet traffic first, `other` last.
    pub parts: Vec<Part>,
}

/// Share of a device or application in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Device or application.
    pub key: Key,
    /// Last name of the device. Without control characters, but chosen by the device: escape it.
    pub name: Option<String>,
    /// Traffic of the device or application.
    pub traffic: Traffic,
}

/// Device or application of a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A device's.
    Device(Mac),
    /// An application's.
    Application(String),
    /// All merged devices or applications.
    Other,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(mac) => f.write_str(&net::mac::text(mac)),
            Self::Application(word) => f.write_str(word),
            Self::Other => f.write_str(OTHER_WORD),
        }
    }
}

/// Pending data in memory, with its words and names.
pub(crate) struct Memory<'a> {
    pub pending: &'a Pending,
    pub words: &'a ApplicationIds,
    pub names: &'a HashMap<i64, String>,
    pub calendar: &'a Calendar,
}

/// Sums of a period, by device or application.
type Group = HashMap<i64, Traffic>;

/// Answers from the file, if it exists, and from memory. Periods are read one after the other, so
/// that memory holds the parts of one period.
pub(crate) fn answer(
    connection: Option<&Connection>,
    memory: &Memory,
    query: &Query,
) -> rusqlite::Result<Vec<Period>> {
    let calendar = memory.calendar;
    let from = calendar.span(query.unit, query.from).start;
    let mut waiting = BTreeMap::new();
    for (hour, sums) in memory.pending.hours() {
        gather(
            &mut waiting,
            calendar.span(query.unit, hour).start,
            sums,
            query,
        );
    }
    let mut periods = Periods {
        connection,
        memory,
        query,
        periods: Vec::new(),
        names: HashMap::new(),
    };
    if let Some(connection) = connection {
        if query.unit != Unit::Hour
            && let Some(state) = State::load(connection)?
        {
            let start = match query.unit {
                Unit::Month => state.month,
                Unit::Week => calendar.span(Unit::Week, state.day).start,
                _ => state.day,
            };
            let mut sums = Sums::default();
            rows(
                connection,
                "hour",
                state.hour,
                state.hour + 1,
                |_, device, application, traffic| {
                    sums.add(device, application, &traffic);
                    true
                },
            )?;
            gather(&mut waiting, start, &sums, query);
        }
        let table = match query.unit {
            Unit::Hour => "hour",
            Unit::Day | Unit::Week => "day",
            Unit::Month => "month",
        };
        let mut current: Option<(i64, Group)> = None;
        let mut failed = None;
        rows(
            connection,
            table,
            from,
            query.to,
            |start, device, application, traffic| {
                let start = match query.unit {
                    Unit::Week => calendar.span(Unit::Week, start).start,
                    _ => start,
                };
                if current.as_ref().is_some_and(|(known, _)| *known != start)
                    && let Some((known, group)) = current.take()
                    && let Err(error) = periods.take(known, group, &mut waiting)
                {
                    failed = Some(error);
                }
                let (_, group) = current.get_or_insert_with(|| (start, Group::new()));
                count(group, device, application, &traffic, query);
                failed.is_none() && periods.periods.len() < MOST_PERIODS
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some((start, group)) = current {
            periods.take(start, group, &mut waiting)?;
        }
    }
    periods.flush(&mut waiting, i64::MAX)?;
    Ok(periods.periods)
}

/// Reads the Internet traffic of each device since an instant, by day, for closed days.
pub(crate) fn usage(
    connection: &Connection,
    from: i64,
    mut add: impl FnMut(i64, Mac, u64),
) -> rusqlite::Result<()> {
    let mut count = |start, device, _, traffic: Traffic| {
        if let Some(mac) = pending::device(device) {
            add(start, mac, pending::bytes(&traffic));
        }
        true
    };
    rows(connection, "day", from, i64::MAX, &mut count)?;
    if let Some(state) = State::load(connection)? {
        rows(connection, "hour", state.hour, state.hour + 1, &mut count)?;
    }
    Ok(())
}

/// Visits the rows of a table in order of time, until `each` returns false. Invalid numbers from
/// other programs are read as far as possible.
fn rows(
    connection: &Connection,
    table: &str,
    from: i64,
    to: i64,
    mut each: impl FnMut(i64, i64, u16, Traffic) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!(
        "SELECT start, device, application, {SUMS}
         FROM {table} WHERE start >= ?1 AND start < ?2 ORDER BY start"
    ))?;
    let mut rows = statement.query([from, to])?;
    while let Some(row) = rows.next()? {
        let sum = |index| -> rusqlite::Result<u64> {
            Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or(0))
        };
        let both = |first: usize| -> rusqlite::Result<Counts> {
            let mut both = Counts::default();
            both.received.bytes = sum(first)?;
            both.received.packets = sum(first + 1)?;
            both.sent.bytes = sum(first + 2)?;
            both.sent.packets = sum(first + 3)?;
            Ok(both)
        };
        let traffic = Traffic {
            internet: both(3)?,
            lan: both(7)?,
        };
        let application = u16::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
        if !each(row.get(0)?, row.get(1)?, application, traffic) {
            break;
        }
    }
    Ok(())
}

fn gather(waiting: &mut BTreeMap<i64, Group>, start: i64, sums: &Sums, query: &Query) {
    for (device, application, traffic) in sums.iter() {
        let group = waiting.entry(start).or_default();
        count(group, device, application, &traffic, query);
    }
}

fn count(group: &mut Group, device: i64, application: u16, traffic: &Traffic, query: &Query) {
    if query
        .device
        .is_some_and(|mac| pending::code(Some(mac)) != device)
    {
        return;
    }
    let key = match query.by {
        By::Device => device,
        By::Application => i64::from(application),
    };
    pending::add(group.entry(key).or_default(), traffic);
}

struct Periods<'a> {
    connection: Option<&'a Connection>,
    memory: &'a Memory<'a>,
    query: &'a Query,
    periods: Vec<Period>,
    /// Names already read from the file.
    names: HashMap<i64, Option<String>>,
}

impl Periods<'_> {
    /// Adds a period of the file, with its pending data, and before it the periods that are in
    /// memory alone.
    fn take(
        &mut self,
        start: i64,
        mut group: Group,
        waiting: &mut BTreeMap<i64, Group>,
    ) -> rusqlite::Result<()> {
        self.flush(waiting, start)?;
        for (key, traffic) in waiting.remove(&start).into_iter().flatten() {
            pending::add(group.entry(key).or_default(), &traffic);
        }
        self.push(start, group)
    }

    /// Adds the periods in memory that begin before an instant.
    fn flush(&mut self, waiting: &mut BTreeMap<i64, Group>, before: i64) -> rusqlite::Result<()> {
        while let Some(entry) = waiting.first_entry() {
            if *entry.key() >= before {
                break;
            }
            let (start, group) = entry.remove_entry();
            self.push(start, group)?;
        }
        Ok(())
    }

    fn push(&mut self, start: i64, group: Group) -> rusqlite::Result<()> {
        let from = self
            .memory
            .calendar
            .span(self.query.unit, self.query.from)
            .start;
        let outside = start < from || start >= self.query.to;
        if group.is_empty() || outside || self.periods.len() >= MOST_PERIODS {
            return Ok(());
        }
        let other = match self.query.by {
            By::Device => OTHER,
            By::Application => 0,
        };
        let mut period = Period {
            start,
            end: self.memory.calendar.span(self.query.unit, start).end,
            traffic: Traffic::default(),
            parts: Vec::new(),
        };
        let mut rest = Traffic::default();
        let mut parts: Vec<(i64, Traffic)> = Vec::new();
        for (key, traffic) in group {
            pending::add(&mut period.traffic, &traffic);
            if key == other {
                pending::add(&mut rest, &traffic);
            } else {
                parts.push((key, traffic));
            }
        }
        parts.sort_unstable_by_key(|(key, traffic)| {
            (std::cmp::Reverse(pending::size(traffic)), *key)
        });
        for (index, (key, traffic)) in parts.into_iter().enumerate() {
            if index >= self.query.parts {
                pending::add(&mut rest, &traffic);
                continue;
            }
            let part = self.part(key, traffic)?;
            period.parts.push(part);
        }
        if rest != Traffic::default() {
            period.parts.push(Part {
                key: Key::Other,
                name: None,
                traffic: rest,
            });
        }
        self.periods.push(period);
        Ok(())
    }

    fn part(&mut self, key: i64, traffic: Traffic) -> rusqlite::Result<Part> {
        let (key, name) = match self.query.by {
            By::Application => {
                let word = self.memory.words.word(u16::try_from(key).unwrap_or(0));
                (Key::Application(word.to_owned()), None)
            }
            By::Device => (
                pending::device(key).map_or(Key::Other, Key::Device),
                self.name(key)?,
            ),
        };
        Ok(Part { key, name, traffic })
    }

    fn name(&mut self, device: i64) -> rusqlite::Result<Option<String>> {
        let known = self.memory.names.get(&device);
        if let Some(name) = known {
            return Ok(Some(name.clone()));
        }
        if let Some(name) = self.names.get(&device) {
            return Ok(name.clone());
        }
        let name: Option<String> = match self.connection {
            Some(connection) => connection
                .query_row("SELECT name FROM device WHERE mac = ?1", [device], |row| {
                    row.get(0)
                })
                .optional()?,
            None => None,
        };
        self.names.insert(device, name.clone());
        Ok(name)
    }
}
