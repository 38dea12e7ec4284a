use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::endpoint::{Endpoint, Format};
use crate::v2::outbox::Priority;
use crate::{Id, SharedBytes};

/// Numbers from here on are those of messages that are passed on.
pub const PASSED: u64 = 1 << 63;
/// Largest total of messages for one peer, in bytes: more are refused.
const WAITING: usize = 1 << 20;
/// Largest total for all peers, in bytes: beyond, each peer has [`PIECE`] and one message.
pub const ALL: usize = 1 << 20;

/// Level below which more is loaded from the queue, and size of one load, in bytes.
pub const PIECE: usize = 1 << 16;

/// A message that waits for a peer.
#[derive(Clone, Debug)]
pub struct PendingMessage {
    /// Number of the message.
    pub number: u64,
    /// Priority.
    pub priority: Priority,
    /// The message.
    pub octets: SharedBytes,
    /// Number of links of a village by which the receiver may pass the message on.
    pub hops: u8,
    /// Time of arrival.
    pub since: u64,
    /// Sequence among all messages that can be stored.
    pub sequence: Option<u64>,
    /// True if stored: the message then waits without a limit.
    pub kept: bool,
}

/// A peer nearby.
#[derive(Debug)]
pub struct Peer {
    place: Endpoint,
    formats: BTreeSet<Format>,
    signal: Option<i16>,
    seen: u64,
    /// Time of the arrival, and true if known before.
    since: u64,
    known: bool,
    /// Messages that wait for a connection.
    waiting: VecDeque<PendingMessage>,
    /// Messages in a connection, in order.
    given: BTreeMap<u64, (u64, PendingMessage)>,
    order: u64,
    /// Sequence beyond which the stored messages are not loaded yet.
    rest: Option<u64>,
    /// True while a load is in progress.
    asked: bool,
}

/// Properties of a peer nearby, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// Id of the peer.
    pub id: Id,
    /// Place of the last contact.
    pub place: Endpoint,
    /// Formats that the peer speaks.
    pub formats: BTreeSet<Format>,
    /// Formats with a connection.
    pub linked: BTreeSet<Format>,
    /// True if a connection has a channel.
    pub channel: bool,
    /// Signal strength, dBm.
    pub signal: Option<i16>,
    /// Time of the last contact.
    pub seen: u64,
    /// Number of messages that wait for the peer.
    pub waiting: usize,
}

impl Peer {
    /// Creates a peer that was not known before.
    pub fn new(place: Endpoint, now: u64) -> Self {
        Self {
            place,
            formats: BTreeSet::new(),
            signal: None,
            seen: now,
            since: now,
            known: false,
            waiting: VecDeque::new(),
            given: BTreeMap::new(),
            order: 0,
            rest: None,
            asked: false,
        }
    }

    /// Marks the peer as known before.
    pub fn returns(&mut self) {
        self.known = true;
    }

    /// Returns true if the peer stayed for this time or was known before.
    pub fn stayed(&self, time: u64) -> bool {
        self.known || self.seen >= self.since + time
    }

    /// Notes an advertisement of the peer, or a connection.
    pub fn near(
        &mut self,
        now: u64,
        place: Endpoint,
        formats: &BTreeSet<Format>,
        signal: Option<i16>,
    ) {
        self.place = place;
        self.formats.extend(formats);
        self.signal = signal.or(self.signal);
        self.seen = now;
    }

    /// Notes a sign of life.
    pub fn heard(&mut self, now: u64) {
        self.seen = now;
    }

    /// Notes the loss of the IP link. The loss counts as a sign of life, as a node that lost a link
    /// soon calls again.
    pub fn parted(&mut self, now: u64) {
        self.formats.remove(&Format::Ip);
        self.seen = now;
    }

    /// Returns the time of the last contact.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the properties for display.
    pub fn shown(&self, id: Id, linked: BTreeSet<Format>) -> PeerReport {
        PeerReport {
            id,
            place: self.place,
            formats: self.formats.clone(),
            linked,
            channel: false,
            signal: self.signal,
            seen: self.seen,
            waiting: self.waiting.len() + self.given.len(),
        }
    }

    /// Returns true if a message waits for the peer.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Queues a message. `scarce`: all peers together use too much memory. Returns true if there
    /// was room, which a peer that reads its messages always has.
    pub fn wait(&mut self, message: PendingMessage, scarce: bool) -> bool {
        let octets = self.octets();
        let room = octets < PIECE || (!scarce && octets + message.octets.weight() <= WAITING);
        if room {
            let before = |it: &PendingMessage| {
                (it.priority, it.sequence) <= (message.priority, message.sequence)
            };
            let at = self.waiting.iter().rposition(before).map_or(0, |it| it + 1);
            self.waiting.insert(at, message);
        }
        room
    }

    /// Queues an own message that exists only here: it replaces the latest relayed messages.
    /// Returns true if there was room.
    pub fn insist(&mut self, message: &PendingMessage) -> bool {
        while !self.wait(message.clone(), false) {
            let passed = |it: &PendingMessage| it.number >= PASSED && !it.kept;
            let Some(last) = self.waiting.iter().rposition(passed) else {
                return false;
            };
            self.waiting.remove(last);
        }
        true
    }

    /// Returns the bytes of waiting messages, and of those in a connection.
    pub fn octets(&self) -> usize {
        let given = self.given.values().map(|(_, it)| it);
        let all = given.chain(&self.waiting);
        all.map(|it| it.octets.weight()).sum()
    }

    /// Returns the next message: stored and unloaded messages precede later ones.
    pub fn next(&self) -> Option<&PendingMessage> {
        let is_due = |it: &&PendingMessage| self.rest.is_none() || it.sequence <= self.rest;
        self.waiting.front().filter(is_due)
    }

    /// Marks the next message as in a connection.
    pub fn gave(&mut self) {
        if let Some(message) = self.waiting.pop_front() {
            self.order += 1;
            self.given.insert(message.number, (self.order, message));
        }
    }

    /// Handles the outcome of a message. Returns its sequence if stored.
    pub fn settled(&mut self, number: u64) -> Option<u64> {
        let (_, message) = self.given.remove(&number)?;
        message.sequence.filter(|_| message.kept)
    }

    /// Handles the end of a connection with messages of unknown outcome: they wait again, before
    /// all others.
    pub fn back(&mut self, numbers: &[u64]) {
        let back = numbers.iter().filter_map(|it| self.given.remove(it));
        let mut back: Vec<(u64, PendingMessage)> = back.collect();
        back.sort_unstable_by_key(|(order, _)| *order);
        for (_, message) in back.into_iter().rev() {
            self.waiting.push_front(message);
        }
    }

    /// Removes unstored messages that waited longer than `age`, and returns their numbers.
    pub fn old(&mut self, now: u64, age: u64) -> Vec<u64> {
        let is_old = |it: &&PendingMessage| !it.kept && now >= it.since + age;
        let old = self.waiting.iter().filter(is_old);
        let old = old.map(|it| it.number).collect();
        self.waiting.retain(|it| !is_old(&it));
        old
    }

    /// Returns all waiting messages and those in a connection, in order.
    pub fn all(self) -> impl Iterator<Item = PendingMessage> {
        let mut given: Vec<_> = self.given.into_values().collect();
        given.sort_unstable_by_key(|(order, _)| *order);
        given.into_iter().map(|(_, it)| it).chain(self.waiting)
    }

    fn of(&mut self, sequence: u64) -> Option<&mut PendingMessage> {
        let given = self.given.values_mut().map(|(_, it)| it);
        let mut all = given.chain(&mut self.waiting);
        all.find(|it| it.sequence == Some(sequence))
    }

    /// Returns the messages in memory that are not stored.
    pub fn unkept(&self) -> impl Iterator<Item = &PendingMessage> {
        let given = self.given.values().map(|(_, it)| it);
        let all = given.chain(&self.waiting);
        all.filter(|it| it.sequence.is_some() && !it.kept)
    }

    /// Returns true if a message is in memory.
    pub fn has(&self, sequence: u64) -> bool {
        let given = self.given.values().map(|(_, it)| it);
        let mut all = given.chain(&self.waiting);
        all.any(|it| it.sequence == Some(sequence))
    }

    /// Records whether a message in memory is also stored.
    pub fn keeps(&mut self, sequence: u64, is: bool) {
        if let Some(message) = self.of(sequence) {
            message.kept = is;
        }
        if self.rest.is_some_and(|rest| is && sequence > rest) {
            self.drop_rest();
        }
    }

    /// Drops the stored messages beyond `rest`, which are loaded later: memory stays bounded.
    fn drop_rest(&mut self) {
        if let Some(rest) = self.rest {
            let comes = |it: &PendingMessage| it.kept && it.sequence > Some(rest);
            self.waiting.retain(|it| !comes(it));
        }
    }

    /// Unloads stored messages beyond one load, when all peers use too much memory.
    pub fn spill(&mut self) {
        // A load in progress assumes the current messages.
        if self.asked {
            return;
        }
        let given = self.given.values().map(|(_, it)| it.octets.weight());
        let mut octets: usize = given.sum();
        let beyond = self.waiting.iter().find(|it| {
            let is = octets >= PIECE && it.kept;
            octets += it.octets.weight();
            is
        });
        if let Some(from) = beyond.and_then(|it| it.sequence) {
            self.rest(from);
            self.drop_rest();
        }
    }

    /// Notes stored messages from this sequence on that are not loaded.
    pub fn rest(&mut self, from: u64) {
        let before = from.saturating_sub(1);
        self.rest = Some(self.rest.map_or(before, |rest| rest.min(before)));
    }

    /// Returns the sequence beyond which to load now, if at all.
    pub fn asks(&mut self) -> Option<u64> {
        let asks = !self.asked && self.octets() < PIECE;
        let rest = self.rest.filter(|_| asks)?;
        self.asked = true;
        Some(rest)
    }

    /// Notes the end of a load, up to this sequence, or of all.
    pub fn was_given(&mut self, upto: Option<u64>) {
        self.asked = false;
        self.rest = upto;
    }
}
