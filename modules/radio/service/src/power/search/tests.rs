//! A simulated driver: no driver of a test machine has a power per station.

use radio_core::power::{Counters, Settings, Station};

use super::*;

/// Commands received, and an error to return.
#[derive(Default)]
struct MadeUp {
    told: Vec<(Option<Mac>, Option<i32>)>,
    refuses: Option<Errno>,
}

impl MadeUp {
    fn answer(&mut self, mac: Option<Mac>, power: Option<i32>) -> Result<(), RequestError> {
        self.told.push((mac, power));
        match self.refuses {
            None => Ok(()),
            Some(errno) => Err(RequestError::Refused {
                request: "made up",
                errno,
            }),
        }
    }
}

impl Driver for MadeUp {
    fn set(&mut self, setting: Setting) -> Result<(), RequestError> {
        let power = match setting {
            Setting::Automatic => None,
            Setting::Fixed(level) => Some(level / HUNDREDTHS),
        };
        self.answer(None, power)
    }

    fn set_station(&mut self, mac: Mac, power: StationPower) -> Result<(), RequestError> {
        let power = match power {
            StationPower::Automatic => None,
            StationPower::Limited(power) => Some(i32::from(power)),
        };
        self.answer(Some(mac), power)
    }
}

fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

/// Stations that get every frame, but for those of numbers from 10 on, which are sent nothing.
fn reading(numbers: &[u8], now: u64) -> Reading {
    let station = |number: &u8| Station {
        mac: mac(*number),
        counters: Counters {
            frames: if *number < 10 { now as u32 } else { 0 },
            ..Counters::default()
        },
        rate: Some(54_000),
        connected: 60,
        ..Station::default()
    };
    Reading {
        stations: numbers.iter().map(station).collect(),
    }
}

fn each() -> Search {
    let each = StationControllers::new(Settings::default(), vec![4, 12, 20]).expect("powers");
    Search::of_each(each, 20)
}

/// Lets time pass, ms, with a step every 10 ms.
fn run(search: &mut Search, driver: &mut MadeUp, numbers: &[u8], time: std::ops::Range<u64>) {
    for now in time.step_by(10) {
        search.step(now, &reading(numbers, now));
        search.set(driver).expect("taken");
    }
}

#[test]
fn each_station_has_its_own_and_the_device_keeps_its_power() {
    let (mut search, mut driver) = (each(), MadeUp::default());
    run(&mut search, &mut driver, &[1, 2, 10], 0..5000);
    assert_eq!((search.power(), search.power_of(mac(10))), (20, 20));
    assert_eq!((search.power_of(mac(1)), search.power_of(mac(2))), (4, 4));
    assert!(driver.told.iter().all(|told| told.0.is_some()), "no device");
    assert!(driver.told.contains(&(Some(mac(1)), Some(12))));
    let limited = |told: &&(Option<Mac>, Option<i32>)| told.1 == Some(20);
    assert_eq!(
        driver.told.iter().find(limited),
        None,
        "all of it is no limit"
    );
    assert!(driver.told.iter().all(|told| told.0 != Some(mac(10))));
    // An unchanged power is not set twice.
    let pairs = driver.told.windows(2);
    assert_eq!(pairs.filter(|pair| pair[0] == pair[1]).count(), 0);
    driver.told.clear();
    search.give_back(&mut driver);
    assert_eq!(driver.told, [(Some(mac(1)), None), (Some(mac(2)), None)]);
    driver.told.clear();
    search.give_back(&mut driver);
    assert_eq!(driver.told, [], "once");
}

#[test]
fn who_left_is_no_refusal() {
    let (mut search, mut driver) = (each(), MadeUp::default());
    driver.refuses = Some(Errno::ENOENT);
    run(&mut search, &mut driver, &[1], 0..5000);
    assert_eq!(search.power_of(mac(1)), 20);
    assert!(driver.told.len() > 10);
}

#[test]
fn a_driver_that_refuses_is_let_alone() {
    let (mut search, mut driver) = (each(), MadeUp::default());
    driver.refuses = Some(Errno::EOPNOTSUPP);
    let mut ends = None;
    for now in (0..5000).step_by(10) {
        search.step(now, &reading(&[1], now));
        if let Err(error) = search.set(&mut driver) {
            ends = Some(error.to_string());
            break;
        }
    }
    let error = ends.expect("an end");
    assert!(error.contains("made up"), "{error}");
    assert_eq!(driver.told.len(), 5);
    driver.told.clear();
    search.give_back(&mut driver);
    assert_eq!(driver.told, [], "there is nothing to give back");
}

#[test]
fn all_stations_have_the_devices_power() {
    let controller = Controller::new(Settings::default(), vec![4, 12, 20]).expect("powers");
    let (mut search, mut driver) = (Search::of_all(controller, 20), MadeUp::default());
    run(&mut search, &mut driver, &[1, 2], 0..5000);
    assert_eq!((search.power(), search.power_of(mac(1))), (4, 4));
    assert!(driver.told.iter().all(|told| told.0.is_none()));
}
