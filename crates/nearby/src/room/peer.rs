use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Format, Place};
use crate::Id;
use crate::v2::outbox::Priority;

/// What may wait for one peer, octets: a message more is not taken.
const WAITING: usize = 1 << 20;

/// A message that waits for a peer.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which one.
    pub number: u64,
    /// What goes first.
    pub priority: Priority,
    /// The message.
    pub octets: Vec<u8>,
    /// By so many links of a village it may go when it is there.
    pub hops: u8,
    /// Since when.
    pub since: u64,
}

/// Somebody who is near.
#[derive(Debug)]
pub struct Peer {
    place: Place,
    formats: BTreeSet<Format>,
    signal: Option<i16>,
    seen: u64,
    /// What waits for a connection.
    waiting: VecDeque<Waiting>,
    /// What is in one, in order.
    given: BTreeMap<u64, (u64, Waiting)>,
    order: u64,
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
            waiting: VecDeque::new(),
            given: BTreeMap::new(),
            order: 0,
        }
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
            signal: self.signal,
            seen: self.seen,
            waiting: self.waiting.len() + self.given.len(),
        }
    }

    /// Whether something waits for it.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A message is to wait for it. Gives whether there was room.
    pub fn wait(&mut self, message: Waiting) -> bool {
        let all: usize = self.waiting.iter().map(|it| it.octets.len()).sum();
        let room = all + message.octets.len() <= WAITING;
        if room {
            let urgent = message.priority == Priority::Urgent;
            let usual = self
                .waiting
                .iter()
                .position(|it| it.priority > Priority::Urgent);
            let at = usual.filter(|_| urgent).unwrap_or(self.waiting.len());
            self.waiting.insert(at, message);
        }
        room
    }

    /// What is to go next.
    pub fn next(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// That is in a connection now.
    pub fn gave(&mut self) {
        if let Some(message) = self.waiting.pop_front() {
            self.order += 1;
            self.given.insert(message.number, (self.order, message));
        }
    }

    /// Something came of a message.
    pub fn settled(&mut self, number: u64) {
        self.given.remove(&number);
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

    /// Takes away what waits for longer than this, and gives its numbers.
    pub fn old(&mut self, now: u64, age: u64) -> Vec<u64> {
        let is_old = |it: &&Waiting| now >= it.since + age;
        let old = self.waiting.iter().filter(is_old);
        let old = old.map(|it| it.number).collect();
        self.waiting.retain(|it| !is_old(&it));
        old
    }

    /// All that waits, or is in a connection.
    pub fn all(self) -> Vec<u64> {
        let waiting = self.waiting.into_iter().map(|it| it.number);
        waiting.chain(self.given.into_keys()).collect()
    }
}
