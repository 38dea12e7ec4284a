//! One radio: what it has to send, and when its turn is.

use std::collections::VecDeque;

use super::counts::Counts;
use super::queue::{CATEGORIES, Waiting};

/// A slot, ns (17.4.4).
const SLOT: u64 = 9000;
/// The kernel keeps so many frames of a radio that nothing was said of, then gives up all but a
/// quarter (`MAX_QUEUE`, `WARN_QUEUE`).
const KEPT: usize = 100;
const GIVEN_UP_TO: usize = 25;

#[derive(Debug)]
pub(super) struct Radio {
    /// dBm.
    pub power: f64,
    /// Of the last frame that it sent: that is where it is.
    pub frequency: Option<u32>,
    pub queues: [VecDeque<Waiting>; CATEGORIES.len()],
    pub windows: [u32; CATEGORIES.len()],
    /// Slots that it has still to wait.
    pub slots: u64,
    /// Whether somebody is heard, and since when nobody is.
    pub busy: bool,
    pub cleared: u64,
    /// Until when frames that it understood said that the channel is taken.
    pub reserved: u64,
    /// Whether it takes part in an exchange.
    pub engaged: bool,
    pub counts: Counts,
}

impl Radio {
    /// One that has nothing to send yet.
    pub fn new() -> Self {
        Self {
            power: 20.0,
            frequency: None,
            queues: Default::default(),
            windows: CATEGORIES.map(|category| category.window.0),
            slots: 0,
            busy: false,
            cleared: 0,
            reserved: 0,
            engaged: false,
            counts: Counts::default(),
        }
    }

    /// The category whose turn it is.
    pub fn turn(&self) -> Option<usize> {
        let waits = |queue: &VecDeque<Waiting>| queue.iter().any(|frame| !frame.done);
        self.queues.iter().position(waits)
    }

    /// The frame whose turn it is.
    pub fn head(&self) -> Option<&Waiting> {
        self.queues[self.turn()?].iter().find(|frame| !frame.done)
    }

    /// Since when it takes the channel for idle, if it does.
    pub fn idle_since(&self) -> u64 {
        self.cleared.max(self.reserved)
    }

    /// When it sends, if nobody else does before.
    pub fn fires(&self) -> Option<u64> {
        if self.busy || self.engaged {
            return None;
        }
        let frame = self.head()?;
        let idle = self.idle_since() + space(frame);
        Some(frame.since.max(idle + self.slots * SLOT))
    }

    /// Somebody is heard: counts the slots that went by.
    pub fn is_disturbed(&mut self, at: u64) {
        let space = self.head().map_or(0, space);
        let counted = at.saturating_sub(self.idle_since() + space) / SLOT;
        self.slots = self.slots.saturating_sub(counted);
        self.busy = true;
    }

    /// Nobody is heard any more.
    pub fn is_alone(&mut self, at: u64) {
        self.cleared = at;
        self.busy = false;
    }

    /// Forgets the oldest frames where there are as many as the kernel keeps: it has forgotten
    /// them, too.
    pub fn give_up(&mut self) {
        let waiting = self.queues.iter().flatten().filter(|frame| !frame.done);
        let mut cookies: Vec<u64> = waiting.map(|frame| frame.sent.cookie).collect();
        if cookies.len() < KEPT {
            return;
        }
        cookies.sort_unstable();
        let kept = cookies[cookies.len() - (GIVEN_UP_TO - 1)];
        for frame in self.queues.iter_mut().flatten() {
            if frame.sent.cookie < kept && !frame.done {
                frame.done = true;
                self.counts.given_up += 1;
            }
        }
    }
}

/// The interframe space of a frame's category (10.3.2.3.6), ns.
fn space(frame: &Waiting) -> u64 {
    spaces(frame.sent.frequency).0 + CATEGORIES[frame.category()].space * SLOT
}

/// SIFS, and how long to wait for an answer beyond it, ns: a slot, and until its preamble is
/// noticed (10.3.2.11).
pub(super) fn spaces(frequency: u32) -> (u64, u64) {
    let sifs = if frequency < 4000 { 10_000 } else { 16_000 };
    (sifs, SLOT + 20_000)
}
