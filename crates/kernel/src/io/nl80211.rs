//! Queries wireless devices and their stations.

use std::io;
use std::path::Path;

use nix::errno::Errno;

use super::RequestError;
use super::request_socket::{RequestSocket, unless};
use super::socket::{Netlink, Received, Socket};
use crate::event::Mac;
use crate::message::Messages;
use crate::nl80211::{
    Power, Setting, Station, StationPower, Wiphy, Wireless, decode_interface, decode_power,
    decode_rules, decode_station, decode_wiphy, dump_interfaces, dump_rules, dump_stations,
    dump_wiphys, get_power, get_station, is_station_change, set_power, set_station_power,
};

/// Folder that exists once the kernel can do Wi-Fi.
const CLASS: &str = "/sys/class/ieee80211";

/// The family `nl80211` of this kernel. Reading needs no privileges.
#[derive(Debug)]
pub struct Nl80211 {
    family: u16,
    requests: RequestSocket,
}

impl Nl80211 {
    /// Returns true if the kernel can do Wi-Fi. A query for a missing family would make the kernel
    /// load the module, without any radio.
    pub fn is_there() -> bool {
        Path::new(CLASS).exists()
    }

    /// Finds the family, in the network namespace of the calling thread. `None`: the kernel has no
    /// Wi-Fi, or none yet.
    ///
    /// # Errors
    /// The socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        if !Self::is_there() {
            return Ok(None);
        }
        let found = RequestSocket::of_family("nl80211", "family nl80211")?;
        Ok(found.map(|(family, requests)| Self {
            family: family.id,
            requests,
        }))
    }

    /// Returns all wireless devices of the namespace.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn devices(&mut self) -> Result<Vec<Wireless>, RequestError> {
        let family = self.family;
        let mut found = Vec::new();
        self.requests.append(
            "wireless devices (GET_INTERFACE)",
            |sequence| dump_interfaces(family, sequence),
            |message| decode_interface(message, family),
            &mut found,
        )?;
        Ok(found)
    }

    /// Returns all radios of the namespace, with their abilities. Does not wait for drivers.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn radios(&mut self) -> Result<Vec<Wiphy>, RequestError> {
        let family = self.family;
        let mut radios = Vec::new();
        self.requests.ask(
            "radios",
            |sequence| dump_wiphys(family, sequence),
            |message| decode_wiphy(message, family, &mut radios).map(|()| true),
        )?;
        let mut rules = Vec::new();
        let told = self.requests.append(
            "rules of radios",
            |sequence| dump_rules(family, sequence),
            |message| decode_rules(message, family),
            &mut rules,
        );
        match told {
            // Before 3.19 (or without rules) the kernel lacks this dump.
            Err(RequestError::Refused { .. }) => return Ok(radios),
            other => drop(other?),
        }
        for radio in &mut radios {
            let of = |wiphy| rules.iter().find(|rules| rules.wiphy == wiphy);
            if let Some(rules) = of(Some(radio.index)).or_else(|| of(None)) {
                radio.country.clone_from(&rules.country);
            }
        }
        Ok(radios)
    }

    /// Appends all stations of a device. Appends none if the device went, or if its driver cannot
    /// list stations. Waits for the driver: some query their firmware.
    ///
    /// # Errors
    /// The kernel refused, or its answer was malformed: earlier stations are appended.
    pub fn stations(&mut self, link: u32, out: &mut Vec<Station>) -> Result<(), RequestError> {
        let family = self.family;
        let answer = self.requests.append(
            "stations of a device (GET_STATION)",
            |sequence| dump_stations(family, link, sequence),
            |message| decode_station(message, family),
            out,
        );
        let reasons = [
            Errno::ENODEV,
            Errno::EOPNOTSUPP,
            Errno::ENOENT,
            Errno::ENETDOWN,
        ];
        unless(answer, &reasons).map(drop)
    }

    /// Returns a station. `None`: the station or its device is gone. Waits for the driver, too.
    ///
    /// # Errors
    /// The kernel refused (EOPNOTSUPP: the driver only lists all stations), or its answer was not
    /// understood.
    pub fn station(&mut self, link: u32, mac: Mac) -> Result<Option<Station>, RequestError> {
        ask_station(&mut self.requests, self.family, link, mac)
    }

    /// Returns the transmit power of a device.
    ///
    /// # Errors
    /// The kernel refused (the device is gone, or not a radio's), or its answer was malformed.
    pub fn power(&mut self, link: u32) -> Result<Power, RequestError> {
        let family = self.family;
        self.requests.ask_one(
            "the power of a device (GET_INTERFACE)",
            |sequence| get_power(family, link, sequence),
            |message| decode_power(message, family),
        )
    }

    /// Sets the transmit power of a device. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// The kernel or the driver refused.
    pub fn set_power(&mut self, link: u32, setting: Setting) -> Result<(), RequestError> {
        let family = self.family;
        let question = |sequence| set_power(family, link, setting, sequence);
        let request = "another power of a device (SET_WIPHY)";
        self.requests.order(request, question)
    }

    /// Sets the transmit power of a device towards one of its stations. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// The kernel or the driver refused: `EOPNOTSUPP` if [`Wiphy::station_power`] is false,
    /// `ENOENT` if the station does not exist.
    pub fn set_station_power(
        &mut self,
        link: u32,
        mac: Mac,
        power: StationPower,
    ) -> Result<(), RequestError> {
        let family = self.family;
        let question = |sequence| set_station_power(family, link, mac, power, sequence);
        let request = "another power of a station (SET_STATION)";
        self.requests.order(request, question)
    }
}

/// Queries one station. `None`: the station or its device is gone.
pub(super) fn ask_station(
    requests: &mut RequestSocket,
    family: u16,
    link: u32,
    mac: Mac,
) -> Result<Option<Station>, RequestError> {
    let answer = requests.ask_one(
        "a station's counters (GET_STATION)",
        |sequence| get_station(family, link, mac, sequence),
        |message| decode_station(message, family),
    );
    unless(answer, &[Errno::ENODEV, Errno::ENOENT, Errno::ENETDOWN])
}

/// Changes read by one [`StationEvents::changed`].
const MOST: usize = 256;
/// Maximum length of a change; longer ones are truncated, and count as unknown changes.
const ROOM: usize = 4096;

/// Notifications of stations that come to devices of the namespace and go.
#[derive(Debug)]
pub struct StationEvents {
    family: u16,
    socket: Socket,
    buffer: Vec<u8>,
}

impl StationEvents {
    /// Listens, in the network namespace of the calling thread. `None`: the kernel has no Wi-Fi.
    ///
    /// # Errors
    /// The socket cannot be opened, or an answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        let request = "stations that come and go";
        let failed = |source| RequestError::Socket { request, source };
        let Some((family, _)) = RequestSocket::of_family("nl80211", "family nl80211")? else {
            return Ok(None);
        };
        // cfg80211_new_sta and cfg80211_del_sta (net/wireless/nl80211.c) report to this group.
        let Some(group) = family.group("mlme") else {
            return Ok(None);
        };
        let socket = Socket::open(Netlink::Generic, 0, 0).map_err(failed)?;
        socket.join(group).map_err(failed)?;
        Ok(Some(Self {
            family: family.id,
            socket,
            buffer: vec![0; ROOM],
        }))
    }

    /// Returns true if stations came or went since the last call. Does not wait.
    ///
    /// # Errors
    /// The socket is broken.
    pub fn changed(&mut self) -> io::Result<bool> {
        let mut changed = false;
        for _ in 0..MOST {
            match self.socket.receive(&mut self.buffer)? {
                Received::Empty => break,
                Received::TooLong | Received::Lost => changed = true,
                Received::Datagram(length) => {
                    let mut messages = Messages::new(&self.buffer[..length]);
                    changed |= messages.any(|message| {
                        message.is_ok_and(|message| is_station_change(&message, self.family))
                    });
                }
            }
        }
        Ok(changed)
    }
}
