//! Addresses that advertise, and which of them is called.

use std::collections::{BTreeMap, BTreeSet};

use super::endpoint::{Address, Format};
use crate::Id;

/// Maximum number of addresses without a known id.
pub const ADDRESSES: usize = 128;
/// Wait for the other device to call, ms.
pub const WAITS: u64 = 8_000;
/// First and longest delay between failed calls, ms; the delay doubles each time.
pub const AGAIN: [u64; 2] = [2_000, 60_000];
/// Wait for a device's other format, ms.
const SETTLES: u64 = 2_000;
/// Wait after a called device closed without a word, ms: it notifies another device, and needs time
/// to call itself.
const LEFT: u64 = 30_000;
/// Wait of the higher address before a call by v1, ms: simultaneous calls both fail.
const YIELDS: u64 = 5_000;

/// An advertisement.
#[derive(Clone, Copy, Debug)]
pub struct Advertisement {
    pub address: Address,
    pub format: Format,
    pub prefix: Option<[u8; 5]>,
    pub signal: Option<i16>,
}

/// State of an address that advertises.
#[derive(Debug)]
struct Seen {
    formats: BTreeSet<Format>,
    prefix: Option<[u8; 5]>,
    signal: Option<i16>,
    first: u64,
    last: u64,
    id: Option<Id>,
    /// Time of the next call, and the delay after that.
    again: (u64, u64),
    /// True if an advertisement arrived since the last connection ended or call failed: until then
    /// BlueZ, which was asked to forget the address, cannot call it.
    heard: bool,
}

/// All addresses that advertise.
#[derive(Debug)]
pub struct Sightings {
    own: Id,
    address: Address,
    seen: BTreeMap<Address, Seen>,
    calling: Option<Address>,
}

impl Sightings {
    /// Creates an empty state for a node with this address.
    pub fn new(own: Id, address: Address) -> Self {
        Self {
            own,
            address,
            seen: BTreeMap::new(),
            calling: None,
        }
    }

    /// Handles the loss or replacement of the radio, now at this address. The new radio must see an
    /// address before calling it.
    pub fn anew(&mut self, address: Option<Address>) {
        self.seen.clear();
        self.calling = None;
        self.address = address.unwrap_or(self.address);
    }

    /// Handles an advertisement. Returns the id, formats and signal, if the id is known; `known`
    /// finds a peer by the start of its id.
    pub fn see(
        &mut self,
        now: u64,
        heard: Advertisement,
        known: impl FnOnce([u8; 5]) -> Option<Id>,
    ) -> Option<(Id, BTreeSet<Format>, Option<i16>)> {
        if self.seen.len() >= ADDRESSES && !self.seen.contains_key(&heard.address) {
            return None;
        }
        let seen = self.seen.entry(heard.address).or_insert_with(|| Seen {
            formats: BTreeSet::new(),
            prefix: None,
            signal: None,
            first: now,
            last: now,
            id: None,
            again: (now, AGAIN[0]),
            heard: true,
        });
        seen.heard = true;
        seen.formats.insert(heard.format);
        seen.prefix = heard.prefix.or(seen.prefix);
        seen.signal = heard.signal.or(seen.signal);
        seen.last = now;
        // Addresses change: an advertised id prefix identifies a known peer.
        if let Some(prefix) = seen.prefix {
            seen.id = seen.id.or_else(|| known(prefix));
        }
        Some((seen.id?, seen.formats.clone(), seen.signal))
    }

    /// Sets the id of an address. Returns its formats and signal.
    pub fn know(
        &mut self,
        now: u64,
        address: Address,
        id: Id,
    ) -> Option<(&BTreeSet<Format>, Option<i16>)> {
        let seen = self.seen.get_mut(&address)?;
        seen.id = Some(id);
        seen.again = (now, AGAIN[0]);
        Some((&seen.formats, seen.signal))
    }

    /// Notes that the call succeeded.
    pub fn called(&mut self) {
        self.calling = None;
    }

    /// Notes that the call failed.
    pub fn refused(&mut self, now: u64, address: Address) {
        // The call may be from before the radio was lost.
        self.calling = self.calling.filter(|it| *it != address);
        if let Some(seen) = self.seen.get_mut(&address) {
            let (_, pause) = seen.again;
            seen.heard = false;
            seen.again = (now + pause, (2 * pause).min(AGAIN[1]));
        }
    }

    /// Handles the end of a connection: before a call the address must advertise again, and a
    /// device that could not send may call first.
    pub fn parted(&mut self, now: u64, address: Address, is_dumb: bool) {
        if let Some(seen) = self.seen.get_mut(&address) {
            seen.heard = false;
            if is_dumb {
                seen.again.0 = now + LEFT;
            }
        }
    }

    /// Forgets addresses that were not seen for so long.
    pub fn forget(&mut self, now: u64, gone: u64) {
        self.seen.retain(|_, seen| now < seen.last + gone);
    }

    /// Returns an address to call now. `reached`: messages go there; `waits`: a message waits.
    pub fn due(
        &mut self,
        now: u64,
        reached: impl Fn(Option<Id>, Address) -> bool,
        waits: impl Fn(Id) -> bool,
    ) -> Option<Address> {
        if self.calling.is_some() {
            return None;
        }
        let mine = self.own.0.first_chunk::<5>();
        let due = self.seen.iter().find(|(address, seen)| {
            if reached(seen.id, **address) {
                return false;
            }
            let wanted = match seen.formats.contains(&Format::V2) {
                // The other device may call as well.
                true => {
                    let calls = seen.prefix.as_ref().is_some_and(|it| mine < Some(it));
                    calls || now >= seen.first + WAITS
                }
                // The device may advertise the other format next.
                false => {
                    let yields = seen.id.is_none() && self.address > **address;
                    let until = SETTLES + if yields { YIELDS } else { 0 };
                    seen.id.is_none_or(&waits) && now >= seen.first + until
                }
            };
            wanted && seen.heard && now >= seen.again.0
        });
        self.calling = due.map(|(address, _)| *address);
        self.calling
    }

    /// Returns the number of known addresses.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// Returns the adapter's address.
    #[cfg(test)]
    pub fn address(&self) -> Address {
        self.address
    }
}
