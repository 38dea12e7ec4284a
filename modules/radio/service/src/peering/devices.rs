//! State of peers in the kernel.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use kernel::Mac;
use kernel::io::{Device, MonitorSocket, PeerStation, Peers, RequestError};
use kernel::nl80211::{Abilities, NewDevice, PairwiseKey, Station};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{MsgFlags, SockFlag, send};
use radio_core::peering::VENDOR;
use radio_core::peering::attach::tagged_address;
use radio_core::peering::metric::Metric;

use super::attach::Carrier;
use runtime::uplink::speaker;

/// For local experiments (IEEE 802): frames of a peer without other traffic.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// A peer's device and its traffic.
struct One {
    name: String,
    link: u32,
    /// Index of the master device.
    into: Option<u32>,
    /// Throughput last announced to the mesh, bits a second.
    told: Option<u64>,
    speaker: Option<OwnedFd>,
    /// Frames received by its device, and the time of the last growth. The kernel's idle time of
    /// the station is useless: a peer whose program died still sends deauthentications, which are
    /// not authenticated.
    received: u64,
    heard: Instant,
}

/// Devices and stations of one access point's peers.
pub struct PeerDevices {
    kernel: Peers,
    access_point: u32,
    own: Mac,
    all: BTreeMap<Mac, One>,
    ear: Option<u32>,
}

impl PeerDevices {
    /// Creates an empty list, for the access point of this device and address.
    pub fn new(kernel: Peers, access_point: u32, own: Mac) -> Self {
        let all = BTreeMap::new();
        Self {
            kernel,
            access_point,
            own,
            all,
            ear: None,
        }
    }

    /// Returns the kernel's interface for other requests.
    pub fn kernel(&mut self) -> &mut Peers {
        &mut self.kernel
    }

    fn station(&self, mac: Mac) -> Option<PeerStation> {
        Some(PeerStation {
            access_point: self.access_point,
            link: self.all.get(&mac)?.link,
            mac,
        })
    }

    /// Installs a peer, behind its existing device, or a new one.
    ///
    /// # Errors
    /// The kernel or the driver refused: then at most the peer's device remains.
    pub fn install(
        &mut self,
        mac: Mac,
        name: &str,
        aid: u16,
        abilities: &Abilities,
        key: Option<&PairwiseKey>,
    ) -> Result<(), RequestError> {
        if !self.all.contains_key(&mac) {
            let device = NewDevice::Peer {
                link: self.access_point,
                mac: self.own,
                name,
            };
            let link = self.kernel.make(device)?;
            let one = One {
                name: name.to_owned(),
                link,
                into: None,
                told: None,
                speaker: None,
                received: 0,
                heard: Instant::now(),
            };
            self.all.insert(mac, one);
        }
        if let Some(one) = self.all.get_mut(&mac) {
            one.heard = Instant::now();
        }
        let Some(station) = self.station(mac) else {
            return Ok(());
        };
        // The device is down if the access point was.
        Device::open(station.link)?.set_up(true)?;
        self.kernel.join(station, aid, abilities, key)
    }

    /// Attaches devices that are not attached yet, and reports changed throughput of each to the
    /// master device. Returns the reason of a failure.
    pub fn put(&mut self, carrier: &Carrier, metrics: &BTreeMap<Mac, Metric>) -> Option<String> {
        let now = if_nametoindex(carrier.device.as_str()).ok();
        let mut trouble = None;
        for (mac, one) in &mut self.all {
            if one.into.is_none() || one.into != now || carrier.is_lost(&one.name) {
                let put = carrier.put(self.own, *mac, one.link, &one.name);
                one.into = put.map_err(|why| trouble = Some(why)).ok();
                one.told = None;
            }
            let bits = metrics.get(mac).and_then(Metric::told);
            if let Some(into) = one.into
                && one.told != bits
            {
                match carrier.expect(into, &one.name, bits) {
                    Ok(()) => one.told = bits,
                    Err(why) => trouble = Some(why),
                }
            }
        }
        trouble
    }

    /// Gives a peer another key.
    ///
    /// # Errors
    /// The kernel or the driver refused.
    pub fn rekey(&mut self, mac: Mac, key: &PairwiseKey) -> Result<(), RequestError> {
        match self.station(mac) {
            Some(station) => self.kernel.rekey(station, key),
            None => Ok(()),
        }
    }

    /// Takes a peer away.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove(&mut self, mac: Mac) -> Result<(), RequestError> {
        match self.all.remove(&mac) {
            Some(one) => self.kernel.remove(one.link),
            None => Ok(()),
        }
    }

    /// Returns the kernel's counters of a peer. `None`: the kernel lost the peer.
    ///
    /// # Errors
    /// The answer was not understood.
    pub fn counted(&mut self, mac: Mac) -> Result<Option<Station>, RequestError> {
        match self.station(mac) {
            Some(station) => self.kernel.station(station),
            None => Ok(None),
        }
    }

    /// Returns the time since the last frame of each peer under the shared key.
    pub fn silences(&mut self) -> BTreeMap<Mac, Duration> {
        let text = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        for one in self.all.values_mut() {
            let now = received(&text, &one.name).unwrap_or_default();
            if now != one.received {
                one.received = now;
                one.heard = Instant::now();
            }
        }
        let silences = self.all.iter();
        silences
            .map(|(mac, one)| (*mac, one.heard.elapsed()))
            .collect()
    }

    /// Sends a sign of life to every peer. The shared key proves it.
    pub fn speak(&mut self) {
        for (mac, one) in &mut self.all {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            if one.speaker.is_none() {
                one.speaker = speaker(&one.name, flags).ok();
            }
            // Not with the own address: a bridge would locate this node behind this link, also if
            // the other side blocks the link for its spanning tree, and would send this node's
            // frames there.
            let own = tagged_address(self.own, *mac);
            let mut frame = [&mac[..], &own, &ETHERTYPE, b"peer weir"].concat();
            frame.resize(60, 0);
            let Some(speaker) = &one.speaker else {
                continue;
            };
            if send(speaker.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT).is_err() {
                // A new device has another number.
                one.speaker = None;
            }
        }
    }

    /// Opens a monitor for frames of nodes that are not peers yet.
    ///
    /// # Errors
    /// The kernel or the driver refused, or this process lacks the rights.
    pub fn listen(&mut self) -> std::io::Result<MonitorSocket> {
        let name = format!("weir-ear{}", self.access_point);
        let device = NewDevice::Monitor {
            link: self.access_point,
            name: &name,
        };
        let other = std::io::Error::other;
        self.deafen();
        let link = self.kernel.make(device).map_err(other)?;
        self.ear = Some(link);
        let up = Device::open(link).and_then(|mut device| device.set_up(true));
        up.map_err(other)?;
        MonitorSocket::open(&name, self.own, VENDOR)
    }

    /// Closes the monitor.
    pub fn deafen(&mut self) {
        if let Some(link) = self.ear.take() {
            // The device may have gone with its radio.
            let _ = self.kernel.remove(link);
        }
    }
}

/// Returns the frames received by a device, from the text of `/proc/net/dev`.
fn received(text: &str, device: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    // The first number is bytes.
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_came_in_are_the_second_number() {
        let text = "Inter-|   Receive\n face |bytes    packets errs\n    lo: 1 2 3\n\
            peer-1:  600      10    0    0    0\npeer-12:9 8 7\n";
        assert_eq!(received(text, "peer-1"), Some(10));
        assert_eq!(received(text, "peer-12"), Some(8));
        assert_eq!(received(text, "peer-2"), None);
    }
}
