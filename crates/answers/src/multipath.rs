//! Paths: uplinks that are used as one, by way of a partner.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/paths`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// The partner's name or address and port, of the one in use or else the first; absent where the
    /// configuration names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    /// All partners of the configuration, in the order in which they are tried, where there are
    /// several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<Candidate>,
    /// Whether it is there.
    pub state: PartnerState,
    /// Version of the partner's weir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it is not there, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why this router has no key of its own, in words: whoever has a pairing line of its can come as
    /// this router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyless: Option<String>,
    /// New connections of clients go by the partner.
    pub redirects: bool,
    /// All but TCP goes by the tunnel.
    #[serde(default)]
    pub tunnel: bool,
    /// Connections of clients.
    pub connections: Carriage,
    /// The uplinks, best first.
    pub paths: Vec<Path>,
    /// Devices of which the configuration says something, and which lead nowhere at the moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
    /// Uplinks that wait, as they have the address of one in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<Twin>,
    /// What comes in by the partner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forward>,
    /// What clients send leaves by the partner alone, also while weir does not run.
    #[serde(default)]
    pub locked: bool,
    /// While the partner is not there, nothing of clients leaves but what the configuration names.
    #[serde(default)]
    pub stops: bool,
    /// What others than the partner may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposed: Vec<Exposure>,
}

/// A partner of the configuration: the first one, or a standby, which takes over while those before it
/// are not reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name or address and port.
    pub partner: String,
    /// Clients go by it now.
    pub in_use: bool,
    /// Whether it was there when it was last tried; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// Why it was not, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What of clients goes past the partner or is read on the way there, and why: as it is now, for what
/// begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exposure {
    /// TCP goes directly: the partner is not there.
    Tcp,
    /// TCP of IPv6 goes directly: the partner has none.
    TcpIpv6,
    /// All but TCP goes directly: there is no tunnel.
    Others,
    /// All but TCP goes directly by IPv6: the tunnel has none.
    OthersIpv6,
    /// What `direct`, `direct_ports` and `direct_devices` name goes directly.
    Chosen,
    /// TLS is not encrypted again: the servers' names that it shows are read on the way.
    TlsNames,
    /// TCP is not encrypted on the way.
    Clear,
}

/// An uplink with the address of another, as where two modems hand out the same: it is used when
/// that one fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twin {
    /// Name of its device.
    pub device: String,
    /// The address.
    pub address: IpAddr,
    /// Name of the device of the one in use.
    pub of: String,
}

/// Ports of the partner that lead to a host of the LAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    /// The ports: `tcp/8022`.
    pub ports: String,
    /// Where they lead: `192.168.1.2:22`.
    pub to: String,
    /// Whether the partner gives them to this router; absent while it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<bool>,
}

/// Whether the partner is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartnerState {
    /// There is none, or multipath is not to run.
    #[default]
    Off,
    /// Not yet.
    Connecting,
    /// It is.
    Connected,
    /// It is not; it is tried again and again.
    Failed,
}

/// What [`Status`](crate::Status) tells of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsStatus {
    /// The partner's name or address and port.
    pub partner: String,
    /// Whether it is there.
    pub state: PartnerState,
    /// New connections of clients go by the partner.
    pub redirects: bool,
    /// Uplinks in use: devices, whatever addresses they have.
    pub uplinks: usize,
    /// Connections of clients that are there now.
    pub open: u64,
    /// The partner is a standby: the first one is not reached.
    #[serde(default)]
    pub standby: bool,
    /// What clients send leaves by the partner alone, also while weir does not run.
    #[serde(default)]
    pub locked: bool,
}

impl Paths {
    /// Whether clients go by another partner than the first.
    pub fn by_standby(&self) -> bool {
        let mut others = self.partners.iter().skip(1);
        others.any(|other| other.in_use)
    }

    /// In short; `None` where the configuration names no partner.
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
pub struct Carriage {
    /// There now.
    pub open: u64,
    /// Since the start, with those.
    pub all: u64,
    /// Of them, those that went directly as the partner was not reached.
    pub direct: u64,
    /// Of them, those that went to the partner as the client sent them, not encrypted once more.
    #[serde(default)]
    pub clear: u64,
    /// Turned away: there was no room.
    pub refused: u64,
    /// Bytes that clients sent.
    pub sent: u64,
    /// Bytes that they received.
    pub received: u64,
}

/// When an uplink is used; those before are used first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum PathUse {
    /// All the time.
    #[default]
    Always,
    /// While none works that is used all the time.
    Metered,
    /// While no other works.
    Backup,
    /// Never.
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
    /// Of them, those that are plain TCP, as something on the way took MPTCP out.
    pub fell_back: usize,
    /// Something on the way takes MPTCP out, as was seen in the last minutes: connections begin by
    /// other paths.
    #[serde(default)]
    pub strips: bool,
    /// When it is to be used, as the configuration says.
    #[serde(default, rename = "use")]
    pub used: PathUse,
    /// It carries something now, if there is something.
    #[serde(default)]
    pub in_use: bool,
    /// Whether the partner answers in the tunnel by it; absent as long as that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<bool>,
    /// It is kept from TCP for a while: it slowed the others down.
    #[serde(default)]
    pub rests: bool,
    /// Its subflows wait until other paths fail.
    pub backup: bool,
    /// Round trip to the partner, as TCP measures it, microseconds; absent while nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u32>,
    /// Bytes sent to the partner and acknowledged; what subflows carried in their last second is
    /// missing.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
    /// Bytes sent again.
    pub retransmitted: u64,
    /// Bytes that the tunnel's datagrams had on the way to the partner, with UDP and IP.
    #[serde(default)]
    pub tunnel_sent: u64,
    /// The same, from it.
    #[serde(default)]
    pub tunnel_received: u64,
}
