//! An access point from the view of the search: its radio, its stations, its power.

use std::time::Instant;

use kernel::io::{Nl80211, RequestError, StationEvents};
use kernel::nl80211::{Setting, Station, StationPower, WirelessKind};
use nix::errno::Errno;
use radio_core::power::Mac;

use super::search::{Driver, HUNDREDTHS};
use super::station_list::StationList;

/// An access point.
pub struct Device {
    nl80211: Nl80211,
    link: u32,
    /// The device, and VLAN devices of its radio that have its stations.
    links: Vec<u32>,
    /// Events of stations; `None`: the kernel does not report any.
    events: Option<StationEvents>,
    roster: StationList,
    /// The roster's time counts from then.
    begun: Instant,
}

/// State of a device before weir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// Power, dBm.
    pub power: i32,
    /// Setting that restores the state.
    pub setting: Setting,
    /// True if the driver has a power per station.
    pub stations: bool,
}

/// Access point of a worker; each method fails if the kernel or the driver refuses.
pub trait AccessPoint: Driver {
    /// Returns true if the device is still an access point.
    fn is_access_point(&mut self) -> Result<bool, RequestError>;

    /// Returns all stations.
    fn stations(&mut self) -> Result<Vec<Station>, RequestError>;

    /// Returns the current power, hundredths of a dBm.
    fn level(&mut self) -> Result<Option<i32>, RequestError>;

    /// Returns the state and the setting that restores it. `None`: the driver reports none.
    fn former(&mut self) -> Result<Option<SavedState>, RequestError>;
}

impl Device {
    /// Opens the access point. `None`: not an access point.
    ///
    /// # Errors
    /// The kernel refused, or its answer was malformed.
    pub fn open(link: u32) -> Result<Option<Self>, RequestError> {
        let Some(nl80211) = Nl80211::open()? else {
            return Ok(None);
        };
        let mut device = Self {
            nl80211,
            link,
            links: vec![link],
            events: StationEvents::open()?,
            roster: StationList::default(),
            begun: Instant::now(),
        };
        Ok(device.is_access_point()?.then_some(device))
    }
}

impl AccessPoint for Device {
    /// Returns true if the device is still an access point; finds its VLANs again.
    fn is_access_point(&mut self) -> Result<bool, RequestError> {
        let devices = self.nl80211.devices()?;
        let own = devices.iter().find(|device| device.link == self.link);
        if own.is_none_or(|device| device.kind != WirelessKind::AccessPoint) {
            return Ok(false);
        }
        let radio = self.nl80211.power(self.link)?.radio;
        self.links = vec![self.link];
        for device in devices {
            if device.kind == WirelessKind::AccessPointVlan
                && self.nl80211.power(device.link)?.radio == radio
            {
                self.links.push(device.link);
            }
        }
        Ok(true)
    }

    /// Returns all stations; idle stations as they were up to a second ago.
    fn stations(&mut self) -> Result<Vec<Station>, RequestError> {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Without events, or after lost events, a new station is always possible.
        let changed = self.events.as_mut().map(StationEvents::changed);
        if changed.is_none_or(|changed| changed.unwrap_or(true)) {
            self.roster.is_stale();
        }
        if !self.roster.is_due(now) {
            for (link, mac) in self.roster.busy(now) {
                match self.nl80211.station(link, mac) {
                    Ok(station) => self.roster.read(now, mac, station),
                    // The driver reports only all stations at once.
                    Err(RequestError::Refused {
                        errno: Errno::EOPNOTSUPP,
                        ..
                    }) => self.events = None,
                    Err(error) => return Err(error),
                }
            }
            return Ok(self.roster.stations());
        }
        let mut all = Vec::new();
        for link in self.links.clone() {
            self.nl80211.stations(link, &mut all)?;
        }
        self.roster.read_all(now, all);
        Ok(self.roster.stations())
    }

    fn level(&mut self) -> Result<Option<i32>, RequestError> {
        Ok(self.nl80211.power(self.link)?.level)
    }

    /// Returns the current state and the setting that restores it: a power at the channel's limit
    /// is restored as the limit of the next channel, too.
    fn former(&mut self) -> Result<Option<SavedState>, RequestError> {
        let now = self.nl80211.power(self.link)?;
        let Some(level) = now.level else {
            return Ok(None);
        };
        let radios = self.nl80211.radios()?;
        let radio = radios.iter().find(|radio| Some(radio.index) == now.radio);
        let stations = radio.is_some_and(|radio| radio.station_power);
        let channels = radio.into_iter().flat_map(|radio| &radio.channels);
        let mut same = channels.filter(|channel| Some(channel.frequency) == now.frequency);
        let most = same.next().and_then(|channel| channel.most);
        let most = most.and_then(|most| i32::try_from(most).ok());
        let setting = match most.is_some_and(|most| level >= most) {
            true => Setting::Automatic,
            false => Setting::Fixed(level),
        };
        let power = level.div_euclid(HUNDREDTHS);
        Ok(Some(SavedState {
            power,
            setting,
            stations,
        }))
    }
}

impl Driver for Device {
    /// Has it send with another power.
    fn set(&mut self, setting: Setting) -> Result<(), RequestError> {
        self.nl80211.set_power(self.link, setting)
    }

    /// Has it send to one of its stations, those of VLANs too, with another power.
    fn set_station(&mut self, mac: Mac, power: StationPower) -> Result<(), RequestError> {
        self.nl80211.set_station_power(self.link, mac.0, power)
    }
}
