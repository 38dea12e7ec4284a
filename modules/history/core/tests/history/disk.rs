//! Disks that are full, read-only, or not there yet. In a mount namespace of a child, which takes
//! its mounts with it. Needs root.

use crate::common;
use common::*;
use weir_history_core::{By, Settings, Store, Unit};

fn fill(store: &mut Store, hour: i64) -> u64 {
    for device in 0..300 {
        for word in ["web", "dns", "video", "mail"] {
            store.add(NOON + hour * HOUR, Some(mac(device)), word, &traffic(1000));
        }
    }
    1_200_000
}

#[test]
fn a_full_disk_is_waited_for() {
    let Some(directory) = apart("disk::a_full_disk_is_waited_for") else {
        return;
    };
    run(&format!(
        "mount -t tmpfs -o size=512k none {}",
        directory.display()
    ));
    let path = directory.join("history.db");
    let mut store = open(&path, NOON);
    let (mut sum, mut failures, mut written) = (0, 0, 0);
    for hour in 0..24 {
        sum += fill(&mut store, hour);
        match store.flush(NOON + hour * HOUR) {
            Ok(()) => {
                assert_eq!(failures, 0, "nothing makes room");
                written = sum;
            }
            Err(error) => {
                assert!(error.full(), "{error}");
                assert!(error.to_string().contains("make room"), "{error}");
                failures += 1;
            }
        }
        // Queries are answered all the while, and memory is bounded.
        assert_eq!(received(&store, Unit::Month), sum);
        assert!(store.waiting() <= 16 * 1024);
    }
    assert!(failures > 10 && written > 0, "{failures} {written}");
    // The file is as it was after the last flush that did not fail.
    let other = std::env::temp_dir().join(format!("weir{}-history-copy", std::process::id()));
    std::fs::copy(&path, &other).expect("a copy");
    assert_eq!(received(&open(&other, NOON), Unit::Month), written);
    std::fs::remove_file(&other).expect("removed");
    let _ = std::fs::remove_file(
        other.with_file_name(format!("weir{}-history-copy-journal", std::process::id())),
    );
    run(&format!(
        "mount -o remount,size=16m {}",
        directory.display()
    ));
    store.flush(NOON + 24 * HOUR).expect("a flush");
    assert_eq!(store.waiting(), 0);
    drop(store);
    assert_eq!(received(&open(&path, NOON), Unit::Month), sum);
}

#[test]
fn a_disk_without_any_room_at_the_start() {
    let Some(directory) = apart("disk::a_disk_without_any_room_at_the_start") else {
        return;
    };
    run(&format!(
        "mount -t tmpfs -o size=4k none {}",
        directory.display()
    ));
    let path = directory.join("new/history.db");
    let (mut store, trouble) =
        Store::open(&path, Settings::default(), calendar(), NOON).expect("a store in memory");
    assert!(trouble.is_some_and(|error| error.full()));
    let sum = fill(&mut store, 0);
    assert!(store.flush(NOON).is_err());
    assert_eq!(received(&store, Unit::Hour), sum);
    let usage = store.usage(NOON).expect("an answer").expect("a time");
    assert_eq!(usage.used(mac(1), Unit::Month), 4400);
    run(&format!(
        "mount -o remount,size=16m {}",
        directory.display()
    ));
    store.flush(NOON).expect("a flush");
    drop(store);
    let store = open(&path, NOON);
    assert_eq!(received(&store, Unit::Hour), sum);
    let words = periods(&store, Unit::Hour, By::Application);
    assert_eq!(words[0].parts.len(), 4);
}

#[test]
fn a_read_only_disk_is_waited_for() {
    let Some(directory) = apart("disk::a_read_only_disk_is_waited_for") else {
        return;
    };
    run(&format!(
        "mount -t tmpfs -o size=8m none {}",
        directory.display()
    ));
    let path = directory.join("history.db");
    let mut store = open(&path, NOON);
    let mut sum = fill(&mut store, 0);
    store.close(NOON).expect("a last flush");
    run(&format!("mount -o remount,ro {}", directory.display()));
    // Existing data can be read.
    let (mut store, trouble) =
        Store::open(&path, Settings::default(), calendar(), NOON).expect("a store");
    assert!(trouble.is_none(), "{trouble:?}");
    assert_eq!(received(&store, Unit::Month), sum);
    sum += fill(&mut store, 1);
    let error = store.flush(NOON + HOUR).expect_err("read-only");
    assert!(error.to_string().contains("is writable"), "{error}");
    assert_eq!(received(&store, Unit::Month), sum);
    run(&format!("mount -o remount,rw {}", directory.display()));
    store.flush(NOON + HOUR).expect("a flush");
    drop(store);
    assert_eq!(received(&open(&path, NOON), Unit::Month), sum);

    // A directory that cannot be made yet.
    run(&format!("mount -o remount,ro {}", directory.display()));
    let path = directory.join("later/history.db");
    let (mut store, trouble) =
        Store::open(&path, Settings::default(), calendar(), NOON).expect("a store in memory");
    let trouble = trouble.expect("a trouble").to_string();
    assert!(
        trouble.contains("directory") && trouble.contains("is writable"),
        "{trouble}"
    );
    let sum = fill(&mut store, 0);
    run(&format!("mount -o remount,rw {}", directory.display()));
    store.flush(NOON).expect("a flush");
    drop(store);
    assert_eq!(received(&open(&path, NOON), Unit::Month), sum);
}
