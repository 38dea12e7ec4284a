//! Recently given answers.

use std::collections::HashMap;
use std::sync::Arc;

use super::answer::Answer;
use super::limits::Engine;

/// Maximum number of stored answers, however small they are.
const MOST: usize = 1000;

/// Cache of answers of one version of the store, by query; the least recently used are dropped.
#[derive(Debug)]
pub(super) struct Cache {
    /// Limit in bytes.
    room: usize,
    held: usize,
    version: i64,
    /// Counter of lookups.
    now: u64,
    answers: HashMap<(Engine, String), Kept>,
}

#[derive(Debug)]
struct Kept {
    answer: Arc<Answer>,
    weight: usize,
    used: u64,
}

impl Cache {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            held: 0,
            version: 0,
            now: 0,
            answers: HashMap::new(),
        }
    }

    pub(super) fn get(&mut self, version: i64, engine: Engine, query: &str) -> Option<Arc<Answer>> {
        if version != self.version {
            return None;
        }
        self.now += 1;
        let kept = self.answers.get_mut(&(engine, query.to_owned()))?;
        kept.used = self.now;
        Some(kept.answer.clone())
    }

    pub(super) fn put(&mut self, version: i64, engine: Engine, query: &str, answer: &Arc<Answer>) {
        if version != self.version {
            (self.version, self.held) = (version, 0);
            self.answers.clear();
        }
        let weight = answer.weight() + query.len();
        // An answer of most of the room would displace all others.
        if weight > self.room / 4 {
            return;
        }
        self.now += 1;
        let kept = Kept {
            answer: answer.clone(),
            weight,
            used: self.now,
        };
        self.held += weight;
        if let Some(before) = self.answers.insert((engine, query.to_owned()), kept) {
            self.held -= before.weight;
        }
        while self.held > self.room || self.answers.len() > MOST {
            let oldest = self.answers.iter().min_by_key(|(_, kept)| kept.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some(gone) = self.answers.remove(&key) {
                self.held -= gone.weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: usize) -> Arc<Answer> {
        let row = vec![crate::figure::Cell::Whole(1)];
        Arc::new(Answer {
            columns: vec!["a".into()],
            rows: vec![row; rows],
            ..Answer::default()
        })
    }

    #[test]
    fn what_was_not_used_goes_and_another_version_has_none() {
        let weight = answer(100).weight();
        let mut cache = Cache::new(weight * 4 + 100);
        for query in ["a", "b", "c", "d"] {
            cache.put(1, Engine::Sqlite, query, &answer(100));
        }
        assert!(cache.get(1, Engine::Sqlite, "a").is_some());
        assert!(cache.get(1, Engine::Duckdb, "a").is_none());
        cache.put(1, Engine::Sqlite, "e", &answer(100));
        assert!(cache.get(1, Engine::Sqlite, "b").is_none(), "the oldest");
        assert!(cache.get(1, Engine::Sqlite, "a").is_some());
        cache.put(1, Engine::Sqlite, "huge", &answer(1000));
        assert!(cache.get(1, Engine::Sqlite, "huge").is_none());
        assert!(cache.get(2, Engine::Sqlite, "a").is_none());
        cache.put(2, Engine::Sqlite, "z", &answer(1));
        assert_eq!(cache.answers.len(), 1);
        assert_eq!(cache.held, answer(1).weight() + 1);
        for number in 0..2 * MOST {
            cache.put(2, Engine::Sqlite, &number.to_string(), &answer(0));
            assert!(cache.held <= cache.room && cache.answers.len() <= MOST);
        }
    }
}
