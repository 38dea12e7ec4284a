//! Access points that are peers of this one: devices, stations and keys for them, and messages to
//! them before peering.

use std::io;

use nix::errno::Errno;

use super::RequestError;
use super::device::{made, make_named};
use super::nl80211::ask_station;
use super::request_socket::{RequestSocket, unless};
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::event::Mac;
use crate::message::{Messages, NLMSG_ERROR, errno};
use crate::nl80211::{
    Abilities, AccessPoint, HeardBeacon, NewDevice, PairwiseKey, Station, authorize,
    decode_access_point, decode_beacon, get_power, move_station, new_device, new_key, new_station,
    register_beacons, remove_device, remove_station, send_frame, set_abilities,
};

/// Creates and removes peers. Dropping this value removes all of them: the kernel removes devices
/// whose creator is gone, with their stations. Needs `CAP_NET_ADMIN`; no call waits.
#[derive(Debug)]
pub struct Peers {
    family: u16,
    requests: RequestSocket,
    /// Devices that the kernel did not remove on request.
    left: Vec<u32>,
}

/// Number of queries for an access point before the failure is an error.
const TRIES: u32 = 3;

/// A station behind its own device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerStation {
    /// Index of the access point's device.
    pub access_point: u32,
    /// Index of the peer's device.
    pub link: u32,
    /// The peer's address.
    pub mac: Mac,
}

impl Peers {
    /// Opens the socket, in the network namespace of the calling thread. `None`: the kernel has no
    /// Wi-Fi.
    ///
    /// # Errors
    /// The socket cannot be opened, or the answer makes no sense.
    pub fn open() -> Result<Option<Self>, RequestError> {
        if !super::Nl80211::is_there() {
            return Ok(None);
        }
        let found = RequestSocket::of_family("nl80211", "family nl80211")?;
        Ok(found.map(|(family, requests)| Self {
            family: family.id,
            requests,
            left: Vec::new(),
        }))
    }

    fn ask(
        &mut self,
        request: &'static str,
        question: impl Fn(u16, u32) -> Vec<u8>,
    ) -> Result<(), RequestError> {
        let family = self.family;
        let question = |sequence| question(family, sequence);
        self.requests.order(request, question)
    }

    /// Returns the access point of a device. `None`: the device is not an access point, does not
    /// run, or does not exist.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn access_point(&mut self, link: u32) -> Result<Option<AccessPoint>, RequestError> {
        let family = self.family;
        let mut left = TRIES;
        loop {
            let answer = self.requests.ask_one(
                "an access point (GET_INTERFACE)",
                |at| get_power(family, link, at),
                |message| decode_access_point(message, family),
            );
            left -= 1;
            match answer {
                Err(RequestError::Refused {
                    errno: Errno::ENODEV | Errno::ENOENT,
                    ..
                }) => return Ok(None),
                // All peers end with an access point: one lack of memory is not to do that.
                Err(_) if left > 0 => {}
                other => return other,
            }
        }
    }

    /// Creates a device, and returns its index. The device is down. A failure leaves nothing
    /// behind.
    ///
    /// # Errors
    /// The kernel or the driver refused: EEXIST, the name is taken; EOPNOTSUPP, the driver has no
    /// devices for single stations; ENODEV, the access point is gone.
    pub fn make(&mut self, device: NewDevice<'_>) -> Result<u32, RequestError> {
        let (request, name) = match device {
            NewDevice::Peer { name, .. } => ("a peer's device (NEW_INTERFACE)", name),
            NewDevice::Monitor { name, .. } => ("a device that listens (NEW_INTERFACE)", name),
        };
        let make = |kernel: &mut Self| {
            kernel.ask(request, |family, at| new_device(family, device, at))?;
            made(name)
        };
        self.sweep();
        make_named(request, name, self, make, Self::remove)
    }

    /// Removes a device, and the stations behind it. On failure, [`Peers::sweep`] retries.
    ///
    /// # Errors
    /// The kernel refused: ENODEV, it is gone.
    pub fn remove(&mut self, link: u32) -> Result<(), RequestError> {
        let request = "the end of a device (DEL_INTERFACE)";
        let ended = self.ask(request, |family, at| remove_device(family, link, at));
        match &ended {
            Ok(()) => {}
            Err(RequestError::Refused { errno, .. }) if *errno == Errno::ENODEV => {}
            Err(_) => self.left.push(link),
        }
        ended
    }

    /// Removes devices whose removal failed before; their names are in use until then.
    pub fn sweep(&mut self) {
        for link in std::mem::take(&mut self.left) {
            // The first failure was reported.
            let _ = self.remove(link);
        }
    }

    /// Adds a station behind its device, which is up. If the station gets a key, it is authorised
    /// only afterwards. An earlier station with this address is removed.
    ///
    /// # Errors
    /// The kernel or the driver refused the named step; the station is then removed again.
    pub fn join(
        &mut self,
        station: PeerStation,
        aid: u16,
        abilities: &Abilities,
        key: Option<&PairwiseKey>,
    ) -> Result<(), RequestError> {
        let PeerStation {
            access_point: link,
            mac,
            ..
        } = station;
        // Normally the station does not exist.
        unless(self.part(station), &[Errno::ENOENT])?;
        let question = |family, at| new_station(family, link, mac, aid, abilities, at);
        let joined = self
            .ask("a peer's station (NEW_STATION)", question)
            .and_then(|()| self.equip(station, abilities, key));
        if joined.is_err() {
            // The kernel may have made the station, and its answer got lost. Report the reason of
            // the first failure.
            let _ = self.part(station);
        }
        joined
    }

    fn equip(
        &mut self,
        station: PeerStation,
        abilities: &Abilities,
        key: Option<&PairwiseKey>,
    ) -> Result<(), RequestError> {
        let (link, mac) = (station.access_point, station.mac);
        self.ask(
            "what a peer's station can do (SET_STATION)",
            |family, at| set_abilities(family, link, mac, abilities, at),
        )?;
        if let Some(key) = key {
            self.ask("a peer's key (NEW_KEY)", |family, at| {
                new_key(family, link, mac, key, at)
            })?;
        }
        self.ask("a peer's authorisation (SET_STATION)", |family, at| {
            authorize(family, link, mac, at)
        })?;
        self.ask("a peer's place (STA_VLAN)", |family, at| {
            move_station(family, link, mac, station.link, at)
        })
    }

    /// Replaces the key of a station: frames under way with the former key are lost.
    ///
    /// # Errors
    /// The kernel or the driver refused: ENOENT, the station is gone.
    pub fn rekey(&mut self, station: PeerStation, key: &PairwiseKey) -> Result<(), RequestError> {
        self.ask("a peer's next key (NEW_KEY)", |family, at| {
            new_key(family, station.link, station.mac, key, at)
        })
    }

    /// Removes a station; its device stays.
    ///
    /// # Errors
    /// The kernel refused: ENOENT, no such station.
    pub fn part(&mut self, station: PeerStation) -> Result<(), RequestError> {
        self.ask("the end of a peer (DEL_STATION)", |family, at| {
            remove_station(family, station.access_point, station.mac, at)
        })
    }

    /// Returns the kernel's counters of a station. `None`: the station or its device is gone.
    ///
    /// # Errors
    /// The kernel refused, or its answer was not understood.
    pub fn station(&mut self, station: PeerStation) -> Result<Option<Station>, RequestError> {
        ask_station(&mut self.requests, self.family, station.link, station.mac)
    }

    /// Sends a management frame by an access point, as soon as the radio can.
    ///
    /// # Errors
    /// The kernel or the driver refused: EINVAL, the frame is not the access point's; ENODEV, it
    /// is gone.
    pub fn send(&mut self, link: u32, frame: &[u8]) -> Result<(), RequestError> {
        self.ask("a frame (FRAME)", |family, at| {
            send_frame(family, link, frame, at)
        })
    }
}

/// Beacons read by one [`Beacons::recv`], so that a flood leaves time for other work.
const MOST: usize = 64;
/// Room for the beacons of a busy channel, bytes: some 500 of them.
const ROOM: usize = 512 * 1024;

/// Beacons that a radio receives while it is an access point. Several sockets may subscribe to one
/// radio.
#[derive(Debug)]
pub struct Beacons {
    family: u16,
    socket: Socket,
    buffer: Vec<u8>,
}

impl Beacons {
    /// Subscribes to a radio's beacons, in the network namespace of the calling thread. `None`: the
    /// kernel has no Wi-Fi. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// The kernel or the driver refused: EOPNOTSUPP, the driver does not report beacons.
    pub fn open(radio: u32) -> Result<Option<Self>, RequestError> {
        let request = "beacons (REGISTER_BEACONS)";
        let failed = |source| RequestError::Socket { request, source };
        let Some((family, _)) = RequestSocket::of_family("nl80211", "family nl80211")? else {
            return Ok(None);
        };
        let socket = Socket::open(Netlink::Generic, 0, ROOM).map_err(failed)?;
        socket
            .send(&register_beacons(family.id, radio, 1))
            .map_err(failed)?;
        let mut beacons = Self {
            family: family.id,
            socket,
            buffer: vec![0; BUFFER],
        };
        loop {
            // Beacons may come before the answer.
            let length = match beacons.socket.receive(&mut beacons.buffer) {
                Ok(Received::Datagram(length)) => length,
                Ok(Received::Empty) => return Err(RequestError::NoAnswer { request }),
                Ok(Received::TooLong | Received::Lost) => continue,
                Err(error) => return Err(failed(error)),
            };
            for message in Messages::new(&beacons.buffer[..length]) {
                let answer = |source| RequestError::Answer { request, source };
                let message = message.map_err(answer)?;
                if message.kind != NLMSG_ERROR {
                    continue;
                }
                return match errno(&message).map_err(answer)? {
                    0 => Ok(Some(beacons)),
                    code => Err(RequestError::Refused {
                        request,
                        errno: Errno::from_raw(code),
                    }),
                };
            }
        }
    }

    /// Waits for beacons and appends them. Beacons lost in a flood are repeated, ten times a
    /// second. Cancelling loses nothing.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn recv(&mut self, out: &mut Vec<HeardBeacon>) -> io::Result<()> {
        let family = self.family;
        self.socket
            .drain(&mut self.buffer, MOST, |_, datagram| {
                for message in Messages::new(datagram) {
                    let beacon = message.and_then(|message| decode_beacon(&message, family));
                    out.extend(beacon.ok().flatten());
                }
                true
            })
            .await
    }
}

#[cfg(test)]
mod tests;
