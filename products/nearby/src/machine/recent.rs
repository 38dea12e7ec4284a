use std::collections::{BTreeMap, VecDeque};

use ring::digest::{SHA256, digest};

/// Time for which a message is remembered, ms: longer than it may wait anywhere, so that no message
/// circulates for ever.
const REMEMBERED: u64 = 30 * 86_400_000;
/// Largest number of remembered messages.
const MOST: usize = 8192;

/// Recent messages, so that no message is delivered twice or circulates.
#[derive(Debug)]
pub struct SeenMessages {
    since: BTreeMap<[u8; 16], u64>,
    order: VecDeque<[u8; 16]>,
}

impl SeenMessages {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self {
            since: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Returns true for a message that was not here before, and remembers the message.
    pub fn is_new(&mut self, now: u64, octets: &[u8]) -> bool {
        let sum = digest(&SHA256, octets);
        self.remember(now, std::array::from_fn(|at| sum.as_ref()[at]))
    }

    /// Does the same as [`Self::is_new`] with the sum of a message.
    pub fn remember(&mut self, now: u64, key: [u8; 16]) -> bool {
        while let Some(oldest) = self.order.front() {
            let old = self
                .since
                .get(oldest)
                .is_none_or(|since| now >= since + REMEMBERED);
            if !old && self.order.len() < MOST {
                break;
            }
            self.since.remove(oldest);
            self.order.pop_front();
        }
        let new = self.since.insert(key, now).is_none();
        if new {
            self.order.push_back(key);
        }
        new
    }

    /// Returns the sums of all messages, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = [u8; 16]> {
        self.order.iter().copied()
    }
}
