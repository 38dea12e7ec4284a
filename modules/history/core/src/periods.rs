//! Hours, days, weeks and months of a time zone: pure.
//!
//! Every instant is in exactly one period of each unit, and periods follow one another without a
//! gap:
//!
//! * An **hour** begins when the minutes of the local clock are zero, and when the clock is set. So
//!   if the clock is set by half an hour (Lord Howe Island), one hour is short; and the repeated
//!   hour in autumn counts as two.
//! * A **day** begins at the first instant of its date: at 1:00 if midnight is left out. It has
//!   23 or 25 hours when the clock is set.
//! * A **week** and a **month** begin with a day: the configured day of the week, the configured
//!   day (1 to 28) of the month.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Span as Step, Timestamp};

/// Last distinct instant, 2500-01-01: later ones count as this one.
const LAST: i64 = 16_725_225_600;
const HOUR: i64 = 3600;

/// A unit in which traffic is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Hour of the clock.
    Hour,
    /// Day of the calendar.
    Day,
    /// Seven days.
    Week,
    /// Billing month: from the configured day of a month to that of the next.
    Month,
}

impl Unit {
    /// All, the shortest first.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        })
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.to_string() == text)
            .ok_or_else(|| format!("{text:?} is not a unit: use hour, day, week or month"))
    }
}

/// A day of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Weekday {
    #[default]
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Monday, "monday"),
        (Self::Tuesday, "tuesday"),
        (Self::Wednesday, "wednesday"),
        (Self::Thursday, "thursday"),
        (Self::Friday, "friday"),
        (Self::Saturday, "saturday"),
        (Self::Sunday, "sunday"),
    ];
}

impl FromStr for Weekday {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(day, _)| day)
            .ok_or_else(|| format!("{text:?} is not a day of the week: use monday to sunday"))
    }
}

/// Span from an instant to, but without, another; seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First second of the span.
    pub start: i64,
    /// The first second of the next.
    pub end: i64,
}

impl Span {
    /// Returns true if the span contains an instant.
    pub fn holds(&self, at: i64) -> bool {
        (self.start..self.end).contains(&at)
    }
}

/// Rules by which the system divides time.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    month_begins: i8,
    week_begins: Weekday,
}

impl Calendar {
    /// Months that begin on the 1st, weeks that begin on Monday.
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            month_begins: 1,
            week_begins: Weekday::Monday,
        }
    }

    /// Sets the first day of months, 1 to 28: days that every month has.
    pub fn month_begins(mut self, day: u8) -> Result<Self, String> {
        match i8::try_from(day) {
            Ok(day @ 1..=28) => {
                self.month_begins = day;
                Ok(self)
            }
            _ => Err(format!(
                "a month cannot begin on day {day}: use 1 to 28, which every month has"
            )),
        }
    }

    /// Sets the first day of weeks.
    pub fn week_begins(mut self, day: Weekday) -> Self {
        self.week_begins = day;
        self
    }

    /// Minutes east of UTC at an instant.
    pub fn offset_minutes(&self, at: i64) -> i32 {
        self.zone.to_offset(instant(at)).seconds() / 60
    }

    /// Returns the local date of an instant, year, month, day.
    pub fn date(&self, at: i64) -> (i16, i8, i8) {
        let date = self.zone.to_datetime(instant(at)).date();
        (date.year(), date.month(), date.day())
    }

    /// Returns the period of an instant. Instants before 1970 count as its first second, those
    /// after 2499 as the last distinct one.
    pub fn span(&self, unit: Unit, at: i64) -> Span {
        let at = at.clamp(0, LAST);
        match unit {
            Unit::Hour => self.hour(at),
            _ => self.dated(unit, at),
        }
    }

    /// Returns the period after one of [`Calendar::span`].
    pub fn next(&self, unit: Unit, span: Span) -> Span {
        self.span(unit, span.end)
    }

    fn hour(&self, at: i64) -> Span {
        let offset = self.zone.to_offset(instant(at));
        let start = at - (at + i64::from(offset.seconds())).rem_euclid(HOUR);
        // The clock may change within that hour. A transition that keeps the offset (a new name)
        // does not count.
        let before = self
            .zone
            .preceding(instant(at + 1))
            .map(|transition| transition.timestamp().as_second())
            .take_while(|set| *set > start)
            .find(|set| self.offset_at(set - 1) != self.offset_at(*set));
        let after = self
            .zone
            .following(instant(at))
            .map(|transition| transition.timestamp().as_second())
            .take_while(|set| *set < start + HOUR)
            .find(|set| self.offset_at(*set) != offset);
        Span {
            start: before.unwrap_or(start),
            end: after.unwrap_or(start + HOUR),
        }
    }

    /// Returns a period that begins with a date. A date may come twice, with another between (the
    /// clock is set back over midnight), or not at all (a change over the date line); so the
    /// instant decides, not the date that the clock shows.
    fn dated(&self, unit: Unit, at: i64) -> Span {
        let mut first = self.first(unit, self.zone.to_datetime(instant(at)).date());
        while self.beginning(first) > at {
            first = self.first(unit, first.saturating_sub(Step::new().days(1)));
        }
        let mut start = self.beginning(first);
        loop {
            let next = following(unit, first);
            let end = self.beginning(next);
            if end > at {
                return Span { start, end };
            }
            (first, start) = (next, end);
        }
    }

    /// Returns the first date of a date's unit.
    fn first(&self, unit: Unit, date: Date) -> Date {
        let back = match unit {
            Unit::Hour | Unit::Day => 0,
            Unit::Week => (date.weekday().to_monday_zero_offset() - self.week_begins as i8)
                .rem_euclid(7)
                .into(),
            Unit::Month => {
                let first = date.first_of_month();
                let first = if date.day() < self.month_begins {
                    first.saturating_sub(Step::new().months(1))
                } else {
                    first
                };
                return first.saturating_add(Step::new().days(self.month_begins - 1));
            }
        };
        date.saturating_sub(Step::new().days(back))
    }

    /// Returns the first instant of a date.
    fn beginning(&self, date: Date) -> i64 {
        let midnight = date.at(0, 0, 0, 0);
        let ambiguous = self.zone.to_ambiguous_timestamp(midnight);
        let second = |offset: Offset| {
            offset
                .to_timestamp(midnight)
                .map_or(0, |timestamp| timestamp.as_second())
        };
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => second(offset),
            AmbiguousOffset::Fold { before, .. } => second(before),
            // Midnight is skipped: the day begins when the clock is set, whatever time the clock
            // shows then.
            AmbiguousOffset::Gap { after, .. } => {
                let earlier = second(after);
                self.zone
                    .following(instant(earlier))
                    .next()
                    .map_or(earlier, |transition| transition.timestamp().as_second())
            }
        }
    }

    fn offset_at(&self, at: i64) -> Offset {
        self.zone.to_offset(instant(at))
    }
}

fn following(unit: Unit, first: Date) -> Date {
    let step = match unit {
        Unit::Hour | Unit::Day => Step::new().days(1),
        Unit::Week => Step::new().days(7),
        Unit::Month => Step::new().months(1),
    };
    first.saturating_add(step)
}

fn instant(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH)
}
