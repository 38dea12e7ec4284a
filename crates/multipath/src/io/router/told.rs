//! What the router's threads tell of partner and paths.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::hints::Use;
use crate::io::share::Counted;
use crate::shares::Carried;

/// Whether the partner is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Connection {
    /// Not yet, or not any more.
    #[default]
    Connecting,
    /// It is.
    Connected {
        /// Version of its weir.
        version: String,
        /// It reaches IPv4 addresses.
        ipv4: bool,
        /// It reaches IPv6 addresses.
        ipv6: bool,
    },
    /// It is tried again and again.
    Failed {
        /// Why it does not work, in words.
        problem: String,
    },
}

/// One uplink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathState {
    /// Name of the device.
    pub device: String,
    /// Own address.
    pub address: IpAddr,
    /// Next hop; none on a point-to-point link.
    pub gateway: Option<IpAddr>,
    /// When it is to be used.
    pub used: Use,
    /// It carries something now, if there is something.
    pub in_use: bool,
    /// Whether the partner answers in the tunnel by it; `None`: that is not known yet.
    pub answers: Option<bool>,
    /// It is kept from TCP for a while: it slowed the others down.
    pub rests: bool,
    /// Something on the way takes MPTCP out, as was seen lately.
    pub strips: bool,
    /// What it carried.
    pub carried: Carried,
    /// Bytes of the tunnel's datagrams, there and back, with what is around them on the wire.
    pub tunnelled: [u64; 2],
}

/// An uplink with the address of another that is in use: neither the kernel nor the partner could
/// tell them apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TwinState {
    /// Name of its device.
    pub device: String,
    /// The address that both have.
    pub address: IpAddr,
    /// Name of the other's device.
    pub of: String,
}

/// What comes in by the partner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardState {
    /// Ports of the partner: `tcp/8022`.
    pub ports: String,
    /// Where they lead: `192.168.1.2:22`.
    pub to: String,
    /// Whether the partner gives them to this router; `None`: it is not there.
    pub granted: Option<bool>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name or address of the partner, and its port.
    pub partner: String,
    /// Whether it is there.
    pub connection: Connection,
    /// Whether clients' new connections are brought here.
    pub redirects: bool,
    /// All but TCP goes by the tunnel.
    pub tunnel: bool,
    /// The tunnel has IPv4, and IPv6.
    pub carries: [bool; 2],
    /// The uplinks.
    pub paths: Vec<PathState>,
    /// Uplinks that cannot be used.
    pub twins: Vec<TwinState>,
    /// What comes in.
    pub forwards: Vec<ForwardState>,
    /// Connections and bytes.
    pub counted: Counted,
}

/// What its threads tell.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<State>);

impl Told {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
