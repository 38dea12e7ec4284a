//! Periods have no gaps and no overlaps, in real zones, and are as long as they should be.

use std::path::Path;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::date};
use proptest::prelude::*;
use weir_history_core::periods::{Calendar, Span, Unit, Weekday};
use weir_history_core::zone;

/// Zones with something odd, and rules without a file as OpenWrt has them.
const ZONES: [&str; 16] = [
    "UTC0",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe", // set by half an hour
    "America/St_Johns",    // set at 00:01 until 2011: back over midnight
    "America/Sao_Paulo",   // set at midnight until 2019
    "America/Havana",      // back at 1:00, midnight comes twice
    "Pacific/Apia",        // had no 2011-12-30
    "Africa/Casablanca",   // back for Ramadan
    "Antarctica/Troll",    // set by two hours
    "Africa/Monrovia",     // by 44 minutes and 30 seconds, in 1972
    "America/Toronto",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", // set on the evening before
];

fn zone(name: &str) -> TimeZone {
    let found = zone::find(Some(name), &|path: &Path| std::fs::read(path).ok());
    assert_eq!(found.source, "TZ", "{name}: {:?}", found.skipped);
    found.zone
}

fn berlin() -> Calendar {
    Calendar::new(zone("Europe/Berlin"))
}

fn at(zone_name: &str, year: i16, month: i8, day: i8, hour: i8, minute: i8) -> i64 {
    date(year, month, day)
        .at(hour, minute, 0, 0)
        .to_zoned(zone(zone_name))
        .expect("a local time")
        .timestamp()
        .as_second()
}

fn shown(calendar: &Calendar, span: Span) -> String {
    let (year, month, day) = calendar.date(span.start);
    format!(
        "{year}-{month:02}-{day:02}, {} h",
        (span.end - span.start) / 3600
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn every_instant_is_in_one_period_and_they_follow_one_another(
        name in prop::sample::select(&ZONES[..]),
        at in prop_oneof![0i64..4_102_444_800, 1_293_836_400i64..1_325_372_400, 0i64..100_000_000],
        begins in 1u8..=28,
        sunday in any::<bool>(),
        near in -7200i64..7200,
    ) {
        let zone = zone(name);
        // Half of the cases lie around a setting of the clock, where things go wrong.
        let at = if at % 2 == 0 { at } else {
            zone.following(Timestamp::from_second(at).expect("a time")).next()
                .map_or(at, |transition| (transition.timestamp().as_second() + near).max(0))
        };
        let week = if sunday { Weekday::Sunday } else { Weekday::Monday };
        let calendar = Calendar::new(zone).month_begins(begins).expect("a day").week_begins(week);
        for (unit, longest) in [(Unit::Hour, 1), (Unit::Day, 48), (Unit::Week, 9 * 24), (Unit::Month, 33 * 24)] {
            let span = calendar.span(unit, at);
            prop_assert!(span.holds(at), "{name} {unit} {at}: {span:?}");
            prop_assert!(span.end - span.start <= longest * 3600, "{name} {unit} {at}: {span:?}");
            // All instants of a period give that period, and its neighbours are adjacent.
            for inside in [span.start, span.end - 1, span.start + (span.end - span.start) / 2] {
                if inside >= 0 { prop_assert_eq!(calendar.span(unit, inside), span, "{} {}", name, unit); }
            }
            prop_assert_eq!(calendar.next(unit, span).start, span.end, "{} {} {}", name, unit, at);
            if span.start > 0 {
                prop_assert_eq!(calendar.span(unit, span.start - 1).end, span.start, "{} {} {}", name, unit, at);
            }
        }
        // The shorter ones fit into the longer ones.
        let hour = calendar.span(Unit::Hour, at);
        let day = calendar.span(Unit::Day, at);
        prop_assert!(day.start <= day.end);
        for outer in [calendar.span(Unit::Week, at), calendar.span(Unit::Month, at)] {
            prop_assert!(outer.start <= day.start && day.end <= outer.end, "{name} {at}");
        }
        // St John's had days that began in the middle of an hour that the clock cut short; still
        // the hour begins within the day.
        prop_assert!(hour.start >= day.start || day.start - hour.start < 3600);
    }

    #[test]
    fn any_number_is_an_instant(at in any::<i64>(), name in prop::sample::select(&ZONES[..])) {
        let calendar = Calendar::new(zone(name));
        for unit in Unit::ALL {
            let span = calendar.span(unit, at);
            prop_assert!(span.start < span.end);
        }
    }
}

#[test]
fn days_have_23_and_25_hours_when_the_clock_is_set() {
    let calendar = berlin();
    for (month, day, told) in [
        (3, 28, "2026-03-28, 24 h"),
        (3, 29, "2026-03-29, 23 h"),
        (10, 25, "2026-10-25, 25 h"),
    ] {
        let span = calendar.span(Unit::Day, at("Europe/Berlin", 2026, month, day, 12, 0));
        assert_eq!(shown(&calendar, span), told);
        let hours = std::iter::successors(Some(calendar.span(Unit::Hour, span.start)), |hour| {
            Some(calendar.next(Unit::Hour, *hour))
        })
        .take_while(|hour| hour.start < span.end)
        .count();
        assert_eq!(hours as i64, (span.end - span.start) / 3600);
    }
}

#[test]
fn months_end_on_their_last_day_in_leap_years_too() {
    let calendar = berlin();
    for (year, month, told) in [
        (2024, 2, "2024-02-01, 696 h"),
        (2026, 2, "2026-02-01, 672 h"),
        (2026, 3, "2026-03-01, 743 h"),
        (2026, 4, "2026-04-01, 720 h"),
        (2100, 2, "2100-02-01, 672 h"),
    ] {
        let span = calendar.span(Unit::Month, at("Europe/Berlin", year, month, 28, 23, 59));
        assert_eq!(shown(&calendar, span), told);
    }
}

#[test]
fn a_month_may_begin_on_the_day_of_the_bill() {
    let calendar = berlin().month_begins(28).expect("a day");
    let span = |year, month, day| {
        shown(
            &calendar,
            calendar.span(Unit::Month, at("Europe/Berlin", year, month, day, 0, 0)),
        )
    };
    assert_eq!(span(2026, 1, 27), "2025-12-28, 744 h");
    assert_eq!(span(2026, 1, 28), "2026-01-28, 744 h");
    assert_eq!(span(2026, 2, 28), "2026-02-28, 672 h");
    assert_eq!(span(2024, 2, 29), "2024-02-28, 696 h");
    for day in [0, 29, 31, 255] {
        let error = berlin().month_begins(day).expect_err("no such day");
        assert!(error.contains(&format!("day {day}")), "{error}");
    }
}

#[test]
fn a_week_begins_when_it_is_said_to() {
    // 2026-11-20 is a Friday.
    let friday = at("Europe/Berlin", 2026, 11, 20, 18, 0);
    for (day, told) in [
        ("monday", "2026-11-16, 168 h"),
        ("Sunday", "2026-11-15, 168 h"),
        ("friday", "2026-11-20, 168 h"),
        ("saturday", "2026-11-14, 168 h"),
    ] {
        let calendar = berlin().week_begins(day.parse().expect("a day"));
        assert_eq!(shown(&calendar, calendar.span(Unit::Week, friday)), told);
    }
    assert!("someday".parse::<Weekday>().is_err());
}

#[test]
fn a_day_begins_at_one_where_midnight_is_left_out() {
    let calendar = Calendar::new(zone("America/Sao_Paulo"));
    // 2018-11-04 began at 1:00.
    let noon = at("America/Sao_Paulo", 2018, 11, 4, 12, 0);
    let span = calendar.span(Unit::Day, noon);
    assert_eq!((span.end - span.start) / 3600, 23);
    assert_eq!(span.start, at("America/Sao_Paulo", 2018, 11, 4, 1, 0));
}

#[test]
fn a_date_that_never_was_is_no_day() {
    let calendar = Calendar::new(zone("Pacific/Apia"));
    let before = calendar.span(Unit::Day, at("Pacific/Apia", 2011, 12, 29, 12, 0));
    assert_eq!(shown(&calendar, before), "2011-12-29, 24 h");
    assert_eq!(
        shown(&calendar, calendar.next(Unit::Day, before)),
        "2011-12-31, 24 h"
    );
}

#[test]
fn a_zone_by_half_an_hour_has_its_own_hours_and_a_short_one() {
    let india = Calendar::new(zone("Asia/Kolkata"));
    let span = india.span(Unit::Hour, 1_768_000_000);
    assert_eq!(span.start % 3600, 1800);
    let island = Calendar::new(zone("Australia/Lord_Howe"));
    // 2026-10-04, 2:00 becomes 2:30.
    let set = at("Australia/Lord_Howe", 2026, 10, 4, 2, 30);
    let span = island.span(Unit::Hour, set);
    assert_eq!((span.start, span.end - span.start), (set, 1800));
}
