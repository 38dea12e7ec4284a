//! Index of the messages for each peer, and the choice of those to drop when the queue is full.

use std::collections::{BTreeMap, BTreeSet};

use crate::Id;

/// Largest share of the queue for one peer, as a divisor of the limit.
const SHARE: u64 = 4;
/// Largest number of messages for one peer.
const MOST: usize = 4096;
/// Bytes of a disk that the smallest file takes.
const BLOCK: u64 = 4096;

/// A message that is there.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Number of an own message.
    pub number: Option<u64>,
    /// Time of arrival.
    pub since: u64,
    /// Size of its file, in bytes.
    pub size: u64,
}

/// A message dropped for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedMessage {
    /// Recipient.
    pub id: Id,
    /// Sequence of the message.
    pub sequence: u64,
    /// Number of an own message.
    pub number: Option<u64>,
}

/// Index of the queue.
#[derive(Debug)]
pub struct Index {
    limit: u64,
    peers: BTreeMap<Id, BTreeMap<u64, Entry>>,
    /// Size and number of receivers of each message: a message takes space once.
    shared: BTreeMap<u64, (u64, usize)>,
    total: u64,
}

fn room(size: u64) -> u64 {
    size.div_ceil(BLOCK) * BLOCK
}

impl Index {
    /// Creates an empty index with a limit in bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            peers: BTreeMap::new(),
            shared: BTreeMap::new(),
            total: 0,
        }
    }

    /// Adds a message.
    pub fn add(&mut self, id: Id, sequence: u64, entry: Entry) {
        let all = self.peers.entry(id).or_default();
        if all.insert(sequence, entry).is_some() {
            return;
        }
        let (_, count) = self.shared.entry(sequence).or_insert((entry.size, 0));
        *count += 1;
        if *count == 1 {
            self.total += room(entry.size);
        }
    }

    /// Removes a message. Returns true if it existed.
    pub fn remove(&mut self, id: Id, sequence: u64) -> bool {
        let Some(all) = self.peers.get_mut(&id) else {
            return false;
        };
        let was = all.remove(&sequence).is_some();
        if all.is_empty() {
            self.peers.remove(&id);
        }
        if was && let Some((size, count)) = self.shared.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                self.total -= room(*size);
                self.shared.remove(&sequence);
            }
        }
        was
    }

    /// Returns the total bytes.
    #[cfg(test)]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of messages for a peer.
    pub fn count(&self, id: Id) -> usize {
        self.peers.get(&id).map_or(0, BTreeMap::len)
    }

    /// Returns the largest number of an own message.
    pub fn number(&self) -> u64 {
        let all = self.peers.values().flat_map(BTreeMap::values);
        all.filter_map(|it| it.number).max().unwrap_or(0)
    }

    /// Returns a peer with a file of this message.
    pub fn holder(&self, sequence: u64) -> Option<Id> {
        let mut all = self.peers.iter();
        let holder = all.find(|(_, it)| it.contains_key(&sequence));
        holder.map(|(id, _)| *id)
    }

    /// Returns the messages for a peer beyond a sequence, in order.
    pub fn after(&self, id: Id, place: u64) -> impl Iterator<Item = (u64, u64)> {
        let all = self.peers.get(&id).into_iter();
        let beyond = (std::ops::Bound::Excluded(place), std::ops::Bound::Unbounded);
        all.flat_map(move |it| it.range(beyond))
            .map(|(sequence, entry)| (*sequence, entry.size))
    }

    /// Returns a message, if it exists.
    pub fn get(&self, id: Id, sequence: u64) -> Option<DroppedMessage> {
        let entry = self.peers.get(&id)?.get(&sequence)?;
        Some(lost(id, sequence, entry))
    }

    /// Returns the time of arrival of a message.
    pub fn since(&self, id: Id, sequence: u64) -> u64 {
        let entry = self.peers.get(&id).and_then(|all| all.get(&sequence));
        entry.map_or(0, |it| it.since)
    }

    /// Returns the number of messages.
    pub fn messages(&self) -> usize {
        self.shared.len()
    }

    /// Returns all messages for a peer.
    pub fn of(&self, id: Id) -> Vec<DroppedMessage> {
        let all = self.peers.get(&id).into_iter().flatten();
        all.map(|(sequence, entry)| lost(id, *sequence, entry))
            .collect()
    }

    /// Returns the entries to drop so that a message has room: first passed-on messages, and then,
    /// for an own message, the oldest own ones. For a peer without room for the message, the entry
    /// is the message itself. `None` if the message cannot fit at all.
    pub fn room_for(
        &self,
        peers: &[Id],
        sequence: u64,
        size: u64,
        own: bool,
    ) -> Option<Vec<DroppedMessage>> {
        let share = self.limit / SHARE;
        if room(size) > share {
            return None;
        }
        let mut go = Vec::new();
        let mut gone: BTreeSet<(u64, Id)> = BTreeSet::new();
        for id in peers {
            match self.room_of(*id, size, own) {
                Some(all) => {
                    gone.extend(all.iter().map(|it| (it.sequence, *id)));
                    go.extend(all);
                }
                None => go.push(DroppedMessage {
                    id: *id,
                    sequence,
                    number: None,
                }),
            }
        }
        let mut total = self.total;
        let places: BTreeSet<u64> = gone.iter().map(|(place, _)| *place).collect();
        for place in places {
            let Some((size, count)) = self.shared.get(&place) else {
                continue;
            };
            let less = gone.range((place, Id([0; 8]))..=(place, Id([255; 8])));
            if less.count() == *count {
                total -= room(*size);
            }
        }
        let new = match self.shared.contains_key(&sequence) {
            true => 0,
            false => room(size),
        };
        for owns in [false, true] {
            for (place, (size, _)) in &self.shared {
                if total + new <= self.limit {
                    return Some(go);
                }
                let rest = self
                    .peers
                    .iter()
                    .filter(|(id, _)| !gone.contains(&(*place, **id)));
                let rest: Vec<DroppedMessage> = rest
                    .filter_map(|(id, all)| all.get(place).map(|entry| lost(*id, *place, entry)))
                    .collect();
                if rest.first().is_some_and(|it| it.number.is_some() == owns) {
                    total -= room(*size);
                    go.extend(rest);
                }
            }
            if !own {
                break;
            }
        }
        (total + new <= self.limit).then_some(go)
    }

    /// Returns the entries to drop so that a message fits into a peer's share. `None` if it cannot.
    fn room_of(&self, id: Id, size: u64, own: bool) -> Option<Vec<DroppedMessage>> {
        let share = self.limit / SHARE;
        let Some(all) = self.peers.get(&id) else {
            return Some(Vec::new());
        };
        let mut octets: u64 = all.values().map(|it| room(it.size)).sum();
        let mut count = all.len();
        let passed = all.iter().filter(|(_, it)| it.number.is_none());
        let said = all.iter().filter(|(_, it)| it.number.is_some() && own);
        let mut old = passed.chain(said);
        let mut go = Vec::new();
        while octets + room(size) > share || count >= MOST {
            let (place, entry) = old.next()?;
            octets -= room(entry.size);
            count -= 1;
            go.push(lost(id, *place, entry));
        }
        Some(go)
    }

    /// Returns the entries older than `age`.
    pub fn old(&self, now: u64, age: u64) -> Vec<DroppedMessage> {
        let all = self.peers.iter().flat_map(|(id, all)| {
            let old = all
                .iter()
                .filter(|(_, it)| now >= it.since.saturating_add(age));
            old.map(|(sequence, entry)| lost(*id, *sequence, entry))
        });
        all.collect()
    }
}

fn lost(id: Id, sequence: u64, entry: &Entry) -> DroppedMessage {
    DroppedMessage {
        id,
        sequence,
        number: entry.number,
    }
}
