//! Time range of a chart: from the question and the data.

use std::ops::RangeInclusive;

use rusqlite::Connection;

use crate::chart_query::{ChartQuery, POINTS, Span};
use crate::error::Error;
use crate::text::Language;
use crate::time::{Unit, day, iso};

/// Number of points without `by=`.
const USUAL: i64 = 400;

/// Limits of community rows read, without `by=` and in any case: a thousand take nearly a
/// millisecond.
const USUAL_ROWS: i64 = 40_000;
const ROWS: i64 = 50_000;

/// Returns the hours of the first and the last snapshot; `None`: no snapshot.
pub(super) fn record(store: &Connection) -> Result<Option<(i64, i64)>, Error> {
    let sql = "SELECT (SELECT min(hour) FROM hour_totals), (SELECT max(hour) FROM hour_totals)";
    let ends = store
        .prepare(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match ends {
        (Some(first), Some(last)) => Some((first, last)),
        _ => None,
    })
}

/// Returns the hour of the snapshot nearest to a range without any; `None`: the range has one, or
/// the store has none.
pub(crate) fn nearest(store: &Connection, from: i64, to: i64) -> Result<Option<i64>, Error> {
    let sql = "SELECT (SELECT max(hour) FROM hour_totals WHERE hour < ?1),
        (SELECT min(hour) FROM hour_totals WHERE hour >= ?1)";
    let mut statement = store.prepare(sql)?;
    let (before, after) = statement.query_row([from], |row| {
        Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
    })?;
    Ok(match (before, after) {
        (_, Some(after)) if after < to => None,
        (Some(before), Some(after)) if after - to >= from - before => Some(before),
        (before, after) => after.or(before),
    })
}

/// Scope of rows that a chart reads for each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowScope {
    /// A row of the whole directory, or of one community.
    One,
    /// A row of each community.
    All,
}

/// A range of time, in whole points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub by: Unit,
    /// Number of the first point.
    pub first: i64,
    /// Number of the last point; less than `first`: no points.
    pub last: i64,
    /// The first and the last hour of all data.
    pub record: Option<(i64, i64)>,
    /// Reasons for a difference from the question.
    pub notes: Vec<String>,
}

impl Range {
    pub fn of(store: &Connection, asked: &ChartQuery, reads: RowScope) -> Result<Self, Error> {
        let record = record(store)?;
        let (begin, end) = (
            asked.from.map(|span| span.begin),
            asked.to.map(|span| span.end),
        );
        in_order(begin, end)?;
        let inside = record.and_then(|(first, last)| {
            let from = begin.unwrap_or(first).max(first);
            let to = end.unwrap_or(last + 1).min(last + 1);
            (from < to).then_some((from, to))
        });
        let Some((from, to)) = inside else {
            let by = asked.by.unwrap_or_default();
            let first = by.number(begin.or(end).unwrap_or(0));
            return Ok(Self {
                by,
                first,
                last: first - 1,
                record,
                notes: vec![nothing(record, asked.language)],
            });
        };
        let mut range = Self {
            by: Unit::Month,
            first: 0,
            last: 0,
            record,
            notes: Vec::new(),
        };
        range.set(asked.by.unwrap_or(usual(from, to)), from, to);
        if range.points() > POINTS {
            return Err(too_many(&range));
        }
        if reads == RowScope::All {
            let most = if asked.by.is_some() { ROWS } else { USUAL_ROWS };
            while range.by != Unit::Month && range.rows(store)? > most {
                if asked.by == Some(range.by) {
                    range.notes.push(coarser(asked.language));
                }
                range.set(next(range.by), from, to);
            }
        }
        Ok(range)
    }

    fn set(&mut self, by: Unit, from: i64, to: i64) {
        (self.by, self.first, self.last) = (by, by.number(from), by.number(to - 1));
    }

    fn points(&self) -> i64 {
        self.last - self.first + 1
    }

    /// Rows of single communities in it, at most.
    fn rows(&self, store: &Connection) -> Result<i64, Error> {
        let sql = match self.by {
            Unit::Hour => "SELECT count(*) FROM hour_totals WHERE hour BETWEEN ?1 AND ?2",
            Unit::Day => "SELECT count(*) FROM day_totals WHERE day BETWEEN ?1 AND ?2",
            Unit::Month => "SELECT count(*) FROM month_totals WHERE month BETWEEN ?1 AND ?2",
        };
        let ends = [self.first, self.last];
        let points: i64 = store.prepare(sql)?.query_row(ends, |row| row.get(0))?;
        let sql = "SELECT count(*) FROM communities";
        let communities: i64 = store.prepare(sql)?.query_row([], |row| row.get(0))?;
        Ok(points.saturating_mul(communities))
    }

    pub fn numbers(&self) -> RangeInclusive<i64> {
        self.first..=self.last
    }

    /// Returns the first hour.
    pub fn from(&self) -> i64 {
        self.by.begin(self.first)
    }

    /// Returns the first hour after the span.
    pub fn to(&self) -> i64 {
        self.by.begin(self.last + 1)
    }
}

fn in_order(begin: Option<i64>, end: Option<i64>) -> Result<(), Error> {
    match (begin, end) {
        (Some(begin), Some(end)) if begin >= end => {
            let error = format!(
                "`from` ({}) is later than `to`, whose last hour is {}: give the earlier as `from`",
                iso(begin),
                iso(end - 1)
            );
            Err(Error::Asked(error))
        }
        _ => Ok(()),
    }
}

/// Returns the finest unit with few enough points.
fn usual(from: i64, to: i64) -> Unit {
    let units = [Unit::Hour, Unit::Day];
    let few = |by: &Unit| by.number(to - 1) - by.number(from) < USUAL;
    units.into_iter().find(few).unwrap_or(Unit::Month)
}

fn next(by: Unit) -> Unit {
    match by {
        Unit::Hour => Unit::Day,
        Unit::Day | Unit::Month => Unit::Month,
    }
}

fn too_many(range: &Range) -> Error {
    let mut by = range.by;
    while by != Unit::Month && by.number(range.to() - 1) - by.number(range.from()) >= POINTS {
        by = next(by);
    }
    let (word, days) = match range.by {
        Unit::Hour => ("hour", POINTS / 24),
        Unit::Day => ("day", POINTS),
        Unit::Month => ("month", POINTS * 30),
    };
    Error::Asked(format!(
        "`by={word}` would be {} points, and {POINTS} are the most: give `by={}`, or a range of at \
         most {days} days",
        range.points(),
        by.word()
    ))
}

fn coarser(language: Language) -> String {
    language
        .of(
            "Coarser than asked for: for finer points give a shorter range.",
            "Gröber als gefragt: für feinere Punkte einen kürzeren Zeitraum angeben.",
        )
        .to_owned()
}

fn nothing(record: Option<(i64, i64)>, language: Language) -> String {
    let Some((first, last)) = record else {
        let text = language.of(
            "There is no data yet: `weir-atlas import PATH` reads some.",
            "Noch sind keine Daten da: `weir-atlas import PFAD` liest welche ein.",
        );
        return text.to_owned();
    };
    let (first, last) = (day(first), day(last));
    match language {
        Language::English => {
            format!("Nothing is known of this time: data is from {first} to {last}.")
        }
        Language::German => {
            format!("Von dieser Zeit ist nichts bekannt: Daten gibt es von {first} bis {last}.")
        }
    }
}

/// Time whose mean a chart shows: `at`, otherwise `from` to `to`, otherwise the last month.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Period {
    pub range: Range,
    pub span: Span,
}

impl Period {
    pub fn of(store: &Connection, asked: &ChartQuery) -> Result<Self, Error> {
        let record = record(store)?;
        let (begin, end) = (
            asked.from.map(|span| span.begin),
            asked.to.map(|span| span.end),
        );
        let (first, last) = record.unwrap_or((0, -1));
        let span = match (asked.at, begin, end) {
            (Some(at), ..) => at,
            (None, None, None) => Span::of(Unit::Month, Unit::Month.number(last)),
            (None, begin, end) => {
                in_order(begin, end)?;
                Span {
                    begin: begin.unwrap_or(first),
                    end: end.unwrap_or(last + 1),
                }
            }
        };
        // Spans other than whole months are read by days, and other than whole days by hours,
        // unless too long: then partial units count whole.
        let hours = span.end - span.begin;
        let whole = |by: Unit| {
            let cuts = [span.begin, span.end];
            cuts.into_iter()
                .all(|hour| by.begin(by.number(hour)) == hour)
        };
        let by = if whole(Unit::Month) || hours > 62 * 24 {
            Unit::Month
        } else if whole(Unit::Day) || hours > 48 {
            Unit::Day
        } else {
            Unit::Hour
        };
        let known = record.filter(|_| span.begin <= last && span.end > first && hours > 0);
        let (first, last, notes) = match known {
            Some((first, last)) => (
                by.number(span.begin.max(first)),
                by.number((span.end - 1).min(last)),
                Vec::new(),
            ),
            None => {
                let number = by.number(span.begin);
                (number, number - 1, vec![nothing(record, asked.language)])
            }
        };
        let range = Range {
            by,
            first,
            last,
            record,
            notes,
        };
        Ok(Self { range, span })
    }

    /// Returns a title such as "Largest communities, October 2019".
    pub fn titled(&self, title: &str, language: Language) -> String {
        format!("{title}, {}", self.label(language))
    }

    fn label(&self, language: Language) -> String {
        let Span { begin, end } = self.span;
        let units = [Unit::Hour, Unit::Day, Unit::Month];
        let mut same = units.map(|unit| (unit, unit.number(begin))).into_iter();
        if let Some((unit, number)) =
            same.find(|(unit, number)| Span::of(*unit, *number) == self.span)
        {
            return label(unit, number, language);
        }
        let word = self.span.word();
        if word.len() == 4 {
            return word;
        }
        format!("{} – {}", day(begin), day((end - 1).max(begin)))
    }
}

/// Returns a label such as "October 2019", "2019-10-17", "2019-10-17 22:00 UTC".
pub(super) fn label(by: Unit, number: i64, language: Language) -> String {
    let hour = by.begin(number);
    let date = day(hour);
    match by {
        Unit::Month => format!("{} {}", language.month(date.month()), date.year()),
        Unit::Day => date.to_string(),
        Unit::Hour => format!("{date} {:02}:00 UTC", hour.rem_euclid(24)),
    }
}
