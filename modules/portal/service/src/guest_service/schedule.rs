//! Closed and open hours of the week. The kernel's own timeouts end both.

use std::time::{Duration, Instant};

use answers::{PortalHours, PortalMode};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::clock::unix_seconds;
use portal_core::Millis;
use portal_core::page::GuestProblem;
use portal_core::schedule::{LocalTime, Mode, Schedule};
use tracing::info;

/// Seconds since 1970 before which a clock is wrong (2024): then no schedule applies.
pub(super) const BUILT: u64 = 1_704_067_200;
/// Seconds by which a clock may move without having been set.
const STEADY: u64 = 2;

/// The schedule and its present mode.
pub struct ScheduleState {
    began: Instant,
    schedule: Schedule,
    zone: TimeZone,
    pub mode: Mode,
    /// Time of the next change of mode.
    change: Option<Instant>,
    /// Start of the next closed hours.
    closing: Option<Instant>,
    /// A time of this process, and of the day.
    clocks: (Instant, u64),
    /// Time during which vouchers were not needed, or of no use: their time does not pass.
    paused: Duration,
    since: Option<Instant>,
}

impl ScheduleState {
    /// Creates the hours; `wall` is in seconds since 1970. Reads the zone: call with all rights.
    pub fn new(schedule: Schedule, (now, wall): (Instant, u64)) -> Self {
        let mut hours = Self {
            began: now,
            schedule,
            zone: history_core::zone::system().zone,
            mode: Mode::default(),
            change: None,
            closing: None,
            clocks: (now, wall),
            paused: Duration::ZERO,
            since: None,
        };
        hours.set(now, wall);
        hours
    }

    /// Returns the time since the start of the portal.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the clock of the vouchers' time.
    pub fn now(&self) -> Millis {
        let gone = self.elapsed().saturating_sub(self.paused());
        gone.as_millis() as Millis
    }

    /// Returns the vouchers' clock and the time of day.
    pub fn when(&self) -> (Millis, u64) {
        (self.now(), unix_seconds())
    }

    /// Refuses log-ins in closed hours.
    pub fn check_open(&self) -> Result<(), GuestProblem> {
        match self.mode {
            Mode::Closed => Err(GuestProblem::Closed(self.lasts().map(seconds))),
            Mode::Vouchers | Mode::Open => Ok(()),
        }
    }

    /// Returns the hours in the form of the API.
    pub fn shown(&self) -> PortalHours {
        PortalHours {
            mode: match self.mode {
                Mode::Vouchers => PortalMode::Vouchers,
                Mode::Closed => PortalMode::Closed,
                Mode::Open => PortalMode::Open,
            },
            seconds: self.lasts().map(seconds),
        }
    }

    /// Returns how long vouchers were not needed, or not valid.
    fn paused(&self) -> Duration {
        self.paused + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns true while the time of vouchers passes.
    pub fn runs(&self) -> bool {
        self.mode == Mode::Vouchers
    }

    /// Returns the time of the next clock check.
    pub fn next(&self) -> Option<Instant> {
        self.change
    }

    /// Returns how long this mode lasts.
    pub fn lasts(&self) -> Option<Duration> {
        let now = Instant::now();
        self.change.map(|at| at.saturating_duration_since(now))
    }

    /// Returns the kernel's timeout for an admitted device; `None`: no device gets in now.
    pub fn bound(&self, left: Option<Millis>) -> Option<Option<Millis>> {
        let millis = |time: Duration| time.as_millis() as Millis;
        let left = match self.mode {
            Mode::Closed => return None,
            Mode::Vouchers => left,
            Mode::Open => left.map(|left| left.saturating_add(self.lasts().map_or(0, millis))),
        };
        let now = Instant::now();
        let closing = self
            .closing
            .map(|at| millis(at.saturating_duration_since(now)));
        Some(match (left, closing) {
            (Some(left), Some(closing)) => Some(left.min(closing)),
            (left, closing) => left.or(closing),
        })
    }

    /// Sets the hours. Returns true if the kernel needs an update.
    pub fn configure(&mut self, schedule: Schedule, wall: u64) -> bool {
        let same = std::mem::replace(&mut self.schedule, schedule) == self.schedule;
        if !same {
            self.set(Instant::now(), wall);
        }
        !same
    }

    /// Checks the clock. Returns true if the clock was set, or the mode may have changed.
    pub fn update(&mut self, wall: u64) -> bool {
        let now = Instant::now();
        let (then, told) = self.clocks;
        let expected = told + now.duration_since(then).as_secs();
        let was_set = wall.abs_diff(expected) > STEADY;
        let changes = self.change.is_some_and(|at| at <= now);
        if was_set || changes {
            self.set(now, wall);
        }
        was_set && self.schedule != Schedule::default() || changes
    }

    fn set(&mut self, now: Instant, wall: u64) {
        let before = self.mode;
        let zone = self.zone.clone();
        let local = move |at: u64| {
            let at = i64::try_from(at).ok();
            let at = at.and_then(|at| Timestamp::from_second(at).ok());
            let at = at.unwrap_or_default().to_zoned(zone.clone());
            LocalTime {
                day: at.weekday().to_monday_zero_offset() as u32,
                minute: at.hour() as u32 * 60 + at.minute() as u32,
            }
        };
        self.clocks = (now, wall);
        self.mode = match wall >= BUILT {
            true => self.schedule.mode(local(wall)),
            false => Mode::default(),
        };
        let mode = self.mode;
        let known = |at: u64| wall >= BUILT && at > wall;
        let instant = |at: Option<u64>| {
            let at = at.filter(|at| known(*at))?;
            Some(now + Duration::from_secs(at - wall))
        };
        self.change = instant(self.schedule.first(wall, &local, &|one| one != mode));
        let closes = |one| one == Mode::Closed;
        self.closing = match mode {
            Mode::Closed => None,
            _ => instant(self.schedule.first(wall, &local, &closes)),
        };
        match (self.runs(), self.since) {
            (false, None) => self.since = Some(now),
            (true, Some(since)) => {
                self.paused += now.duration_since(since);
                self.since = None;
            }
            _ => {}
        }
        if before != mode {
            let mode = format!("{mode:?}").to_lowercase();
            info!(%mode, "hours of the portal changed");
        }
    }
}

/// Returns the whole seconds after which a time is over.
pub fn seconds(time: Duration) -> u64 {
    time.as_secs() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Tuesday, 12:00 UTC.
    const NOON: u64 = 1_795_521_600;
    const HOUR: u64 = 3600;

    fn hours(closed: &str, wall: u64) -> ScheduleState {
        let schedule = Schedule {
            closed: vec![closed.parse().expect("a time")],
            open: Vec::new(),
        };
        let mut hours = ScheduleState::new(Schedule::default(), (Instant::now(), wall));
        hours.zone = TimeZone::UTC;
        hours.configure(schedule, wall);
        hours
    }

    #[test]
    fn the_kernel_is_told_no_longer_than_until_it_closes() {
        let hours = hours("Tue 13:00-14:00", NOON);
        assert_eq!(hours.mode, Mode::Vouchers);
        for left in [None, Some(Millis::MAX)] {
            let told = hours.bound(left).flatten().expect("an end");
            let near = HOUR * 1000 - 5000..=HOUR * 1000;
            assert!(near.contains(&told), "{told}");
        }
        assert_eq!(hours.bound(Some(7)), Some(Some(7)));
    }

    /// A router that boots without a clock is open; once the time is known, the hours apply.
    #[test]
    fn a_clock_that_is_set_is_noticed() {
        let mut hours = hours("Tue 11:00-14:00", 1000);
        assert_eq!(hours.mode, Mode::Vouchers);
        assert_eq!((hours.bound(None), hours.next()), (Some(None), None));
        assert!(!hours.update(1000), "nothing happened");
        assert!(hours.update(NOON));
        assert_eq!((hours.mode, hours.bound(None)), (Mode::Closed, None));
        assert!(!hours.update(NOON + 1));
        // Years back and forth: the same.
        assert!(hours.update(NOON - 365 * 24 * HOUR - 2 * HOUR));
        assert!(hours.update(NOON));
        assert_eq!(hours.mode, Mode::Closed);
        assert!(hours.update(NOON + 3 * HOUR));
        assert_eq!(hours.mode, Mode::Vouchers);
    }

    #[test]
    fn time_stands_still_while_it_is_closed() {
        let hours = hours("Mon-Sun", NOON);
        let pause = Duration::from_millis(20);
        let before = hours.paused();
        std::thread::sleep(pause);
        assert!(hours.paused() >= before + pause && !hours.runs());
    }
}
