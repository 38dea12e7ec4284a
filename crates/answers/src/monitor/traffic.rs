//! Devices on the network, their traffic and history, and an equation that accounts for every
//! packet.
//!
//! Byte counts are those of IP packets, from the first byte of the IP header. They compare with
//! IPFIX, softflowd and quotas of providers; [`MeteredPort`] bridges the gap to the counters of a
//! device. *Sent* traffic comes from a station (it came in at the router), *received* traffic goes
//! to it.

use serde::{Deserialize, Serialize};

use super::label::LabelledDevice;
use crate::offload::{Hook, Protocol};

/// Packets and bytes in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Bytes of IP packets.
    pub bytes: u64,
    /// IP packets, as on the wire: each segment of a super-packet is one.
    pub packets: u64,
}

/// Bits per second in both directions, averaged over the last few seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// To the station.
    pub received: u64,
    /// From the station.
    pub sent: u64,
}

/// Traffic of a device that crosses no uplink: with other devices, the router itself, or groups.
/// For a copy between two devices, one device counts it as sent and the other as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LanTraffic {
    /// Traffic to the device, since weir started.
    pub received: Count,
    /// Traffic from the device.
    pub sent: Count,
    /// Current rate.
    pub rate: Rate,
}

/// Answer to `GET /v1/devices`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// Start of counting, seconds since 1970.
    pub since: u64,
    /// Current time, by the same clock.
    pub now: u64,
    /// Every station seen; the one with the most Internet traffic first.
    pub devices: Vec<Device>,
    /// Named devices that weir has not seen since counting began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<LabelledDevice>,
    /// Every metered port, and its equation.
    pub ports: Vec<MeteredPort>,
}

/// A station: anything with a hardware address of its own at one of the router's ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Hardware address, `02:00:5e:10:00:01`.
    pub mac: String,
    /// IP addresses of the device, from the router's neighbour table: first IPv4, then global,
    /// unique local and link-local IPv6.
    pub addresses: Vec<String>,
    /// Name of the device; null if unknown. Printable text without control characters, but chosen
    /// by the device: escape it.
    pub name: Option<String>,
    /// Source of the name: `configuration`; `given` (on the page or by `weir device`); `ethers`,
    /// `lease`, `hosts`, `mdns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_source: Option<String>,
    /// Owner, as an administrator entered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Kind of device, as an administrator entered it: `phone`, `tv`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Fields of `name`, `owner` and `icon` that the configuration sets and locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configured: Vec<String>,
    /// Manufacturer of the device or its radio, from the IEEE list of hardware addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// True if the hardware address is generated, as phones do for each network. The device may
    /// change the address any day, and the vendor is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local_mac: bool,
    /// Port at which the device was last seen.
    pub port: String,
    /// VLAN at that port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// True for the uplink: all stations' traffic, seen from the other side.
    pub uplink: bool,
    /// Internet traffic to the device, since weir started: traffic that crossed an uplink.
    pub received: Count,
    /// Internet traffic from the device.
    pub sent: Count,
    /// Current rate of Internet traffic.
    pub rate: Rate,
    /// All other traffic of the device.
    #[serde(default)]
    pub lan: LanTraffic,
    /// Part of all its traffic that weir forwarded itself.
    pub forwarded: Count,
    /// Conversations now.
    pub conversations: u64,
    /// Time of the first packet, seconds since 1970.
    pub first_seen: u64,
    /// Time of the last packet.
    pub last_seen: u64,
    /// TCP round trips and retransmissions; absent if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Radio link, if the device is a Wi-Fi station of this router, or the access point that this
    /// router is a station of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Quota of the device, if one is set.
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

/// TCP round trips, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Router to station and back: the LAN or the radio. Median of the last samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan: Option<f64>,
    /// Router to the remote end and back: the uplink and the Internet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan: Option<f64>,
    /// Smallest round trip on the LAN side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan_min: Option<f64>,
    /// Smallest round trip on the WAN side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wan_min: Option<f64>,
    /// Retransmitted TCP segments, among those inspected.
    pub retransmissions: u64,
    /// Growth of latency under load: `good`, `fair`, `bad`; absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bufferbloat: Option<String>,
    /// Growth of latency under load, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
}

/// Radio link of a Wi-Fi station (nl80211). Counters restart when the station joins. A value that
/// the driver does not report is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wifi {
    /// Signal of the last frame from the station, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Rate of transmission to the station, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_to: Option<u64>,
    /// Rate of transmission from the station.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_from: Option<u64>,
    /// Retransmitted frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Frames that failed after all retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Airtime to and from the station, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub airtime: Option<u64>,
}

/// State of a device's quota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaState {
    /// `day`, `week` or `month`.
    pub period: String,
    /// Bytes of Internet traffic allowed in the period, both directions together.
    pub limit: u64,
    /// Bytes used in the period.
    pub used: u64,
    /// `within`, `warned`, `exceeded`, or `cut` if the device is blocked for exceeding the quota.
    pub state: String,
    /// Start of the next period, seconds since 1970.
    pub resets: u64,
}

/// A metered port. In each direction, the device's counter = conversations + unplaced + other, in
/// packets; in bytes, with `link` added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeteredPort {
    /// Name of the device.
    pub name: String,
    /// True if a default route leaves here, even if only by one VLAN of several.
    pub uplink: bool,
    /// Incoming packets.
    pub incoming: PortCounters,
    /// Packets that went out.
    pub outgoing: PortCounters,
    /// Current rate, seen from the stations: `sent` comes in here. If an uplink is one VLAN of the
    /// port, and the LAN another one, the rate is that of the uplink.
    pub rate: Rate,
}

/// Counters of one direction of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortCounters {
    /// Traffic of conversations, active and ended.
    pub conversations: Count,
    /// IP packets for which no record was free. The device's sums include them if the device has
    /// sums.
    pub unplaced: Count,
    /// Frames that are not IP, such as ARP, and their bytes behind the header.
    pub other: Count,
    /// Bytes of headers before IP and of padding behind it.
    pub link: u64,
}

/// Number of stored conversations, and their memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorStatus {
    /// Stored conversations.
    pub conversations: u64,
    /// Most conversations that weir can store.
    pub capacity: u64,
    /// Upper bound of the daemon's memory for the stored conversations, bytes.
    pub memory: u64,
    /// Upper bound of the memory at full capacity, bytes.
    pub memory_limit: u64,
    /// Traffic of conversations not stored: only the sums of devices and ports include it.
    pub overflow: Count,
}

/// A conversation, seen from the station behind a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// Number of the conversation, while it is active.
    pub id: u64,
    /// Name of the port.
    pub port: String,
    /// VLAN at the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Hardware address of the station.
    pub mac: String,
    /// Name of the station.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Number of the protocol (6 is TCP).
    pub protocol_number: u8,
    /// The protocol, if weir has a name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Address of the station.
    pub station: String,
    /// Port of the station; ICMP type and code for ICMP; 0 if the protocol has none.
    pub station_port: u16,
    /// Address of the remote end.
    pub remote: String,
    /// Port of the remote end.
    pub remote_port: u16,
    /// Name of the remote end, from a DNS answer to the station, or from its TLS or QUIC server
    /// name. Escape it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_name: Option<String>,
    /// Application: `web`, `dns`, `video`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Address and port of the station's packets after translation by the router, if translated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<String>,
    /// For a conversation seen at an uplink: address and port of the station behind the
    /// translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// True if seen at an uplink, from the outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// True if the conversation crosses no uplink.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lan: bool,
    /// Uplink that the conversation uses, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<String>,
    /// Traffic to the station.
    pub received: Count,
    /// Traffic from the station.
    pub sent: Count,
    /// Current rate.
    pub rate: Rate,
    /// Hook at which weir forwards the conversation, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Start, in seconds since 1970.
    pub first_seen: u64,
    /// Time of the last packet.
    pub last_seen: u64,
    /// TCP round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// Answer to `GET /v1/conversations`. If the query names no device or port, conversations at uplinks that
/// are also seen inside are left out. Query: `device` (MAC), `port` (name), `sort` (`rate`,
/// `bytes`, `recent`), `limit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversations {
    /// Number of matching conversations.
    pub total: u64,
    /// The matching conversations, up to the limit.
    pub conversations: Vec<Conversation>,
}
