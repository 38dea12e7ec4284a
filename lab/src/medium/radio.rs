//! Queues and channel access of one radio.

use std::collections::VecDeque;

use super::counts::Counts;
use super::queue::{CATEGORIES, QueuedFrame};

/// Slot time, ns (17.4.4).
const SLOT: u64 = 9000;
/// The kernel keeps this many unreported frames per radio, then drops all but a quarter
/// (`MAX_QUEUE`, `WARN_QUEUE`).
const KEPT: usize = 100;
const GIVEN_UP_TO: usize = 25;

#[derive(Debug)]
pub(super) struct Radio {
    /// Transmit power, dBm.
    pub power: f64,
    /// Frequency of the last frame that the radio sent: the radio's present channel.
    pub frequency: Option<u32>,
    pub queues: [VecDeque<QueuedFrame>; CATEGORIES.len()],
    pub windows: [u32; CATEGORIES.len()],
    /// Backoff slots that remain.
    pub slots: u64,
    /// True while the radio senses a signal; `cleared` is the time at which the last signal ended.
    pub busy: bool,
    pub cleared: u64,
    /// End of the reservation that decoded frames announced (NAV).
    pub reserved: u64,
    /// True while the radio takes part in an exchange.
    pub engaged: bool,
    pub counts: Counts,
}

impl Radio {
    /// Returns a radio with empty queues.
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

    /// Returns the highest-priority category with a frame to send.
    pub fn turn(&self) -> Option<usize> {
        let waits = |queue: &VecDeque<QueuedFrame>| queue.iter().any(|frame| !frame.done);
        self.queues.iter().position(waits)
    }

    /// Returns the next frame to send.
    pub fn head(&self) -> Option<&QueuedFrame> {
        self.queues[self.turn()?].iter().find(|frame| !frame.done)
    }

    /// Returns the time from which the radio takes the channel for idle.
    pub fn idle_since(&self) -> u64 {
        self.cleared.max(self.reserved)
    }

    /// Returns the time at which the radio sends unless another radio sends first.
    pub fn fires(&self) -> Option<u64> {
        if self.busy || self.engaged {
            return None;
        }
        let frame = self.head()?;
        let idle = self.idle_since() + space(frame);
        Some(frame.since.max(idle + self.slots * SLOT))
    }

    /// Marks the channel busy and subtracts the backoff slots that passed.
    pub fn is_disturbed(&mut self, at: u64) {
        let space = self.head().map_or(0, space);
        let counted = at.saturating_sub(self.idle_since() + space) / SLOT;
        self.slots = self.slots.saturating_sub(counted);
        self.busy = true;
    }

    /// Marks the channel idle.
    pub fn is_alone(&mut self, at: u64) {
        self.cleared = at;
        self.busy = false;
    }

    /// Drops the oldest frames once the queues hold as many as the kernel keeps: the kernel drops
    /// the same frames.
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

/// Interframe space of the frame's category (10.3.2.3.6), ns.
fn space(frame: &QueuedFrame) -> u64 {
    spaces(frame.sent.frequency).0 + CATEGORIES[frame.category()].space * SLOT
}

/// Returns SIFS and the further wait for an answer, ns. The wait is a slot plus the detection of a
/// preamble (10.3.2.11).
pub(super) fn spaces(frequency: u32) -> (u64, u64) {
    let sifs = if frequency < 4000 { 10_000 } else { 16_000 };
    (sifs, SLOT + 20_000)
}
