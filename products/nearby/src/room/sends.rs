//! What goes to whom, and what came of it.

use std::collections::BTreeSet;

use super::connection::Connection;
use super::peer::{ALL, Waiting};
use super::{Action, PASSED, Room, Store, To};
use crate::Id;
use crate::v2::outbox::Priority;
use crate::village::HOPS;

impl Room {
    /// Sends a message; its outcomes have this number, which is below 2⁶³. Gives to how many who are
    /// near; where messages are kept, it waits for those who are away.
    pub fn send(
        &mut self,
        now: u64,
        to: To,
        number: u64,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) -> usize {
        self.recent.is_new(now, octets);
        let is_meant = |id: &Id| to == To::All || to == To::One(*id);
        let near: Vec<Id> = self.peers.keys().copied().filter(is_meant).collect();
        let sequence = self.keep_own(now, number, octets, is_meant, out);
        let octets = self.pool.take(octets.to_vec());
        for id in &near {
            let waiting = Waiting {
                number,
                priority: Priority::Usual,
                octets: octets.clone(),
                hops: HOPS,
                since: now,
                sequence,
                kept: false,
            };
            self.put(*id, waiting, out);
        }
        near.len()
    }

    /// A message goes on to all but the one that it came from; by IP, where it still may.
    pub(super) fn pass_on(
        &mut self,
        now: u64,
        from: Id,
        hops: Option<u8>,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) {
        let ends = if hops.is_none() {
            self.far()
        } else {
            BTreeSet::new()
        };
        let others = self.peers.keys().copied();
        let others = others.filter(|id| *id != from && !ends.contains(id));
        let others: Vec<Id> = others.collect();
        let octets = self.pool.take(octets.to_vec());
        let sequence = self.keep_later(now, from, &octets, !others.is_empty(), out);
        for id in others {
            self.passed += 1;
            let waiting = Waiting {
                number: self.passed,
                priority: Priority::Usual,
                octets: octets.clone(),
                hops: hops.unwrap_or(0),
                since: now,
                sequence,
                kept: false,
            };
            self.put(id, waiting, out);
        }
    }

    /// A message that is of use now or never waits for a peer.
    pub(super) fn give(
        &mut self,
        now: u64,
        id: Id,
        number: u64,
        priority: Priority,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) {
        let waiting = Waiting {
            number,
            priority,
            octets: self.pool.take(octets.to_vec()),
            hops: 0,
            since: now,
            sequence: None,
            kept: false,
        };
        self.put(id, waiting, out);
    }

    /// A message waits for a peer, and goes where there is a connection.
    fn put(&mut self, id: Id, waiting: Waiting, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let (number, sequence) = (waiting.number, waiting.sequence);
        if !peer.wait(waiting, self.pool.used() > ALL) {
            match sequence {
                // It comes from where it is kept when there is room.
                Some(sequence) => self.has_no_room(id, sequence),
                None => self.outcome(number, id, false, out),
            }
        }
        self.flow(id, out);
    }

    /// What waits for a peer goes into its connection, in order.
    pub(super) fn flow(&mut self, id: Id, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let mut best: Option<(&u32, &mut Connection)> = None;
        for (link, connection) in &mut self.links {
            let better = best
                .as_ref()
                .is_none_or(|(_, it)| it.format() < connection.format());
            if connection.peer() == Some(id) && connection.sends() && better {
                best = Some((link, connection));
            }
        }
        if let Some((link, connection)) = best {
            while let Some(waiting) = peer.next() {
                if !connection.send(waiting) {
                    break;
                }
                peer.gave();
            }
            out.push(Action::Wake(*link));
        }
        if let Some(after) = peer.asks() {
            out.push(Action::Store(Store::Load(id, after)));
        }
    }

    pub(super) fn outcome(&mut self, number: u64, id: Id, done: bool, out: &mut Vec<Action>) {
        if number < PASSED {
            out.push(Action::Outcome(number, id, done));
        }
    }

    /// Something came of a message that was in a connection.
    pub(super) fn settled(
        &mut self,
        id: Option<Id>,
        number: u64,
        done: bool,
        out: &mut Vec<Action>,
    ) {
        let Some(id) = id else { return };
        let peer = self.peers.get_mut(&id);
        if let Some(sequence) = peer.and_then(|peer| peer.settled(number)) {
            out.push(Action::Store(Store::Drop(id, sequence)));
        }
        self.outcome(number, id, done, out);
        self.flow(id, out);
    }
}
