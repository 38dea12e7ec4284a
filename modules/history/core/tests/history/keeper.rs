//! The thread: it counts, answers, writes in time and at the end, and its handle never waits.

use crate::common;
use std::borrow::Cow;
use std::fs;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::*;
use weir_history_core::{By, Delta, Error, Period, Settings, StoreThread, ThreadHost, Unit};

const LONG: Duration = Duration::from_secs(20);

fn delta(number: u32, octets: u64) -> Delta {
    Delta {
        device: Some(mac(number)),
        application: Cow::Borrowed("web"),
        traffic: traffic(octets),
    }
}

fn start(directory: &Directory, settings: Settings) -> StoreThread {
    StoreThread::start(
        &directory.file(),
        settings,
        calendar(),
        NOON,
        ThreadHost::plain(),
    )
    .expect("a keeper")
}

fn ask(keeper: &StoreThread) -> Vec<Period> {
    let (sender, answer) = channel();
    keeper.query(all(Unit::Day, By::Device), move |told| {
        let _ = sender.send(told);
    });
    answer
        .recv_timeout(LONG)
        .expect("an answer")
        .expect("periods")
}

#[test]
fn it_counts_answers_and_writes_at_the_end() {
    let directory = Directory::new();
    let mut keeper = start(&directory, Settings::default());
    keeper.name(mac(1), "laptop");
    for second in 0..20 {
        keeper.add(NOON + second, vec![delta(1, 1000), delta(2, 10)]);
    }
    let told = ask(&keeper);
    assert_eq!(told[0].traffic.internet.received.bytes, 20_200);
    assert_eq!(told[0].parts[0].name.as_deref(), Some("laptop"));
    // Answered after all that was handed over before, so usage is of that too.
    let usage = keeper.usage().expect("a time");
    assert_eq!(usage.used(mac(1), Unit::Week), 22_000);
    assert_eq!(keeper.problem(), None);
    keeper.stop(NOON + 20, LONG).expect("an end");
    assert_eq!(
        received(&open(&directory.file(), NOON), Unit::Month),
        20_200
    );
}

#[test]
fn it_writes_by_itself_and_after_the_handle_is_gone() {
    let directory = Directory::new();
    let settings = Settings {
        flush: Duration::from_secs(1),
        ..Settings::default()
    };
    let mut keeper = start(&directory, settings);
    keeper.add(NOON, vec![delta(1, 1000)]);
    let written = |sum: u64| {
        let until = Instant::now() + LONG;
        while received(&open(&directory.file(), NOON), Unit::Month) != sum {
            assert!(Instant::now() < until, "{sum} is not written");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    written(1000);
    keeper.add(NOON + 1, vec![delta(1, 1000)]);
    drop(keeper);
    written(2000);
}

#[test]
fn a_disk_that_does_not_answer_stops_nobody_and_costs_nothing() {
    let directory = Directory::new();
    let mut keeper = start(&directory, Settings::default());
    // The thread hangs, as in an fsync that does not return, until it is released.
    let (go, wait) = channel::<()>();
    let (standing, stands) = channel();
    keeper.query(all(Unit::Day, By::Device), move |_| {
        let _ = standing.send(());
        let _ = wait.recv_timeout(LONG);
    });
    stands.recv_timeout(LONG).expect("it stands");
    for second in 0..10_000 {
        // More devices than have sums of their own.
        keeper.add(
            NOON + second / 100,
            vec![delta(1, 100), delta(2 + second as u32 * 2, 10)],
        );
    }
    // A question is refused rather than kept waiting for ever.
    let (sender, answer) = channel();
    keeper.query(all(Unit::Day, By::Device), move |told| {
        let _ = sender.send(told.is_err());
    });
    assert_eq!(answer.recv_timeout(LONG), Ok(true));
    go.send(()).expect("it goes on");
    keeper.stop(NOON + 100, LONG).expect("an end");
    let store = open(&directory.file(), NOON);
    assert_eq!(received(&store, Unit::Day), 10_000 * 110);
    let told = periods(&store, Unit::Day, By::Device);
    assert_eq!(told[0].parts[0].traffic.internet.received.bytes, 1_000_000);
}

#[test]
fn one_that_cannot_be_ended_is_left_behind() {
    let directory = Directory::new();
    let keeper = start(&directory, Settings::default());
    let (go, wait) = channel::<()>();
    keeper.query(all(Unit::Day, By::Device), move |_| {
        let _ = wait.recv_timeout(LONG);
    });
    let error = keeper
        .stop(NOON, Duration::from_millis(50))
        .expect_err("too slow");
    assert!(matches!(error, Error::Slow(_)), "{error}");
    go.send(()).expect("it goes on");
}

#[test]
fn what_cannot_be_helped_is_told_at_the_start() {
    let directory = Directory::new();
    fs::write(directory.file(), "a text that is long enough").expect("a text");
    let error = StoreThread::start(
        &directory.file(),
        Settings::default(),
        calendar(),
        NOON,
        ThreadHost::plain(),
    )
    .expect_err("a refusal");
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
}
