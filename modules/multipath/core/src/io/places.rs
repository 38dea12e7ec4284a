//! A shared pool of places that no single user can exhaust.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A limited number of slots. A user may take as many as are left for the others: half of all while
/// it is the only user.
pub struct Places<K> {
    /// Number of places: the maximum, and the current limit.
    most: usize,
    number: AtomicUsize,
    taken: Mutex<Taken<K>>,
}

struct Taken<K> {
    all: usize,
    of: HashMap<K, usize>,
}

/// A taken slot; free again when dropped.
pub struct Place<'a, K: Copy + Eq + Hash> {
    places: &'a Places<K>,
    of: K,
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// Creates a pool with all places free.
    pub fn new(number: usize) -> Self {
        let taken = Taken {
            all: 0,
            of: HashMap::new(),
        };
        Self {
            most: number,
            number: AtomicUsize::new(number),
            taken: Mutex::new(taken),
        }
    }

    /// Takes a slot for this user, who may have at most `most`, if one is left.
    pub fn take(&self, of: K, most: usize) -> Option<Place<'_, K>> {
        let mut taken = self.lock();
        let own = taken.of.get(&of).copied().unwrap_or(0);
        let number = self.number.load(Ordering::Relaxed);
        if own >= number.saturating_sub(taken.all).min(most) {
            return None;
        }
        taken.all += 1;
        taken.of.insert(of, own + 1);
        Some(Place { places: self, of })
    }

    /// Lowers the limit to this number; taken places stay.
    pub fn narrow(&self, to: usize) {
        self.number.store(self.most.min(to), Ordering::Relaxed);
    }

    /// Returns the number of places of a single user that may have no more than `most`.
    pub fn of_one(&self, most: usize) -> usize {
        self.number.load(Ordering::Relaxed).div_ceil(2).min(most)
    }

    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> Drop for Place<'_, K> {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        if let Some(own) = taken.of.get_mut(&self.of) {
            *own -= 1;
            if *own == 0 {
                taken.of.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'a>(places: &'a Places<&'static str>, of: &'static str) -> Vec<Place<'a, &'static str>> {
        std::iter::from_fn(|| places.take(of, usize::MAX)).collect()
    }

    #[test]
    fn nobody_takes_them_all() {
        let places: Places<&'static str> = Places::new(64);
        let one = all(&places, "one");
        assert_eq!(one.len(), 32);
        let other = all(&places, "other");
        assert_eq!(other.len(), 16);
        drop(one);
        assert_eq!(all(&places, "other").len(), 16, "now it may have as many");
        drop(other);
        assert_eq!(all(&places, "one").len(), 32);
        let taken = places.lock();
        assert!(taken.all == 0 && taken.of.is_empty());
    }

    #[test]
    fn where_there_is_one_place_it_is_given() {
        let places = Places::new(1);
        let place = places.take(1, 9);
        assert!(place.is_some() && places.take(2, 9).is_none());
        drop(place);
        assert!(places.take(2, 9).is_some());
    }

    #[test]
    fn who_may_have_few_gets_no_more() {
        let places = Places::new(64);
        assert_eq!([places.of_one(3), places.of_one(99)], [3, 32]);
        let few: Vec<_> = std::iter::from_fn(|| places.take("one", 3)).collect();
        assert_eq!((few.len(), all(&places, "other").len()), (3, 31));
        drop(few);
        places.narrow(20);
        assert_eq!(all(&places, "one").len(), 10);
        places.narrow(99);
        assert_eq!(all(&places, "one").len(), 32, "no more than there are");
    }
}
