//! What is kept for those who are away, and for those who are near when it takes long. Where it is
//! kept is not known here: what is to be done comes out, and what came of it is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::peer::{PASSED, Waiting};
use crate::v2::outbox::Priority;
use crate::{Id, Octets};

/// Who was not seen for so long is forgotten, ms.
pub const FORGOTTEN: u64 = 7 * 86_400_000;
/// Those who are away and are known, at most.
pub const AWAY: usize = 64;
/// Where all their places are taken, who was near for less than this is not one of them, ms: anybody can
/// say many ids.
pub const STAYS: u64 = 60_000;
/// A message that is passed on is kept when it has waited for so long, ms: most are there before.
pub const SOON: u64 = 2_000;
/// What may wait for that, octets: more is kept at once.
pub const LATE: usize = 1 << 19;
/// So many are kept at a tick, so that a disk that is slow holds up nothing.
pub const AT_ONCE: usize = 8;

/// What is to be done to what is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// A message is to be kept; then [`Delivery::kept`](super::Delivery::kept).
    Keep(Keep),
    /// Messages for somebody, beyond this place, are to be given; then [`Delivery::given`](super::Delivery::given).
    Load(Id, u64),
    /// Somebody has the message of this place, or it is of no use any more.
    Drop(Id, u64),
    /// Somebody is known no longer, and nothing is kept for it; then [`Delivery::lost`](super::Delivery::lost).
    Forget(Id),
}

/// A message that is to be kept until all of these have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Its place: for each peer messages go in this order.
    pub sequence: u64,
    /// For whom.
    pub peers: Vec<Id>,
    /// The message.
    pub message: Message,
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, where it was said here.
    pub number: Option<u64>,
    /// When it was taken in.
    pub since: u64,
    /// What goes first.
    pub priority: Priority,
    /// The message.
    pub octets: Vec<u8>,
}

impl Message {
    /// As a message that waits is kept.
    pub fn of(waiting: Waiting) -> Self {
        Self {
            number: (waiting.number < PASSED).then_some(waiting.number),
            since: waiting.since,
            priority: waiting.priority,
            octets: waiting.octets.to_vec(),
        }
    }
}

/// Who is away, and what is to be kept soon.
#[derive(Debug)]
pub struct Kept {
    /// When each was seen last.
    away: BTreeMap<Id, u64>,
    /// The last message's place.
    sequence: u64,
    late: VecDeque<Late>,
}

/// A message that is passed on, and is to be kept if it waits for longer.
#[derive(Debug)]
pub struct Late {
    /// Its place.
    pub sequence: u64,
    /// When it was taken in.
    pub since: u64,
    /// The message.
    pub octets: Octets,
    /// For whom it is not in memory.
    pub peers: BTreeSet<Id>,
}

impl Kept {
    /// `known`: who was near before, and when last; `sequence`: the last place of a message.
    pub fn new(known: impl IntoIterator<Item = (Id, u64)>, sequence: u64) -> Self {
        let mut known: Vec<(Id, u64)> = known.into_iter().collect();
        known.sort_unstable_by_key(|(_, seen)| std::cmp::Reverse(*seen));
        Self {
            away: known.into_iter().take(AWAY).collect(),
            sequence,
            late: VecDeque::new(),
        }
    }

    /// The next place.
    pub fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Who is away, and when each was near last.
    pub fn away(&self) -> impl Iterator<Item = (Id, u64)> {
        self.away.iter().map(|(id, seen)| (*id, *seen))
    }

    /// Somebody is near. Gives whether it was known.
    pub fn returns(&mut self, id: Id) -> bool {
        self.away.remove(&id).is_some()
    }

    /// Whether all places of those who are away are taken.
    pub fn is_full(&self) -> bool {
        self.away.len() >= AWAY
    }

    /// Somebody is away.
    pub fn leaves(&mut self, id: Id, seen: u64) {
        self.away.insert(id, seen);
    }

    /// Forgets who is away for longest, where there are too many.
    pub fn forget_longest(&mut self) -> Option<Store> {
        let longest = self.away.iter().min_by_key(|(_, seen)| **seen);
        let longest = longest.filter(|_| self.away.len() > AWAY);
        let longest = longest.map(|(id, _)| *id);
        longest.map(|id| self.forget(id))
    }

    /// Forgets who is away for too long.
    pub fn forget_old(&mut self, now: u64) -> Vec<Store> {
        let gone = |(_, seen): &(&Id, &u64)| now >= **seen + FORGOTTEN;
        let gone: Vec<Id> = self.away.iter().filter(gone).map(|(id, _)| *id).collect();
        gone.into_iter().map(|id| self.forget(id)).collect()
    }

    /// Forgets somebody.
    pub fn forget(&mut self, id: Id) -> Store {
        self.away.remove(&id);
        for late in &mut self.late {
            late.peers.remove(&id);
        }
        Store::Forget(id)
    }

    /// A message is to be kept later.
    pub fn push(&mut self, late: Late) {
        self.late.push_back(late);
    }

    /// A message is not in memory for somebody. Gives whether it is to be kept later.
    pub fn lacks(&mut self, id: Id, sequence: u64) -> bool {
        let late = self.late.iter_mut().find(|it| it.sequence == sequence);
        late.map(|late| late.peers.insert(id)).is_some()
    }

    /// Messages that are to be kept later, and are not in memory for somebody: `takes` says whether one
    /// is from now on.
    pub fn give(&mut self, id: Id, mut takes: impl FnMut(&Late) -> bool) {
        for late in &mut self.late {
            if late.peers.contains(&id) && takes(late) {
                late.peers.remove(&id);
            }
        }
    }

    /// Octets that are to be kept later.
    pub fn octets(&self) -> usize {
        self.late.iter().map(|it| it.octets.weight()).sum()
    }

    /// Whether the first of what is to be kept later has waited for long enough.
    pub fn is_due(&self, now: u64) -> bool {
        let first = self.late.front();
        first.is_some_and(|it| now >= it.since + SOON)
    }

    /// The first of what is to be kept later.
    pub fn pop(&mut self) -> Option<Late> {
        self.late.pop_front()
    }
}
