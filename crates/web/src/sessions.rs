//! Sessions of logged-in users: pure, the time is an argument.

use std::collections::HashMap;
use std::time::Duration;

/// Longest time without a request until a session ends.
pub const IDLE: Duration = Duration::from_secs(30 * 60);

/// Longest time from login until a session ends.
pub const ABSOLUTE: Duration = Duration::from_secs(12 * 60 * 60);

/// Hash of a session's cookie; the cookie itself is not stored.
pub type Id = [u8; 32];

#[derive(Clone, Copy)]
struct Session {
    began: Duration,
    used: Duration,
}

impl Session {
    fn lives(&self, now: Duration) -> bool {
        now.saturating_sub(self.used) < IDLE && now.saturating_sub(self.began) < ABSOLUTE
    }
}

/// The open sessions, in memory only: they end with the daemon.
pub struct Sessions {
    open: HashMap<Id, Session>,
    most: usize,
}

impl Sessions {
    /// Allows at most this many sessions.
    pub fn new(most: usize) -> Self {
        Self {
            open: HashMap::new(),
            most: most.max(1),
        }
    }

    /// Opens a session. If the table is full, the longest idle session ends.
    pub fn open(&mut self, id: Id, now: Duration) {
        self.open.retain(|_, session| session.lives(now));
        while self.open.len() >= self.most {
            let Some(rested) = self
                .open
                .iter()
                .min_by_key(|(_, session)| session.used)
                .map(|(id, _)| *id)
            else {
                break;
            };
            self.open.remove(&rested);
        }
        let session = Session {
            began: now,
            used: now,
        };
        self.open.insert(id, session);
    }

    /// Returns true if the session is open, and marks it as used now.
    pub fn touch(&mut self, id: &Id, now: Duration) -> bool {
        let Some(session) = self.open.get_mut(id) else {
            return false;
        };
        if !session.lives(now) {
            self.open.remove(id);
            return false;
        }
        session.used = now;
        true
    }

    /// Ends a session.
    pub fn close(&mut self, id: &Id) {
        self.open.remove(id);
    }

    /// Ends all sessions: the password changed.
    pub fn close_all(&mut self) {
        self.open.clear();
    }

    /// Returns the number of stored sessions.
    pub fn count(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn ends_after_rest() {
        let mut sessions = Sessions::new(4);
        sessions.open([1; 32], Duration::ZERO);
        assert!(sessions.touch(&[1; 32], MINUTE * 29));
        assert!(sessions.touch(&[1; 32], MINUTE * 58), "it was used");
        assert!(!sessions.touch(&[1; 32], MINUTE * 88));
        assert_eq!(sessions.count(), 0, "nothing is kept of it");
    }

    #[test]
    fn ends_after_twelve_hours_however_busy() {
        let mut sessions = Sessions::new(4);
        sessions.open([1; 32], Duration::ZERO);
        for minute in 1..720 {
            assert!(sessions.touch(&[1; 32], MINUTE * minute), "{minute}");
        }
        assert!(!sessions.touch(&[1; 32], ABSOLUTE));
    }

    #[test]
    fn the_one_that_rested_longest_makes_room() {
        let mut sessions = Sessions::new(2);
        sessions.open([1; 32], MINUTE);
        sessions.open([2; 32], MINUTE * 2);
        sessions.touch(&[1; 32], MINUTE * 3);
        sessions.open([3; 32], MINUTE * 4);
        assert_eq!(sessions.count(), 2);
        assert!(!sessions.touch(&[2; 32], MINUTE * 5));
        assert!(sessions.touch(&[1; 32], MINUTE * 5));
    }

    #[test]
    fn bounded() {
        let mut sessions = Sessions::new(32);
        for number in 0_u32..100_000 {
            let mut id = [0; 32];
            id[..4].copy_from_slice(&number.to_be_bytes());
            sessions.open(id, Duration::from_millis(number.into()));
            assert!(sessions.count() <= 32);
        }
    }

    #[test]
    fn closing() {
        let mut sessions = Sessions::new(4);
        sessions.open([1; 32], MINUTE);
        sessions.open([2; 32], MINUTE);
        sessions.close(&[1; 32]);
        assert!(!sessions.touch(&[1; 32], MINUTE) && sessions.touch(&[2; 32], MINUTE));
        sessions.close_all();
        assert!(!sessions.touch(&[2; 32], MINUTE));
    }
}
