//! Table of conversations: its size is bounded, and the shortest conversations are removed first.
//!
//! A flood aims at memory. Each conversation is allocated separately ([`BYTES_PER_CONVERSATION`]
//! with all that leads to it); both indexes hold only its slot, of four bytes.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use kernel::{ConversationKey, Endpoints};

use crate::conversation::{Conversation, ConversationReport, Pressure};
use crate::reading::Millis;

/// Maximum memory of a conversation, in bytes: itself, as allocated; its slot in two indexes, which
/// may be half empty; in the list of removable ones, which may be half outdated; in the list of
/// conversations without another half; and one in [`REPORT_DIVISOR`] in the list of reports. Lists
/// may have twice the room.
pub const BYTES_PER_CONVERSATION: usize = size_of::<Conversation>()
    + 24
    + 2 * size_of::<usize>()
    + 2 * 12
    + 4 * 16
    + 2 * size_of::<PairingCandidate>()
    + 2 * size_of::<ConversationReport>() / REPORT_DIVISOR;
/// Divisor: at most one in this many conversations is reported per second.
pub(crate) const REPORT_DIVISOR: usize = 8;

/// Silence after which a conversation of few packets can be removed, in milliseconds.
const SILENT: Millis = 1_000;
/// Number of entries examined for a removable one.
const TRIES: u32 = 16;

/// Conversation without its other half so far, and the start of the conversation.
pub(crate) type PairingCandidate = (ConversationKey, Millis);

/// Index of a conversation, valid until the conversation is removed.
pub(crate) type Slot = u32;

/// All conversations.
#[derive(Debug)]
pub(crate) struct ConversationTable {
    most: usize,
    slots: Vec<Option<Box<Conversation>>>,
    free: Vec<Slot>,
    by_key: HashTable<Slot>,
    /// The last one that began with these ends.
    by_ends: HashTable<Slot>,
    /// Keyed at random: keys come from the network.
    hash: RandomState,
    /// Candidates for removal, oldest first: short ones, then those of few packets; with their
    /// numbers, as a slot may be in use for another conversation by now.
    short: VecDeque<(Slot, u64)>,
    lesser: VecDeque<(Slot, u64)>,
}

impl ConversationTable {
    /// Creates an empty table for at most `most` conversations.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            slots: Vec::new(),
            free: Vec::new(),
            by_key: HashTable::new(),
            by_ends: HashTable::new(),
            hash: RandomState::new(),
            short: VecDeque::new(),
            lesser: VecDeque::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// Returns the fill level, given the number of lasting conversations.
    pub(crate) fn pressure(&self, lasting: usize) -> Pressure {
        let share = |number: usize| (number * 256 / self.most.max(1)) as u32;
        Pressure {
            all: share(self.len()),
            lasting: share(lasting),
        }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Conversation> {
        self.slots.iter().flatten().map(Box::as_ref)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Conversation> {
        self.slots.iter_mut().flatten().map(Box::as_mut)
    }

    /// Slots from 0 on that may hold one.
    pub(crate) fn slots(&self) -> Slot {
        self.slots.len() as Slot
    }

    pub(crate) fn find(&self, key: &ConversationKey) -> Option<Slot> {
        let hash = self.hash.hash_one(key);
        let found = |slot: &Slot| {
            self.at(*slot)
                .is_some_and(|conversation| conversation.key == *key)
        };
        self.by_key.find(hash, found).copied()
    }

    pub(crate) fn at(&self, slot: Slot) -> Option<&Conversation> {
        self.slots.get(slot as usize)?.as_deref()
    }

    pub(crate) fn at_mut(&mut self, slot: Slot) -> Option<&mut Conversation> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(crate) fn get(&self, key: &ConversationKey) -> Option<&Conversation> {
        self.at(self.find(key)?)
    }

    pub(crate) fn get_mut(&mut self, key: &ConversationKey) -> Option<&mut Conversation> {
        self.at_mut(self.find(key)?)
    }

    /// Returns the latest conversation with these endpoints, at any observation point.
    pub(crate) fn with_ends(&self, ends: &Endpoints) -> Option<&Conversation> {
        let found = |slot: &Slot| {
            self.at(*slot)
                .is_some_and(|conversation| conversation.key.ends() == *ends)
        };
        self.at(*self.by_ends.find(self.hash.hash_one(ends), found)?)
    }

    /// Finds the other half of a conversation, beyond the router.
    pub(crate) fn other_half(&self, conversation: &Conversation) -> Option<&Conversation> {
        let leads = conversation.other_half.and_then(|twin| self.get(&twin));
        let is_led = || {
            let leaves = conversation
                .egress_endpoints
                .filter(|_| conversation.leaders > 0)?;
            self.with_ends(&leaves.reversed())
        };
        let other = leads.or_else(is_led)?;
        (other.key != conversation.key).then_some(other)
    }

    /// Returns true if a silent conversation without a leader may be removed: its other half is
    /// silent as well, or missing.
    pub(crate) fn is_over(&self, key: &ConversationKey, pressure: Pressure, now: Millis) -> bool {
        let Some(conversation) = self.get(key) else {
            return false;
        };
        let twin = conversation.other_half.and_then(|twin| self.get(&twin));
        twin.is_none_or(|twin| twin.leaders > 1 || twin.is_quiet(pressure, now))
    }

    /// Inserts a new conversation. The table must have room, see [`ConversationTable::is_full`].
    pub(crate) fn insert(&mut self, conversation: Conversation) -> Slot {
        let (key, id) = (conversation.key, conversation.id);
        let conversation = Some(Box::new(conversation));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = conversation;
                slot
            }
            None => {
                self.slots.push(conversation);
                (self.slots.len() - 1) as Slot
            }
        };
        let (slots, hash) = (&self.slots, &self.hash);
        let key_of = |slot: &Slot| {
            slots[*slot as usize]
                .as_ref()
                .map(|conversation| conversation.key)
        };
        let by_key = |slot: &Slot| key_of(slot).map_or(0, |key| hash.hash_one(key));
        self.by_key.insert_unique(hash.hash_one(key), slot, by_key);
        let ends = key.ends();
        let hashed = hash.hash_one(ends);
        let same = |other: &Slot| key_of(other).is_some_and(|key| key.ends() == ends);
        match self.by_ends.find_mut(hashed, same) {
            Some(before) => *before = slot,
            None => {
                let by_ends = |slot: &Slot| key_of(slot).map_or(0, |key| hash.hash_one(key.ends()));
                self.by_ends.insert_unique(hashed, slot, by_ends);
            }
        }
        self.short.push_back((slot, id));
        if self.short.len() + self.lesser.len() > 2 * self.slots.len() {
            let slots = &self.slots;
            let lives = |(slot, id): &(Slot, u64)| {
                let conversation = slots[*slot as usize].as_ref();
                conversation.is_some_and(|conversation| conversation.id == *id)
            };
            self.short.retain(lives);
            self.lesser.retain(lives);
        }
        slot
    }

    /// Removes a conversation.
    pub(crate) fn remove(&mut self, key: &ConversationKey) -> Option<Box<Conversation>> {
        let slot = self.find(key)?;
        let own = |other: &Slot| *other == slot;
        for (table, hash) in [
            (&mut self.by_key, self.hash.hash_one(key)),
            (&mut self.by_ends, self.hash.hash_one(key.ends())),
        ] {
            if let Ok(entry) = table.find_entry(hash, own) {
                entry.remove();
            }
        }
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    /// Returns a conversation that may be removed for another: the oldest short conversation,
    /// otherwise the oldest silent conversation that [is evictable](Conversation::is_evictable).
    /// Led conversations stay.
    pub(crate) fn dispensable(&mut self, now: Millis) -> Option<ConversationKey> {
        while let Some(entry) = self.short.pop_front() {
            match self.listed(entry) {
                Some(conversation) if conversation.is_short() => return Some(conversation.key),
                Some(conversation) if conversation.is_evictable() => self.lesser.push_back(entry),
                _ => {}
            }
        }
        for _ in 0..TRIES {
            let entry = self.lesser.pop_front()?;
            match self.listed(entry) {
                Some(conversation) if !conversation.is_evictable() => {}
                Some(conversation) if now.saturating_sub(conversation.last) >= SILENT => {
                    return Some(conversation.key);
                }
                // Perhaps later.
                Some(_) => self.lesser.push_back(entry),
                None => {}
            }
        }
        None
    }

    /// Returns the conversation of a list entry, unless it was removed or another one leads it.
    fn listed(&self, (slot, id): (Slot, u64)) -> Option<&Conversation> {
        self.at(slot)
            .filter(|conversation| conversation.id == id && conversation.leaders == 0)
    }
}
