//! Paths: uplinks that are used as one, through a partner.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/paths`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Name or address and port of the partner in use, or else of the first one; absent if the
    /// configuration names no partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    /// All partners of the configuration, in the order of the attempts, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<Candidate>,
    /// State of the connection to the partner.
    pub state: PartnerState,
    /// Version of the partner's weir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Reason why the partner is not connected, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Reason why this router has no key of its own, in words: anybody with one of its pairing
    /// lines can pose as this router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyless: Option<String>,
    /// True if new connections of clients go by the partner.
    pub redirects: bool,
    /// True if all traffic but TCP goes by the tunnel.
    #[serde(default)]
    pub tunnel: bool,
    /// Connections of clients.
    pub connections: ConnectionCounts,
    /// The uplinks, best first.
    pub paths: Vec<Path>,
    /// Devices that the configuration names, but that lead nowhere at the moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
    /// Uplinks that wait because they have the address of an uplink in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<Twin>,
    /// Ports of the partner that lead to hosts of the LAN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forward>,
    /// True if clients' traffic leaves only by the partner, also while weir does not run.
    #[serde(default)]
    pub locked: bool,
    /// True if clients' traffic stops without the partner, but for configured exceptions.
    #[serde(default)]
    pub stops: bool,
    /// Kinds of traffic that others than the partner may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposed: Vec<Exposure>,
}

/// A partner of the configuration: the first one, or a standby, which takes over while the partners
/// before it cannot be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Name or address and port of the partner.
    pub partner: String,
    /// True if clients use this partner now.
    pub in_use: bool,
    /// True if the partner answered the last attempt; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// Reason why the partner did not answer, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Kind of clients' traffic that bypasses the partner or is readable on the way there, and why: as
/// it is now, for new connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exposure {
    /// TCP goes directly: the partner is not connected.
    Tcp,
    /// TCP of IPv6 goes directly: the partner has no IPv6.
    TcpIpv6,
    /// All but TCP goes directly: there is no tunnel.
    Others,
    /// All but TCP goes directly by IPv6: the tunnel has no IPv6.
    OthersIpv6,
    /// Traffic that `direct`, `direct_ports` and `direct_devices` name goes directly.
    Chosen,
    /// TLS is not encrypted again: the server names in it are readable on the way.
    TlsNames,
    /// TCP is not encrypted on the way.
    Clear,
}

/// An uplink with the address of another one, as if two modems assign the same. weir uses it when
/// the other uplink fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twin {
    /// Name of the duplicate's device.
    pub device: String,
    /// The shared address.
    pub address: IpAddr,
    /// Name of the device in use.
    pub of: String,
}

/// Ports of the partner that lead to a host of the LAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    /// The ports: `tcp/8022`.
    pub ports: String,
    /// Target of the ports: `192.168.1.2:22`.
    pub to: String,
    /// True if the partner grants the ports to this router; absent while not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<bool>,
}

/// State of the connection to the partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartnerState {
    /// No partner is configured, or multipath is disabled.
    #[default]
    Off,
    /// Not connected yet.
    Connecting,
    /// Connected.
    Connected,
    /// Not connected; weir keeps trying.
    Failed,
}

/// Summary of the paths in [`Status`](crate::Status).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsStatus {
    /// Name or address and port of the partner.
    pub partner: String,
    /// State of the connection to the partner.
    pub state: PartnerState,
    /// True if new connections of clients go by the partner.
    pub redirects: bool,
    /// Number of uplink devices in use, whatever their addresses.
    pub uplinks: usize,
    /// Open connections of clients.
    pub open: u64,
    /// True if the partner is a standby: the first one cannot be reached.
    #[serde(default)]
    pub standby: bool,
    /// True if clients' traffic leaves only by the partner, also while weir does not run.
    #[serde(default)]
    pub locked: bool,
}

impl Paths {
    /// Returns true if clients use another partner than the first.
    pub fn by_standby(&self) -> bool {
        let mut others = self.partners.iter().skip(1);
        others.any(|other| other.in_use)
    }

    /// Returns a summary; `None` if the configuration names no partner.
    pub fn status(&self) -> Option<PathsStatus> {
        let used = self.paths.iter().filter(|path| path.used != PathUse::Never);
        let mut devices: Vec<_> = used.map(|path| &path.device).collect();
        devices.sort_unstable();
        devices.dedup();
        Some(PathsStatus {
            partner: self.partner.clone()?,
            state: self.state,
            redirects: self.redirects,
            uplinks: devices.len(),
            open: self.connections.open,
            standby: self.by_standby(),
            locked: self.locked,
        })
    }
}

/// Connections of clients, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// Open connections.
    pub open: u64,
    /// All connections since the start, open ones included.
    pub all: u64,
    /// Connections that went directly because the partner could not be reached.
    pub direct: u64,
    /// Connections that went to the partner as the client sent them, not encrypted again.
    #[serde(default)]
    pub clear: u64,
    /// Connections refused for lack of room.
    pub refused: u64,
    /// Bytes that clients sent.
    pub sent: u64,
    /// Bytes that clients received.
    pub received: u64,
}

/// Condition of use of an uplink, in order of preference.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum PathUse {
    /// Used all the time.
    #[default]
    Always,
    /// Used while no uplink works that is used all the time.
    Metered,
    /// Used while no other uplink works.
    Backup,
    /// Never used.
    Never,
}

/// An uplink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Name of the device.
    pub device: String,
    /// The router's address there.
    pub address: IpAddr,
    /// Next hop; absent on a point-to-point link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// Subflows of connections now.
    pub subflows: usize,
    /// Subflows that are plain TCP, because a device on the way removed MPTCP.
    pub fell_back: usize,
    /// True if a device on the way removed MPTCP in the last minutes: connections begin by other
    /// paths.
    #[serde(default)]
    pub strips: bool,
    /// Condition of use, as configured.
    #[serde(default, rename = "use")]
    pub used: PathUse,
    /// True if the path carries traffic now, or would if there were any.
    #[serde(default)]
    pub in_use: bool,
    /// True if the partner answers in the tunnel by this path; absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<bool>,
    /// True if the path carries no TCP for a while, because it slowed the others down.
    #[serde(default)]
    pub rests: bool,
    /// True if its subflows wait until other paths fail.
    pub backup: bool,
    /// Round trip to the partner, as TCP measures it, microseconds; absent while nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u32>,
    /// Bytes sent to the partner and acknowledged; without the last second of ended subflows.
    pub sent: u64,
    /// Bytes received from the partner.
    pub received: u64,
    /// Bytes retransmitted.
    pub retransmitted: u64,
    /// Bytes of the tunnel's datagrams to the partner, with UDP and IP headers.
    #[serde(default)]
    pub tunnel_sent: u64,
    /// Bytes of the tunnel's datagrams from the partner, with UDP and IP headers.
    #[serde(default)]
    pub tunnel_received: u64,
}
