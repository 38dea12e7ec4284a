//! The thread of one access point.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use kernel::io::RequestError;
use kernel::nl80211::Station;
use radio::power::{Controller, Each, Entry, Ladder, Log, Mac, Reading, Reason, Settings, Tally};
use tokio::runtime::Handle;
use tracing::{debug, info, warn};

use super::device::{Device, Former, HUNDREDTHS};
use super::search::Search;
use super::{Heard, Known, Learned, STEPS, Shared, WayBack, lock};
use crate::daemon::unix_seconds;

/// How often it is looked whether the device is still an access point, and what its power is.
const LOOKS: Duration = Duration::from_secs(2);
/// What is told where stations cannot have powers of their own.
const ONE_FOR_ALL: &str = "its driver has no power of single stations: one for all of them";
/// How often stations are read where nothing is changed.
const WATCHES: Duration = Duration::from_secs(1);

/// What a thread has.
pub struct Worker {
    /// The kernel's answers are awaited by its event loop.
    pub runtime: Handle,
    pub link: u32,
    pub name: String,
    /// Whether power is changed.
    pub control: bool,
    /// Whether each station has a power of its own, where the driver can.
    pub stations: bool,
    pub settings: Settings,
    pub least: i32,
    pub step: u32,
    pub shared: Shared,
    pub back: Arc<Mutex<WayBack>>,
    pub learned: Arc<Mutex<Learned>>,
    pub ends: Arc<AtomicBool>,
}

/// How a device's time ended.
enum End {
    /// Weir ends.
    Asked,
    /// Somebody else set a power, dBm: the search begins anew below that.
    Other,
    /// It is gone, or an access point no more.
    Gone,
}

impl Worker {
    /// Until the end, or until there is no such access point.
    pub fn run(self) {
        let _inside = self.runtime.enter();
        loop {
            match self.device() {
                Ok(End::Other) => {}
                Ok(End::Asked | End::Gone) => break,
                Err(error) => {
                    warn!(%error, device = self.name, "its power is left alone");
                    if let Some(known) = lock(&self.shared).get_mut(&self.name) {
                        known.trouble = Some(format!("its power is left alone: {error}"));
                    }
                    return;
                }
            }
        }
        lock(&self.shared).remove(&self.name);
    }

    fn device(&self) -> Result<End, RequestError> {
        let Some(mut device) = Device::open(self.link)? else {
            return Ok(End::Gone);
        };
        let Some(former) = device.former()? else {
            debug!(device = self.name, "its driver tells no power");
            return Ok(End::Gone);
        };
        let begun = self.told(&former);
        let end = match self.control {
            true => self.control(&mut device, &former, begun),
            false => self.watch(&mut device),
        };
        if self.control {
            let kept = matches!(end, Ok(End::Other));
            self.give_back(&mut device, &former, kept);
        }
        end
    }

    /// It is known from now on. Says since when it is, as steps of a search before count on.
    fn told(&self, former: &Former) -> Instant {
        let mut shared = lock(&self.shared);
        let (begun, log) = match shared.remove(&self.name) {
            Some(known) => (known.begun, known.log),
            None => (Instant::now(), Log::new(STEPS)),
        };
        let known = Known {
            power: Some(former.power),
            most: former.power,
            enough: None,
            reason: Reason::Begin,
            stations: Vec::new(),
            begun,
            log,
            trouble: None,
        };
        shared.insert(self.name.clone(), known);
        begun
    }

    fn note(&self, note: impl FnOnce(&mut Known)) {
        if let Some(known) = lock(&self.shared).get_mut(&self.name) {
            note(known);
        }
    }

    /// The device has again what it had, unless somebody set something else.
    fn give_back(&self, device: &mut Device, former: &Former, kept: bool) {
        if !kept && let Err(error) = device.set(former.setting) {
            // It may be gone.
            debug!(%error, device = self.name, "its power is not given back");
        }
        self.back_of(|back| back.forget(self.link));
    }

    fn back_of(&self, what: impl FnOnce(&mut WayBack)) {
        what(&mut lock(&self.back));
    }

    /// Gives what was enough at this hour of former days.
    fn learn(&self, enough: Option<i32>) -> Option<i32> {
        lock(&self.learned).learn(&self.name, unix_seconds() / 3600, enough)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Acquire)
    }

    fn watch(&self, device: &mut Device) -> Result<End, RequestError> {
        let mut tallies = Tallies::default();
        loop {
            if self.ends() {
                return Ok(End::Asked);
            }
            if !device.is_access_point()? {
                return Ok(End::Gone);
            }
            let power = device.power()?.level;
            let heard = tallies.heard(device.stations()?, |_| None);
            self.note(|known| {
                known.power = power.map(|level| level.div_euclid(HUNDREDTHS));
                known.stations = heard;
            });
            park_timeout(WATCHES);
        }
    }

    fn control(
        &self,
        device: &mut Device,
        former: &Former,
        begin: Instant,
    ) -> Result<End, RequestError> {
        info!(
            device = self.name,
            most = former.power,
            "power follows throughput"
        );
        if self.stations && former.stations {
            // Drivers refuse 0.
            let powers = self.powers(self.least.max(1), former);
            let Ok(each) = Each::new(self.settings.clone(), powers) else {
                return Ok(End::Gone);
            };
            self.back_of(|back| back.remember_stations(self.link));
            let mut search = Search::of_each(each, former.power);
            let end = self.follow(device, &mut search, begin);
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
        // Whoever ends weir hard does not end this.
        self.back_of(|back| back.remember(self.link, former.setting));
        self.follow(device, &mut Search::of_all(controller, former.power), begin)
    }

    fn powers(&self, least: i32, former: &Former) -> Vec<i32> {
        let ladder = Ladder::between(least, former.power, self.step);
        ladder.powers().to_vec()
    }

    fn follow(
        &self,
        device: &mut Device,
        search: &mut Search,
        begin: Instant,
    ) -> Result<End, RequestError> {
        search.expect(self.learn(None));
        let mut tallies = Tallies::default();
        let mut looked = Instant::now();
        // What the kernel told after the last change. Of drivers without channel contexts it tells
        // what was set with the channel, whatever came after (net/mac80211/cfg.c,
        // ieee80211_get_tx_power).
        let mut told = device.power()?.level;
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
                let level = device.power()?.level;
                let other = changed(told, level);
                if other {
                    info!(device = self.name, ?level, "somebody else set its power");
                    return Ok(End::Other);
                }
            }
            let stations = device.stations()?;
            let reading = Reading::of(&stations);
            let now = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            let entries = search.step(now, &reading);
            if search.set(device)? {
                told = device.power()?.level;
            }
            let heard = tallies.heard(stations, |mac| Some(search.power_of(mac)));
            self.note(|known| {
                known.power = Some(search.power());
                known.enough = search.enough();
                known.stations = heard;
                for entry in entries {
                    step(known, entry);
                }
            });
            park_timeout(Duration::from_millis(search.soon()));
        }
    }
}

/// Whether another power is told. A driver may round; whole dBm are something else.
fn changed(before: Option<i32>, now: Option<i32>) -> bool {
    let pair = before.zip(now);
    pair.is_some_and(|(before, now)| (before - now).abs() >= HUNDREDTHS)
}

fn step(known: &mut Known, entry: Entry) {
    known.reason = entry.reason;
    known.log.push(entry);
}

/// What arrives at each station, second by second, for those who look.
#[derive(Default)]
struct Tallies {
    all: std::collections::BTreeMap<Mac, (Tally, Instant, Option<f64>)>,
}

impl Tallies {
    fn heard(&mut self, stations: Vec<Station>, power: impl Fn(Mac) -> Option<i32>) -> Vec<Heard> {
        let read = Reading::of(&stations).stations;
        self.all
            .retain(|mac, _| read.iter().any(|it| it.mac == *mac));
        let each = stations.into_iter().zip(read);
        each.map(|(station, read)| {
            let fresh = || (Tally::default(), Instant::now(), None);
            let (tally, since, last) = self.all.entry(read.mac).or_insert_with(fresh);
            tally.look(&read);
            if since.elapsed() >= WATCHES {
                *last = tally.estimate().map(|it| it.throughput);
                (*tally, *since) = (tally.onward(), Instant::now());
            }
            Heard {
                station,
                power: power(read.mac),
                throughput: *last,
            }
        })
        .collect()
    }
}
