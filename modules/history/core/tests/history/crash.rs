//! A process killed while it writes leaves a valid file, with each requested write in it once.

use crate::common;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::*;
use weir_history_core::{Store, Unit};

const ONCE: &str = "WEIR_HISTORY_CRASH_ONCE";
const CHILD: &str = "WEIR_HISTORY_CRASH_CHILD";
/// Rows of one flush, and bytes received of each.
const ROWS: u32 = 60;
const OCTETS: u64 = 1000;

/// Runs in the child: it counts and writes, hour after hour, and says when something is written,
/// until it is killed.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let mut now = NOON;
    let mut store: Store = open(path.as_ref(), now);
    let mut written = received(&store, Unit::Month);
    println!("written {written}");
    loop {
        now += 900;
        for device in 0..ROWS {
            store.add(now, Some(mac(device)), "web", &traffic(OCTETS));
        }
        store.flush(now).expect("a flush");
        written += u64::from(ROWS) * OCTETS;
        println!("written {written}");
    }
}

#[test]
fn what_was_written_is_there_once_after_a_kill() {
    let directory = Directory::new();
    let mut least = 0;
    for round in 0..25u64 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "crash::child", "--nocapture"])
            .env(CHILD, directory.file())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut told = || -> Option<u64> {
            lines.find_map(|line| line.ok()?.split("written ").nth(1)?.trim().parse().ok())
        };
        assert!(told().expect("what it found") >= least);
        // The process is at another point of its work each time.
        std::thread::sleep(Duration::from_millis(5 + round * 7 % 60));
        child.kill().expect("a kill");
        child.wait().expect("its end");
        while let Some(written) = told() {
            least = written;
        }
        let mut store = open(&directory.file(), NOON);
        assert!(
            store.notices().is_empty(),
            "round {round}: the file is good"
        );
        let sum = received(&store, Unit::Month);
        let flush = u64::from(ROWS) * OCTETS;
        assert!(
            sum == least || sum == least + flush,
            "round {round}: {sum} is neither {least} nor one flush more"
        );
        for unit in Unit::ALL {
            assert_eq!(received(&store, unit), sum, "round {round}: {unit}");
        }
        least = sum;
    }
    assert!(least > 0);
}

/// Runs in the child: one flush that begins a new hour, so that all tables are written to, and some
/// old hours go.
#[test]
fn once() {
    let Some(path) = std::env::var_os(ONCE) else {
        return;
    };
    let now = NOON + 30 * DAY;
    let mut store: Store = open(path.as_ref(), now);
    for device in 0..ROWS {
        store.add(now, Some(mac(device)), "web", &traffic(OCTETS));
        store.add(now, Some(mac(device)), "video", &traffic(OCTETS));
    }
    // After two hours of a steady clock, old data is deleted.
    for look in 1..13 {
        store.add(now + look * 600, Some(mac(1)), "new", &traffic(OCTETS));
    }
    store.flush(now + 7200).expect("a flush");
    println!("written");
}

#[test]
fn a_kill_at_any_write_leaves_all_or_nothing() {
    let base = Directory::new();
    let mut store = open(&base.file(), NOON);
    for hour in 0..5 {
        for device in 0..ROWS {
            let now = NOON + hour * 6 * HOUR;
            store.add(now, Some(mac(device)), "web", &traffic(OCTETS));
        }
    }
    store.close(NOON).expect("a last flush");
    let before = received(&open(&base.file(), NOON), Unit::Month);
    let after = before + (2 * u64::from(ROWS) + 12) * OCTETS;
    let (mut lost, mut kept) = (0, 0);
    for (call, most) in [("pwrite64", 2000), ("ftruncate", 10), ("fsync", 10)] {
        let mut number = 1;
        loop {
            let directory = Directory::new();
            std::fs::copy(base.file(), directory.file()).expect("a copy");
            let output = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e", "signal=none"])
                .arg(format!("--trace={call}"))
                .arg(format!("--inject={call}:signal=KILL:when={number}"))
                .arg(std::env::current_exe().expect("this program"))
                .args(["--exact", "crash::once", "--nocapture"])
                .env(ONCE, directory.file())
                .output()
                .expect("strace");
            let survived = output.status.success();
            let written = String::from_utf8_lossy(&output.stdout).contains("written");
            let mut store = open(&directory.file(), NOON);
            assert!(
                store.notices().is_empty(),
                "{call} {number}: the file is good"
            );
            let sum = received(&store, Unit::Month);
            assert!(
                sum == after || sum == before && !written,
                "{call} {number}: {sum} is neither {before} nor {after}"
            );
            // Hours are dropped by the same transaction that closes others: days know of all of
            // them.
            for unit in [Unit::Day, Unit::Week] {
                assert_eq!(received(&store, unit), sum, "{call} {number}: {unit}");
            }
            if survived {
                assert!(written && sum == after, "{call} {number}");
                break;
            }
            *(if sum == after { &mut kept } else { &mut lost }) += 1;
            number += 1;
            assert!(number < most, "{call}: killed {most} times");
        }
        assert!(
            number > 1,
            "{call} is not called at all: strace names others here"
        );
    }
    assert!(lost > 20, "{lost} lost, {kept} kept");
}
