//! Hours of the week in which no device or every device is admitted. Pure: the caller converts a
//! time to the local time of the week.

use std::fmt;
use std::str::FromStr;

/// Names of days, in the order of the week.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY: u32 = 24 * 60;
/// Seconds that the schedule looks ahead: a week, and an hour for a change of the zone's offset.
const AHEAD: u64 = 7 * 86_400 + 3600;

/// Admission mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Devices with vouchers are admitted.
    #[default]
    Vouchers,
    /// Only devices that need no voucher are admitted.
    Closed,
    /// All devices are admitted.
    Open,
}

/// A time of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// 0: Monday.
    pub day: u32,
    /// Minutes of the day that are over.
    pub minute: u32,
}

/// A time of each of some days: `Mon-Fri 22:00-06:00`, `Sat,Sun`, `12:00-13:00`. One that ends
/// before it begins ends on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeeklySpan {
    /// A bit for each day on which it begins.
    days: u8,
    from: u32,
    to: u32,
}

/// Not such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid time: write it as \"Mon-Fri 22:00-06:00\", \"Sat,Sun\" or \"12:00-13:00\"")]
pub struct InvalidSpan;

impl WeeklySpan {
    fn has(&self, at: LocalTime) -> bool {
        let begins = |day: u32| self.days & 1 << (day % 7) != 0;
        let (today, before) = (begins(at.day), begins(at.day + 6));
        match self.from < self.to {
            true => today && (self.from..self.to).contains(&at.minute),
            false => today && at.minute >= self.from || before && at.minute < self.to,
        }
    }
}

impl FromStr for WeeklySpan {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let mut parts = text.split_whitespace();
        let (first, second) = (parts.next().ok_or(InvalidSpan)?, parts.next());
        if parts.next().is_some() {
            return Err(InvalidSpan);
        }
        let (days, hours) = match (first.contains(':'), second) {
            (true, None) => (0x7f, Some(first)),
            (true, Some(_)) => return Err(InvalidSpan),
            (false, hours) => (days(first).ok_or(InvalidSpan)?, hours),
        };
        let (from, to) = match hours {
            Some(hours) => {
                let (from, to) = hours.split_once('-').ok_or(InvalidSpan)?;
                (minute(from)?, minute(to)?)
            }
            None => (0, DAY),
        };
        if from == to || from == DAY {
            return Err(InvalidSpan);
        }
        Ok(Self { days, from, to })
    }
}

impl fmt::Display for WeeklySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = DAYS.iter().enumerate();
        let named = named.filter(|(day, _)| self.days & 1 << day != 0);
        let named: Vec<&str> = named.map(|(_, name)| *name).collect();
        f.write_str(&named.join(","))?;
        let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
        match (self.from, self.to) {
            (0, DAY) => Ok(()),
            (from, to) => write!(f, " {}-{}", clock(from), clock(to)),
        }
    }
}

fn days(text: &str) -> Option<u8> {
    let day = |name: &str| {
        let found = DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
        found.map(|day| day as u8)
    };
    text.split(',').try_fold(0, |days, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        // Fri-Mon wraps around the end of the week.
        let many = (last + 7 - first) % 7;
        Some((0..=many).fold(days, |days, more| days | 1 << ((first + more) % 7)))
    })
}

fn minute(text: &str) -> Result<u32, InvalidSpan> {
    let (hour, minute) = text.split_once(':').ok_or(InvalidSpan)?;
    let number = |text: &str| match text.len() == 2 && text.bytes().all(|o| o.is_ascii_digit()) {
        true => text.parse::<u32>().map_err(|_| InvalidSpan),
        false => Err(InvalidSpan),
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let all = hour * 60 + minute;
    (minute < 60 && all <= DAY)
        .then_some(all)
        .ok_or(InvalidSpan)
}

/// Closed and open hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Closed hours; they override open hours.
    pub closed: Vec<WeeklySpan>,
    /// Hours in which all devices are admitted.
    pub open: Vec<WeeklySpan>,
}

impl Schedule {
    /// Returns the mode at a time.
    pub fn mode(&self, at: LocalTime) -> Mode {
        let within = |spans: &[WeeklySpan]| spans.iter().any(|span| span.has(at));
        match (within(&self.closed), within(&self.open)) {
            (true, _) => Mode::Closed,
            (false, true) => Mode::Open,
            (false, false) => Mode::Vouchers,
        }
    }

    /// Returns the first full minute after a time of day, seconds since 1970, that satisfies a
    /// condition; `None`: no such minute within a week.
    pub fn first(
        &self,
        after: u64,
        local: &dyn Fn(u64) -> LocalTime,
        holds: &dyn Fn(Mode) -> bool,
    ) -> Option<u64> {
        if self.closed.is_empty() && self.open.is_empty() {
            return None;
        }
        let next = after - after % 60 + 60;
        let minutes = (next..=next + AHEAD).step_by(60);
        let mut minutes = minutes.map(|at| (at, self.mode(local(at))));
        minutes.find(|(_, mode)| holds(*mode)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(closed: &[&str], open: &[&str]) -> Schedule {
        let read = |spans: &[&str]| {
            let spans = spans.iter().map(|span| span.parse().expect("a span"));
            spans.collect()
        };
        Schedule {
            closed: read(closed),
            open: read(open),
        }
    }

    /// Converts a time in UTC; 1970 began on a Thursday.
    fn local(at: u64) -> LocalTime {
        LocalTime {
            day: ((at / 86_400 + 3) % 7) as u32,
            minute: (at % 86_400 / 60) as u32,
        }
    }

    #[test]
    fn nights_go_over_midnight_and_the_end_of_the_week() {
        let nights = schedule(&["Fri-Sun 22:00-06:00"], &["Sun"]);
        let mode = |day, hour: u32| {
            nights.mode(LocalTime {
                day,
                minute: hour * 60,
            })
        };
        assert_eq!(mode(3, 23), Mode::Vouchers, "Thursday night");
        assert_eq!(mode(4, 5), Mode::Vouchers, "Friday morning");
        assert_eq!(mode(4, 22), Mode::Closed);
        assert_eq!(mode(5, 5), Mode::Closed, "after Friday's midnight");
        assert_eq!(mode(5, 6), Mode::Vouchers);
        assert_eq!(mode(6, 12), Mode::Open);
        assert_eq!(mode(6, 23), Mode::Closed, "closed holds against open");
        assert_eq!(mode(0, 5), Mode::Closed, "after Sunday's midnight");
        assert_eq!(mode(0, 6), Mode::Vouchers);
    }

    #[test]
    fn the_next_change_is_found() {
        let nights = schedule(&["22:00-06:00"], &[]);
        let closes = nights.first(100, &local, &|mode| mode == Mode::Closed);
        assert_eq!(closes, Some(120), "it is closed already");
        let opens = nights.first(100, &local, &|mode| mode != Mode::Closed);
        assert_eq!(opens, Some(6 * 3600));
        let mondays = schedule(&["Mon 12:00-13:00"], &[]);
        let closes = mondays.first(0, &local, &|mode| mode == Mode::Closed);
        assert_eq!(closes, Some(4 * 86_400 + 12 * 3600));
        let never = Schedule::default().first(0, &local, &|_| true);
        assert_eq!(never, None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in [
            "",
            "Mon Tue",
            "22:00",
            "22-06",
            "24:01-25:00",
            "12:00-12:00",
            "24:00-06:00",
            "Mon- 12:00-13:00",
            "Montag",
            "Mon 12:00-13:60",
            "12:00-13:00 Mon",
            "1:00-2:00",
        ] {
            assert_eq!(wrong.parse::<WeeklySpan>(), Err(InvalidSpan), "{wrong}");
        }
        let span: WeeklySpan = "sat-Mon,wed 18:30-24:00".parse().expect("a span");
        assert_eq!(span.to_string(), "Mon,Wed,Sat,Sun 18:30-24:00");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_what_is_shown_is_read(text in "[A-Za-z0-9:, -]{0,40}") {
            if let Ok(span) = text.parse::<WeeklySpan>() {
                prop_assert_eq!(span.to_string().parse(), Ok(span));
            }
        }

        #[test]
        fn what_is_shown_is_read(days in 1_u8..0x80, from in 0..DAY, long in 1..DAY) {
            let to = (from + long) % DAY;
            let to = if to == 0 { DAY } else { to };
            let span = WeeklySpan { days, from, to };
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
