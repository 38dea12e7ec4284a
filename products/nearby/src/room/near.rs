//! Who is near, by which address, and who calls whom.

use std::collections::BTreeSet;

use super::connection::{Connection, Format};
use super::peer::Peer;
use super::{AGAIN, Action, Address, LINKS, PEERS, Place, Room, Seen, WAITS};
use crate::Id;

/// Addresses that are seen and not yet known, at most.
pub const ADDRESSES: usize = 128;
/// So long it is waited for what else somebody speaks, ms.
const SETTLES: u64 = 2_000;
/// Who was called and let go without a word notifies another one, and calls itself: it is left the time
/// for it, ms.
const LEFT: u64 = 30_000;
/// Of v1 both call, and neither gets through when they do it at once: the higher address waits so long.
const YIELDS: u64 = 5_000;

impl Room {
    /// The radio is no longer, or another one is there, at this address: what was heard by the one before
    /// is not called by the next until it hears it, too.
    pub fn anew(&mut self, address: Option<Address>) {
        self.seen.clear();
        self.calling = None;
        self.settings.address = address.unwrap_or(self.settings.address);
    }

    pub(super) fn see(
        &mut self,
        now: u64,
        address: Address,
        format: Format,
        prefix: Option<[u8; 5]>,
        signal: Option<i16>,
        out: &mut Vec<Action>,
    ) {
        if !self.settings.formats.contains(&format) {
            return;
        }
        if self.seen.len() >= ADDRESSES && !self.seen.contains_key(&address) {
            return;
        }
        let seen = self.seen.entry(address).or_insert_with(|| Seen {
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
        seen.formats.insert(format);
        seen.prefix = prefix.or(seen.prefix);
        seen.signal = signal.or(seen.signal);
        seen.last = now;
        // Addresses change; who was known by one and says how its id begins is the same.
        if let Some(prefix) = seen.prefix {
            let mut known = self.peers.keys().filter(|id| id.0.starts_with(&prefix));
            seen.id = seen.id.or_else(|| known.next().copied());
        }
        let (id, signal, formats) = (seen.id, seen.signal, seen.formats.clone());
        if let Some(id) = id {
            self.near(now, id, address.into(), &formats, signal, out);
        }
    }

    /// Somebody is near.
    fn near(
        &mut self,
        now: u64,
        id: Id,
        place: Place,
        formats: &BTreeSet<Format>,
        signal: Option<i16>,
        out: &mut Vec<Action>,
    ) {
        if !self.peers.contains_key(&id) {
            // Whoever is heard by radio can say many ids: who proved one has a place beside them.
            let most = match place {
                Place::Bluetooth(_) => PEERS,
                Place::Ip(_) => PEERS + LINKS,
            };
            if self.peers.len() >= most {
                return;
            }
            self.peers.insert(id, Peer::new(place, now));
            out.push(Action::Near(id, true));
            self.comes(id, out);
        }
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.near(now, place, formats, signal);
        }
    }

    /// Who is at the other end of a connection.
    pub(super) fn know(&mut self, now: u64, link: u32, id: Id, out: &mut Vec<Action>) {
        let Some(connection) = self.links.get(&link) else {
            return;
        };
        let (place, format) = (connection.place(), connection.format());
        if id == self.own {
            out.push(Action::Close(link));
            return;
        }
        let (mut formats, mut signal) = (BTreeSet::from([format]), None);
        if let Place::Bluetooth(address) = place
            && let Some(seen) = self.seen.get_mut(&address)
        {
            seen.id = Some(id);
            seen.again = (now, AGAIN[0]);
            formats.extend(&seen.formats);
            signal = seen.signal;
        }
        self.near(now, id, place, &formats, signal, out);
        // Of two connections by one format that stays where the lower id called; nobody proved an id.
        let twice = self.links.iter().find(|(other, it)| {
            **other != link && it.peer() == Some(id) && it.format() == format && it.is_double()
        });
        let twice = twice.map(|(other, _)| *other);
        if let Some(other) = twice
            && self.links[&link].is_double()
        {
            let stands = format == Format::V2 && self.links[&other].stands(now);
            out.push(Action::Close(match stands {
                true => link,
                false => self.closes(link, other, id),
            }));
        }
        self.flow(id, out);
        out.push(Action::Wake(link));
    }

    /// A connection ended: it is to be heard again before it is called, and who could say nothing by it
    /// is left to call first.
    pub(super) fn parts(&mut self, now: u64, connection: &Connection) {
        let address = connection.address();
        if let Some(seen) = address.and_then(|it| self.seen.get_mut(&it)) {
            seen.heard = false;
            if connection.is_dumb(now) {
                seen.again.0 = now + LEFT;
            }
        }
    }

    /// Calls one who is to be called now.
    pub(super) fn call(&mut self, now: u64, out: &mut Vec<Action>) {
        if self.calling.is_some() || self.by_bluetooth() >= self.settings.links {
            return;
        }
        let mine = self.own.0.first_chunk::<5>();
        let due = self.seen.iter().find(|(address, seen)| {
            let same = |it: &Connection| match seen.id {
                Some(id) => it.peer() == Some(id),
                None => it.address() == Some(**address),
            };
            if self.links.values().any(|it| it.sends() && same(it)) {
                return false;
            }
            let waits = seen
                .id
                .and_then(|id| self.peers.get(&id))
                .is_some_and(Peer::waits);
            let wanted = match seen.formats.contains(&Format::V2) {
                // Who calls may also be the other.
                true => {
                    let calls = seen.prefix.as_ref().is_some_and(|it| mine < Some(it));
                    calls || now >= seen.first + WAITS
                }
                // It may say at the next moment that it speaks the other one, too.
                false => {
                    let yields = seen.id.is_none() && self.settings.address > **address;
                    let until = SETTLES + if yields { YIELDS } else { 0 };
                    (seen.id.is_none() || waits) && now >= seen.first + until
                }
            };
            wanted && seen.heard && now >= seen.again.0
        });
        if let Some(address) = due.map(|(address, _)| *address) {
            self.calling = Some(address);
            out.push(Action::Connect(address));
        }
    }
}

#[cfg(test)]
mod tests;
