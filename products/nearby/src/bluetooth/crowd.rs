//! Who calls while BlueZ (5.66) notifies somebody else hears all that is notified: an acknowledgement of
//! the other's message it would take for one of its own. So nobody is notified for as long as such a one
//! is to be called instead, or makes a channel.

use std::time::{Duration, Instant};

use super::channel::UNHEARD;

/// Nobody is notified for so long at most, and then for as long nobody is in the way.
const HUSH: Duration = UNHEARD;

/// Whether somebody hears what is not for it.
#[derive(Debug, Default)]
pub struct Crowd {
    /// Since when nobody is notified.
    since: Option<Instant>,
    /// When that was over last.
    over: Option<Instant>,
}

impl Crowd {
    /// Whether nobody is to be notified now. `hears`: there is somebody who hears what is not for it.
    pub fn is(&mut self, now: Instant, hears: bool) -> bool {
        match self.since {
            Some(since) if !hears || now >= since + HUSH => {
                (self.since, self.over) = (None, Some(now));
            }
            None if hears && self.over.is_none_or(|it| now >= it + HUSH) => {
                self.since = Some(now);
            }
            _ => {}
        }
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hears_what_is_not_for_it_is_waited_for_but_not_for_ever() {
        let begun = Instant::now();
        let at = |part: u32| begun + HUSH * part / 4;
        let mut crowd = Crowd::default();
        assert!(!crowd.is(at(0), false));
        assert!(crowd.is(at(1), true));
        assert!(crowd.is(at(4), true));
        assert!(!crowd.is(at(5), true), "too long");
        assert!(!crowd.is(at(8), true), "others have as long");
        assert!(crowd.is(at(9), true));
        assert!(!crowd.is(at(10), false), "nobody any more");
        assert!(!crowd.is(at(11), true));
        assert!(crowd.is(at(14), true));
    }
}
