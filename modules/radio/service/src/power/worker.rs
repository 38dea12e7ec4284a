//! The thread of one access point.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use kernel::io::RequestError;
use net::clock::unix_seconds;
use radio_core::power::{
    Controller, Entry, Log, Mac, PowerLevels, Reading, Reason, Settings, StationControllers,
};
use tokio::runtime::Handle;
use tracing::{debug, info, warn};

use super::device::{AccessPoint, Device, SavedState};
use super::failures::Failures;
use super::prior_store::PriorStore;
use super::restorer::Restorer;
use super::search::{HUNDREDTHS, Search};
use super::state::{DeviceState, STEPS, Shared, lock};
use super::tallies::{StationTallies, WATCHES};

/// Interval of checks that the device is still an access point, and of its power.
const LOOKS: Duration = Duration::from_secs(2);
/// Notice if stations cannot have powers of their own.
const ONE_FOR_ALL: &str = "the driver has no power per station: using one for all of them";

/// State of a thread.
pub struct Worker {
    /// The kernel's answers are awaited by its event loop.
    pub runtime: Handle,
    pub link: u32,
    pub name: String,
    /// True if power is changed.
    pub control: bool,
    /// True if each station gets a power of its own, if the driver can.
    pub stations: bool,
    pub settings: Settings,
    pub least: i32,
    pub step: u32,
    pub shared: Shared,
    pub back: Arc<Mutex<Restorer>>,
    pub learned: Arc<Mutex<PriorStore>>,
    pub ends: Arc<AtomicBool>,
}

/// Reason for the end of a device.
enum End {
    /// Weir ends.
    Asked,
    /// Another program set a power, dBm: the search restarts below that.
    Other,
    /// The device disappeared, or is no longer an access point.
    Gone,
    /// The driver accepts no other power.
    Refused(RequestError),
}

impl Worker {
    /// Runs until the end, or until the access point disappears.
    pub fn run(self) {
        self.run_on(Device::open);
    }

    fn run_on<D: AccessPoint>(&self, open: impl Fn(u32) -> Result<Option<D>, RequestError>) {
        let _inside = self.runtime.enter();
        let mut failures = Failures::new();
        loop {
            match self.device(&open, &mut failures) {
                Ok(End::Other) => {}
                Ok(End::Asked | End::Gone) => break,
                Ok(End::Refused(error)) => {
                    warn!(%error, device = self.name, "power control ended");
                    self.note(|known| {
                        known.trouble = Some(format!("power control ended: {error}"));
                    });
                    return;
                }
                // The restorer resets the remaining settings.
                Err(_) if self.ends() => break,
                Err(error) => self.pause(&mut failures, &error),
            }
        }
        lock(&self.shared).remove(&self.name);
    }

    /// Logs a temporary failure once, and waits.
    fn pause(&self, failures: &mut Failures, error: &RequestError) {
        let told = match (self.control, failures.owed) {
            (false, _) => "retrying",
            (true, None) => "full power until this works again",
            (true, Some(_)) => "cannot restore the power yet; retrying",
        };
        let (wait, first) = failures.failed(Instant::now());
        if first {
            warn!(%error, device = self.name, "{told}");
        }
        self.note(|known| {
            known.trouble = Some(format!("{told}: {error}"));
            known.stations.clear();
            known.enough = None;
            if self.control && failures.owed.is_none() {
                (known.power, known.reason) = (Some(known.most), Reason::Begin);
            }
        });
        park_timeout(wait);
    }

    fn device<D: AccessPoint>(
        &self,
        open: impl Fn(u32) -> Result<Option<D>, RequestError>,
        failures: &mut Failures,
    ) -> Result<End, RequestError> {
        let Some(mut device) = open(self.link)? else {
            return Ok(End::Gone);
        };
        if let Some(setting) = failures.owed {
            device.set(setting)?;
            failures.owed = None;
            self.back_of(|back| back.forget(self.link));
        }
        let Some(former) = device.former()? else {
            debug!(device = self.name, "driver reports no power");
            return Ok(End::Gone);
        };
        let begun = self.told(&former);
        let end = match self.control {
            true => self.control(&mut device, &former, begun, failures),
            false => self.watch(&mut device, failures),
        };
        if self.control {
            self.give_back(&mut device, &former, &end, failures);
        }
        end
    }

    /// Lists the device from now on. Returns the start of its log, so that a later search continues
    /// the times.
    fn told(&self, former: &SavedState) -> Instant {
        let mut shared = lock(&self.shared);
        let (begun, log, trouble) = match shared.remove(&self.name) {
            Some(known) => (known.begun, known.log, known.trouble),
            None => (Instant::now(), Log::new(STEPS), None),
        };
        let known = DeviceState {
            power: Some(former.power),
            most: former.power,
            enough: None,
            reason: Reason::Begin,
            stations: Vec::new(),
            begun,
            log,
            trouble,
        };
        shared.insert(self.name.clone(), known);
        begun
    }

    fn note(&self, note: impl FnOnce(&mut DeviceState)) {
        if let Some(known) = lock(&self.shared).get_mut(&self.name) {
            note(known);
        }
    }

    /// Restores the device's old power, unless another program changed it.
    fn give_back(
        &self,
        device: &mut impl AccessPoint,
        former: &SavedState,
        end: &Result<End, RequestError>,
        failures: &mut Failures,
    ) {
        let kept = matches!(end, Ok(End::Other));
        if !kept && let Err(error) = device.set(former.setting) {
            // The device may be gone.
            debug!(%error, device = self.name, "cannot restore the power");
            if end.is_err() {
                failures.owed = Some(former.setting);
                return;
            }
        }
        self.back_of(|back| back.forget(self.link));
    }

    /// Records that the stations were read.
    fn works(&self, failures: &mut Failures) {
        if failures.works(Instant::now()) {
            info!(device = self.name, "power control works again");
            self.note(|known| known.trouble = None);
        }
    }

    fn back_of(&self, what: impl FnOnce(&mut Restorer)) {
        what(&mut lock(&self.back));
    }

    /// Returns the sufficient power at this hour of earlier days.
    fn learn(&self, enough: Option<i32>) -> Option<i32> {
        lock(&self.learned).learn(&self.name, unix_seconds() / 3600, enough)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Acquire)
    }

    fn watch(
        &self,
        device: &mut impl AccessPoint,
        failures: &mut Failures,
    ) -> Result<End, RequestError> {
        let mut tallies = StationTallies::default();
        loop {
            if self.ends() {
                return Ok(End::Asked);
            }
            if !device.is_access_point()? {
                return Ok(End::Gone);
            }
            let power = device.level()?;
            let stations = device.stations()?;
            tallies.look(&Reading::of(&stations));
            let heard = tallies.heard(stations);
            self.works(failures);
            self.note(|known| {
                known.power = power.map(|level| level.div_euclid(HUNDREDTHS));
                known.stations = heard;
            });
            park_timeout(WATCHES);
        }
    }

    fn control(
        &self,
        device: &mut impl AccessPoint,
        former: &SavedState,
        begin: Instant,
        failures: &mut Failures,
    ) -> Result<End, RequestError> {
        info!(
            device = self.name,
            most = former.power,
            "power follows throughput"
        );
        if self.stations && former.stations {
            // Drivers refuse 0.
            let powers = self.powers(self.least.max(1), former);
            let Ok(each) = StationControllers::new(self.settings.clone(), powers) else {
                return Ok(End::Gone);
            };
            self.back_of(|back| back.remember_stations(self.link));
            let mut search = Search::of_each(each, former.power);
            let end = self.follow(device, &mut search, begin, failures);
            search.give_back(device);
            match end {
                Err(error @ RequestError::Refused { .. }) if search.was_refused() => {
                    warn!(%error, device = self.name, "{ONE_FOR_ALL}");
                }
                end => return end,
            }
        } else if self.stations {
            info!(device = self.name, "{ONE_FOR_ALL}");
        }
        let powers = self.powers(self.least, former);
        let Ok(controller) = Controller::new(self.settings.clone(), powers) else {
            return Ok(End::Gone);
        };
        // The way back survives a hard end of weir.
        self.back_of(|back| back.remember(self.link, former.setting));
        let mut search = Search::of_all(controller, former.power);
        match self.follow(device, &mut search, begin, failures) {
            Err(error) if search.was_refused() => Ok(End::Refused(error)),
            end => end,
        }
    }

    fn powers(&self, least: i32, former: &SavedState) -> Vec<i32> {
        let ladder = PowerLevels::between(least, former.power, self.step);
        ladder.powers().to_vec()
    }

    fn follow(
        &self,
        device: &mut impl AccessPoint,
        search: &mut Search,
        begin: Instant,
        failures: &mut Failures,
    ) -> Result<End, RequestError> {
        search.expect(self.learn(None));
        let mut tallies = StationTallies::default();
        // Time of the last report, and the number of stations in it.
        let mut shown = None;
        let mut looked = Instant::now();
        // Power reported after the last change. Drivers without channel contexts report the power
        // set with the channel, despite later changes (net/mac80211/cfg.c, ieee80211_get_tx_power).
        let mut told = device.level()?;
        loop {
            if self.ends() {
                return Ok(End::Asked);
            }
            if looked.elapsed() >= LOOKS {
                looked = Instant::now();
                search.expect(self.learn(search.enough()));
                if !device.is_access_point()? {
                    return Ok(End::Gone);
                }
                let level = device.level()?;
                let other = changed(told, level);
                if other {
                    info!(device = self.name, level, "another program set the power");
                    return Ok(End::Other);
                }
            }
            let stations = device.stations()?;
            self.works(failures);
            let reading = Reading::of(&stations);
            let now = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            let entries = search.step(now, &reading);
            if search.set(device)? {
                told = device.level()?;
            }
            tallies.look(&reading);
            // A report a second suffices, and a report on many stations is expensive.
            let telling = shown.is_none_or(|(at, count): (Instant, usize)| {
                at.elapsed() >= WATCHES || count != stations.len()
            });
            let heard = telling.then(|| {
                shown = Some((Instant::now(), stations.len()));
                tallies.heard(stations)
            });
            self.note(|known| {
                known.power = Some(search.power());
                known.enough = search.enough();
                known.stations = heard.unwrap_or_else(|| std::mem::take(&mut known.stations));
                for heard in &mut known.stations {
                    heard.power = Some(search.power_of(Mac(heard.station.mac)));
                }
                for entry in entries {
                    step(known, entry);
                }
            });
            park_timeout(Duration::from_millis(search.soon()));
        }
    }
}

/// Returns true if the reported power changed. A driver may round; whole dBm are a change.
fn changed(before: Option<i32>, now: Option<i32>) -> bool {
    let pair = before.zip(now);
    pair.is_some_and(|(before, now)| (before - now).abs() >= HUNDREDTHS)
}

fn step(known: &mut DeviceState, entry: Entry) {
    known.reason = entry.reason;
    known.log.push(entry);
}

#[cfg(test)]
mod tests;
