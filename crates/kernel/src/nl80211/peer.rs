//! Setup of another access point as a peer: a device for it (`NL80211_IFTYPE_AP_VLAN` with four
//! addresses, IEEE 802.11, 9.2.4.1.4), a station behind that, and a key for the two.
//!
//! The order that hostapd and the kernel's `net/mac80211/cfg.c` allow: the device, the station
//! without flags, its abilities with `AUTHENTICATED` and `ASSOCIATED`, its key, `AUTHORIZED`, and
//! the device it belongs to. A station that is authorised before it has a key would speak in clear.

use super::numbers::{
    ATTR_FRAME, ATTR_IFINDEX, ATTR_IFTYPE, ATTR_MAC, ATTR_WIPHY, CMD_DEL_STATION, CMD_FRAME,
    CMD_GET_STATION, CMD_NEW_INTERFACE, CMD_NEW_STATION, CMD_SET_STATION,
};
use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::event::Mac;

const CMD_DEL_INTERFACE: u8 = 8;
const CMD_NEW_KEY: u8 = 11;
const CMD_REGISTER_BEACONS: u8 = 85;

const ATTR_IFNAME: u16 = 4;
const ATTR_STA_AID: u16 = 16;
const ATTR_STA_LISTEN_INTERVAL: u16 = 18;
const ATTR_STA_SUPPORTED_RATES: u16 = 19;
const ATTR_STA_VLAN: u16 = 20;
const ATTR_HT_CAPABILITY: u16 = 31;
const ATTR_STA_FLAGS2: u16 = 67;
const ATTR_KEY: u16 = 80;
const ATTR_4ADDR: u16 = 83;
const ATTR_VHT_CAPABILITY: u16 = 157;
const ATTR_SOCKET_OWNER: u16 = 204;
const ATTR_HE_CAPABILITY: u16 = 269;
const ATTR_HE_6GHZ_CAPABILITY: u16 = 293;

const KEY_DATA: u16 = 1;
const KEY_IDX: u16 = 2;
const KEY_CIPHER: u16 = 3;
const KEY_TYPE: u16 = 7;
/// `NL80211_KEYTYPE_PAIRWISE`.
const PAIRWISE: u32 = 1;
/// CCMP with 128 bits, 00-0f-ac:4 (IEEE 802.11, table 9-180), as the kernel writes it.
const CIPHER_CCMP: u32 = 0x000f_ac04;

const IFTYPE_AP_VLAN: u32 = 4;
const IFTYPE_MONITOR: u32 = 6;

/// Bits of `struct nl80211_sta_flag_update`.
const AUTHORIZED: u32 = 1 << 1;
const WME: u32 = 1 << 3;
const AUTHENTICATED: u32 = 1 << 5;
const ASSOCIATED: u32 = 1 << 7;

/// A new device for a radio. The device goes when the socket that requested it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewDevice<'a> {
    /// The link to a peer of the access point with this device and address.
    Peer {
        /// Index of the access point's device.
        link: u32,
        /// Hardware address of the access point, which the new device shares for the kernel.
        mac: Mac,
        /// The new device's name, 15 octets at most.
        name: &'a str,
    },
    /// Receives every frame that the radio receives.
    Monitor {
        /// Index of a device of the same radio.
        link: u32,
        /// The new device's name, 15 octets at most.
        name: &'a str,
    },
}

/// Abilities of a station, from its beacon. Elements without their header; empty: not supported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Abilities {
    /// Rates in units of 500 kbit/s (IEEE 802.11, 9.4.2.3), both elements, 32 at most.
    pub rates: Vec<u8>,
    /// HT capabilities (9.4.2.55), 26 octets.
    pub ht: Vec<u8>,
    /// VHT capabilities (9.4.2.157), 12 octets.
    pub vht: Vec<u8>,
    /// HE capabilities (9.4.2.248) without the extension's number, 19 to 54 octets.
    pub he: Vec<u8>,
    /// HE 6 GHz band capabilities (9.4.2.263) without the extension's number, 2 octets: on this
    /// band they replace the capabilities of HT and VHT.
    pub he_6ghz: Vec<u8>,
    /// True if the station has queues by priority (WMM).
    pub wme: bool,
}

/// A pairwise key of CCMP. It is never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PairwiseKey(pub [u8; 16]);

impl std::fmt::Debug for PairwiseKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PairwiseKey(..)")
    }
}

pub(super) fn request(
    family: u16,
    sequence: u32,
    command: u8,
    link: u32,
    body: impl FnOnce(&mut Encoder),
) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&[command, 0, 0, 0]);
        e.attribute(ATTR_IFINDEX, &link.to_ne_bytes());
        body(e);
    })
}

/// `NL80211_CMD_NEW_INTERFACE`.
pub(crate) fn new_device(family: u16, device: NewDevice<'_>, sequence: u32) -> Vec<u8> {
    let (link, name, kind) = match device {
        NewDevice::Peer { link, name, .. } => (link, name, IFTYPE_AP_VLAN),
        NewDevice::Monitor { link, name } => (link, name, IFTYPE_MONITOR),
    };
    request(family, sequence, CMD_NEW_INTERFACE, link, |e| {
        e.attribute(ATTR_IFNAME, &[name.as_bytes(), &[0]].concat());
        e.attribute(ATTR_IFTYPE, &kind.to_ne_bytes());
        if let NewDevice::Peer { mac, .. } = device {
            e.attribute(ATTR_4ADDR, &[1]);
            e.attribute(ATTR_MAC, &mac);
        }
        e.attribute(ATTR_SOCKET_OWNER, &[]);
    })
}

/// `NL80211_CMD_DEL_INTERFACE`.
pub(crate) fn remove_device(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_DEL_INTERFACE, link, |_| {})
}

/// `NL80211_CMD_NEW_STATION`, without any flag: nothing passes yet.
pub(crate) fn new_station(
    family: u16,
    link: u32,
    mac: Mac,
    aid: u16,
    abilities: &Abilities,
    sequence: u32,
) -> Vec<u8> {
    request(family, sequence, CMD_NEW_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        e.attribute(ATTR_STA_LISTEN_INTERVAL, &0u16.to_ne_bytes());
        e.attribute(ATTR_STA_AID, &aid.to_ne_bytes());
        e.attribute(ATTR_STA_SUPPORTED_RATES, &abilities.rates);
        flags(e, AUTHENTICATED | ASSOCIATED, 0);
    })
}

/// `NL80211_CMD_SET_STATION`: sets a station's capabilities, and that it is associated.
pub(crate) fn set_abilities(
    family: u16,
    link: u32,
    mac: Mac,
    abilities: &Abilities,
    sequence: u32,
) -> Vec<u8> {
    request(family, sequence, CMD_SET_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        let elements = [
            (ATTR_HT_CAPABILITY, &abilities.ht),
            (ATTR_VHT_CAPABILITY, &abilities.vht),
            (ATTR_HE_CAPABILITY, &abilities.he),
            (ATTR_HE_6GHZ_CAPABILITY, &abilities.he_6ghz),
        ];
        for (kind, element) in elements {
            if !element.is_empty() {
                e.attribute(kind, element);
            }
        }
        let set = AUTHENTICATED | ASSOCIATED | if abilities.wme { WME } else { 0 };
        flags(e, set, set);
    })
}

/// `NL80211_CMD_NEW_KEY`: the first pairwise key of a station, or another.
pub(crate) fn new_key(
    family: u16,
    link: u32,
    mac: Mac,
    key: &PairwiseKey,
    sequence: u32,
) -> Vec<u8> {
    request(family, sequence, CMD_NEW_KEY, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        e.nested(ATTR_KEY, |e| {
            e.attribute(KEY_DATA, &key.0);
            e.attribute(KEY_IDX, &[0]);
            e.attribute(KEY_CIPHER, &CIPHER_CCMP.to_ne_bytes());
            e.attribute(KEY_TYPE, &PAIRWISE.to_ne_bytes());
        });
    })
}

/// `NL80211_CMD_SET_STATION`: authorises a station for all frames with its key.
pub(crate) fn authorize(family: u16, link: u32, mac: Mac, sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_SET_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        flags(e, AUTHORIZED, AUTHORIZED);
    })
}

/// `NL80211_CMD_SET_STATION`: it belongs to a device of its own.
pub(crate) fn move_station(
    family: u16,
    link: u32,
    mac: Mac,
    device: u32,
    sequence: u32,
) -> Vec<u8> {
    request(family, sequence, CMD_SET_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        e.attribute(ATTR_STA_VLAN, &device.to_ne_bytes());
    })
}

/// `NL80211_CMD_DEL_STATION`.
pub(crate) fn remove_station(family: u16, link: u32, mac: Mac, sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_DEL_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
    })
}

/// `NL80211_CMD_GET_STATION`, of one.
pub(crate) fn get_station(family: u16, link: u32, mac: Mac, sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_GET_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
    })
}

/// `NL80211_CMD_FRAME`: a whole management frame, which the radio sends when it can.
pub(crate) fn send_frame(family: u16, link: u32, frame: &[u8], sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_FRAME, link, |e| {
        e.attribute(ATTR_FRAME, frame);
    })
}

/// `NL80211_CMD_REGISTER_BEACONS`: beacons of others that a radio receives arrive at this socket.
pub(crate) fn register_beacons(family: u16, radio: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&[CMD_REGISTER_BEACONS, 0, 0, 0]);
        e.attribute(ATTR_WIPHY, &radio.to_ne_bytes());
    })
}

/// `struct nl80211_sta_flag_update`: the changed flags, and their values.
fn flags(encoder: &mut Encoder, mask: u32, set: u32) {
    let value = [mask.to_ne_bytes(), set.to_ne_bytes()].concat();
    encoder.attribute(ATTR_STA_FLAGS2, &value);
}

#[cfg(test)]
mod tests;
