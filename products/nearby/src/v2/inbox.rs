//! Assembles messages from chunks, requests missing chunks, and delivers messages in the order of
//! their first chunks: small and large ones separately, as qaul sends small ones first.

use std::collections::BTreeMap;

use super::frame::{ASKED, Chunk, Control, First};
use super::{QUEUES, after};
use crate::Id;

/// A longer message is a large one, bytes. qaul has the same bound.
pub const SMALL: usize = 16_000;
/// Time without a chunk until missing ones are requested, ms.
pub const STALL: u64 = 2_000;
/// Number of unsuccessful requests until the message is dropped.
pub const TRIES: u32 = 5;
/// Largest total of unfinished messages, and of those that wait for others, in bytes. A larger
/// message has up to four parts.
pub const KEPT: usize = 5 * 65_536;
/// Largest number of messages in a row that may be lost whole and are requested.
const SKIPPED: u8 = 4;
/// Frames that request missing chunks of one message, at once.
const ASKS: usize = 4;

/// Result of a chunk, or of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxEvent {
    /// A complete message with its claimed sender.
    Message(Id, Vec<u8>),
    /// Flow control for the peer.
    Reply(Control),
    /// A message was lost.
    Lost,
}

/// Messages from one peer, by one connection.
#[derive(Debug)]
pub struct Inbox {
    slots: BTreeMap<u8, Slot>,
    /// Last complete message of each queue.
    whole: BTreeMap<u8, First>,
    /// Queue in which a message began last.
    last: Option<u8>,
    begun: u64,
    larger: Option<Larger>,
}

/// A message that is not given out yet.
#[derive(Debug)]
struct Slot {
    /// The how manieth message it is.
    number: u64,
    first: Option<First>,
    chunks: BTreeMap<u16, Vec<u8>>,
    octets: usize,
    heard: u64,
    tries: u32,
    /// Complete message.
    whole: Option<Vec<u8>>,
}

/// The received parts of a larger message.
#[derive(Debug)]
struct Larger {
    of: u8,
    next: u8,
    octets: Vec<u8>,
}

impl Slot {
    fn new(number: u64, now: u64) -> Self {
        Self {
            number,
            first: None,
            chunks: BTreeMap::new(),
            octets: 0,
            heard: now,
            tries: 0,
            whole: None,
        }
    }

    /// Adds the header of the first chunk: chunks past its end belong to another message.
    fn know(&mut self, first: First) {
        self.first = Some(first);
        self.chunks.retain(|index, _| *index < first.count);
        self.octets = self.chunks.values().map(Vec::len).sum();
    }

    /// Returns true twice: if the message may delay a small one, and a large one.
    fn lanes(&self) -> [bool; 2] {
        match &self.first {
            None => [true, true],
            Some(first) => {
                let large = first.part.is_some() || usize::from(first.size) > SMALL;
                [!large, large]
            }
        }
    }

    /// Returns the numbers of missing chunks, up to the last of the message or the last received.
    fn missing(&self) -> impl Iterator<Item = u16> {
        let heard = self.chunks.last_key_value().map_or(0, |(index, _)| *index);
        let end = self.first.map_or(heard.max(1), |first| first.count);
        (0..end).filter(|index| !self.chunks.contains_key(index))
    }

    /// Returns the bytes, if they match the header.
    fn join(&mut self, first: &First) -> Option<Vec<u8>> {
        let octets: Vec<u8> = std::mem::take(&mut self.chunks)
            .into_values()
            .flatten()
            .collect();
        let good = octets.len() == usize::from(first.size) && crc32fast::hash(&octets) == first.sum;
        good.then_some(octets)
    }
}

impl Inbox {
    /// Creates an empty inbox.
    pub fn new() -> Self {
        Self {
            slots: BTreeMap::new(),
            whole: BTreeMap::new(),
            last: None,
            begun: 0,
            larger: None,
        }
    }

    /// Handles a chunk.
    pub fn chunk(&mut self, now: u64, chunk: &Chunk<'_>) -> Vec<InboxEvent> {
        let mut told = Vec::new();
        let queue = chunk.queue;
        if !(1..=QUEUES).contains(&queue) {
            return told;
        }
        if !self.begins(now, chunk, &mut told) {
            return told;
        }
        let kept: usize = self.slots.values().map(|slot| slot.octets).sum();
        let Some(slot) = self.slots.get_mut(&queue) else {
            return told;
        };
        if slot.whole.is_some() {
            told.push(InboxEvent::Reply(Control::Done(queue)));
            return told;
        }
        let first = chunk.first.or(slot.first);
        let is_last = first.is_some_and(|first| chunk.index + 1 == first.count);
        let is_past = first.is_some_and(|first| chunk.index >= first.count);
        if is_past || kept + chunk.octets.len() > KEPT {
            return told;
        }
        let next = slot
            .chunks
            .last_key_value()
            .map_or(0, |(index, _)| index + 1);
        if let Some(first) = chunk.first {
            slot.know(first);
        }
        slot.heard = now;
        if !slot.chunks.contains_key(&chunk.index) {
            slot.tries = 0;
            slot.octets += chunk.octets.len();
            slot.chunks.insert(chunk.index, chunk.octets.to_vec());
        }
        if !chunk.again && chunk.index > next {
            ask(queue, next..chunk.index, &mut told);
        } else if chunk.again && is_last {
            // A repeated last chunk asks for the outcome.
            ask(queue, slot.missing(), &mut told);
        }
        let first = slot.first;
        if let Some(first) = first.filter(|it| slot.chunks.len() == usize::from(it.count)) {
            slot.whole = slot.join(&first);
            match slot.whole {
                Some(_) => {
                    self.whole.insert(queue, first);
                    told.push(InboxEvent::Reply(Control::Done(queue)));
                }
                None => self.lose(queue, &mut told),
            }
        }
        self.give(&mut told);
        told
    }

    /// Returns true if a chunk belongs to an incomplete message, or begins one.
    fn begins(&mut self, now: u64, chunk: &Chunk<'_>, told: &mut Vec<InboxEvent>) -> bool {
        let Chunk { queue, first, .. } = chunk;
        match self.slots.get(queue) {
            // Another message takes the slot. A repeated one continues.
            Some(slot) => {
                let other = slot.first.zip(*first).filter(|(old, new)| old != new);
                let Some((old, new)) = other.filter(|_| !chunk.again) else {
                    return true;
                };
                let is_cut_anew = old.is_same(&new);
                if is_cut_anew && slot.whole.is_some() {
                    return true;
                }
                self.slots.remove(queue);
                if !is_cut_anew {
                    told.push(InboxEvent::Lost);
                }
            }
            None => {
                let known = self.known(*queue);
                if known.is_some_and(|known| first.is_none_or(|first| first.is_same(known))) {
                    // The peer does not know that the message was complete.
                    if chunk.again || first.is_some() {
                        told.push(InboxEvent::Reply(Control::Done(*queue)));
                    }
                    return false;
                }
                if chunk.again {
                    return false;
                }
            }
        }
        self.begin(now, *queue, told);
        true
    }

    /// Returns the last complete message of a queue, unless another message is due there by now.
    fn known(&self, queue: u8) -> Option<&First> {
        let is_past = self.last.is_some_and(|last| !is_ahead(last, queue));
        self.whole.get(&queue).filter(|_| is_past)
    }

    /// Begins a message, and the missing messages before it.
    fn begin(&mut self, now: u64, queue: u8, told: &mut Vec<InboxEvent>) {
        let last = self.last.unwrap_or((queue + QUEUES - 2) % QUEUES + 1);
        if is_ahead(last, queue) {
            let mut skipped = after(last);
            let few = distance(last, queue) <= SKIPPED + 1;
            while few && skipped != queue {
                if !self.slots.contains_key(&skipped) {
                    self.begun += 1;
                    self.slots.insert(skipped, Slot::new(self.begun, now));
                    ask(skipped, 0..1, told);
                }
                skipped = after(skipped);
            }
            self.last = Some(queue);
        }
        self.begun += 1;
        self.slots.insert(queue, Slot::new(self.begun, now));
    }

    /// Handles a tick: requests missing chunks, and drops messages.
    pub fn tick(&mut self, now: u64) -> Vec<InboxEvent> {
        let mut told = Vec::new();
        let mut lost = Vec::new();
        for (queue, slot) in &mut self.slots {
            if slot.whole.is_some() || now < slot.heard + STALL {
                continue;
            }
            slot.heard = now;
            slot.tries += 1;
            // A message without any chunk may not exist.
            if slot.tries > TRIES || slot.tries > 2 && slot.chunks.is_empty() {
                lost.push(*queue);
            } else {
                ask(*queue, slot.missing(), &mut told);
            }
        }
        for queue in lost {
            self.lose(queue, &mut told);
        }
        self.give(&mut told);
        told
    }

    /// Answers the question of the peer for the outcome of a message.
    pub fn asked(&self, queue: u8) -> Vec<Control> {
        let mut told = Vec::new();
        match self.slots.get(&queue) {
            Some(slot) if slot.whole.is_none() => ask(queue, slot.missing(), &mut told),
            None if self.known(queue).is_none() => return vec![Control::Failed(queue, 0)],
            _ => return vec![Control::Done(queue)],
        }
        let reply = |told| match told {
            InboxEvent::Reply(control) => Some(control),
            _ => None,
        };
        told.into_iter().filter_map(reply).collect()
    }

    /// Handles the end of the connection: returns complete messages that waited for others.
    pub fn end(&mut self) -> Vec<InboxEvent> {
        self.slots.retain(|_, slot| slot.whole.is_some());
        let mut told = Vec::new();
        self.give(&mut told);
        told
    }

    fn lose(&mut self, queue: u8, told: &mut Vec<InboxEvent>) {
        if let Some(slot) = self.slots.remove(&queue) {
            told.push(InboxEvent::Reply(Control::Failed(queue, 0)));
            if !slot.chunks.is_empty() || slot.first.is_some() {
                told.push(InboxEvent::Lost);
            }
        }
    }

    /// Delivers the messages that need not wait for others.
    fn give(&mut self, told: &mut Vec<InboxEvent>) {
        let mut order: Vec<(u64, u8)> = Vec::new();
        order.extend(self.slots.iter().map(|(queue, slot)| (slot.number, *queue)));
        order.sort_unstable();
        let mut waits = [false; 2];
        for (_, queue) in order {
            let Some(slot) = self.slots.get(&queue) else {
                continue;
            };
            let lanes = slot.lanes();
            let is_held = lanes.iter().zip(waits).any(|(lane, waits)| *lane && waits);
            if slot.whole.is_none() || is_held {
                for (lane, waits) in lanes.iter().zip(&mut waits) {
                    *waits |= lane;
                }
                continue;
            }
            let slot = self.slots.remove(&queue);
            if let Some((first, octets)) = slot.and_then(|slot| slot.first.zip(slot.whole)) {
                self.join(&first, octets, told);
            }
        }
    }

    /// Delivers a whole message, and a part as soon as all other parts have arrived.
    fn join(&mut self, first: &First, octets: Vec<u8>, told: &mut Vec<InboxEvent>) {
        let Some(part) = first.part else {
            told.push(InboxEvent::Message(first.from, octets));
            return;
        };
        let before = self.larger.take();
        let mut larger = match before {
            Some(larger) if larger.of == part.of && larger.next == part.index => larger,
            before => {
                told.extend(before.map(|_| InboxEvent::Lost));
                if part.index > 0 {
                    told.push(InboxEvent::Lost);
                    return;
                }
                Larger {
                    of: part.of,
                    next: 0,
                    octets: Vec::new(),
                }
            }
        };
        larger.octets.extend(octets);
        larger.next += 1;
        match larger.next == part.count {
            true => told.push(InboxEvent::Message(first.from, larger.octets)),
            false => self.larger = Some(larger),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the number of queues from one to another.
fn distance(from: u8, to: u8) -> u8 {
    let count = i16::from(QUEUES);
    (i16::from(to) - i16::from(from)).rem_euclid(count) as u8
}

/// Returns true for a queue that comes next, rather than one that was before.
fn is_ahead(last: u8, queue: u8) -> bool {
    (1..=QUEUES / 2).contains(&distance(last, queue))
}

fn ask(queue: u8, missing: impl Iterator<Item = u16>, told: &mut Vec<InboxEvent>) {
    let all: Vec<(u8, u16)> = missing
        .take(ASKED * ASKS)
        .map(|index| (queue, index))
        .collect();
    let asks = all
        .chunks(ASKED)
        .map(|it| InboxEvent::Reply(Control::Missing(it.to_vec())));
    told.extend(asks);
}
