//! Events of a room, and actions that follow.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::away_peers::StoreAction;
use super::endpoint::{Address, Format};
use crate::Id;
use crate::envelope::Node;

/// Settings of a room.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Id of this node.
    pub own: Id,
    /// Whole name, if the room is a node of qaul: it then identifies itself and passes messages on.
    /// Without a name the user of the room does both, and receives all messages.
    pub node: Option<Node>,
    /// Bluetooth address.
    pub address: Address,
    /// Supported formats.
    pub formats: BTreeSet<Format>,
    /// Largest number of connections by Bluetooth.
    pub links: usize,
}

/// Event for the room.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The radio received an advertisement.
    Seen {
        /// Address of the sender.
        address: Address,
        /// Format of the sender.
        format: Format,
        /// Start of the sender's id, if advertised.
        prefix: Option<[u8; 5]>,
        /// Signal strength, dBm.
        signal: Option<i16>,
    },
    /// A connection opened.
    Opened {
        /// Unique number.
        link: u32,
        /// Address of the peer.
        address: Address,
        /// Format of the connection.
        format: Format,
        /// True if this side called.
        caller: bool,
        /// Id of the peer, if read.
        id: Option<Id>,
        /// Size of a frame, in bytes.
        frame: usize,
    },
    /// A link by IP with a node of proven id was opened.
    Reached {
        /// Unique number.
        link: u32,
        /// Address of the node.
        address: SocketAddr,
        /// True if this side called.
        caller: bool,
        /// Id of the node.
        id: Id,
    },
    /// A call failed.
    Refused(Address),
    /// A write or notification arrived by a connection.
    Heard(u32, &'a [u8]),
    /// A whole message arrived by a channel of a connection.
    Whole(u32, &'a [u8]),
    /// A connection closed.
    Closed(u32),
    /// Time passes.
    Tick,
}

/// Action for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Call an address; the result is an event.
    Connect(Address),
    /// Close a connection.
    Close(u32),
    /// Ask [`Machine::next`](super::Room::next) for frames of a connection.
    Wake(u32),
    /// A peer came near, or left.
    Near(Id, bool),
    /// A message of any kind arrived.
    Message {
        /// Peer that sent the message.
        from: Id,
        /// Format of the connection.
        format: Format,
        /// The message.
        octets: Vec<u8>,
    },
    /// The outcome of a message for a peer, by its number: true if delivered.
    Outcome(u64, Id, bool),
    /// Change the stored messages; never before [`Delivery::keeps`](super::Delivery::keeps).
    Store(StoreAction),
}

/// Recipients of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipients {
    /// All peers nearby.
    All,
    /// A single peer.
    One(Id),
}
