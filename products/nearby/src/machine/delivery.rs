//! Delivery of messages: their recipients, their storage, and their outcomes.

use std::collections::{BTreeMap, BTreeSet};

use super::away_peers::{
    AT_ONCE, AwayPeers, DelayedStore, LATE, Message, STAYS, StoreAction, StoreRequest,
};
use super::connection::Connection;
use super::counts::Counts;
use super::endpoint::{Endpoint, Format};
use super::event::{Action, Recipients};
use super::links::{LINKS, Links};
use super::peer::{ALL, PASSED, Peer, PeerReport, PendingMessage};
use super::recent::SeenMessages;
use crate::shared_bytes::Pool;
use crate::v2::outbox::Priority;
use crate::village::HOPS;
use crate::{Id, SharedBytes};

/// Peers at most; and as many as are reached by IP.
pub const PEERS: usize = 64;

/// Delivery to the peers nearby, with the messages that wait.
#[derive(Debug)]
pub struct Delivery {
    pub(super) links: Links,
    peers: BTreeMap<Id, Peer>,
    recent: SeenMessages,
    /// Last number of a relayed message whose outcome is not reported.
    passed: u64,
    /// Number of duplicate messages.
    doubled: u64,
    /// Number of own answers among the passed-on messages.
    answered: u64,
    /// Counter of the memory that messages take.
    pool: Pool,
    /// State of stored messages and of peers away, if messages are stored.
    kept: Option<AwayPeers>,
}

impl Default for Delivery {
    /// Creates an empty state.
    fn default() -> Self {
        Self {
            links: Links::default(),
            peers: BTreeMap::new(),
            recent: SeenMessages::new(),
            passed: PASSED,
            doubled: 0,
            answered: 0,
            pool: Pool::default(),
            kept: None,
        }
    }
}

impl Delivery {
    /// Returns the counters since the start.
    pub fn counts(&self) -> Counts {
        Counts {
            passed: self.passed - PASSED - self.answered,
            doubled: self.doubled,
        }
    }

    /// Returns the peers nearby.
    pub fn shown(&self) -> impl Iterator<Item = PeerReport> {
        self.peers.iter().map(|(id, peer)| {
            let linked = self.links.of(*id);
            let channel = linked.clone().any(Connection::has_channel);
            let shown = peer.shown(*id, linked.map(Connection::format).collect());
            PeerReport {
                place: self.links.place(*id).unwrap_or(shown.place),
                channel,
                ..shown
            }
        })
    }

    /// Returns the peer nearby whose id has this prefix.
    pub fn known(&self, prefix: [u8; 5]) -> Option<Id> {
        let mut known = self.peers.keys().filter(|id| id.0.starts_with(&prefix));
        known.next().copied()
    }

    /// Returns true if a message waits for a peer.
    pub fn waits(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(Peer::waits)
    }

    /// Returns true if a peer is near.
    pub fn has(&self, id: Id) -> bool {
        self.peers.contains_key(&id)
    }

    /// Notes a sign of life from a peer.
    pub fn heard(&mut self, now: u64, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.heard(now);
        }
    }

    /// Notes that a peer is near.
    pub fn near(
        &mut self,
        now: u64,
        id: Id,
        place: Endpoint,
        formats: &BTreeSet<Format>,
        signal: Option<i16>,
        out: &mut Vec<Action>,
    ) {
        if !self.peers.contains_key(&id) {
            // A radio can claim many ids: nodes with a proven id have extra places.
            let most = match place {
                Endpoint::Bluetooth(_) => PEERS,
                Endpoint::Ip(_) => PEERS + LINKS,
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

    /// Handles the end of a connection of this format: the outcome of these messages is unknown.
    pub fn parted(
        &mut self,
        now: u64,
        id: Id,
        format: Format,
        unknown: &[u64],
        out: &mut Vec<Action>,
    ) {
        let is_far = self.links.reaches(id);
        if let Some(peer) = self.peers.get_mut(&id) {
            if format == Format::Ip && !is_far {
                peer.parted(now);
            }
            peer.back(unknown);
        }
        self.flow(id, out);
    }

    /// Returns true for a message that was not here before.
    pub fn is_new(&mut self, now: u64, octets: &[u8]) -> bool {
        let is_new = self.recent.is_new(now, octets);
        self.doubled += u64::from(!is_new);
        is_new
    }

    /// Sends an own answer.
    pub fn answer(&mut self, now: u64, id: Id, octets: &[u8], out: &mut Vec<Action>) {
        self.passed += 1;
        self.answered += 1;
        self.give(now, id, self.passed, Priority::Urgent, octets, out);
    }

    /// Drops messages older than `age`, and peers without a connection that were silent for `gone`.
    pub fn tick(&mut self, now: u64, gone: u64, age: u64, out: &mut Vec<Action>) {
        let linked = self.links.peers();
        let mut old = Vec::new();
        for (id, peer) in &mut self.peers {
            old.extend(peer.old(now, age).into_iter().map(|number| (number, *id)));
        }
        let gone = |(id, peer): &(&Id, &Peer)| now >= peer.seen() + gone && !linked.contains(id);
        let gone: Vec<Id> = self.peers.iter().filter(gone).map(|(id, _)| *id).collect();
        for id in gone {
            out.push(Action::Near(id, false));
            let lost = self.leaves(now, id, out).into_iter();
            old.extend(lost.map(|number| (number, id)));
        }
        for (number, id) in old {
            self.outcome(number, id, false, out);
        }
    }

    /// Sends a message; its outcomes have this number, which is below 2⁶³. Returns the number of
    /// recipients nearby. With storage, the message waits for those that are away.
    pub fn send(
        &mut self,
        now: u64,
        to: Recipients,
        number: u64,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) -> usize {
        self.recent.is_new(now, octets);
        let is_meant = |id: &Id| to == Recipients::All || to == Recipients::One(*id);
        let near: Vec<Id> = self.peers.keys().copied().filter(is_meant).collect();
        let sequence = self.keep_own(now, number, octets, is_meant, out);
        let octets = self.pool.take(octets.to_vec());
        for id in &near {
            let waiting = PendingMessage {
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

    /// Passes a message on to all peers except its source; by IP within its hops.
    pub fn pass_on(
        &mut self,
        now: u64,
        from: Id,
        hops: Option<u8>,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) {
        let ends = if hops.is_none() {
            self.links.far()
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
            let waiting = PendingMessage {
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

    /// Adds a message to a peer that is useful now or never.
    fn give(
        &mut self,
        now: u64,
        id: Id,
        number: u64,
        priority: Priority,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) {
        let waiting = PendingMessage {
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

    /// Queues a message for a peer, and moves it into a connection if there is one.
    fn put(&mut self, id: Id, waiting: PendingMessage, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let (number, sequence) = (waiting.number, waiting.sequence);
        if !peer.wait(waiting, self.pool.used() > ALL) {
            match sequence {
                // The message will be loaded from the queue when there is room.
                Some(sequence) => {
                    if let Some(kept) = &mut self.kept {
                        kept.lacks(id, sequence);
                    }
                }
                None => self.outcome(number, id, false, out),
            }
        }
        self.flow(id, out);
    }

    /// Moves a peer's waiting messages into its connection, in order.
    pub fn flow(&mut self, id: Id, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        if let Some((link, connection)) = self.links.best(id) {
            while let Some(waiting) = peer.next() {
                if !connection.send(waiting) {
                    break;
                }
                peer.gave();
            }
            out.push(Action::Wake(link));
        }
        if let Some(after) = peer.asks() {
            out.push(Action::Store(StoreAction::Load(id, after)));
        }
    }

    fn outcome(&mut self, number: u64, id: Id, done: bool, out: &mut Vec<Action>) {
        if number < PASSED {
            out.push(Action::Outcome(number, id, done));
        }
    }

    /// Handles the outcome of a message in a connection.
    pub fn settled(&mut self, id: Option<Id>, number: u64, done: bool, out: &mut Vec<Action>) {
        let Some(id) = id else { return };
        let peer = self.peers.get_mut(&id);
        if let Some(sequence) = peer.and_then(|peer| peer.settled(number)) {
            out.push(Action::Store(StoreAction::Drop(id, sequence)));
        }
        self.outcome(number, id, done, out);
        self.flow(id, out);
    }

    /// Turns storage on. `known`: peers known before, and their last contact; `sequence`: the last
    /// sequence of a stored message.
    pub fn keeps(&mut self, known: impl IntoIterator<Item = (Id, u64)>, sequence: u64) {
        self.kept = Some(AwayPeers::new(known, sequence));
    }

    /// Returns the peers away, each with the time of its last contact.
    pub fn away(&self) -> impl Iterator<Item = (Id, u64)> {
        self.kept.iter().flat_map(AwayPeers::away)
    }

    /// Returns the sums of recent messages, so that none circulates.
    pub fn remembered(&self) -> impl Iterator<Item = [u8; 16]> {
        self.recent.all()
    }

    /// Marks messages of an earlier run as known.
    pub fn remember(&mut self, now: u64, sums: &[[u8; 16]]) {
        for sum in sums {
            self.recent.remember(now, *sum);
        }
    }

    /// Handles the result of storing a message.
    pub fn kept(&mut self, keep: &StoreRequest, is: bool) -> Vec<Action> {
        let mut out = Vec::new();
        for id in &keep.peers {
            match self.peers.get_mut(id) {
                Some(peer) if peer.has(keep.sequence) => {
                    if is {
                        peer.keeps(keep.sequence, true);
                        // Storing the message may have made room for an earlier one.
                        self.flow(*id, &mut out);
                    }
                }
                Some(peer) if is => {
                    peer.rest(keep.sequence);
                    self.flow(*id, &mut out);
                }
                None if is => {}
                peer => {
                    let Some(number) = keep.message.number else {
                        continue;
                    };
                    // Passed-on messages give way in memory, too.
                    let waits = peer.is_some_and(|peer| {
                        peer.insist(&PendingMessage {
                            number,
                            priority: keep.message.priority,
                            octets: self.pool.take(keep.message.octets.clone()),
                            hops: HOPS,
                            since: keep.message.since,
                            sequence: Some(keep.sequence),
                            kept: false,
                        })
                    });
                    match waits {
                        true => self.flow(*id, &mut out),
                        false => self.outcome(number, *id, false, &mut out),
                    }
                }
            }
        }
        out
    }

    /// Adds messages loaded for a peer, in order; `all`: the queue has no more.
    pub fn given(
        &mut self,
        now: u64,
        id: Id,
        messages: Vec<(u64, Message)>,
        all: bool,
    ) -> Vec<Action> {
        let mut out = Vec::new();
        let Some(peer) = self.peers.get_mut(&id) else {
            return out;
        };
        let mut upto = messages.last().map(|(sequence, _)| *sequence);
        if all {
            upto = None;
        }
        for (sequence, message) in messages {
            if peer.has(sequence) {
                continue;
            }
            // A copy that a peer sends back is then a duplicate.
            self.recent.is_new(now, &message.octets);
            self.passed += 1;
            let waiting = PendingMessage {
                number: message.number.unwrap_or(self.passed),
                priority: message.priority,
                octets: self.pool.take(message.octets),
                hops: HOPS,
                since: message.since,
                sequence: Some(sequence),
                kept: true,
            };
            if !peer.wait(waiting, self.pool.used() > ALL) {
                upto = Some(sequence.saturating_sub(1));
                break;
            }
        }
        peer.was_given(upto);
        self.flow(id, &mut out);
        out
    }

    /// Handles the loss of a stored message for a peer, for lack of room or by age.
    pub fn lost(&mut self, id: Id, sequence: u64, number: Option<u64>) -> Vec<Action> {
        let mut out = Vec::new();
        match self.peers.get_mut(&id) {
            Some(peer) if peer.has(sequence) => peer.keeps(sequence, false),
            _ => {
                if let Some(number) = number {
                    self.outcome(number, id, false, &mut out);
                }
            }
        }
        out
    }

    /// Drops stored messages from memory when all take too much.
    pub fn spill(&mut self) {
        if self.pool.used() > ALL && self.kept.is_some() {
            self.peers.values_mut().for_each(Peer::spill);
        }
    }

    /// Stores all unstored messages, at the end of the program.
    pub fn keep_all(&mut self) -> Vec<Action> {
        let mut out = Vec::new();
        while self.keep_latest(&mut out) {}
        for (id, peer) in &self.peers {
            for waiting in peer.unkept() {
                let sequence = waiting.sequence.unwrap_or_default();
                let there = out.iter_mut().find_map(|it| match it {
                    Action::Store(StoreAction::Keep(it)) => (it.sequence == sequence).then_some(it),
                    _ => None,
                });
                match there {
                    Some(keep) if keep.peers.contains(id) => {}
                    Some(keep) => keep.peers.push(*id),
                    None => out.push(keep(sequence, vec![*id], Message::of(waiting.clone()))),
                }
            }
        }
        out
    }

    /// Stores an own message at once. Returns its sequence.
    pub fn keep_own(
        &mut self,
        now: u64,
        number: u64,
        octets: &[u8],
        is_meant: impl Fn(&Id) -> bool,
        out: &mut Vec<Action>,
    ) -> Option<u64> {
        let kept = self.kept.as_mut()?;
        let away = kept.away().map(|(id, _)| id);
        let peers = self.peers.keys().copied().chain(away);
        let peers: Vec<Id> = peers.filter(is_meant).collect();
        if peers.is_empty() {
            return None;
        }
        let sequence = kept.next();
        let message = Message {
            number: Some(number),
            since: now,
            priority: Priority::Usual,
            octets: octets.to_vec(),
        };
        out.push(keep(sequence, peers, message));
        Some(sequence)
    }

    /// Schedules the storage of a passed-on message, for peers near or away. Returns its sequence.
    pub fn keep_later(
        &mut self,
        now: u64,
        from: Id,
        octets: &SharedBytes,
        any_near: bool,
        out: &mut Vec<Action>,
    ) -> Option<u64> {
        let kept = self.kept.as_mut()?;
        let peers: BTreeSet<Id> = kept
            .away()
            .map(|(id, _)| id)
            .filter(|id| *id != from)
            .collect();
        if peers.is_empty() && !any_near {
            return None;
        }
        let sequence = kept.next();
        kept.push(DelayedStore {
            sequence,
            since: now,
            octets: octets.clone(),
            peers,
        });
        while self.kept.as_ref().map_or(0, AwayPeers::octets) > LATE && self.keep_latest(out) {}
        Some(sequence)
    }

    /// Handles the arrival of a peer.
    pub fn comes(&mut self, id: Id, out: &mut Vec<Action>) {
        let (Some(kept), Some(peer)) = (&mut self.kept, self.peers.get_mut(&id)) else {
            return;
        };
        if kept.returns(id) {
            peer.returns();
        }
        peer.rest(0);
        kept.give(id, |late| {
            self.passed += 1;
            let waiting = PendingMessage {
                number: self.passed,
                priority: Priority::Usual,
                octets: late.octets.clone(),
                hops: HOPS,
                since: late.since,
                sequence: Some(late.sequence),
                kept: false,
            };
            peer.wait(waiting, self.pool.used() > ALL)
        });
        self.flow(id, out);
    }

    /// Handles the departure of a peer. Returns the numbers of lost messages.
    pub fn leaves(&mut self, now: u64, id: Id, out: &mut Vec<Action>) -> Vec<u64> {
        let Some(peer) = self.peers.remove(&id) else {
            return Vec::new();
        };
        let Some(kept) = &mut self.kept else {
            return peer.all().map(|it| it.number).collect();
        };
        if kept.is_full() && !peer.stayed(STAYS) {
            out.push(Action::Store(kept.forget(id)));
            return peer.all().map(|it| it.number).collect();
        }
        let mut lost = Vec::new();
        kept.leaves(id, peer.seen().min(now));
        for waiting in peer.all().filter(|it| !it.kept) {
            match waiting.sequence {
                None => lost.push(waiting.number),
                Some(sequence) if kept.lacks(id, sequence) => {}
                Some(sequence) => out.push(keep(sequence, vec![id], Message::of(waiting))),
            }
        }
        out.extend(kept.forget_longest().map(Action::Store));
        lost
    }

    /// Stores messages that have waited long enough, and forgets peers that are away too long.
    pub fn keep_late(&mut self, now: u64, out: &mut Vec<Action>) {
        let Some(kept) = &mut self.kept else { return };
        out.extend(kept.forget_old(now).into_iter().map(Action::Store));
        for _ in 0..AT_ONCE {
            let is_due = self.kept.as_ref().is_some_and(|kept| kept.is_due(now));
            if !is_due || !self.keep_latest(out) {
                return;
            }
        }
    }

    /// Stores the first of the messages due soon for all peers without it. Returns false if no
    /// message is due.
    fn keep_latest(&mut self, out: &mut Vec<Action>) -> bool {
        let late = self.kept.as_mut().and_then(AwayPeers::pop);
        let Some(late) = late else { return false };
        let waits = self.peers.iter().filter(|(_, it)| it.has(late.sequence));
        let mut peers: BTreeSet<Id> = waits.map(|(id, _)| *id).collect();
        peers.extend(late.peers);
        if !peers.is_empty() {
            let message = Message {
                number: None,
                since: late.since,
                priority: Priority::Usual,
                octets: late.octets.to_vec(),
            };
            out.push(keep(late.sequence, peers.into_iter().collect(), message));
        }
        true
    }

    /// Returns the peers nearby.
    #[cfg(test)]
    pub fn peers(&mut self) -> &mut BTreeMap<Id, Peer> {
        &mut self.peers
    }

    /// Returns the counter of the memory that messages take.
    #[cfg(test)]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}

fn keep(sequence: u64, peers: Vec<Id>, message: Message) -> Action {
    Action::Store(StoreAction::Keep(StoreRequest {
        sequence,
        peers,
        message,
    }))
}
