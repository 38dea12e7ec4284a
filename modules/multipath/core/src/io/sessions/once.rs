//! Detects replayed handshakes of a router. Pure.

use std::collections::{HashSet, VecDeque};

/// Number of stored handshakes: three days of a router that makes one each minute; at most 200 KiB.
const MOST: usize = 4096;

/// The first bytes of an ephemeral key identify it: a match cannot be forged.
type Short = [u8; 16];

/// See the module.
#[derive(Debug, Default)]
pub struct Once {
    known: HashSet<Short>,
    /// The oldest first.
    order: VecDeque<Short>,
}

impl Once {
    /// Returns true if a remembered handshake had this ephemeral key.
    pub fn has(&self, once: &[u8; 32]) -> bool {
        once.first_chunk::<16>()
            .is_some_and(|short| self.known.contains(short))
    }

    /// Remembers this ephemeral key, and returns true if it is new.
    pub fn take(&mut self, once: [u8; 32]) -> bool {
        let Some(short) = once.first_chunk::<16>().copied() else {
            return false;
        };
        if !self.known.insert(short) {
            return false;
        }
        self.order.push_back(short);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> [u8; 32] {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn each_comes_once_and_the_oldest_is_forgotten() {
        let mut once = Once::default();
        for number in 0..MOST {
            assert!(once.take(key(number)));
        }
        assert!((0..MOST).all(|number| once.has(&key(number))));
        assert!((0..MOST).all(|number| !once.take(key(number))));
        assert!(!once.has(&key(MOST)));
        assert!(once.take(key(MOST)));
        assert!(once.take(key(0)), "it was the oldest");
        assert!(!once.take(key(2)));
        assert_eq!((once.known.len(), once.order.len()), (MOST, MOST));
    }
}
