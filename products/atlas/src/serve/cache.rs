//! Cache of computed values: bounded by bytes, the least recently used is dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Answers, or figures, of one state of the store.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    /// Bytes.
    most: usize,
    held: usize,
    values: HashMap<Arc<str>, Kept<T>>,
    by_use: BTreeMap<u64, Arc<str>>,
    turn: u64,
    version: i64,
}

#[derive(Debug)]
struct Kept<T> {
    /// Turn of the last use.
    used: u64,
    /// Bytes, with its key.
    weight: usize,
    value: Arc<T>,
}

impl<T> Cache<T> {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            held: 0,
            values: HashMap::new(),
            by_use: BTreeMap::new(),
            turn: 0,
            version: 0,
        }
    }

    /// Returns the value computed at this version of the store.
    pub fn get(&mut self, version: i64, key: &str) -> Option<Arc<T>> {
        self.be_of(version);
        let (name, _) = self.values.get_key_value(key)?;
        let name = Arc::clone(name);
        let kept = self.values.get_mut(key)?;
        self.turn += 1;
        self.by_use.remove(&kept.used);
        self.by_use.insert(self.turn, name);
        kept.used = self.turn;
        Some(Arc::clone(&kept.value))
    }

    /// Stores a value of a given size in bytes, unless it is as large as many others.
    pub fn put(&mut self, version: i64, key: &str, octets: usize, value: Arc<T>) {
        self.be_of(version);
        let weight = octets + 2 * key.len();
        if weight > self.most / 8 {
            return;
        }
        self.forget(key);
        let key: Arc<str> = key.into();
        self.turn += 1;
        self.held += weight;
        self.by_use.insert(self.turn, Arc::clone(&key));
        let used = self.turn;
        self.values.insert(
            key,
            Kept {
                used,
                weight,
                value,
            },
        );
        while self.held > self.most {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                break;
            };
            self.forget(&oldest);
        }
    }

    /// Returns the bytes in the cache.
    pub fn held(&self) -> usize {
        self.held
    }

    fn forget(&mut self, key: &str) {
        if let Some(kept) = self.values.remove(key) {
            self.by_use.remove(&kept.used);
            self.held -= kept.weight;
        }
    }

    fn be_of(&mut self, version: i64) {
        if self.version != version {
            *self = Self {
                version,
                ..Self::new(self.most)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_least_used_goes() {
        let mut cache = Cache::new(8 * 1024);
        for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            cache.put(1, key, 800, Arc::new(key));
        }
        assert!(cache.get(1, "a").is_some());
        cache.put(1, "k", 800, Arc::new("k"));
        assert!(cache.get(1, "a").is_some(), "was used");
        assert!(cache.get(1, "b").is_none(), "was not");
        assert!(cache.held() <= 8 * 1024);
        cache.put(1, "large", 2000, Arc::new("large"));
        assert!(cache.get(1, "large").is_none());
        for _ in 0..100 {
            cache.put(1, "a", 800, Arc::new("a"));
        }
        assert!(cache.get(1, "k").is_some(), "the same again takes no room");
    }

    #[test]
    fn a_new_state_knows_nothing() {
        let mut cache = Cache::new(10_000);
        cache.put(1, "a", 10, Arc::new("a"));
        assert!(cache.get(2, "a").is_none());
        assert!(cache.get(1, "a").is_none());
        assert_eq!(cache.held(), 0);
    }
}
