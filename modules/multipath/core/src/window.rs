//! Detects replayed counters: a window that slides with the highest one (after RFC 6479).

/// Bits of a word.
const WORD: u64 = u64::BITS as u64;

/// A window over counters. Taking a counter clears only the words that the window slides over, at
/// most the whole window.
#[derive(Clone)]
pub struct Window {
    /// Ring of words; that of counter `c` is `c / 64` modulo its length. One word more than the
    /// width, as the newest is in use in part.
    words: Box<[u64]>,
    highest: u64,
}

impl Window {
    /// Counters that a usual window looks back.
    pub const WIDTH: u64 = 8192;

    /// Creates a window in which at least `width` counters below the highest may still come, with
    /// an eighth of that in bytes.
    pub fn new(width: u64) -> Self {
        let words = width.div_ceil(WORD).max(1) + 1;
        let words = usize::try_from(words).expect("a window that fits into memory");
        Self {
            words: vec![0; words].into(),
            highest: 0,
        }
    }

    /// Takes a counter, and returns true if it is new: neither taken before nor too old to tell.
    ///
    /// Only for authenticated counters: an attacker could slide the window away.
    #[must_use]
    pub fn take(&mut self, counter: u64) -> bool {
        let ring = self.words.len() as u64;
        let word = counter / WORD;
        let newest = self.highest / WORD;
        if counter > self.highest {
            for passed in 1..=(word - newest).min(ring) {
                self.words[((newest + passed) % ring) as usize] = 0;
            }
            self.highest = counter;
        } else if newest - word >= ring {
            return false;
        }
        let place = &mut self.words[(word % ring) as usize];
        let bit = 1 << (counter % WORD);
        let new = *place & bit == 0;
        *place |= bit;
        new
    }

    /// Returns the highest counter taken, 0 before any.
    pub fn highest(&self) -> u64 {
        self.highest
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::new(Self::WIDTH)
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Window(up to {})", self.highest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_old_is_refused() {
        let mut window = Window::default();
        assert!(window.take(1 << 40));
        assert!(window.take((1 << 40) - Window::WIDTH));
        assert!(!window.take((1 << 40) - Window::WIDTH - 2 * WORD));
        assert!(!window.take(0));
        assert!(window.take(u64::MAX), "as far as it goes");
        assert!(!window.take(u64::MAX));
        assert!(window.take(u64::MAX - Window::WIDTH));
        assert!(!window.take(1 << 40));
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Ahead(u64),
        Back(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0_u64..4).prop_map(Step::Ahead),
            (0_u64..300).prop_map(Step::Ahead),
            (0_u64..400).prop_map(Step::Back),
            (0_u64..3000).prop_map(Step::Ahead),
            any::<u64>().prop_map(Step::Ahead),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        /// Compares with a set of all taken counters: no counter is taken twice, and no new counter
        /// within the width is refused.
        #[test]
        fn as_a_set_has_it(steps in steps(), start in 0_u64..200, width in prop_oneof![Just(1_u64), Just(64), Just(100), Just(256)]) {
            let mut window = Window::new(width);
            let mut taken = HashSet::new();
            let mut highest = 0_u64;
            let mut counter = start;
            for step in steps {
                counter = match step {
                    Step::Ahead(by) => counter.saturating_add(by),
                    Step::Back(by) => counter.saturating_sub(by),
                };
                let new = window.take(counter);
                if taken.contains(&counter) {
                    prop_assert!(!new, "{} twice", counter);
                } else if counter >= highest.saturating_sub(width) {
                    prop_assert!(new, "{} refused, highest {}", counter, highest);
                }
                if new {
                    taken.insert(counter);
                    highest = highest.max(counter);
                }
                prop_assert_eq!(window.highest(), highest);
            }
        }
    }
}
