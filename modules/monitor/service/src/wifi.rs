//! The radio links of Wi-Fi stations. They are read in a thread: some drivers ask their firmware,
//! and the loop must not wait for that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kernel::io::{Nl80211, RequestError};
use kernel::nl80211::{Station, WirelessKind};
use kernel::{Event, Mac, Source};
use tokio::runtime::Handle;
use tracing::{debug, warn};

/// Stations are read this often, where there are wireless devices.
const EVERY: Duration = Duration::from_secs(5);
/// Time for which a result is valid.
const BELIEVED: Duration = Duration::from_secs(15);

/// Result of a request.
#[derive(Default)]
struct Answer {
    /// Indices of wireless devices; `None`: they could not be listed.
    devices: Option<Vec<u32>>,
    stations: Vec<Station>,
    /// First error.
    error: Option<RequestError>,
}

/// Wi-Fi stations, as last read.
pub struct Wifi {
    stations: HashMap<Mac, Station>,
    devices: Vec<u32>,
    /// Devices came, went or changed since they were listed.
    stale: bool,
    /// Time of the last request, and the receiver of its answer.
    asked: Option<Instant>,
    answer: Option<Receiver<Answer>>,
    /// True once a failure was logged; further ones would be alike.
    told: bool,
}

impl Wifi {
    /// Creates the reader, without data.
    pub fn new() -> Self {
        Self {
            stations: HashMap::new(),
            devices: Vec::new(),
            stale: true,
            asked: None,
            answer: None,
            told: false,
        }
    }

    /// Handles an event of the kernel.
    pub fn on_event(&mut self, event: &Event) {
        if matches!(
            event,
            Event::Link(_) | Event::LinkGone(_) | Event::Overrun(Source::Route)
        ) {
            self.stale = true;
        }
    }

    /// Takes a result and starts the next reading; due every second, and never waits.
    pub fn turn(&mut self) {
        let since = self.asked.map(|asked| asked.elapsed());
        if let Some(answer) = &self.answer {
            let answer = match answer.try_recv() {
                Ok(answer) => answer,
                Err(TryRecvError::Empty) => {
                    if since.is_none_or(|since| since >= BELIEVED) {
                        self.stations.clear();
                    }
                    return;
                }
                // The thread has ended without one.
                Err(TryRecvError::Disconnected) => Answer::default(),
            };
            self.answer = None;
            self.take(answer);
        }
        if since.is_some_and(|since| since < EVERY) {
            return;
        }
        if self.stale && !Nl80211::is_there() {
            self.stale = false;
            self.devices.clear();
            self.stations.clear();
        }
        if self.stale || !self.devices.is_empty() {
            self.ask();
        }
    }

    fn ask(&mut self) {
        let known = (!std::mem::take(&mut self.stale)).then(|| self.devices.clone());
        let (sender, receiver) = sync_channel(1);
        let runtime = Handle::current();
        let started = thread::Builder::new()
            .name("wifi".into())
            .spawn(move || read(known, &runtime, &sender));
        self.asked = Some(Instant::now());
        match started {
            Ok(_) => self.answer = Some(receiver),
            Err(error) => {
                debug!(%error, "cannot start a thread to read Wi-Fi stations");
                self.stale = true;
            }
        }
    }

    fn take(&mut self, answer: Answer) {
        match answer.devices {
            Some(devices) => self.devices = devices,
            None => self.stale = true,
        }
        self.stations = by_mac(answer.stations);
        if let Some(error) = answer.error {
            match std::mem::replace(&mut self.told, true) {
                false => warn!(%error, "cannot read Wi-Fi stations"),
                true => debug!(%error, "cannot read Wi-Fi stations"),
            }
        }
    }

    /// Returns the radio link of a device, if it has one.
    pub fn of(&self, mac: &Mac) -> Option<answers::Wifi> {
        self.stations.get(mac).map(shown)
    }
}

/// Lists wireless devices, unless they are `known`, and reads their stations. The family is looked
/// up each time: its number changes when its module is loaded again.
fn read(known: Option<Vec<u32>>, runtime: &Handle, answer: &SyncSender<Answer>) {
    let _inside = runtime.enter();
    let mut found = Answer::default();
    if let Err(error) = read_into(known, &mut found) {
        found.error.get_or_insert(error);
    }
    // The receiver may be gone.
    let _ = answer.send(found);
}

fn read_into(known: Option<Vec<u32>>, found: &mut Answer) -> Result<(), RequestError> {
    let Some(mut nl80211) = Nl80211::open()? else {
        found.devices = Some(Vec::new());
        return Ok(());
    };
    let devices = match known {
        Some(devices) => devices,
        None => {
            let all = nl80211.devices()?.into_iter();
            all.filter(|device| device.kind != WirelessKind::NoStations)
                .map(|device| device.link)
                .collect()
        }
    };
    for device in &devices {
        if let Err(error) = nl80211.stations(*device, &mut found.stations) {
            found.error.get_or_insert(error);
        }
    }
    found.devices = Some(devices);
    Ok(())
}

/// Indexes stations. Roaming stations are at two radios for a while; the last contact counts.
fn by_mac(stations: Vec<Station>) -> HashMap<Mac, Station> {
    let silent = |station: &Station| station.inactive.unwrap_or(u32::MAX);
    let mut found = HashMap::new();
    for station in stations {
        match found.entry(station.mac) {
            Entry::Vacant(entry) => drop(entry.insert(station)),
            Entry::Occupied(mut entry) => {
                if silent(&station) < silent(entry.get()) {
                    entry.insert(station);
                }
            }
        }
    }
    found
}

fn shown(station: &Station) -> answers::Wifi {
    let airtime = [station.airtime_to, station.airtime_from].into_iter();
    let airtime: u64 = airtime.flatten().fold(0, u64::saturating_add);
    answers::Wifi {
        signal: station.signal.or(station.signal_average).map(i32::from),
        rate_to: station.rate_to,
        rate_from: station.rate_from,
        retries: station.retries.map(u64::from),
        failed: station.failed.map(u64::from),
        // For drivers without airtime, mac80211 reports zero: every joined station was on the air.
        airtime: Some(airtime).filter(|airtime| *airtime != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: Station = Station {
        link: 7,
        mac: [2, 0, 0, 0, 1, 0],
        signal: Some(-61),
        signal_average: Some(-60),
        rate_to: Some(54_000_000),
        rate_from: None,
        ack_signal: None,
        frames: Some(40),
        retries: Some(3),
        failed: Some(0),
        airtime_to: Some(0),
        airtime_from: Some(0),
        inactive: Some(40),
        connected: Some(9),
        expected: None,
    };

    fn refused() -> RequestError {
        RequestError::NoAnswer { request: "x" }
    }

    #[test]
    fn where_it_was_heard_last_counts() {
        let former = Station {
            link: 8,
            inactive: Some(41),
            ..STATION
        };
        let unknown = Station {
            link: 9,
            inactive: None,
            ..STATION
        };
        for order in [[former, STATION, unknown], [unknown, STATION, former]] {
            assert_eq!(
                by_mac(order.into()),
                HashMap::from([(STATION.mac, STATION)])
            );
        }
    }

    #[test]
    fn what_is_not_told_is_not_shown() {
        let wifi = shown(&STATION);
        let expected = answers::Wifi {
            signal: Some(-61),
            rate_to: Some(54_000_000),
            retries: Some(3),
            failed: Some(0),
            ..answers::Wifi::default()
        };
        assert_eq!(wifi, expected);
        let wifi = shown(&Station {
            signal: None,
            airtime_from: None,
            airtime_to: Some(70),
            ..STATION
        });
        assert_eq!((wifi.signal, wifi.airtime), (Some(-60), Some(70)));
    }

    #[test]
    fn what_went_is_not_shown_any_more() {
        let mut wifi = Wifi::new();
        wifi.stale = false;
        let answer = |stations: &[Station], devices: Option<&[u32]>| Answer {
            devices: devices.map(<[u32]>::to_vec),
            stations: stations.to_vec(),
            error: None,
        };
        wifi.take(answer(&[STATION], Some(&[7])));
        assert!(wifi.of(&STATION.mac).is_some() && wifi.of(&[2; 6]).is_none());
        wifi.take(answer(&[], Some(&[7])));
        assert!(wifi.of(&STATION.mac).is_none() && !wifi.stale);
        // After a failure, devices are listed again, and the failure is logged once.
        wifi.take(Answer {
            error: Some(refused()),
            ..answer(&[], None)
        });
        assert!(wifi.stale && wifi.told && wifi.devices == [7]);
    }

    /// A driver that does not answer: the loop does not wait, and nothing old is shown.
    #[test]
    fn an_answer_that_does_not_come() {
        let mut wifi = Wifi::new();
        wifi.take(Answer {
            devices: Some(vec![7]),
            stations: vec![STATION],
            error: None,
        });
        let (sender, receiver) = sync_channel(1);
        wifi.answer = Some(receiver);
        wifi.asked = Some(Instant::now());
        wifi.turn();
        assert!(wifi.of(&STATION.mac).is_some() && wifi.answer.is_some());
        wifi.asked = Instant::now().checked_sub(BELIEVED);
        wifi.turn();
        assert!(wifi.of(&STATION.mac).is_none() && wifi.answer.is_some());
        // Late is better than never.
        wifi.asked = Some(Instant::now());
        let late = Answer {
            devices: Some(vec![7]),
            stations: vec![STATION],
            error: None,
        };
        sender.send(late).expect("it is waited for");
        wifi.turn();
        assert!(wifi.of(&STATION.mac).is_some() && wifi.answer.is_none());
    }
}
