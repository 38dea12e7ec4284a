//! Events of an adapter, and its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bluer::Address;
use tokio::sync::mpsc;

use crate::Id;
use crate::room::Format;

/// What happens at an adapter.
pub enum Told {
    /// An advertisement was heard.
    Seen {
        address: Address,
        format: Format,
        prefix: Option<[u8; 5]>,
        signal: Option<i16>,
    },
    /// There is a connection.
    Opened(Opened),
    /// Who was called was not reached, and why.
    Refused(Address, String),
    /// A frame came by a connection.
    Heard(u32, Vec<u8>),
    /// A whole message came by its channel.
    Whole(u32, Vec<u8>),
    /// There is a channel beside it that takes longer frames, or no longer.
    Channel(u32, bool),
    /// Frames of it may have so many octets from now on.
    Frames(u32, usize),
    /// A frame was written to it.
    Written(u32),
    /// It is no longer.
    Closed(u32),
}

/// A connection that was opened.
pub struct Opened {
    pub link: u32,
    pub address: Address,
    pub format: Format,
    pub caller: bool,
    pub id: Option<Id>,
    /// Octets of a frame.
    pub frame: usize,
    /// Where frames are to be put to be written.
    pub writer: mpsc::Sender<Vec<u8>>,
}

/// Numbers of connections.
#[derive(Clone, Default)]
pub struct Numbers(Arc<AtomicU32>);

impl Numbers {
    /// One that no other has.
    pub fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
