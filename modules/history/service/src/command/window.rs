//! Selection of periods. Only the response has the router's time zone, so the query covers more,
//! and the excess is removed.

use answers::{HistoryUnit, Period};

use runtime::output::dates::{Moment, Span};

const DAY: u64 = 86_400;
/// No time zone is further from UTC.
const ZONES: u64 = DAY;

/// From which period to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    unit: HistoryUnit,
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// The last periods, up to now.
    Last(u32),
    /// Periods that overlap this span.
    Between(Option<Span>, Option<Span>),
}

impl Window {
    pub(super) fn new(
        unit: HistoryUnit,
        last: Option<u32>,
        from: Option<Span>,
        to: Option<Span>,
    ) -> Self {
        let usual = match unit {
            HistoryUnit::Hour => 24,
            HistoryUnit::Day => 14,
            HistoryUnit::Month => 12,
        };
        let bounds = if from.is_none() && to.is_none() {
            Bounds::Last(last.unwrap_or(usual))
        } else {
            Bounds::Between(from, to)
        };
        Self { unit, bounds }
    }

    /// Returns the span to query, in seconds since 1970: the selection in any time zone, and a
    /// little more.
    pub(super) fn asked(&self, now: u64) -> (u64, Option<u64>) {
        let longest = match self.unit {
            HistoryUnit::Hour => 3600,
            // The day on which clocks are set back.
            HistoryUnit::Day => DAY + 3600,
            HistoryUnit::Month => 31 * DAY + 3600,
        };
        let margin = ZONES + 2 * longest;
        match self.bounds {
            Bounds::Last(number) => (
                now.saturating_sub(u64::from(number) * longest + margin),
                None,
            ),
            Bounds::Between(from, to) => {
                let seconds = |moment: Moment| u64::try_from(moment.seconds()).unwrap_or(0);
                let from = from.map_or(0, |span| seconds(span.start).saturating_sub(margin));
                (
                    from,
                    to.map(|span| seconds(span.end).saturating_add(margin)),
                )
            }
        }
    }

    /// Returns true if the period is selected, where clocks are `offset` minutes ahead of UTC.
    pub(super) fn has(&self, period: &Period, now: u64, offset: i32) -> bool {
        // The middle of the period, so that an hour of summer time makes no difference.
        let middle = period
            .start
            .saturating_add(period.end.saturating_sub(period.start) / 2);
        let number = |moment| self.number(moment);
        let this = number(Moment::new(middle, offset));
        match self.bounds {
            Bounds::Last(last) => {
                // The one that runs counts too. Where months begin on another day, its number may
                // be that of the next.
                let running = if (period.start..period.end).contains(&now) {
                    this
                } else {
                    number(Moment::new(now, offset))
                };
                this > running - i64::from(last)
            }
            Bounds::Between(from, to) => {
                from.is_none_or(|span| this >= number(span.start))
                    && to.is_none_or(|span| this <= number(span.end.earlier(1)))
            }
        }
    }

    /// Numbers hours, days or months consecutively.
    fn number(&self, moment: Moment) -> i64 {
        match self.unit {
            HistoryUnit::Hour => moment.seconds().div_euclid(3600),
            HistoryUnit::Day => moment.day(),
            HistoryUnit::Month => moment.month(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-20 15:30 UTC.
    const NOW: u64 = 1_795_188_600;

    fn period(start: u64, length: u64) -> Period {
        Period {
            start,
            end: start + length,
            ..Period::default()
        }
    }

    fn span(text: &str) -> Option<Span> {
        Some(text.parse().expect("a date"))
    }

    /// Returns the selected periods among `length` periods before the current one.
    fn meant(window: Window, first: u64, length: u64, offset: i32) -> Vec<u64> {
        let (from, to) = window.asked(NOW);
        let numbers = 0..400u64;
        let had =
            numbers.filter(|back| window.has(&period(first - back * length, length), NOW, offset));
        had.inspect(|back| {
            let one = period(first - back * length, length);
            assert!(
                one.end > from && to.is_none_or(|to| one.start < to),
                "{one:?}"
            );
        })
        .collect()
    }

    #[test]
    fn the_last_ones_up_to_now() {
        for offset in [0, 60, -300, 345, 840] {
            // Midnight in that zone, at the latest before now.
            let local = i64::try_from(NOW).expect("small") + i64::from(offset) * 60;
            let midnight = local - local.rem_euclid(86_400) - i64::from(offset) * 60;
            let midnight = u64::try_from(midnight).expect("after 1970");
            let days = Window::new(HistoryUnit::Day, Some(3), None, None);
            assert_eq!(meant(days, midnight, DAY, offset), [0, 1, 2], "{offset}");
        }
        let hours = Window::new(HistoryUnit::Hour, None, None, None);
        assert_eq!(meant(hours, NOW - NOW % 3600, 3600, 60).len(), 24);
    }

    #[test]
    fn a_day_that_began_by_another_clock_is_that_day() {
        let days = Window::new(HistoryUnit::Day, Some(1), None, None);
        let midnight = NOW - NOW % DAY;
        // Summer time ended since: by the clock of now, the day began at 23:00.
        assert!(days.has(&period(midnight - 3600, DAY + 3600), NOW, 0));
        assert!(!days.has(&period(midnight - 3600 - DAY, DAY), NOW, 0));
    }

    #[test]
    fn summer_does_not_bring_a_day_more() {
        let days = Window::new(HistoryUnit::Day, None, None, span("2026-07-10"));
        // Midnight of the 11th of July where clocks were two hours ahead then, and are one now.
        let eleventh = 1_783_720_800;
        assert!(!days.has(&period(eleventh, DAY), NOW, 60));
        assert!(days.has(&period(eleventh - DAY, DAY), NOW, 60));
    }

    #[test]
    fn from_one_to_another() {
        let midnight = NOW - NOW % DAY;
        let days = |from, to| {
            meant(
                Window::new(HistoryUnit::Day, None, from, to),
                midnight,
                DAY,
                0,
            )
        };
        assert_eq!(days(span("2026-11-18"), span("2026-11-19")), [1, 2]);
        assert_eq!(
            days(span("2026-11-19 15:00"), None),
            [0, 1],
            "the day that it is in"
        );
        assert_eq!(days(span("2026-11"), None).len(), 20);
        assert_eq!(days(None, span("2025-11")).len(), 45, "of the 400");
        let hours = Window::new(
            HistoryUnit::Hour,
            None,
            span("2026-11-20 03"),
            span("2026-11-20 03"),
        );
        assert_eq!(meant(hours, NOW - NOW % 3600, 3600, 0), [12]);
        let months = Window::new(HistoryUnit::Month, None, span("2026-10"), span("2026-10"));
        // October 2026, where clocks are two hours ahead in summer and one now.
        let october = period(1_790_805_600, 31 * DAY + 3600);
        assert!(months.has(&october, NOW, 60));
        assert!(!months.has(&period(october.end, 30 * DAY), NOW, 60));
        assert!(!months.has(&period(october.start - 30 * DAY, 30 * DAY), NOW, 60));
    }
}
