//! Tests with a simulated access point.

use kernel::nl80211::{Setting, StationPower};
use nix::errno::Errno;
use radio_core::power::Mac;

use super::super::search::Driver;
use super::*;

/// State of the radio, and its failures.
#[derive(Default)]
struct Radio {
    /// Powers set, dBm; `None`: all of its power.
    told: Vec<Option<i32>>,
    fails: bool,
    /// Number of failures.
    failed: u32,
    /// True if it refuses every power.
    refuses: bool,
}

#[derive(Clone)]
struct MadeUp(Arc<Mutex<Radio>>, Instant);

fn refused() -> RequestError {
    RequestError::Refused {
        request: "made up",
        errno: Errno::EBUSY,
    }
}

impl Driver for MadeUp {
    fn set(&mut self, setting: Setting) -> Result<(), RequestError> {
        let mut radio = lock(&self.0);
        if radio.refuses {
            return Err(refused());
        }
        radio.told.push(match setting {
            Setting::Automatic => None,
            Setting::Fixed(level) => Some(level / HUNDREDTHS),
        });
        Ok(())
    }

    fn set_station(&mut self, _: Mac, _: StationPower) -> Result<(), RequestError> {
        Ok(())
    }
}

impl AccessPoint for MadeUp {
    fn is_access_point(&mut self) -> Result<bool, RequestError> {
        Ok(true)
    }

    /// A station that gets every frame, one a millisecond.
    fn stations(&mut self) -> Result<Vec<kernel::nl80211::Station>, RequestError> {
        let mut radio = lock(&self.0);
        if radio.fails {
            radio.failed += 1;
            return Err(refused());
        }
        Ok(vec![kernel::nl80211::Station {
            mac: [2; 6],
            frames: Some(self.1.elapsed().as_millis() as u32),
            rate_to: Some(54_000_000),
            connected: Some(60),
            ..Default::default()
        }])
    }

    /// As where the driver has no channel contexts.
    fn level(&mut self) -> Result<Option<i32>, RequestError> {
        Ok(Some(20 * HUNDREDTHS))
    }

    fn former(&mut self) -> Result<Option<SavedState>, RequestError> {
        Ok(Some(SavedState {
            power: 20,
            setting: Setting::Automatic,
            stations: false,
        }))
    }
}

/// Runs the access point under a worker that controls it, until `look` returns.
fn controlled(look: impl FnOnce(&MadeUp, &Shared)) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let (shared, ends) = (Shared::default(), Arc::new(AtomicBool::new(false)));
    let worker = Worker {
        runtime: runtime.handle().clone(),
        link: 7,
        name: "wlan0".into(),
        control: true,
        stations: false,
        settings: Settings::default(),
        least: 4,
        step: 8,
        shared: Arc::clone(&shared),
        back: Arc::new(Mutex::new(Restorer::none())),
        learned: Arc::new(Mutex::new(PriorStore::open(None))),
        ends: Arc::clone(&ends),
    };
    let radio = MadeUp(Arc::default(), Instant::now());
    let seen = radio.clone();
    let thread = std::thread::spawn(move || worker.run_on(|_| Ok(Some(radio.clone()))));
    look(&seen, &shared);
    ends.store(true, Ordering::Release);
    thread.thread().unpark();
    thread.join().expect("no panic");
    assert!(lock(&shared).is_empty() || lock(&seen.0).refuses);
}

/// Waits until that is so.
fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn trouble(shared: &Shared) -> Option<String> {
    lock(shared).get("wlan0")?.trouble.clone()
}

#[test]
fn stations_that_cannot_be_read_are_asked_for_again() {
    controlled(|MadeUp(radio, _), shared| {
        let last = || lock(radio).told.last().copied();
        until("the least power is enough", || last() == Some(Some(4)));
        assert_eq!(trouble(shared), None);
        lock(radio).fails = true;
        until("it has all of its power", || last() == Some(None));
        until("it is asked for again", || lock(radio).failed >= 3);
        let told = trouble(shared).expect("told");
        assert_eq!(
            told,
            "full power until this works again: the kernel refused made up: EBUSY: Device or \
             resource busy"
        );
        let power = lock(shared).get("wlan0").map(|known| known.power);
        assert_eq!(power, Some(Some(20)));
        lock(radio).fails = false;
        until("it is searched anew", || last() == Some(Some(4)));
        assert_eq!(trouble(shared), None);
    });
}

#[test]
fn what_could_not_be_given_back_is_as_soon_as_it_can() {
    controlled(|MadeUp(radio, _), shared| {
        let last = || lock(radio).told.last().copied();
        until("the least power is enough", || last() == Some(Some(4)));
        *lock(radio) = Radio {
            told: vec![Some(4)],
            fails: true,
            refuses: true,
            ..Radio::default()
        };
        let owed = "cannot restore the power yet; retrying: ";
        let is_told = || trouble(shared).is_some_and(|told| told.starts_with(owed));
        until("that is told", is_told);
        lock(radio).refuses = false;
        until("it has all of its power", || last() == Some(None));
    });
}

#[test]
fn a_driver_that_takes_no_other_power_is_left_alone() {
    controlled(|MadeUp(radio, _), shared| {
        lock(radio).refuses = true;
        let alone = |told: String| told.starts_with("power control ended: ");
        until("it is left alone", || trouble(shared).is_some_and(alone));
    });
}
