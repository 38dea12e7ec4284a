//! Events of a room, and actions that follow.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::kept::Store;
use super::place::{Address, Format};
use crate::Id;
use crate::envelope::Node;

/// How it is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who this is.
    pub own: Id,
    /// The same in whole, where the room is a node of qaul's: it says so to who asks, and passes on.
    /// Without it whoever uses the room does both, and is given all that comes.
    pub node: Option<Node>,
    /// Where.
    pub address: Address,
    /// Which formats are spoken.
    pub formats: BTreeSet<Format>,
    /// Connections by Bluetooth at most.
    pub links: usize,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// An advertisement was heard.
    Seen {
        /// Whose.
        address: Address,
        /// What it speaks.
        format: Format,
        /// How its id begins, where it says so.
        prefix: Option<[u8; 5]>,
        /// How loud, dBm.
        signal: Option<i16>,
    },
    /// There is a connection.
    Opened {
        /// A number that no other has.
        link: u32,
        /// With whom.
        address: Address,
        /// What is spoken.
        format: Format,
        /// Whether this side called.
        caller: bool,
        /// Who it is, where that was read.
        id: Option<Id>,
        /// Octets of a frame.
        frame: usize,
    },
    /// There is a link by IP, with somebody who proved their id.
    Reached {
        /// A number that no other has.
        link: u32,
        /// With whom.
        address: SocketAddr,
        /// Whether this side called.
        caller: bool,
        /// Who it is.
        id: Id,
    },
    /// Who was to be called was not reached.
    Refused(Address),
    /// A write or notification came by a connection.
    Heard(u32, &'a [u8]),
    /// A whole message came by a channel beside a connection.
    Whole(u32, &'a [u8]),
    /// A connection is no longer.
    Closed(u32),
    /// Time goes by.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Call: what comes of it is an event.
    Connect(Address),
    /// End a connection.
    Close(u32),
    /// Something may be there to be written: ask [`Room::next`](super::Room::next).
    Wake(u32),
    /// Somebody is near, or no longer.
    Near(Id, bool),
    /// A message came, whatever it is.
    Message {
        /// From which peer.
        from: Id,
        /// By which format.
        format: Format,
        /// The message.
        octets: Vec<u8>,
    },
    /// What became of a message, by its number: it got to a peer, or did not.
    Outcome(u64, Id, bool),
    /// Something is to be done to what is kept: never before [`Delivery::keeps`](super::Delivery::keeps).
    Store(Store),
}

/// To whom a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To all who are near.
    All,
    /// To one.
    One(Id),
}
