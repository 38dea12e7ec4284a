//! Queries return the traffic that was added: from memory, from the file, after a restart, whatever
//! the clock does.

use crate::common;
use common::*;
use monitor_core::count::Traffic;
use proptest::prelude::*;
use weir_history_core::{By, Key, Mac, Query, Settings, Store, Unit};

#[test]
fn what_waits_and_what_is_written_are_told_alike() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    let fill = |store: &mut Store| {
        store.add(NOON, Some(mac(1)), "web", &traffic(5000));
        store.add(NOON, Some(mac(1)), "dns", &traffic(100));
        store.add(NOON + HOUR, Some(mac(2)), "web", &traffic(7000));
        store.add(NOON + HOUR, None, "web", &traffic(1));
    };
    fill(&mut store);
    let tell = |store: &Store| -> Vec<_> {
        Unit::ALL
            .into_iter()
            .flat_map(|unit| [By::Device, By::Application].map(|by| periods(store, unit, by)))
            .collect()
    };
    let before = tell(&store);
    assert_eq!(before[0].len(), 2, "two hours");
    let day = &before[2];
    assert_eq!(day.len(), 1, "one day");
    assert_eq!(day[0].traffic.internet.received.bytes, 12_101);
    let keys: Vec<_> = day[0].parts.iter().map(|part| part.key.clone()).collect();
    assert_eq!(
        keys,
        [Key::Device(mac(2)), Key::Device(mac(1)), Key::Other],
        "the largest first"
    );
    let keys: Vec<_> = before[3][0]
        .parts
        .iter()
        .map(|part| key(&part.key))
        .collect();
    assert_eq!(keys, ["web", "dns"]);
    store.flush(NOON + HOUR).expect("a flush");
    assert_eq!(store.waiting(), 0);
    assert_eq!(tell(&store), before);
    // A restart without a last flush.
    drop(store);
    let mut store = open(&directory.file(), NOON + HOUR);
    assert_eq!(tell(&store), before);
    // The data is in the file and in memory.
    fill(&mut store);
    let sums: Vec<u64> = Unit::ALL
        .into_iter()
        .map(|unit| received(&store, unit))
        .collect();
    assert_eq!(sums, [24_202; 4]);
}

#[test]
fn a_question_can_be_about_one_device_a_time_and_the_largest() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    for hour in 0..48 {
        for device in 0..20 {
            store.add(
                NOON + hour * HOUR,
                Some(mac(device)),
                "web",
                &traffic(1000 + u64::from(device)),
            );
        }
    }
    store.flush(NOON + 48 * HOUR).expect("a flush");
    let mut query = Query {
        from: NOON + 10 * HOUR + 1800,
        to: NOON + 20 * HOUR,
        device: Some(mac(7)),
        ..all(Unit::Hour, By::Device)
    };
    let told = store.query(&query).expect("an answer");
    assert_eq!(
        told.len(),
        10,
        "the hour that `from` is in, to that before `to`"
    );
    assert_eq!(told[0].start, NOON + 10 * HOUR);
    assert_eq!(told[0].end, NOON + 11 * HOUR);
    assert!(
        told.iter()
            .all(|hour| hour.traffic.internet.received.bytes == 1007)
    );
    query.device = None;
    query.parts = 3;
    let told = store.query(&query).expect("an answer");
    let keys: Vec<_> = told[0].parts.iter().map(|part| part.key.clone()).collect();
    let device = |number| Key::Device(mac(number));
    assert_eq!(keys, [device(19), device(18), device(17), Key::Other]);
    assert_eq!(told[0].traffic.internet.received.bytes, 20_190);
}

/// Step of the random test.
#[derive(Clone, Debug)]
enum Act {
    Add {
        device: u32,
        application: u8,
        octets: u64,
    },
    Clock(i64),
    Flush,
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0u32..5, 0u8..3, 1u64..1_000_000).prop_map(|(device, application, octets)| Act::Add { device, application, octets }),
        // On by up to two hours; now and then set by up to 40 days, to and fro.
        3 => (1i64..7200).prop_map(Act::Clock),
        1 => (-40 * DAY..40 * DAY).prop_map(Act::Clock),
        3 => Just(Act::Flush),
        1 => Just(Act::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sums_are_those_of_a_model_whatever_the_clock_does(acts in prop::collection::vec(act(), 1..120)) {
        let directory = Directory::new();
        let settings = Settings { hours_days: 10_000, days_days: 10_000, ..Settings::default() };
        let mut now = NOON;
        let mut store = open_with(&directory.file(), settings.clone(), now);
        let calendar = calendar();
        let mut model: Vec<(i64, Mac, &str, Traffic)> = Vec::new();
        for act in acts {
            match act {
                Act::Add { device, application, octets } => {
                    let application = ["web", "dns", "video"][usize::from(application)];
                    store.add(now, Some(mac(device)), application, &traffic(octets));
                    model.push((now, mac(device), application, traffic(octets)));
                }
                Act::Clock(by) => now = (now + by).max(settings.sane_from),
                Act::Flush => store.flush(now).expect("a flush"),
                Act::Restart => {
                    store.close(now).expect("a last flush");
                    store = open_with(&directory.file(), settings.clone(), now);
                }
            }
        }
        for unit in Unit::ALL {
            for by in [By::Device, By::Application] {
                let mut expected = Table::new();
                for (at, mac, application, traffic) in &model {
                    let who = match by {
                        By::Device => key(&Key::Device(*mac)),
                        By::Application => (*application).to_owned(),
                    };
                    *expected.entry((calendar.span(unit, *at).start, who)).or_default() += *traffic;
                }
                prop_assert_eq!(table(&periods(&store, unit, by)), expected, "{} {:?}", unit, by);
            }
        }
        // Quotas get equal sums, by device.
        let usage = store.usage(now).expect("an answer").expect("a time").clone();
        for unit in [Unit::Day, Unit::Week, Unit::Month] {
            let span = calendar.span(unit, now);
            prop_assert_eq!(usage.span(unit), Some(span));
            for device in 0..5 {
                let used: u64 = model.iter()
                    .filter(|(at, whose, ..)| span.holds(*at) && *whose == mac(device))
                    .map(|(.., traffic)| traffic.internet.received.bytes + traffic.internet.sent.bytes).sum();
                prop_assert_eq!(usage.used(mac(device), unit), used, "{} {}", unit, device);
            }
        }
    }
}

#[test]
fn usage_goes_on_with_what_is_added() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    let used = |store: &mut Store, now, unit| {
        let usage = store.usage(now).expect("an answer").expect("a time");
        usage.used(mac(1), unit)
    };
    assert_eq!(used(&mut store, NOON, Unit::Day), 0);
    for minute in 0..120 {
        store.add(NOON + minute * 60, Some(mac(1)), "web", &traffic(1000));
        if minute % 10 == 0 {
            store.flush(NOON + minute * 60).expect("a flush");
        }
    }
    assert_eq!(used(&mut store, NOON + 2 * HOUR, Unit::Day), 132_000);
    // Tomorrow, the same week and month; the week after that; December.
    for (later, sums) in [
        (DAY, [0, 132_000, 132_000]),
        (3 * DAY, [0, 0, 132_000]),
        (11 * DAY, [0, 0, 0]),
        // The clock is set back.
        (HOUR, [132_000; 3]),
    ] {
        let told =
            [Unit::Day, Unit::Week, Unit::Month].map(|unit| used(&mut store, NOON + later, unit));
        assert_eq!(told, sums, "{later}");
    }
}

#[test]
fn what_was_seen_before_the_clock_was_set_is_of_when_it_was() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), 30);
    assert!(
        store.usage(30).expect("an answer").is_none(),
        "no time is known"
    );
    for second in 30..90 {
        store.add(second, Some(mac(1)), "web", &traffic(10));
        store.flush(second).expect("a flush");
    }
    assert_eq!(received(&store, Unit::Hour), 0, "no hour is known");
    assert_eq!(store.waiting(), 1);
    store.add(NOON, Some(mac(1)), "web", &traffic(1));
    let told = periods(&store, Unit::Hour, By::Device);
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].start, told[0].traffic.internet.received.bytes),
        (NOON, 601)
    );
    let usage = store.usage(NOON).expect("an answer").expect("a time");
    assert_eq!(usage.used(mac(1), Unit::Month), 661);
    store.close(NOON).expect("a last flush");

    // After a restart the last hour is known: quotas apply at once, and a router that is stopped
    // before its clock is set loses no data.
    let mut store = open(&directory.file(), 5);
    store.add(6, Some(mac(1)), "web", &traffic(1000));
    let used = |store: &mut Store, now| {
        let usage = store.usage(now).expect("an answer").expect("a time");
        usage.used(mac(1), Unit::Month)
    };
    assert_eq!(used(&mut store, 6), 1761);
    store.close(7).expect("a last flush");
    let mut store = open(&directory.file(), 5);
    assert_eq!(received(&store, Unit::Hour), 1601);
    // And is not counted twice when the clock is set.
    store.add(6, Some(mac(1)), "web", &traffic(1000));
    assert_eq!(used(&mut store, 6), 2861);
    assert_eq!(used(&mut store, NOON + 60), 2861);
    store.add(NOON + 61, Some(mac(1)), "web", &traffic(10));
    assert_eq!(used(&mut store, NOON + 61), 2872);
    assert_eq!(received(&store, Unit::Day), 2611);
}

#[test]
fn a_clock_that_jumps_to_the_future_and_back_drops_nothing() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    let future = NOON + 3000 * DAY;
    let mut sum = 0;
    for at in [
        NOON,
        NOON + HOUR,
        future,
        future + 600,
        NOON + 2 * HOUR,
        NOON + 3 * HOUR,
        NOON,
    ] {
        store.add(at, Some(mac(1)), "web", &traffic(100));
        store.flush(at).expect("a flush");
        sum += 100;
        for unit in Unit::ALL {
            assert_eq!(received(&store, unit), sum, "{unit}");
        }
    }
    let told = periods(&store, Unit::Hour, By::Device);
    assert_eq!(
        told[0].traffic.internet.received.bytes, 200,
        "the hour was added to"
    );
}

#[test]
fn what_is_too_old_goes() {
    let directory = Directory::new();
    let settings = Settings {
        days_days: 40,
        months_years: 1,
        ..Settings::default()
    };
    let mut store = open_with(&directory.file(), settings, NOON);
    store.name(mac(1), "gone");
    store.name(mac(2), "stays");
    store.add(NOON, Some(mac(1)), "web", &traffic(100));
    let mut now = NOON;
    // The clock has to be steady: a check every ten minutes.
    while now < NOON + 500 * DAY {
        if now % (12 * HOUR) == 0 {
            store.add(now, Some(mac(2)), "web", &traffic(100));
        }
        store.flush(now).expect("a flush");
        now += 600;
    }
    let hours = periods(&store, Unit::Hour, By::Device);
    assert!(
        (27..=30).contains(&hours.len()),
        "{} hours in 14 days",
        hours.len()
    );
    let days = periods(&store, Unit::Day, By::Device);
    assert!((40..=42).contains(&days.len()), "{} days", days.len());
    let months = periods(&store, Unit::Month, By::Device);
    assert!((12..=14).contains(&months.len()), "{} months", months.len());
    let connection = rusqlite::Connection::open(directory.file()).expect("the file");
    let names: Vec<String> = connection
        .prepare("SELECT name FROM device")
        .expect("a question")
        .query_map([], |row| row.get(0))
        .expect("an answer")
        .collect::<Result<_, _>>()
        .expect("names");
    assert_eq!(names, ["stays"]);
}

#[test]
fn a_flood_of_devices_is_folded_and_large_ones_stay() {
    let directory = Directory::new();
    let settings = Settings {
        devices: 50,
        ..Settings::default()
    };
    let mut store = open_with(&directory.file(), settings, NOON);
    for flush in 0..30 {
        let now = NOON + flush * 600;
        for flood in 0..500u32 {
            store.add(
                now,
                Some(mac(0x1_0000 + flush as u32 * 500 + flood)),
                "web",
                &traffic(60),
            );
        }
        store.add(now, Some(mac(1)), "web", &traffic(100_000));
        store.flush(now).expect("a flush");
    }
    for unit in Unit::ALL {
        assert_eq!(received(&store, unit), 30 * (500 * 60 + 100_000), "{unit}");
        for period in periods(&store, unit, By::Device) {
            assert!(
                period.parts.len() <= 51 * 2,
                "{unit}: {}",
                period.parts.len()
            );
            assert_eq!(period.parts[0].key, Key::Device(mac(1)));
            assert_eq!(period.parts.last().expect("a part").key, Key::Other);
        }
    }
    let connection = rusqlite::Connection::open(directory.file()).expect("the file");
    for table in ["hour", "day", "month"] {
        let most: i64 = connection
            .query_row(
                &format!(
                    "SELECT max(n) FROM (SELECT count(DISTINCT device) AS n FROM {table} \
                    WHERE device >= 0 GROUP BY start)"
                ),
                [],
                |row| row.get(0),
            )
            .expect("a number");
        assert!(most <= 50, "{table}: {most}");
    }
}

#[test]
fn names_and_words_are_made_harmless() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    store.name(mac(1), "a\u{1b}[31m\u{202e}b\nc\u{200b}");
    store.name(mac(2), &"x".repeat(1000));
    store.name(mac(3), "\u{7}");
    for device in 1..=3 {
        store.add(NOON, Some(mac(device)), "web", &traffic(100));
    }
    for word in [
        "<script>",
        "",
        "a\u{1b}b",
        &"w".repeat(100),
        "'; DROP TABLE hour; --",
    ] {
        store.add(NOON, Some(mac(1)), word, &traffic(100));
    }
    for number in 0..100_000 {
        store.add(NOON, Some(mac(1)), &format!("word{number}"), &traffic(1));
    }
    for _ in 0..2 {
        let devices = periods(&store, Unit::Day, By::Device);
        let named = |number| {
            let part = devices[0]
                .parts
                .iter()
                .find(|part| part.key == Key::Device(mac(number)));
            part.expect("a device").name.clone()
        };
        assert_eq!(named(1).as_deref(), Some("a[31mbc"));
        assert_eq!(named(2).map(|name| name.len()), Some(64));
        assert_eq!(named(3), None);
        let words = periods(&store, Unit::Day, By::Application);
        assert!(words[0].parts.len() <= 256);
        assert!(
            words[0]
                .parts
                .iter()
                .all(|part| !key(&part.key).contains(['<', '\u{1b}', '\'']))
        );
        assert_eq!(words[0].traffic.internet.received.bytes, 800 + 100_000);
        store.flush(NOON).expect("a flush");
    }
    // A known name is not written again.
    store.name(mac(1), "abc");
    store.flush(NOON).expect("a flush");
    store.name(mac(1), "abc");
    let before = std::fs::metadata(directory.file())
        .expect("the file")
        .modified()
        .expect("a time");
    store.flush(NOON).expect("a flush");
    let after = std::fs::metadata(directory.file())
        .expect("the file")
        .modified()
        .expect("a time");
    assert_eq!(before, after);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let good = Settings::default;
    for settings in [
        Settings {
            limit: 1000,
            ..good()
        },
        Settings {
            limit: u64::MAX,
            ..good()
        },
        Settings {
            devices: 0,
            ..good()
        },
        Settings {
            days_days: 7,
            ..good()
        },
        Settings {
            hours_days: 0,
            ..good()
        },
        Settings {
            flush: std::time::Duration::ZERO,
            ..good()
        },
    ] {
        assert!(settings.check().is_err(), "{settings:?}");
    }
    good().check().expect("what is given");
}
