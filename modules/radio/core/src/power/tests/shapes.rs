//! Properties that hold for any reading.

use proptest::prelude::*;

use crate::power::{
    Controller, Counters, Log, Mac, NoPowers, PowerLevels, Prior, Priors, Reading, Reason,
    Settings, Station, Tally, Verdict,
};

fn station() -> impl Strategy<Value = Station> {
    let counters = (any::<u32>(), any::<u32>(), any::<u32>());
    let rate = proptest::option::of(any::<u32>());
    (
        0u8..4,
        counters,
        rate,
        any::<Option<i8>>(),
        any::<u32>(),
        any::<u32>(),
    )
        .prop_map(
            |(number, (frames, retries, failed), rate, ack_signal, silent, connected)| Station {
                mac: Mac([2, 0, 0, 0, 0, number]),
                counters: Counters {
                    frames: frames % 100_000,
                    retries: retries % 100_000,
                    failed: failed % 1000,
                },
                rate,
                ack_signal,
                silent: silent % 10_000,
                connected,
            },
        )
}

proptest! {
    #[test]
    fn the_power_is_one_of_the_radios_and_all_of_it_where_nobody_is(
        powers in proptest::collection::vec(-10i32..31, 1..12),
        readings in proptest::collection::vec(
            (0u64..5000, proptest::collection::vec(station(), 0..4)), 0..200),
    ) {
        let most = *powers.iter().max().unwrap();
        let mut control = Controller::new(Settings::default(), powers.clone()).unwrap();
        let mut now = 0;
        for (time, stations) in readings {
            now += time;
            let nobody = stations.is_empty();
            control.step(now, &Reading { stations });
            prop_assert!(powers.contains(&control.power()));
            prop_assert!(!nobody || control.power() == most);
            prop_assert!(control.soon() > 0);
        }
    }
}

#[test]
fn counters_go_round_and_begin_anew() {
    let at = |frames| Counters {
        frames,
        ..Counters::default()
    };
    assert_eq!(at(5).since(at(u32::MAX)), Some(at(6)));
    assert_eq!(at(5).since(at(6)), None);
}

#[test]
fn ladders() {
    assert_eq!(PowerLevels::new(vec![]), Err(NoPowers));
    assert_eq!(PowerLevels::new(vec![9, 3, 9]).unwrap().powers(), [3, 9]);
    assert_eq!(PowerLevels::between(0, 20, 6).powers(), [2, 8, 14, 20]);
    assert_eq!(PowerLevels::between(30, 20, 0).powers(), [20]);
    let ladder = PowerLevels::between(0, 20, 5);
    assert_eq!(
        (ladder.place(11), ladder.place(99), ladder.place(-9)),
        (3, 4, 0)
    );
}

#[test]
fn estimates_are_as_sure_as_they_are_many() {
    let tally = |frames: u32, retries, looks: u32| {
        let mut tally = Tally::default();
        for look in 0..=looks {
            tally.look(&Station {
                counters: Counters {
                    frames: look * frames,
                    retries: look * retries,
                    failed: 0,
                },
                rate: Some(54_000),
                ..Station::default()
            });
        }
        tally.estimate().unwrap()
    };
    let (few, many) = (tally(5, 1, 2), tally(500, 100, 4));
    assert!(few.error > 5.0 * many.error, "{few:?} {many:?}");
    // 54 Mbit/s and 0.18 ms per frame in addition to its 1200 bytes.
    let all = tally(1000, 0, 2).throughput;
    assert!((all - 26_832.0).abs() < 1.0, "{all}");
    let half = tally(1000, 1000, 2);
    assert!((half.throughput * 2.0 - all).abs() < 1.0);
    assert_eq!(half.against(&tally(1000, 0, 2), 0.9, 2.0), Verdict::Loses);
    assert_eq!(half.against(&tally(1000, 0, 2), 0.4, 2.0), Verdict::Keeps);
    assert_eq!(few.against(&few, 0.95, 2.0), Verdict::Open);
    assert_eq!(Tally::default().estimate(), None);
}

#[test]
fn hours_are_remembered() {
    let mut prior = Prior::default();
    assert_eq!(prior.at(8), None);
    prior.learn(8, 10);
    assert_eq!(
        (prior.at(8), prior.at(9), prior.at(10)),
        (Some(10), Some(10), None)
    );
    // A day later.
    prior.end();
    prior.learn(8, 20);
    assert_eq!(prior.at(8), Some(13));
    prior.learn(99, 1);
    assert_eq!(
        (prior.at(8), prior.at(99)),
        (Some(13), None),
        "there is no such hour"
    );
}

#[test]
fn an_hour_is_what_was_enough_for_most_of_it() {
    let mut prior = Prior::default();
    let mut told = |powers: &[(i32, usize)]| {
        for &(power, times) in powers {
            for _ in 0..times {
                prior.learn(8, power);
            }
        }
        prior.at(8)
    };
    assert_eq!(told(&[(6, 1000), (18, 60)]), Some(6), "its last minutes");
    assert_eq!(told(&[(4, 300)]), Some(6));
    assert_eq!(told(&[(12, 2000)]), Some(12));
    // The stored value is unchanged: nothing is to be written.
    assert!(!prior.learn(8, 4) && !prior.learn(8, 20));
    // The next hour begins with the value of the one before it, without a change to that one.
    assert_eq!(prior.at(9), Some(12));
    assert!(prior.learn(9, 2));
    assert_eq!((prior.at(8), prior.at(9)), (Some(12), Some(2)));
    // Each day counts once, however long it is.
    prior.end();
    for _ in 0..1000 {
        prior.learn(8, 2);
    }
    assert_eq!(prior.at(8), Some(9));
}

#[test]
fn hours_of_devices_are_a_text() {
    let mut priors = Priors::default();
    priors.of("wlan1").unwrap().learn(23, -3);
    let prior = priors.of("wlan0").unwrap();
    prior.learn(8, 10);
    prior.end();
    prior.learn(8, 20);
    let text = "wlan0 8 13.00\nwlan1 23 -3.00\n";
    assert_eq!(priors.text(), text);
    priors.end();
    assert_eq!(priors.text(), text);
    assert_eq!(Priors::read(text), Ok(priors.clone()));
    assert_eq!(Priors::read(""), Ok(Priors::default()));
    let wrong = [
        "wlan0",
        "wlan0 8",
        " 8 13",
        "wlan0 24 13",
        "wlan0 -1 13",
        "wlan0 8 x",
        "wlan0 8 NaN",
        "wlan0 8 1e9",
        "wlan0 8 13 1",
        "",
    ];
    for line in wrong {
        let error = Priors::read(&format!("{text}{line}\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3 is not `DEVICE HOUR POWER`",
            "{line}"
        );
    }
    let many = (0..1000).filter(|number| priors.of(&format!("w{number}")).is_some());
    assert_eq!(many.count(), 62, "64 with those that were there");
}

#[test]
fn reasons_are_words() {
    for reason in Reason::ALL {
        assert_eq!(Reason::told(reason.word()), Some(reason));
    }
    assert_eq!(Reason::told("loud"), None);
}

#[test]
fn a_log_forgets_the_oldest() {
    let mut log = Log::new(2);
    let mut control = Controller::new(Settings::default(), vec![5, 20]).unwrap();
    let entry = control.step(7, &Reading::default()).unwrap();
    for at in [7, 8, 9] {
        log.push(crate::power::Entry { at, ..entry });
    }
    let at: Vec<u64> = log.entries().map(|entry| entry.at).collect();
    assert_eq!(at, [8, 9]);
}

#[test]
fn a_log_is_told_from_the_step_that_held_then() {
    let mut control = Controller::new(Settings::default(), vec![5, 20]).unwrap();
    let entry = control.step(7, &Reading::default()).unwrap();
    let mut log = Log::new(9);
    assert_eq!(log.since(7).count(), 0);
    for at in [7, 8, 8, 10] {
        log.push(crate::power::Entry { at, ..entry });
    }
    let since = |at| log.since(at).map(|entry| entry.at).collect::<Vec<_>>();
    assert_eq!(since(0), [7, 8, 8, 10]);
    assert_eq!(since(8), [8, 8, 10]);
    assert_eq!(since(9), [8, 10], "the last one before it");
    assert_eq!(since(99), [10]);
}

#[test]
fn a_step_has_the_rate_of_the_station_that_decided_it() {
    let station = |number, rate| Station {
        mac: Mac([number; 6]),
        rate,
        connected: if number == 2 { 3600 } else { 0 },
        ..Station::default()
    };
    let mut control = Controller::new(Settings::default(), vec![5, 20]).unwrap();
    let mut reading = Reading {
        stations: vec![station(2, Some(54_000))],
    };
    // Without traffic, no station decided the step.
    let idle = control
        .step(9_000_000, &reading)
        .map(|entry| (entry.station, entry.rate));
    assert_eq!(idle, Some((None, None)));
    reading.stations.push(station(3, Some(6_000)));
    let new = control.step(9_000_001, &reading).unwrap();
    assert_eq!((new.station, new.rate), (Some(Mac([3; 6])), Some(6_000.0)));
    // The driver may not report a rate.
    reading.stations.push(station(4, None));
    reading.stations.retain(|it| it.mac != Mac([3; 6]));
    assert_eq!(reading.rate(Mac([4; 6])), None);
}
