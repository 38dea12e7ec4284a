//! Files that are broken, new, foreign, gone, or too large.

use crate::common;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

use common::*;
use proptest::prelude::*;
use rusqlite::Connection;
use weir_history_core::store::Notice;
use weir_history_core::{By, Error, Settings, Store, Unit};

fn refused(directory: &Directory) -> Error {
    Store::open(&directory.file(), Settings::default(), calendar(), NOON).expect_err("a refusal")
}

/// A history with 20 hours of 20 devices, as a file.
fn filled(directory: &Directory) {
    let mut store = open(&directory.file(), NOON);
    for hour in 0..20 {
        for device in 0..20 {
            store.add(NOON + hour * HOUR, Some(mac(device)), "web", &traffic(1000));
        }
    }
    store.close(NOON + 20 * HOUR).expect("a last flush");
}

#[test]
fn the_directory_is_made_and_nobody_else_may_read() {
    let directory = Directory::new();
    let path = directory.path().join("a/b/history.db");
    let mut store = open(&path, NOON);
    store.add(NOON, Some(mac(1)), "web", &traffic(100));
    store.flush(NOON).expect("a flush");
    let mode =
        |path: &std::path::Path| fs::metadata(path).expect("it").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().expect("a directory")), 0o700);
    // All files are in that one directory.
    for entry in fs::read_dir(directory.path().join("a/b")).expect("a directory") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_broken_file_is_put_aside_and_a_new_one_begins() {
    // Anywhere: the head, the schema, the middle of tables; or all but the first pages is gone.
    for (number, damage) in ["head", "schema", "middle", "short", "zero"]
        .into_iter()
        .enumerate()
    {
        let directory = Directory::new();
        filled(&directory);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(directory.file())
            .expect("the file");
        let length = file.metadata().expect("the file").len();
        let garbage = [0xa5u8; 4096];
        match damage {
            "head" => file.write_all_at(&garbage[..64], 0).expect("damage"),
            "schema" => file.write_all_at(&garbage[..2000], 100).expect("damage"),
            "middle" => {
                for page in 2..length / 4096 {
                    file.write_all_at(&garbage, page * 4096).expect("damage");
                }
            }
            "short" => file.set_len(8192).expect("damage"),
            _ => file.write_all_at(&[0; 4096], 0).expect("damage"),
        }
        let mut store = open(&directory.file(), NOON + 40 * HOUR);
        let notices = store.notices();
        let [Notice::Broken { aside, .. }] = &notices[..] else {
            panic!("{damage}: {notices:?}");
        };
        assert!(
            aside
                .to_string_lossy()
                .ends_with("history.db.broken-20261122"),
            "{number} {aside:?}"
        );
        assert!(notices[0].to_string().contains("starts a new one"));
        assert_eq!(received(&store, Unit::Day), 0);
        store.add(NOON, Some(mac(1)), "web", &traffic(100));
        store.flush(NOON).expect("a flush");
        assert_eq!(received(&store, Unit::Day), 100);
        assert!(store.notices().is_empty(), "told once");
    }
}

#[test]
fn a_file_that_breaks_under_way_costs_nothing_that_waits() {
    let directory = Directory::new();
    filled(&directory);
    let mut store = open(&directory.file(), NOON);
    store.add(NOON, Some(mac(1)), "video", &traffic(100));
    store.name(mac(1), "one");
    let file = fs::OpenOptions::new()
        .write(true)
        .open(directory.file())
        .expect("the file");
    // Another writer in between makes SQLite read its pages again.
    let length = file.metadata().expect("the file").len();
    for page in 0..length / 4096 {
        file.write_all_at(&[0x5a; 4096], page * 4096)
            .expect("damage");
    }
    assert!(store.query(&all(Unit::Day, By::Device)).is_err());
    assert!(store.usage(NOON).is_err());
    store.flush(NOON).expect("a flush into a new file");
    assert_eq!(store.notices().len(), 1);
    store.close(NOON).expect("a last flush");
    let store = open(&directory.file(), NOON);
    let told = periods(&store, Unit::Day, By::Application);
    assert_eq!(told[0].traffic.internet.received.bytes, 100);
    assert_eq!(
        key(&told[0].parts[0].key),
        "video",
        "numbers of words are those of the new file"
    );
}

#[test]
fn broken_files_do_not_fill_the_disk() {
    let directory = Directory::new();
    for _ in 0..6 {
        filled(&directory);
        fs::write(directory.file(), [0xa5; 8192]).expect("damage");
        fs::write(directory.path().join("history.db-journal"), b"a journal").expect("a journal");
        drop(open(&directory.file(), NOON));
    }
    let broken: Vec<String> = directory
        .names()
        .into_iter()
        .filter(|name| name.contains("broken") && !name.contains("journal"))
        .collect();
    assert_eq!(broken.len(), 2, "{broken:?}");
}

#[test]
fn a_file_of_a_later_weir_is_left_alone() {
    let directory = Directory::new();
    filled(&directory);
    Connection::open(directory.file())
        .expect("the file")
        .execute_batch("PRAGMA user_version = 77")
        .expect("a version");
    let before = fs::read(directory.file()).expect("the file");
    let error = refused(&directory);
    assert!(
        matches!(
            error,
            Error::Newer {
                found: 77,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.refused() && error.to_string().contains("newer weir"));
    assert!(fs::read(directory.file()).expect("the file") == before);
}

#[test]
fn what_is_no_history_is_left_alone() {
    let directory = Directory::new();
    let text = "# somebody's settings, by a mistyped path\nkey = value\n";
    fs::write(directory.file(), text).expect("a text");
    assert!(matches!(refused(&directory), Error::Foreign { .. }));
    assert_eq!(fs::read_to_string(directory.file()).expect("a text"), text);

    let directory = Directory::new();
    Connection::open(directory.file())
        .expect("a file")
        .execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        .expect("a database");
    let before = fs::read(directory.file()).expect("the file");
    assert!(matches!(refused(&directory), Error::Foreign { .. }));
    assert!(fs::read(directory.file()).expect("the file") == before);

    let directory = Directory::new();
    fs::create_dir(directory.file()).expect("a directory");
    assert!(matches!(refused(&directory), Error::Foreign { .. }));

    // Links are not followed either: a user who may write to the directory must not choose weir's
    // target.
    let directory = Directory::new();
    symlink(directory.path().join("victim"), directory.file()).expect("a link");
    assert!(matches!(refused(&directory), Error::Foreign { .. }));
    assert_eq!(directory.names(), ["history.db"]);
}

#[test]
fn an_empty_file_is_a_new_one() {
    let directory = Directory::new();
    fs::write(directory.file(), b"").expect("a file");
    let mut store = open(&directory.file(), NOON);
    store.add(NOON, Some(mac(1)), "web", &traffic(100));
    store.flush(NOON).expect("a flush");
    assert!(store.notices().is_empty());
}

#[test]
fn a_file_that_was_removed_or_replaced_is_made_again() {
    let directory = Directory::new();
    filled(&directory);
    let mut store = open(&directory.file(), NOON);
    store.add(NOON, Some(mac(1)), "video", &traffic(100));
    fs::remove_file(directory.file()).expect("removed");
    store.flush(NOON).expect("a flush");
    assert_eq!(received(&store, Unit::Day), 100);
    // A backup returns, with other numbers of names.
    let other = Directory::new();
    let mut backup = open(&other.file(), NOON);
    backup.add(NOON, Some(mac(2)), "mail", &traffic(1000));
    backup.close(NOON).expect("a last flush");
    store.add(NOON, Some(mac(1)), "video", &traffic(10));
    fs::rename(other.file(), directory.file()).expect("replaced");
    store.flush(NOON).expect("a flush");
    let told = table(&periods(&store, Unit::Hour, By::Application));
    let expected = [("mail", 1000), ("video", 10)]
        .map(|(word, octets)| ((NOON, word.to_owned()), traffic(octets)));
    assert_eq!(told, expected.into());
}

#[test]
fn the_limit_holds_and_the_oldest_hours_go_first() {
    let directory = Directory::new();
    let settings = Settings {
        limit: 512 * 1024,
        ..Settings::default()
    };
    let mut store = open_with(&directory.file(), settings.clone(), NOON);
    let mut sum = 0;
    let mut largest = 0;
    for hour in 0..24 * 20 {
        for device in 0..30 {
            for word in ["web", "dns", "video"] {
                store.add(
                    NOON + hour * HOUR,
                    Some(mac(device)),
                    word,
                    &traffic(1_000_000),
                );
                sum += 1_000_000;
            }
        }
        store.flush(NOON + hour * HOUR).expect("a flush");
        largest = largest.max(fs::metadata(directory.file()).expect("the file").len());
    }
    assert!(largest <= settings.limit, "{largest}");
    assert!(largest > settings.limit / 2, "the room is used: {largest}");
    assert_eq!(received(&store, Unit::Month), sum);
    assert_eq!(received(&store, Unit::Day), sum);
    let hours = periods(&store, Unit::Hour, By::Device);
    assert!(hours.len() > 24 && hours.len() < 24 * 14, "{}", hours.len());
    assert_eq!(
        hours.last().expect("an hour").start,
        NOON + (24 * 20 - 1) * HOUR
    );
    let gap = hours.windows(2).find(|pair| pair[0].end != pair[1].start);
    assert!(gap.is_none(), "the oldest go");

    // Years of days do not fit either: then days go, months stay.
    for day in 21..400 {
        for device in 0..30 {
            for word in ["web", "dns", "video"] {
                store.add(
                    NOON + day * DAY,
                    Some(mac(device)),
                    word,
                    &traffic(1_000_000),
                );
                sum += 1_000_000;
            }
        }
        store.flush(NOON + day * DAY).expect("a flush");
    }
    assert!(fs::metadata(directory.file()).expect("the file").len() <= settings.limit);
    assert_eq!(received(&store, Unit::Month), sum);
    let days = periods(&store, Unit::Day, By::Device);
    assert!((31..300).contains(&days.len()), "{}", days.len());
}

#[test]
fn a_flush_that_is_too_large_for_the_limit_makes_room() {
    let directory = Directory::new();
    let settings = Settings {
        limit: 512 * 1024,
        ..Settings::default()
    };
    let mut store = open_with(&directory.file(), settings.clone(), NOON);
    for hour in 0..10 {
        // 3000 rows are some 130 KiB: more than the tenth that is kept free.
        for device in 0..1000 {
            for word in ["a", "b", "c"] {
                store.add(NOON + hour * HOUR, Some(mac(device)), word, &traffic(1000));
            }
        }
        store.flush(NOON + hour * HOUR).expect("a flush");
        let length = fs::metadata(directory.file()).expect("the file").len();
        assert!(length <= settings.limit, "{length}");
    }
    assert_eq!(received(&store, Unit::Month), 30_000_000);
}

#[test]
fn a_lower_limit_makes_the_file_smaller() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    for hour in 0..200 {
        for device in 0..100 {
            store.add(
                NOON + hour * HOUR,
                Some(mac(device)),
                "web",
                &traffic(1_000_000),
            );
        }
        store.flush(NOON + hour * HOUR).expect("a flush");
    }
    drop(store);
    let length = || fs::metadata(directory.file()).expect("the file").len();
    assert!(length() > 600 * 1024, "{}", length());
    let settings = Settings {
        limit: 300 * 1024,
        ..Settings::default()
    };
    let store = open_with(&directory.file(), settings.clone(), NOON);
    assert!(length() <= settings.limit, "{}", length());
    assert_eq!(received(&store, Unit::Month), 200 * 100 * 1_000_000);
}

#[test]
fn people_read_it_with_sqlite_meanwhile() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    store.name(mac(1), "laptop");
    for hour in 0..3 {
        store.add(NOON + hour * HOUR, Some(mac(1)), "web", &traffic(1000));
        store.add(NOON + hour * HOUR, None, "web", &traffic(1));
        store.flush(NOON + hour * HOUR).expect("a flush");
    }
    let reader = Connection::open(directory.file()).expect("the file");
    for (view, rows) in [("hours", 6), ("days", 2), ("months", 2)] {
        let told: Vec<(String, Option<String>, String, i64)> = reader
            .prepare(&format!(
                "SELECT device, name, application, received_bytes FROM {view} ORDER \
                BY received_bytes DESC"
            ))
            .expect("a view")
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .expect("rows")
            .collect::<Result<_, _>>()
            .expect("rows");
        assert_eq!(told.len(), rows, "{view}");
        assert_eq!(told.iter().map(|row| row.3).sum::<i64>(), 3003, "{view}");
        assert_eq!(
            (told[0].0.as_str(), told[0].1.as_deref()),
            ("02:00:00:00:00:01", Some("laptop"))
        );
        assert_eq!(told.last().expect("a row").0, "other");
        assert_eq!(told[0].2, "web");
    }
    // A long read only delays the flush, and nothing is lost.
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM hour")
        .expect("a reader");
    store.add(NOON, Some(mac(1)), "web", &traffic(1000));
    let error = store.flush(NOON).expect_err("held by the reader");
    assert!(error.to_string().contains("another program"), "{error}");
    reader.execute_batch("COMMIT").expect("the reader ends");
    store.flush(NOON).expect("a flush");
    assert_eq!(received(&store, Unit::Month), 4003);
}

#[test]
fn one_table_that_breaks_or_is_missing_is_found_by_who_asks() {
    let directory = Directory::new();
    filled(&directory);
    let mut store = open(&directory.file(), NOON);
    store.add(NOON, Some(mac(1)), "video", &traffic(100));
    // An invalid sum is written, past the rules of the table.
    Connection::open(directory.file())
        .expect("the file")
        .execute_batch(
            "DROP TABLE day; CREATE TABLE day AS SELECT start, device, application, \
            'a' AS received_bytes, 'b' AS received_packets, 'c' AS sent_bytes, 'd' AS \
            sent_packets FROM hour",
        )
        .expect("a change");
    assert!(store.query(&all(Unit::Day, By::Device)).is_err());
    store.flush(NOON).expect("a flush into a new file");
    assert_eq!(store.notices().len(), 1);
    assert_eq!(received(&store, Unit::Day), 100);
    drop(store);
    Connection::open(directory.file())
        .expect("the file")
        .execute_batch("DROP TABLE month")
        .expect("a change");
    let mut store = open(&directory.file(), NOON);
    let told = store.notices();
    assert!(
        told[0].to_string().contains("a table is missing"),
        "{told:?}"
    );
}

#[test]
fn other_settings_hold_at_once() {
    let directory = Directory::new();
    filled(&directory);
    let mut store = open(&directory.file(), NOON);
    let used = |store: &mut Store| {
        let usage = store.usage(NOON + DAY).expect("an answer").expect("a time");
        (
            usage.used(mac(1), Unit::Month),
            usage.span(Unit::Month).expect("a span"),
        )
    };
    // 20 hours from noon on: 11 before midnight in Berlin.
    assert_eq!(used(&mut store).0, 22_000);
    let calendar = calendar().month_begins(21).expect("a day");
    let settings = Settings::default();
    store
        .change(settings.clone(), calendar.clone(), NOON)
        .expect("a change");
    let (octets, span) = used(&mut store);
    assert_eq!(octets, 9900, "days since the 21st");
    assert_eq!(span.start, NOON + 11 * HOUR);
    store.add(NOON + 20 * HOUR, Some(mac(1)), "web", &traffic(1000));
    assert_eq!(used(&mut store).0, 11_000);
    let wrong = Settings {
        limit: 1,
        ..settings
    };
    assert!(store.change(wrong, calendar, NOON).is_err());
    assert_eq!(used(&mut store).0, 11_000);
}

/// SQLite stores weir's version at byte 60 of the file: with another version, existing tables would
/// be created again.
#[test]
fn another_version_by_mistake_is_damage() {
    for octet in 60..64 {
        let directory = Directory::new();
        filled(&directory);
        let mut content = fs::read(directory.file()).expect("the file");
        content[octet] = 128;
        fs::write(directory.file(), &content).expect("damage");
        match Store::open(&directory.file(), Settings::default(), calendar(), NOON) {
            // A greater one may be a later weir's.
            Err(error) => assert!(error.refused(), "{octet}: {error}"),
            Ok((mut store, _)) => {
                store.add(NOON + HOUR, Some(mac(1)), "web", &traffic(100));
                store.flush(NOON + HOUR).expect("a flush, into a new file");
                assert_eq!(store.waiting(), 0, "{octet}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn no_damage_makes_it_panic_or_stop(
        damage in prop::collection::vec((0usize..1_000_000, any::<u8>()), 1..40),
        cut in prop::option::of(0usize..100_000),
    ) {
        let directory = Directory::new();
        filled(&directory);
        let mut content = fs::read(directory.file()).expect("the file");
        for (at, octet) in damage {
            let length = content.len();
            content[at % length] = octet;
        }
        content.truncate(cut.unwrap_or(usize::MAX));
        fs::write(directory.file(), &content).expect("damage");
        match Store::open(&directory.file(), Settings::default(), calendar(), NOON) {
            Err(error) => prop_assert!(error.refused(), "{}", error),
            Ok((mut store, _)) => {
                for unit in Unit::ALL {
                    // Results may be wrong: numbers have no checksum.
                    let _ = store.query(&all(unit, By::Device));
                    let _ = store.query(&all(unit, By::Application));
                }
                let _ = store.usage(NOON);
                for hour in 0..3 {
                    store.add(NOON + 50 * DAY + hour * HOUR, Some(mac(1)), "web", &traffic(100));
                    store.flush(NOON + 50 * DAY + hour * HOUR).expect("a flush, into a new file \
                        if need be");
                }
                prop_assert_eq!(store.waiting(), 0);
            }
        }
    }
}
