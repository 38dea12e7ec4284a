//! Frames in transit, in one direction.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::frame::Frame;
use crate::random::Random;

/// Limit of held bytes: 250 ms at 1 Gbit/s.
const MOST: usize = 32 << 20;

/// A queue ordered by time; callers pass the clock.
#[derive(Debug)]
pub(super) struct DelayQueue {
    frames: VecDeque<(Instant, Frame)>,
    octets: usize,
    random: Random,
}

impl DelayQueue {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            frames: VecDeque::new(),
            octets: 0,
            random: Random::new(seed),
        }
    }

    /// Draws if the next frame belongs to the lost `share`.
    pub(super) fn loses(&mut self, share: f64) -> bool {
        // An f64 holds exactly 53 bits.
        let drawn = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        drawn < share
    }

    /// Holds a frame for `delay`, or until earlier frames are gone. Returns false if the queue is
    /// full; the frame is then lost.
    pub(super) fn keep(&mut self, frame: Frame, now: Instant, delay: Duration) -> bool {
        if self.octets + frame.len() > MOST {
            return false;
        }
        self.octets += frame.len();
        self.frames.push_back((now + delay, frame));
        true
    }

    /// Returns the next frame if due; frames never overtake.
    pub(super) fn due(&mut self, now: Instant) -> Option<Frame> {
        let (_, frame) = self.frames.pop_front_if(|(due, _)| *due <= now)?;
        self.octets -= frame.len();
        Some(frame)
    }

    /// Returns the due time of the next frame.
    pub(super) fn next(&self) -> Option<Instant> {
        self.frames.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_frame_is_held_for_its_time_and_no_longer() {
        let begin = Instant::now();
        let mut hold = DelayQueue::new(1);
        assert!(hold.keep(vec![1], begin, 10 * MS));
        assert_eq!(hold.next(), Some(begin + 10 * MS));
        assert_eq!(hold.due(begin + 9 * MS), None);
        assert_eq!(hold.due(begin + 10 * MS), Some(vec![1]));
        assert_eq!((hold.next(), hold.octets), (None, 0));
    }

    #[test]
    fn a_shorter_delay_lets_none_pass_another() {
        let begin = Instant::now();
        let mut hold = DelayQueue::new(1);
        assert!(hold.keep(vec![1], begin, 10 * MS));
        assert!(hold.keep(vec![2], begin + MS, Duration::ZERO));
        assert_eq!(hold.due(begin + 9 * MS), None);
        assert_eq!(hold.due(begin + 10 * MS), Some(vec![1]));
        assert_eq!(hold.due(begin + 10 * MS), Some(vec![2]));
    }

    #[test]
    fn what_has_no_room_is_gone() {
        let now = Instant::now();
        let mut hold = DelayQueue::new(1);
        assert!(hold.keep(vec![0; MOST], now, MS));
        assert!(!hold.keep(vec![0], now, MS));
        assert!(hold.due(now + MS).is_some());
        assert!(hold.keep(vec![0], now, MS));
    }

    #[test]
    fn a_share_is_lost() {
        let mut hold = DelayQueue::new(1);
        let lost = (0..10_000).filter(|_| hold.loses(0.1)).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert!((0..1000).all(|_| !hold.loses(0.0)) && (0..1000).all(|_| hold.loses(1.0)));
    }
}
