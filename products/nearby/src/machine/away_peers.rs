//! Stored messages for peers away, and for peers nearby when delivery takes long. The storage is
//! elsewhere: actions go out, and their results come back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::peer::{PASSED, PendingMessage};
use crate::v2::outbox::Priority;
use crate::{Id, SharedBytes};

/// Time after which an unseen peer is forgotten, ms.
pub const FORGOTTEN: u64 = 7 * 86_400_000;
/// Largest number of known peers away.
pub const AWAY: usize = 64;
/// If all those places are taken, a peer needs this time nearby to get one, ms: a device can claim
/// many ids.
pub const STAYS: u64 = 60_000;
/// Wait after which a passed-on message is stored, ms: most are delivered before.
pub const SOON: u64 = 2_000;
/// Largest total of messages in that wait, in bytes: beyond, they are stored at once.
pub const LATE: usize = 1 << 19;
/// Number of messages stored at a tick, so that a slow disk delays nothing else.
pub const AT_ONCE: usize = 8;

/// Action on the stored messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAction {
    /// Store a message; then call [`Delivery::kept`](super::Delivery::kept).
    Keep(StoreRequest),
    /// Load messages beyond this sequence; then [`Delivery::given`](super::Delivery::given).
    Load(Id, u64),
    /// Drop the message of this sequence: delivered, or of no use any more.
    Drop(Id, u64),
    /// Forget a peer and its messages; then [`Delivery::lost`](super::Delivery::lost).
    Forget(Id),
}

/// A message to store until all of these peers have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRequest {
    /// Sequence: each peer's messages go in this order.
    pub sequence: u64,
    /// Recipients.
    pub peers: Vec<Id>,
    /// The message.
    pub message: Message,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of an own message.
    pub number: Option<u64>,
    /// Time of arrival.
    pub since: u64,
    /// Priority.
    pub priority: Priority,
    /// The message.
    pub octets: Vec<u8>,
}

impl Message {
    /// Returns the stored form of a waiting message.
    pub fn of(waiting: PendingMessage) -> Self {
        Self {
            number: (waiting.number < PASSED).then_some(waiting.number),
            since: waiting.since,
            priority: waiting.priority,
            octets: waiting.octets.to_vec(),
        }
    }
}

/// Peers away, and messages to store soon.
#[derive(Debug)]
pub struct AwayPeers {
    /// Time of the last contact with each peer away.
    away: BTreeMap<Id, u64>,
    /// Sequence of the last message.
    sequence: u64,
    late: VecDeque<DelayedStore>,
}

/// A passed-on message that will be stored if it waits longer.
#[derive(Debug)]
pub struct DelayedStore {
    /// Sequence of the message.
    pub sequence: u64,
    /// Time of arrival.
    pub since: u64,
    /// The message.
    pub octets: SharedBytes,
    /// Peers for whom the message is not in memory.
    pub peers: BTreeSet<Id>,
}

impl AwayPeers {
    /// Creates the list. `known`: peers known before, and their last contact; `sequence`: the last
    /// one of a message.
    pub fn new(known: impl IntoIterator<Item = (Id, u64)>, sequence: u64) -> Self {
        let mut known: Vec<(Id, u64)> = known.into_iter().collect();
        known.sort_unstable_by_key(|(_, seen)| std::cmp::Reverse(*seen));
        Self {
            away: known.into_iter().take(AWAY).collect(),
            sequence,
            late: VecDeque::new(),
        }
    }

    /// Returns the next sequence.
    pub fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Returns the peers away, each with the time of its last contact.
    pub fn away(&self) -> impl Iterator<Item = (Id, u64)> {
        self.away.iter().map(|(id, seen)| (*id, *seen))
    }

    /// Notes that a peer is near. Returns true if the peer was known.
    pub fn returns(&mut self, id: Id) -> bool {
        self.away.remove(&id).is_some()
    }

    /// Returns true if all places of peers away are taken.
    pub fn is_full(&self) -> bool {
        self.away.len() >= AWAY
    }

    /// Notes that a peer is away.
    pub fn leaves(&mut self, id: Id, seen: u64) {
        self.away.insert(id, seen);
    }

    /// Forgets the peer away for longest, if there are too many.
    pub fn forget_longest(&mut self) -> Option<StoreAction> {
        let longest = self.away.iter().min_by_key(|(_, seen)| **seen);
        let longest = longest.filter(|_| self.away.len() > AWAY);
        let longest = longest.map(|(id, _)| *id);
        longest.map(|id| self.forget(id))
    }

    /// Forgets peers that are away for too long.
    pub fn forget_old(&mut self, now: u64) -> Vec<StoreAction> {
        let gone = |(_, seen): &(&Id, &u64)| now >= **seen + FORGOTTEN;
        let gone: Vec<Id> = self.away.iter().filter(gone).map(|(id, _)| *id).collect();
        gone.into_iter().map(|id| self.forget(id)).collect()
    }

    /// Forgets a peer.
    pub fn forget(&mut self, id: Id) -> StoreAction {
        self.away.remove(&id);
        for late in &mut self.late {
            late.peers.remove(&id);
        }
        StoreAction::Forget(id)
    }

    /// Schedules the storage of a message.
    pub fn push(&mut self, late: DelayedStore) {
        self.late.push_back(late);
    }

    /// Notes that a message is not in memory for a peer. Returns true if it will be stored later.
    pub fn lacks(&mut self, id: Id, sequence: u64) -> bool {
        let late = self.late.iter_mut().find(|it| it.sequence == sequence);
        late.map(|late| late.peers.insert(id)).is_some()
    }

    /// Offers a peer the messages that will be stored later and are not in memory for it: `takes`
    /// returns true for an accepted message.
    pub fn give(&mut self, id: Id, mut takes: impl FnMut(&DelayedStore) -> bool) {
        for late in &mut self.late {
            if late.peers.contains(&id) && takes(late) {
                late.peers.remove(&id);
            }
        }
    }

    /// Returns the size of the scheduled messages, in bytes.
    pub fn octets(&self) -> usize {
        self.late.iter().map(|it| it.octets.weight()).sum()
    }

    /// Returns true if the first of the messages to store has waited long enough.
    pub fn is_due(&self, now: u64) -> bool {
        let first = self.late.front();
        first.is_some_and(|it| now >= it.since + SOON)
    }

    /// Removes the first scheduled message.
    pub fn pop(&mut self) -> Option<DelayedStore> {
        self.late.pop_front()
    }
}
