//! Events of an adapter, and its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bluer::Address;
use tokio::sync::mpsc;

use crate::Id;
use crate::machine::Format;

/// Event of an adapter.
pub enum BluetoothEvent {
    /// The adapter received an advertisement.
    Seen {
        address: Address,
        format: Format,
        prefix: Option<[u8; 5]>,
        signal: Option<i16>,
    },
    /// A connection opened.
    Opened(NewConnection),
    /// A call failed, with the reason.
    Refused(Address, String),
    /// A frame arrived by a connection.
    Heard(u32, Vec<u8>),
    /// A whole message arrived by a channel.
    Whole(u32, Vec<u8>),
    /// A channel with longer frames opened or closed, in addition to the connection.
    Channel(u32, bool),
    /// The frame size of a connection changed, in bytes.
    Frames(u32, usize),
    /// A frame was written to a connection.
    Written(u32),
    /// A connection closed.
    Closed(u32),
}

/// A new connection.
pub struct NewConnection {
    pub link: u32,
    pub address: Address,
    pub format: Format,
    pub caller: bool,
    pub id: Option<Id>,
    /// Bytes of a frame.
    pub frame: usize,
    /// Queue of frames to write.
    pub writer: mpsc::Sender<Vec<u8>>,
}

/// Source of connection numbers.
#[derive(Clone, Default)]
pub struct ConnectionIds(Arc<AtomicU32>);

impl ConnectionIds {
    /// Returns an unused number.
    pub fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
