use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::place::{Format, Place};
use crate::v2::outbox::Priority;
use crate::{Id, Octets};

/// Numbers from here on are those of messages that are passed on.
pub const PASSED: u64 = 1 << 63;
/// What may be there for one peer, octets: a message more is not taken.
const WAITING: usize = 1 << 20;
/// What may be there for all, octets: beyond that each has [`PIECE`], and a message.
pub const ALL: usize = 1 << 20;

/// It is asked for more of what is kept when less than this is there, octets, and given so much.
pub const PIECE: usize = 1 << 16;

/// A message that waits for a peer.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which one.
    pub number: u64,
    /// What goes first.
    pub priority: Priority,
    /// The message.
    pub octets: Octets,
    /// By so many links of a village it may go when it is there.
    pub hops: u8,
    /// Since when.
    pub since: u64,
    /// Its place among all that can be kept.
    pub sequence: Option<u64>,
    /// It is kept, so it waits however long.
    pub kept: bool,
}

/// Somebody who is near.
#[derive(Debug)]
pub struct Peer {
    place: Place,
    formats: BTreeSet<Format>,
    signal: Option<i16>,
    seen: u64,
    /// Since when it is near, and whether it was known before.
    since: u64,
    known: bool,
    /// What waits for a connection.
    waiting: VecDeque<Waiting>,
    /// What is in one, in order.
    given: BTreeMap<u64, (u64, Waiting)>,
    order: u64,
    /// What is kept beyond this place is not here yet.
    rest: Option<u64>,
    /// It was asked for.
    asked: bool,
}

/// What is told of somebody who is near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Who.
    pub id: Id,
    /// Where it was heard last.
    pub place: Place,
    /// What it speaks.
    pub formats: BTreeSet<Format>,
    /// By what there are connections.
    pub linked: BTreeSet<Format>,
    /// Whether there is a channel beside one of them.
    pub channel: bool,
    /// How loud, dBm.
    pub signal: Option<i16>,
    /// When something was heard of it last.
    pub seen: u64,
    /// How many messages wait for it.
    pub waiting: usize,
}

impl Peer {
    /// One that was not known before.
    pub fn new(place: Place, now: u64) -> Self {
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

    /// It was known before.
    pub fn returns(&mut self) {
        self.known = true;
    }

    /// Whether it stayed for so long, or was known before.
    pub fn stayed(&self, time: u64) -> bool {
        self.known || self.seen >= self.since + time
    }

    /// Its advertisement was heard, or it has a connection.
    pub fn near(
        &mut self,
        now: u64,
        place: Place,
        formats: &BTreeSet<Format>,
        signal: Option<i16>,
    ) {
        self.place = place;
        self.formats.extend(formats);
        self.signal = signal.or(self.signal);
        self.seen = now;
    }

    /// Something was heard of it.
    pub fn heard(&mut self, now: u64) {
        self.seen = now;
    }

    /// It is reached by IP no longer. It is waited for as if something had been heard of it now: who lost
    /// a link calls again soon.
    pub fn parted(&mut self, now: u64) {
        self.formats.remove(&Format::Ip);
        self.seen = now;
    }

    /// When something was heard of it last.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What is told of it.
    pub fn shown(&self, id: Id, linked: BTreeSet<Format>) -> Shown {
        Shown {
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

    /// Whether something waits for it.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A message is to wait for it. `scarce`: all together take too much. Gives whether there was room:
    /// one that takes what it is given has always some.
    pub fn wait(&mut self, message: Waiting, scarce: bool) -> bool {
        let octets = self.octets();
        let room = octets < PIECE || (!scarce && octets + message.octets.weight() <= WAITING);
        if room {
            let before =
                |it: &Waiting| (it.priority, it.sequence) <= (message.priority, message.sequence);
            let at = self.waiting.iter().rposition(before).map_or(0, |it| it + 1);
            self.waiting.insert(at, message);
        }
        room
    }

    /// What is said here is to wait, and is kept nowhere else: the latest of what is only passed on gives
    /// way to it. Gives whether there was room.
    pub fn insist(&mut self, message: &Waiting) -> bool {
        while !self.wait(message.clone(), false) {
            let passed = |it: &Waiting| it.number >= PASSED && !it.kept;
            let Some(last) = self.waiting.iter().rposition(passed) else {
                return false;
            };
            self.waiting.remove(last);
        }
        true
    }

    /// Octets that wait, or are in a connection.
    pub fn octets(&self) -> usize {
        let given = self.given.values().map(|(_, it)| it);
        let all = given.chain(&self.waiting);
        all.map(|it| it.octets.weight()).sum()
    }

    /// What is to go next: what is kept and not here yet goes before what came later.
    pub fn next(&self) -> Option<&Waiting> {
        let is_due = |it: &&Waiting| self.rest.is_none() || it.sequence <= self.rest;
        self.waiting.front().filter(is_due)
    }

    /// That is in a connection now.
    pub fn gave(&mut self) {
        if let Some(message) = self.waiting.pop_front() {
            self.order += 1;
            self.given.insert(message.number, (self.order, message));
        }
    }

    /// Something came of a message. Gives its place, where it is kept.
    pub fn settled(&mut self, number: u64) -> Option<u64> {
        let (_, message) = self.given.remove(&number)?;
        message.sequence.filter(|_| message.kept)
    }

    /// A connection ended, and nothing is known of these: they wait again, before all others.
    pub fn back(&mut self, numbers: &[u64]) {
        let back = numbers.iter().filter_map(|it| self.given.remove(it));
        let mut back: Vec<(u64, Waiting)> = back.collect();
        back.sort_unstable_by_key(|(order, _)| *order);
        for (_, message) in back.into_iter().rev() {
            self.waiting.push_front(message);
        }
    }

    /// Takes away what waits for longer than this and is not kept, and gives its numbers.
    pub fn old(&mut self, now: u64, age: u64) -> Vec<u64> {
        let is_old = |it: &&Waiting| !it.kept && now >= it.since + age;
        let old = self.waiting.iter().filter(is_old);
        let old = old.map(|it| it.number).collect();
        self.waiting.retain(|it| !is_old(&it));
        old
    }

    /// All that waits, or is in a connection, in order.
    pub fn all(self) -> impl Iterator<Item = Waiting> {
        let mut given: Vec<_> = self.given.into_values().collect();
        given.sort_unstable_by_key(|(order, _)| *order);
        given.into_iter().map(|(_, it)| it).chain(self.waiting)
    }

    fn of(&mut self, sequence: u64) -> Option<&mut Waiting> {
        let given = self.given.values_mut().map(|(_, it)| it);
        let mut all = given.chain(&mut self.waiting);
        all.find(|it| it.sequence == Some(sequence))
    }

    /// What is here and is not kept.
    pub fn unkept(&self) -> impl Iterator<Item = &Waiting> {
        let given = self.given.values().map(|(_, it)| it);
        let all = given.chain(&self.waiting);
        all.filter(|it| it.sequence.is_some() && !it.kept)
    }

    /// Whether a message is here.
    pub fn has(&self, sequence: u64) -> bool {
        let given = self.given.values().map(|(_, it)| it);
        let mut all = given.chain(&self.waiting);
        all.any(|it| it.sequence == Some(sequence))
    }

    /// A message that is here is kept, or is no longer.
    pub fn keeps(&mut self, sequence: u64, is: bool) {
        if let Some(message) = self.of(sequence) {
            message.kept = is;
        }
        if self.rest.is_some_and(|rest| is && sequence > rest) {
            self.drop_rest();
        }
    }

    /// What is kept beyond what is here comes again in its turn: so what is here is bounded.
    fn drop_rest(&mut self) {
        if let Some(rest) = self.rest {
            let comes = |it: &Waiting| it.kept && it.sequence > Some(rest);
            self.waiting.retain(|it| !comes(it));
        }
    }

    /// All together take too much: of what is kept no more than a piece stays here.
    pub fn spill(&mut self) {
        // What was asked for fits to what is here now.
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

    /// Something is kept for it, from this place on, that is not here.
    pub fn rest(&mut self, from: u64) {
        let before = from.saturating_sub(1);
        self.rest = Some(self.rest.map_or(before, |rest| rest.min(before)));
    }

    /// Beyond which place it is to be given what is kept, if now.
    pub fn asks(&mut self) -> Option<u64> {
        let asks = !self.asked && self.octets() < PIECE;
        let rest = self.rest.filter(|_| asks)?;
        self.asked = true;
        Some(rest)
    }

    /// It is given what is kept, up to this place, or all.
    pub fn was_given(&mut self, upto: Option<u64>) {
        self.asked = false;
        self.rest = upto;
    }
}
