//! Which flows are due: those that live are exported once in an active time-out.

/// A wheel of seconds. Flows are told apart by a number of the caller's; one that ended need not be
/// taken out: it comes once more, and the caller, who knows no such flow any more, lets it go.
///
/// Eight bytes a flow for `u64`. Flows spread over the time-out by when they began, so that no
/// burst comes about.
#[derive(Debug)]
pub struct Due<K> {
    slots: Vec<Vec<K>>,
    /// Second up to which was taken; the first call sets it.
    at: Option<u64>,
    len: usize,
    capacity: usize,
}

impl<K> Due<K> {
    /// Flows are due each `active` seconds (60 is usual; at least 1, at most a day). There is room
    /// for `capacity` of them.
    pub fn new(active: u64, capacity: usize) -> Self {
        let slots = active.clamp(1, 86_400) + 1;
        Self {
            slots: (0..slots).map(|_| Vec::new()).collect(),
            at: None,
            len: 0,
            capacity,
        }
    }

    /// This flow began, or was exported and goes on: it is due an active time-out after the last
    /// [`Due::take`]. `false` where there is no room: nothing of it is lost, as its end will tell
    /// all.
    #[must_use]
    pub fn start(&mut self, key: K) -> bool {
        if self.len >= self.capacity {
            return false;
        }
        let slots = self.slots.len() as u64;
        let slot = (self.at.unwrap_or(0) % slots + slots - 1) % slots;
        self.slots[slot as usize].push(key);
        self.len += 1;
        true
    }

    /// The flows that are due now. `now` is milliseconds of a clock that does not jump.
    pub fn take(&mut self, now: u64) -> Vec<K> {
        let now = now / 1000;
        let slots = self.slots.len() as u64;
        let Some(at) = self.at else {
            // Those that began before the first call were put as if it were second 0.
            self.slots.rotate_right((now % slots) as usize);
            self.at = Some(now);
            return Vec::new();
        };
        let mut due = Vec::new();
        for second in (at + 1..=now).take(self.slots.len()) {
            let slot = &mut self.slots[(second % slots) as usize];
            // The allocation goes too: a burst of flows must not hold its memory for ever.
            due.append(&mut std::mem::take(slot));
        }
        self.len -= due.len();
        self.at = Some(at.max(now));
        due
    }

    /// How many are waited for, ended ones too.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_due_after_the_time_out_and_not_again_unless_started() {
        let mut due = Due::new(60, 10);
        assert!(due.start("early"));
        assert!(due.take(1_000_000).is_empty());
        assert!(due.take(1_030_000).is_empty());
        assert!(due.start("late"));
        assert!(due.take(1_059_999).is_empty());
        assert_eq!(due.take(1_060_000), ["early"]);
        assert!(due.start("early"));
        assert_eq!(due.take(1_090_000), ["late"]);
        assert_eq!(due.take(1_120_000), ["early"]);
        assert!(due.take(1_500_000).is_empty() && due.is_empty());
    }

    #[test]
    fn after_a_long_silence_each_comes_once() {
        let mut due = Due::new(5, 100);
        due.take(0);
        for second in 0..50 {
            assert!(due.start(second));
            due.take(0);
        }
        let mut all = due.take(10_000_000);
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
        assert!(due.is_empty());
    }

    #[test]
    fn room_is_bounded_and_a_clock_that_goes_back_gives_nothing() {
        let mut due = Due::new(1, 2);
        due.take(9_000);
        assert!(due.start(1) && due.start(2) && !due.start(3));
        assert!(due.take(3_000).is_empty());
        assert_eq!(due.take(10_000), [1, 2]);
        assert_eq!(due.len(), 0);
    }
}
