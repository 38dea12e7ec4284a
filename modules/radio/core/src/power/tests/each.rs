//! A power for each station.

use super::air::{Air, STEP};
use crate::power::{Controller, Entry, Mac, Reading, Reason, Settings, StationControllers};

const POWERS: [i32; 11] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20];

fn run(air: &mut Air, each: &mut StationControllers, time: u64) {
    for _ in 0..time / STEP {
        let reading = air.step();
        let decided = each.step(air.now, &reading);
        air.log.extend(decided);
        for (mac, power) in each.powers() {
            air.own(mac, power);
        }
    }
}

fn each() -> StationControllers {
    StationControllers::new(Settings::default(), POWERS.to_vec()).unwrap()
}

fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

/// The near station does not get the power that the far station needs, which it would get with one
/// power for the device.
#[test]
fn who_is_near_is_sent_to_with_less() {
    let losses = [60.0, 75.0, 86.0];
    let (mut air, mut all) = (Air::of(&losses), each());
    run(&mut air, &mut all, 10_000);
    let mut levels = [const { Vec::new() }; 3];
    for _ in 0..100 {
        run(&mut air, &mut all, 100);
        for (levels, (_, power)) in levels.iter_mut().zip(all.powers()) {
            levels.push(power);
        }
    }
    for (loss, mut levels) in losses.into_iter().zip(levels) {
        levels.sort_unstable();
        let (found, right) = (levels[50], Air::of(&[loss]).enough(&POWERS));
        assert!((found - right).abs() <= 2, "{loss} dB: {found} of {right}");
    }
    let (mut other, mut one) = (
        Air::of(&losses),
        Controller::new(Settings::default(), POWERS.to_vec()).unwrap(),
    );
    other.run(&mut one, 20_000);
    let carried = air.arrived as f64 / other.arrived as f64;
    assert!(carried >= 0.99, "{carried}");
    assert!(
        all.enough() >= Some(10),
        "what the farthest needs: {:?}",
        all.enough()
    );
    assert!(all.soon() <= Settings::default().watch);
}

#[test]
fn stations_come_and_go() {
    let (mut air, mut all) = (Air::of(&[60.0]), each());
    assert_eq!(all.step(air.now, &Reading::default()), []);
    assert_eq!((all.powers().count(), all.enough()), (0, None));
    run(&mut air, &mut all, 8000);
    assert_eq!(all.powers().collect::<Vec<_>>(), [(mac(0), 0)]);
    // A new station gets all of the power, and no other station gets more for it.
    air.all
        .extend(Air::of(&[60.0, 60.0]).all.into_iter().skip(1));
    air.all[1].station.connected = 0;
    run(&mut air, &mut all, STEP);
    assert_eq!(
        all.powers().collect::<Vec<_>>(),
        [(mac(0), 0), (mac(1), 20)]
    );
    let last = |of: &Entry| (of.station, of.reason);
    assert_eq!(
        air.log.last().map(last),
        Some((Some(mac(1)), Reason::Newcomer))
    );
    // A station without traffic does not count.
    air.all[1].frames = 0.0;
    run(&mut air, &mut all, 4000);
    assert_eq!(all.enough(), Some(0));
    air.all.truncate(1);
    run(&mut air, &mut all, STEP);
    assert_eq!(all.powers().count(), 1);
    // The remaining station begins with the expected power.
    let mut told = each();
    told.expect(Some(6));
    let from = air.log.len();
    run(&mut air, &mut told, 500);
    let mut begun = air.log[from..].iter();
    let trial = begun.find(|entry| entry.reason == Reason::Trial);
    assert_eq!(trial.map(|entry| entry.power), Some(8));
    assert!(StationControllers::new(Settings::default(), Vec::new()).is_err());
}
