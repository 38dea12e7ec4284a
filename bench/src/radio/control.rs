//! Runs a driver: a thread that sets the power of an access point.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use kernel::io::Nl80211;
use kernel::nl80211::{Setting, WirelessKind};
use lab::Namespace;
use radio_core::power::{Controller, PowerLevels, Predecessor, Reading, Reason, Settings};

use super::scenario::Driver;
use crate::Error;

/// Power range in dBm: the limit of mac80211_hwsim, and weir's default minimum.
const MOST: i32 = 20;
const LEAST: i32 = 1;
/// Step between powers, in dB.
const STEP: u32 = 2;
/// Hundredths of a dBm per dBm.
const HUNDREDTHS: i32 = 100;
/// Milliseconds between steps of drivers other than weir; the predecessor's rounds are longer.
const OFTEN: u64 = 20;

type Steps = Vec<(Instant, i32, Option<Reason>)>;

/// Thread that sets the power.
pub(super) struct Control {
    thread: Option<JoinHandle<Result<Result<Steps, Error>, lab::Error>>>,
    ends: Arc<AtomicBool>,
}

impl Control {
    /// Starts a driver for the access point in this namespace.
    pub(super) fn begin(driver: Driver, node: &Namespace) -> Result<Self, Error> {
        let ends = Arc::<AtomicBool>::default();
        let asked = Arc::clone(&ends);
        let thread = node.background(move || decide(driver, &asked))?;
        let thread = Some(thread);
        Ok(Self { thread, ends })
    }

    /// Stops the driver. Returns the powers that it set, with their times.
    pub(super) fn end(mut self) -> Result<Steps, Error> {
        self.ends.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return Ok(Steps::new());
        };
        let ended = thread.join();
        ended.map_err(|_| Error::Wrong("the thread that sets the power panicked".into()))??
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Power search, called repeatedly.
enum Search {
    Weir(Box<Controller>),
    Before(Predecessor),
    Fixed,
}

impl Search {
    fn of(driver: Driver) -> Result<Self, Error> {
        let powers = PowerLevels::between(LEAST, MOST, STEP).powers().to_vec();
        let none = |error: radio_core::power::NoPowers| Error::Wrong(error.to_string());
        Ok(match driver {
            Driver::Weir => {
                let controller = Controller::new(Settings::default(), powers).map_err(none)?;
                Self::Weir(Box::new(controller))
            }
            Driver::Predecessor => Self::Before(Predecessor::new(powers).map_err(none)?),
            Driver::Maximum | Driver::Slow => Self::Fixed,
        })
    }

    /// Returns the power, the reason, and the milliseconds until the next step.
    fn step(
        &mut self,
        now: u64,
        stations: &[kernel::nl80211::Station],
    ) -> (i32, Option<Reason>, u64) {
        match self {
            Self::Weir(controller) => {
                let entry = controller.step(now, &Reading::of(stations));
                let reason = entry.map(|entry| entry.reason);
                (controller.power(), reason, controller.soon())
            }
            Self::Before(predecessor) => {
                // The predecessor takes a single number: the expected rate of its only station.
                let told = stations.first().and_then(|station| station.expected);
                let expected = told.unwrap_or_default() as f64 / 1000.0;
                (predecessor.step(now, expected), None, OFTEN)
            }
            Self::Fixed => (MOST, None, OFTEN),
        }
    }
}

fn decide(driver: Driver, ends: &AtomicBool) -> Result<Steps, Error> {
    let wrong = |error: kernel::io::RequestError| Error::Wrong(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("ask the kernel"))?;
    let _entered = runtime.enter();
    let opened = Nl80211::open().map_err(wrong)?;
    let mut told = opened.ok_or_else(|| Error::Wrong("the kernel has no Wi-Fi".into()))?;
    let devices = told.devices().map_err(wrong)?;
    let mut all = devices.iter();
    let device = all.find(|device| device.kind == WirelessKind::AccessPoint);
    let device = device.ok_or_else(|| Error::Wrong("no access point found".into()))?;
    let mut search = Search::of(driver)?;
    let begun = Instant::now();
    let mut steps = vec![(begun, MOST, None)];
    let mut set = MOST;
    let mut stations = Vec::new();
    while !ends.load(Ordering::Acquire) {
        stations.clear();
        told.stations(device.link, &mut stations).map_err(wrong)?;
        let now = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (power, reason, soon) = search.step(now, &stations);
        if power != set {
            let setting = Setting::Fixed(power * HUNDREDTHS);
            told.set_power(device.link, setting).map_err(wrong)?;
            set = power;
            steps.push((Instant::now(), power, reason));
        }
        sleep(Duration::from_millis(soon));
    }
    Ok(steps)
}
