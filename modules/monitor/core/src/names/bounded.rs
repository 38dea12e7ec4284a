//! Table of bounded size, which removes the oldest entries.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Map with a maximum number of entries. Its hash is keyed at random: keys come from the network.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    most: usize,
    /// Number of insertions; an entry's number is its age.
    next: u64,
    entries: HashMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
}

impl<K: Copy + Eq + Hash, V> Bounded<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            next: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Leaves its age as it is.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// Inserts an entry as the youngest. Returns the entry removed for it, unless the key is equal.
    pub(crate) fn put(&mut self, key: K, value: V) -> Option<V> {
        let age = self.next;
        self.next += 1;
        if let Some((old, _)) = self.entries.insert(key, (age, value)) {
            self.order.remove(&old);
        }
        self.order.insert(age, key);
        if self.entries.len() <= self.most {
            return None;
        }
        let (_, oldest) = self.order.pop_first()?;
        self.entries.remove(&oldest).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (age, value) = self.entries.remove(key)?;
        self.order.remove(&age);
        Some(value)
    }

    /// Returns the oldest entry.
    pub(crate) fn oldest(&self) -> Option<(K, &V)> {
        let (_, key) = self.order.first_key_value()?;
        self.get(key).map(|value| (*key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_oldest() {
        let mut table = Bounded::new(2);
        assert_eq!(table.put(1, 'a'), None);
        assert_eq!(table.put(2, 'b'), None);
        assert_eq!(table.put(1, 'c'), None);
        assert_eq!(table.oldest(), Some((2, &'b')));
        assert_eq!(table.put(3, 'd'), Some('b'));
        assert_eq!(
            (table.get(&1), table.get(&2), table.get(&3)),
            (Some(&'c'), None, Some(&'d'))
        );
        assert_eq!(table.remove(&1), Some('c'));
        assert_eq!(table.remove(&1), None);
        assert_eq!((table.len(), table.order.len()), (1, 1));
        assert_eq!(table.oldest(), Some((3, &'d')));
    }
}
