use std::collections::VecDeque;

use super::HOPS;
use super::session::RECORD;
use crate::v2::link::{CloseReason, Event};
use crate::{Id, SharedBytes};

/// Bytes of a message, at most.
pub const MESSAGE: usize = 262_144;
/// Interval of pings, ms.
pub const PINGS: u64 = 10_000;
/// Time of silence after which a node is gone, ms.
pub const SILENT: u64 = 30_000;
/// Largest number of messages without an acknowledgement, which bounds the cost of a peer.
const AHEAD: usize = 32;
/// Largest total of them, in bytes, if there is more than one.
const WEIGHT: usize = 2 * MESSAGE;
/// Largest number of waiting acknowledgements: an honest peer sends no more messages.
const ACKNOWLEDGEMENTS: usize = 2 * AHEAD;

/// The first byte of a record.
const PING: u8 = 0;
const FIRST: u8 = 1;
const MORE: u8 = 2;
const TAKEN: u8 = 3;

/// Exchange of messages over one link, with a check of the peer's activity.
#[derive(Debug)]
pub struct MessageStream {
    peer: Id,
    /// The number of the next message.
    number: u32,
    /// Messages that are not wholly written yet.
    waiting: VecDeque<Outgoing>,
    /// Messages that are not acknowledged: the link's numbers, the room's, and bytes.
    under_way: VecDeque<(u32, u64, usize)>,
    taken: VecDeque<u32>,
    unfinished: Option<Unfinished>,
    heard: u64,
    said: u64,
}

#[derive(Debug)]
struct Outgoing {
    number: u32,
    hops: u8,
    octets: SharedBytes,
    /// Number of bytes written.
    written: Option<usize>,
}

#[derive(Debug)]
struct Unfinished {
    number: u32,
    hops: u8,
    size: usize,
    octets: Vec<u8>,
}

impl MessageStream {
    /// Creates the exchange of a link with a node of proven id.
    pub fn new(peer: Id, now: u64) -> Self {
        Self {
            peer,
            number: 0,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            taken: VecDeque::new(),
            unfinished: None,
            heard: now,
            said: now,
        }
    }

    /// Returns the id of the peer.
    pub fn peer(&self) -> Id {
        self.peer
    }

    /// Sends a message that the receiver may pass on by `hops` more links. Returns true if the
    /// message is accepted.
    pub fn send(&mut self, number: u64, hops: u8, octets: impl Into<SharedBytes>) -> bool {
        let octets = octets.into();
        let weight: usize = self.under_way.iter().map(|it| it.2).sum();
        let heavy = !self.under_way.is_empty() && weight + octets.len() > WEIGHT;
        if octets.len() > MESSAGE || self.under_way.len() >= AHEAD || heavy {
            return false;
        }
        self.under_way
            .push_back((self.number, number, octets.len()));
        self.waiting.push_back(Outgoing {
            number: self.number,
            hops: hops.min(HOPS),
            octets,
            written: None,
        });
        self.number = self.number.wrapping_add(1);
        true
    }

    /// Returns the next record.
    pub fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        let record = if !self.taken.is_empty() {
            let mut record = vec![TAKEN];
            let numbers = self.taken.drain(..);
            numbers.for_each(|it| record.extend(it.to_be_bytes()));
            record
        } else if let Some(message) = self.waiting.front_mut() {
            let mut record = Vec::new();
            if message.written.is_none() {
                record.push(FIRST);
                record.extend(message.number.to_be_bytes());
                record.push(message.hops);
                record.extend((message.octets.len() as u32).to_be_bytes());
            } else {
                record.push(MORE);
                record.extend(message.number.to_be_bytes());
            }
            let at = message.written.unwrap_or(0);
            let to = (at + RECORD - record.len()).min(message.octets.len());
            record.extend(&message.octets[at..to]);
            message.written = Some(to);
            if to == message.octets.len() {
                self.waiting.pop_front();
            }
            record
        } else if now >= self.said + PINGS {
            vec![PING]
        } else {
            return None;
        };
        self.said = now;
        Some(record)
    }

    /// Handles a record.
    pub fn heard(&mut self, now: u64, record: &[u8]) -> Vec<Event> {
        self.heard = now;
        match self.read(record) {
            Some(event) => event,
            // The node has the secret but a fault, and later records would be misread.
            None => vec![Event::Close(CloseReason::Noise)],
        }
    }

    fn read(&mut self, record: &[u8]) -> Option<Vec<Event>> {
        match record {
            [FIRST, a, b, c, d, hops, e, f, g, h, octets @ ..] => {
                let size = u32::from_be_bytes([*e, *f, *g, *h]) as usize;
                if self.unfinished.is_some() || size > MESSAGE {
                    return None;
                }
                let unfinished = Unfinished {
                    number: u32::from_be_bytes([*a, *b, *c, *d]),
                    hops: (*hops).min(HOPS),
                    size,
                    octets: Vec::new(),
                };
                self.more(unfinished, octets)
            }
            [MORE, a, b, c, d, octets @ ..] => {
                let number = u32::from_be_bytes([*a, *b, *c, *d]);
                let unfinished = self.unfinished.take_if(|it| it.number == number)?;
                self.more(unfinished, octets)
            }
            [TAKEN, numbers @ ..] => {
                let (numbers, rest) = numbers.as_chunks::<4>();
                if !rest.is_empty() {
                    return None;
                }
                let numbers = numbers.iter().map(|it| u32::from_be_bytes(*it));
                Some(numbers.filter_map(|it| self.acknowledged(it)).collect())
            }
            [FIRST | MORE, ..] | [] => None,
            // A ping; unknown records of newer versions are ignored.
            _ => Some(Vec::new()),
        }
    }

    fn more(&mut self, mut message: Unfinished, octets: &[u8]) -> Option<Vec<Event>> {
        // A record must carry bytes while some are missing.
        let empty = octets.is_empty() && message.size > 0;
        if empty || message.octets.len() + octets.len() > message.size {
            return None;
        }
        message.octets.extend(octets);
        if message.octets.len() < message.size {
            self.unfinished = Some(message);
            return Some(Vec::new());
        }
        if self.taken.len() >= ACKNOWLEDGEMENTS {
            return None;
        }
        self.taken.push_back(message.number);
        Some(vec![Event::Hopped(message.hops, message.octets)])
    }

    fn acknowledged(&mut self, number: u32) -> Option<Event> {
        // An acknowledgement before the last byte is invalid.
        if self.waiting.iter().any(|it| it.number == number) {
            return None;
        }
        let at = self.under_way.iter().position(|it| it.0 == number)?;
        let (_, number, _) = self.under_way.remove(at)?;
        Some(Event::Outcome(number, true))
    }

    /// Handles a tick.
    pub fn tick(&self, now: u64) -> Vec<Event> {
        let silent = now >= self.heard + SILENT;
        let event = silent.then_some(Event::Close(CloseReason::Silent));
        event.into_iter().collect()
    }

    /// Closes the link: returns messages with unknown outcome, in order.
    pub fn end(self) -> Vec<u64> {
        self.under_way.into_iter().map(|it| it.1).collect()
    }
}

#[cfg(test)]
mod tests;
