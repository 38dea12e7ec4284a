//! Who uses the network: devices, their traffic, what was, and whether every packet is accounted
//! for.
//!
//! Unlike the rest of the API these types say *bytes*, as all who read them do. A byte count is
//! that of IP packets, from the first byte of the IP header, so that it compares with IPFIX,
//! softflowd and quotas of providers; [`MeteredPort`] bridges the gap to what a device counts.
//! *Sent* is what a station sent (it came in at the router), *received* what went to it.

use serde::{Deserialize, Serialize};

use super::label::DeviceLabelled;
use crate::offload::{Hook, Protocol};

/// Packets and bytes one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Bytes of IP packets.
    pub bytes: u64,
    /// IP packets, as on the wire: each segment of a super-packet is one.
    pub packets: u64,
}

/// Bits a second one way and the other, averaged over the last few seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// To the station.
    pub received: u64,
    /// From the station.
    pub sent: u64,
}

/// Traffic of a device that does not cross an uplink: with other devices, with the router itself,
/// to groups. A copy between two devices is sent by one and received by the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LanTraffic {
    /// To it, since weir started.
    pub received: Count,
    /// From it.
    pub sent: Count,
    /// Now.
    pub rate: Rate,
}

/// What `GET /v1/devices` answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// Since when is counted, seconds since 1970.
    pub since: u64,
    /// Now, by the same clock.
    pub now: u64,
    /// Every station that was seen; first the one with the most Internet traffic.
    pub devices: Vec<Device>,
    /// Those that people named, and that were not seen since weir began to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<DeviceLabelled>,
    /// Every port at which is counted, and its equation.
    pub ports: Vec<MeteredPort>,
}

/// A station: whatever has a hardware address of its own at one of the router's ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Hardware address, `02:00:5e:10:00:01`.
    pub mac: String,
    /// Its IP addresses, as far as the router knows them as neighbours': first IPv4, then global,
    /// unique local and link-local IPv6.
    pub addresses: Vec<String>,
    /// What it is called; null where nothing tells. Printable text without control characters, but
    /// chosen by the device: escape it.
    pub name: Option<String>,
    /// Who told the name: `configuration`; `given`, by somebody on the page or by `weir device`;
    /// `ethers`, `lease`, `hosts`, `mdns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_from: Option<String>,
    /// Whose it is, as somebody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it is, as somebody said: `phone`, `tv`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// What of `name`, `owner` and `icon` the configuration says: it is not to be given elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configured: Vec<String>,
    /// Who made it, or its radio, by the hardware address, of which IEEE keeps a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The hardware address was made up by the device, or by who runs it, as phones do for each
    /// network: another day it may have another one. Who made it is not known then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_up: bool,
    /// Port at which it was seen last.
    pub port: String,
    /// VLAN there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The way to the Internet: its traffic is everybody's, seen from the other side.
    pub uplink: bool,
    /// Internet traffic to it, since weir started: what crossed an uplink.
    pub received: Count,
    /// Internet traffic from it.
    pub sent: Count,
    /// Internet traffic now.
    pub rate: Rate,
    /// Its other traffic: with Internet traffic this is all of it.
    #[serde(default)]
    pub lan: LanTraffic,
    /// Of all of its traffic, what weir forwarded itself.
    pub forwarded: Count,
    /// Conversations at the moment.
    pub talks: u64,
    /// When it was first seen, seconds since 1970.
    pub first_seen: u64,
    /// When something was last seen of it.
    pub last_seen: u64,
    /// How long TCP packets wait for an answer, and what comes again; absent where nothing was
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Its radio link, where it is a Wi-Fi station of this router, or the access point that this
    /// router is a station of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Its quota, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaState>,
}

impl Device {
    /// Returns all traffic that the device received and sent: Internet and LAN traffic.
    pub fn all(&self) -> [Count; 2] {
        [
            (self.received, self.lan.received),
            (self.sent, self.lan.sent),
        ]
        .map(|(internet, lan)| Count {
            bytes: internet.bytes.saturating_add(lan.bytes),
            packets: internet.packets.saturating_add(lan.packets),
        })
    }
}

/// Round trips of TCP, milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Router to station and back: the LAN or the radio. Median of the last measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan: Option<f64>,
    /// Router to the far end and back: the uplink and what is behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan: Option<f64>,
    /// The least of each that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan_least: Option<f64>,
    /// The least on the far side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan_least: Option<f64>,
    /// TCP segments that were sent again, of those looked at.
    pub retransmissions: u64,
    /// Does waiting grow while something is transferred? `good`, `fair`, `bad`; absent as long as
    /// nothing can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bufferbloat: Option<String>,
    /// By how many milliseconds waiting grows meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
}

/// The radio link of a Wi-Fi station (nl80211). Counters begin anew when it joins; what its driver
/// does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wifi {
    /// Signal of the last frame from it, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Rate of transmission to it, bits a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_to: Option<u64>,
    /// Rate of transmission from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_from: Option<u64>,
    /// Frames that had to be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Frames that were given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Time on the air to and from it, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub airtime: Option<u64>,
}

/// Where a device stands with its quota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaState {
    /// `day`, `week` or `month`.
    pub period: String,
    /// Bytes of Internet traffic allowed in it, both ways together.
    pub limit: u64,
    /// Bytes used in it.
    pub used: u64,
    /// `within`, `warned`, `exceeded`, or `cut` where it is kept from the network for it.
    pub state: String,
    /// When the next period begins, seconds since 1970.
    pub resets: u64,
}

/// A port at which is counted. Of each way: what the device counts = talks + unplaced + other, in
/// packets; in bytes, with `link` added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeteredPort {
    /// Name of the device.
    pub name: String,
    /// A default route leaves here, be it by one VLAN of several.
    pub uplink: bool,
    /// What came in.
    pub incoming: Metered,
    /// What went out.
    pub outgoing: Metered,
    /// Now, seen from the stations: `sent` comes in here. If an uplink is one VLAN of the port, and
    /// the LAN another one, the rate is that of the uplink.
    pub rate: Rate,
}

/// One way of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    /// Of talks, living and ended.
    pub talks: Count,
    /// IP packets for which no record was free. They are in the device's sums where the device has
    /// one.
    pub unplaced: Count,
    /// What is not IP, as ARP: frames, and bytes behind their headers.
    pub other: Count,
    /// Bytes of headers before IP and of padding behind it.
    pub link: u64,
}

/// How many conversations are remembered, and what memory that takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// How many there are.
    pub conversations: u64,
    /// How many there can be.
    pub capacity: u64,
    /// Memory of the daemon that these take at most, bytes.
    pub memory: u64,
    /// The same of as many as there can be.
    pub memory_limit: u64,
    /// What others had, for which there was no room: it is in the sums of devices and ports only.
    pub no_room: Count,
}

/// A conversation, seen from the station that is behind a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Talk {
    /// Number of it, while it lives.
    pub id: u64,
    /// Name of the port.
    pub port: String,
    /// VLAN there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Hardware address of the station.
    pub mac: String,
    /// What the station is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Number of the protocol (6 is TCP).
    pub protocol_number: u8,
    /// The protocol, where it has a name here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Address of the station.
    pub station: String,
    /// Its port; of ICMP type and code; 0 where the protocol has none.
    pub station_port: u16,
    /// Address at the other end.
    pub far: String,
    /// Port there.
    pub far_port: u16,
    /// Name of the other end, as the station was told it by DNS, or asked for it by TLS or QUIC.
    /// Escape it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_name: Option<String>,
    /// What it is used for: `web`, `dns`, `video`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Address and port that the station's packets have on the other side of the router, where they
    /// are translated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<String>,
    /// Of one that is seen at an uplink: address and port that the router's side has behind its
    /// translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// Seen at an uplink, from the outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// No uplink is crossed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lan: bool,
    /// Device by which it leaves, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<String>,
    /// To the station.
    pub received: Count,
    /// From the station.
    pub sent: Count,
    /// Now.
    pub rate: Rate,
    /// Where weir forwards it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Seconds since 1970 when it began.
    pub first_seen: u64,
    /// When it was last seen.
    pub last_seen: u64,
    /// TCP round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// What `GET /v1/talks` answers. Unless a device or a port is asked for, those at uplinks that are
/// also seen inside are left out. Query: `device` (MAC), `port` (name), `sort` (`rate`, `bytes`,
/// `recent`), `limit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Talks {
    /// Conversations that fit.
    pub total: u64,
    /// Of them, as many as were asked for.
    pub talks: Vec<Talk>,
}
