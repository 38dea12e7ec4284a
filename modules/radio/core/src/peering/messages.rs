//! Inputs and outputs of a machine.

use kernel::Mac;
use kernel::nl80211::{Abilities, PairwiseKey};

use super::beacon::Beacon;

/// An input of the machine.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A beacon was received with this signal (dBm).
    Beacon(&'a Beacon, Option<i32>),
    /// An action frame was received.
    Frame(&'a [u8]),
    /// Result of an installation. `false`: the kernel or the driver refused.
    Installed(Mac, bool),
    /// Counters of a peer: time since its last frame with the shared key (milliseconds), and
    /// unacknowledged frames. `None`: its station is gone.
    Counted(Mac, Option<(u64, u32)>),
    /// The access point is on another channel.
    Channel(u32),
    /// No other event happened.
    Tick,
}

/// An action that the machine requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this management frame.
    Send(Vec<u8>),
    /// Create the device, if it is missing, and put the station behind it, replacing an earlier
    /// station. The result arrives as an event.
    Install {
        /// The peer.
        mac: Mac,
        /// Name of the device.
        name: String,
        /// Its number at the access point.
        aid: u16,
        /// Abilities of the node.
        abilities: Abilities,
        /// Key of the peer; `None`: in clear.
        key: Option<PairwiseKey>,
    },
    /// Give the station another key. The result arrives as an event.
    Rekey(Mac, PairwiseKey),
    /// Remove the device, and the station behind it.
    Remove(Mac, String, EndReason),
    /// Start or stop receiving action frames.
    Listen(bool),
    /// All keys are lost: announce another instance in the beacon.
    Renew,
}

/// Reason for the end of a peering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Neither beacons nor frames with the key arrive.
    Silent,
    /// Nothing but beacons arrives from the node.
    Inactive,
    /// The node acknowledges nothing.
    Failing,
    /// The signal is too weak.
    Weak,
    /// The node did not confirm the handshake.
    Unconfirmed,
    /// The kernel refused it.
    Refused,
    /// The kernel lost the peer: the access point restarted.
    Lost,
    /// The access point is on another channel.
    Channel,
    /// The node was in clear, and proves itself now.
    Proven,
    /// The node was in clear, and one that proves itself needs its place.
    Displaced,
}

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The beacon is proven, or accepted without proof.
    Seen,
    /// The signal is too weak, the node may not be a peer, or there are enough peers.
    Waiting,
    /// A handshake is under way.
    Handshake,
    /// The node has its key, or needs none; whether the other side has it is unknown.
    Installed,
    /// Both sides have keys; without a key, frames arrived in the last seconds.
    Alive,
}

/// Reason why a node waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The signal is too weak.
    Faint,
    /// There are enough peers.
    Full,
}

/// Report on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// Address of the node.
    pub mac: Mac,
    /// Name of its device, also before the device exists.
    pub name: String,
    /// State of the node.
    pub state: State,
    /// Reason for waiting, if the node waits.
    pub waits: Option<WaitReason>,
    /// Since when it is a peer.
    pub since: Option<u64>,
    /// Mean signal, dBm.
    pub signal: Option<i32>,
    /// True if the link is encrypted with a key of the two nodes.
    pub encrypted: bool,
    /// True if the node proves nothing: all traffic with it is in clear.
    pub clear: bool,
}

/// Counts refused frames and beacons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedCounters {
    /// Beacons that claim our own address or key.
    pub own: u64,
    /// Beacons of our network with an element that proves nothing.
    pub unproven: u64,
    /// Frames that prove nothing.
    pub frames: u64,
    /// Nodes that were not remembered, as too many are.
    pub crowded: u64,
}
