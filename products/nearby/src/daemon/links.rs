//! Connections, by Bluetooth and by IP, as they are written to.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::machine::{Endpoint, Format};

/// A connection.
pub struct Link {
    place: Endpoint,
    format: Format,
    caller: bool,
    writer: mpsc::Sender<Vec<u8>>,
    /// Frame that the connection does not take yet.
    held: Option<Vec<u8>>,
}

impl Link {
    /// Creates a link.
    pub fn new(
        place: Endpoint,
        format: Format,
        caller: bool,
        writer: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        Self {
            place,
            format,
            caller,
            writer,
            held: None,
        }
    }

    /// Returns the peer's place.
    pub fn place(&self) -> Endpoint {
        self.place
    }

    /// Returns the peer's address if connected by Bluetooth.
    fn address(&self) -> Option<bluer::Address> {
        match self.place {
            Endpoint::Bluetooth(address) => Some(bluer::Address(address)),
            Endpoint::Ip(_) => None,
        }
    }

    /// Returns the format of the connection.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Writes the next frame, requested only if there is room. Returns its size in bytes, or
    /// `None`.
    pub fn write(&mut self, next: impl FnOnce() -> Option<Vec<u8>>) -> Option<usize> {
        let held = self.held.take();
        let frame = held.or_else(|| match self.writer.capacity() {
            0 => None,
            _ => next(),
        })?;
        let octets = frame.len();
        match self.writer.try_send(frame) {
            Ok(()) => Some(octets),
            Err(TrySendError::Full(frame)) => {
                self.held = Some(frame);
                None
            }
            // The adapter also reports a closed connection.
            Err(TrySendError::Closed(_)) => None,
        }
    }
}

/// All connections, by number.
#[derive(Default)]
pub struct Links(BTreeMap<u32, Link>);

impl Links {
    /// Adds a connection.
    pub fn insert(&mut self, number: u32, link: Link) {
        self.0.insert(number, link);
    }

    /// Removes a connection.
    pub fn remove(&mut self, number: u32) -> Option<Link> {
        self.0.remove(&number)
    }

    /// Returns a connection.
    pub fn get(&self, number: u32) -> Option<&Link> {
        self.0.get(&number)
    }

    /// Returns a connection for writing.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Link> {
        self.0.get_mut(&number)
    }

    /// Formats of all connections.
    pub fn formats(&self) -> impl Iterator<Item = Format> {
        self.0.values().map(Link::format)
    }

    /// Returns the addresses of connections by Bluetooth.
    pub fn addresses(&self) -> BTreeSet<bluer::Address> {
        self.0.values().filter_map(Link::address).collect()
    }

    /// Returns connections by Bluetooth that other devices opened.
    pub fn callers(&self) -> Vec<(u32, bluer::Address)> {
        let others = self.0.iter().filter(|(_, it)| !it.caller);
        let others = others.filter_map(|(number, it)| Some((*number, it.address()?)));
        others.collect()
    }

    /// Returns the connections by Bluetooth.
    pub fn by_bluetooth(&self) -> Vec<u32> {
        let all = self.0.iter().filter(|(_, it)| it.format != Format::Ip);
        all.map(|(number, _)| *number).collect()
    }

    /// Returns true if there is a connection with a device.
    pub fn reaches(&self, place: Endpoint) -> bool {
        self.0.values().any(|it| it.place == place)
    }
}
