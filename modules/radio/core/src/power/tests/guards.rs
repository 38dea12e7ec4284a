//! Situations that need all of the power.

use super::air::Air;
use crate::power::{Controller, Mac, Reading, Reason, Settings, Station};

fn control() -> Controller {
    Controller::new(Settings::default(), vec![5, 10, 15, 20]).unwrap()
}

#[test]
fn who_just_came_gets_all_of_it() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.run(&mut control, 8000);
    assert_eq!(air.power, 5);
    air.all
        .extend(Air::of(&[60.0, 60.0]).all.into_iter().skip(1));
    air.all[1].station.connected = 0;
    air.run(&mut control, 10);
    assert_eq!(air.power, 20);
    let last = air.log.last().map(|it| (it.reason, it.station));
    assert_eq!(
        last,
        Some((Reason::Newcomer, Some(Mac([2, 0, 0, 0, 0, 1]))))
    );
    air.run(&mut control, 8000);
    assert_eq!(air.power, 5);
    // A station that associates again is new.
    *air.counters(0) = Default::default();
    air.run(&mut control, 10);
    assert_eq!(
        (air.power, air.log.last().map(|it| it.reason)),
        (20, Some(Reason::Newcomer))
    );
}

#[test]
fn who_is_not_heard_any_more_gets_it_and_so_does_nobody() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.run(&mut control, 8000);
    air.all[0].station.silent = 1500;
    air.run(&mut control, 10);
    assert_eq!(
        (air.power, air.log.last().map(|it| it.reason)),
        (20, Some(Reason::Silent))
    );
    air.all[0].station.silent = 0;
    air.run(&mut control, 8000);
    assert_eq!(air.power, 5);
    // A station without traffic may be silent.
    air.all[0].frames = 0.0;
    air.all[0].station.silent = 60_000;
    air.run(&mut control, 3000);
    assert_eq!(
        (air.power, air.log.last().map(|it| it.reason)),
        (20, Some(Reason::Idle))
    );
    let steps = air.log.len();
    air.run(&mut control, 60_000);
    assert_eq!(air.log.len(), steps, "nothing is told twice");
}

#[test]
fn who_is_at_the_edge_gets_it() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.all[0].station.ack_signal = Some(0);
    air.run(&mut control, 8000);
    assert_eq!(air.power, 5, "0 is no signal");
    air.all[0].station.ack_signal = Some(-83);
    air.run(&mut control, 10);
    assert_eq!(
        (air.power, air.log.last().map(|it| it.reason)),
        (20, Some(Reason::Edge))
    );
    air.all[0].station.ack_signal = Some(-82);
    air.run(&mut control, 8000);
    assert_eq!(air.power, 5);
}

#[test]
fn too_few_frames_change_nothing() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.all[0].frames = 3.0;
    air.run(&mut control, 60_000);
    assert_eq!(air.power, 20);
    assert_eq!(control.enough(), None);
}

#[test]
fn a_driver_that_counts_nothing_gets_all_of_the_power() {
    let mut control = control();
    for now in 0..2000 {
        let station = Station {
            mac: Mac([2; 6]),
            ..Station::default()
        };
        let reading = Reading {
            stations: vec![station],
        };
        control.step(now * 10, &reading);
        assert_eq!(control.power(), 20);
    }
}
