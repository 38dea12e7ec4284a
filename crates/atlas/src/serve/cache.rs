//! Answers that were given, for whoever asks the same: bounded by octets, the least used goes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::reply::Reply;

/// Answers of one state of the store.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Octets.
    most: usize,
    held: usize,
    /// With when they were last used.
    replies: HashMap<Arc<str>, (u64, Arc<Reply>)>,
    by_use: BTreeMap<u64, Arc<str>>,
    turn: u64,
    version: i64,
}

impl Cache {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            held: 0,
            replies: HashMap::new(),
            by_use: BTreeMap::new(),
            turn: 0,
            version: 0,
        }
    }

    /// What was answered at this state of the store.
    pub fn get(&mut self, version: i64, key: &str) -> Option<Arc<Reply>> {
        self.be_of(version);
        let (name, _) = self.replies.get_key_value(key)?;
        let name = Arc::clone(name);
        let (used, reply) = self.replies.get_mut(key)?;
        self.turn += 1;
        self.by_use.remove(used);
        self.by_use.insert(self.turn, name);
        *used = self.turn;
        Some(Arc::clone(reply))
    }

    /// Keeps an answer, unless it is as large as many others.
    pub fn put(&mut self, version: i64, key: &str, reply: Arc<Reply>) {
        self.be_of(version);
        let weight = weight(key, &reply);
        if weight > self.most / 8 {
            return;
        }
        self.forget(key);
        let key: Arc<str> = key.into();
        self.turn += 1;
        self.held += weight;
        self.by_use.insert(self.turn, Arc::clone(&key));
        self.replies.insert(key, (self.turn, reply));
        while self.held > self.most {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                break;
            };
            self.forget(&oldest);
        }
    }

    /// Octets in it.
    pub fn held(&self) -> usize {
        self.held
    }

    fn forget(&mut self, key: &str) {
        if let Some((used, reply)) = self.replies.remove(key) {
            self.by_use.remove(&used);
            self.held -= weight(key, &reply);
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

fn weight(key: &str, reply: &Reply) -> usize {
    reply.weight() + 2 * key.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::reply::{Frame, Kept};

    fn reply(length: usize) -> Arc<Reply> {
        // Of digits that repeat seldom enough to be sure of the length.
        let body = vec![b'x'; length];
        let mut reply = Reply::new("text/plain", body, Kept::Minutes, Frame::Public);
        reply.gzip = None;
        Arc::new(reply)
    }

    #[test]
    fn the_least_used_goes() {
        let mut cache = Cache::new(12_000);
        for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            cache.put(1, key, reply(900));
        }
        assert!(cache.get(1, "a").is_some());
        cache.put(1, "k", reply(900));
        assert!(cache.get(1, "a").is_some(), "was used");
        assert!(cache.get(1, "b").is_none(), "was not");
        assert!(cache.held() <= 12_000);
        cache.put(1, "large", reply(2000));
        assert!(cache.get(1, "large").is_none());
        for _ in 0..100 {
            cache.put(1, "a", reply(900));
        }
        assert!(cache.get(1, "k").is_some(), "the same again takes no room");
    }

    #[test]
    fn a_new_state_knows_nothing() {
        let mut cache = Cache::new(10_000);
        cache.put(1, "a", reply(10));
        assert!(cache.get(2, "a").is_none());
        assert!(cache.get(1, "a").is_none());
        assert_eq!(cache.held(), 0);
    }
}
