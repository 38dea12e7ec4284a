//! A caller that connects while BlueZ (5.66) notifies another device receives all notifications,
//! and would take the other's acknowledgements for its own. So notifications pause until that
//! caller is called instead or opens a channel.

use std::time::{Duration, Instant};

use super::channel::UNHEARD;

/// Longest pause of notifications, and least time between two pauses.
const HUSH: Duration = UNHEARD;

/// Pause of notifications while a device would receive frames of others.
#[derive(Debug, Default)]
pub struct NotificationPause {
    /// Start of the current pause.
    since: Option<Instant>,
    /// End of the last pause.
    over: Option<Instant>,
}

impl NotificationPause {
    /// Returns true if notifications must pause now. `hears`: a device receives frames of others.
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
        let mut crowd = NotificationPause::default();
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
