//! Queue of one radio and access category.

use std::collections::VecDeque;

use kernel::Mac;
use kernel::hwsim::{self, NO_ACK, RATES, TransmittedFrame};

use super::Action;

/// Limits of an A-MPDU: bytes (IEEE 802.11-2020, 9.4.2.55.3: exponent 3), frames (those of a block
/// acknowledgement, 9.3.1.8) and time on the air in ns, as in ath9k.
const AGGREGATE_OCTETS: usize = 65_535;
const AGGREGATE_FRAMES: usize = 64;
const AGGREGATE_TIME: u64 = 4_000_000;
/// Delimiter before each frame of an A-MPDU, bytes (9.7.1).
const DELIMITER: usize = 4;

/// An access category. Categories are listed by descending priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Category {
    /// Slots of the interframe space, before the backoff.
    pub space: u64,
    /// Least and greatest contention window, slots.
    pub window: (u32, u32),
}

/// Voice, video, best effort and background: IEEE 802.11-2020, table 9-155.
pub(super) const CATEGORIES: [Category; 4] = [
    Category {
        space: 2,
        window: (3, 7),
    },
    Category {
        space: 2,
        window: (7, 15),
    },
    Category {
        space: 3,
        window: (15, 1023),
    },
    Category {
        space: 7,
        window: (15, 1023),
    },
];
/// Index of voice in `CATEGORIES`.
const VOICE: usize = 0;
/// Index of best effort in `CATEGORIES`.
const BEST_EFFORT: usize = 2;

/// A queued frame.
#[derive(Debug)]
pub(super) struct QueuedFrame {
    pub sent: TransmittedFrame,
    /// Index of the present rate, and the tries with each rate.
    pub step: usize,
    pub tries: [u8; RATES],
    /// Radios that decoded the frame, each with the signal in dBm; `shown` is the rate's index.
    pub heard: Vec<(usize, i32)>,
    pub shown: u32,
    /// True once the sender got the frame's status.
    pub done: bool,
    /// Arrival time, ns.
    pub since: u64,
}

impl QueuedFrame {
    pub fn new(mut sent: TransmittedFrame, since: u64) -> Self {
        refuse_block_ack(&mut sent.frame);
        Self {
            sent,
            step: 0,
            tries: [0; RATES],
            heard: Vec::new(),
            shown: 0,
            done: false,
            since,
        }
    }

    /// Returns the receiver's address.
    pub fn to(&self) -> Mac {
        address(&self.sent.frame, 4)
    }

    /// Returns true if the receiver has to acknowledge the frame.
    pub fn is_acknowledged(&self) -> bool {
        self.sent.frame[4] & 1 == 0 && self.sent.flags & NO_ACK == 0
    }

    /// Returns the present rate.
    pub fn rate(&self) -> &hwsim::Rate {
        &self.sent.rates[self.step]
    }

    /// Returns the frame's bytes on the air.
    pub fn octets(&self) -> usize {
        self.sent.frame.len() + super::rate::CHECK_SUM
    }

    /// Returns the frame's category: data by user priority (10.2.3.2), all other frames as voice.
    pub fn category(&self) -> usize {
        let frame = &self.sent.frame;
        match (frame[0] >> 2 & 3, self.priority()) {
            (2, Some(priority)) => match priority {
                1 | 2 => 3,
                4 | 5 => 1,
                6 | 7 => VOICE,
                _ => BEST_EFFORT,
            },
            (2, None) => BEST_EFFORT,
            _ => VOICE,
        }
    }

    /// Returns the user priority of QoS data. Four addresses make the header longer.
    fn priority(&self) -> Option<u8> {
        let frame = &self.sent.frame;
        let is_qos = frame[0] & 0x8c == 0x88;
        let at = if frame[1] & 3 == 3 { 30 } else { 24 };
        frame.get(at).filter(|_| is_qos).map(|octet| octet & 7)
    }

    /// Counts a try; returns true if the last rate has no tries left.
    pub fn tried(&mut self) -> bool {
        self.tries[self.step] = self.tries[self.step].saturating_add(1);
        if self.tries[self.step] < self.sent.rates[self.step].count.max(1) {
            return false;
        }
        match self.sent.rates.get(self.step + 1) {
            Some(next) if next.index >= 0 => {
                self.step += 1;
                false
            }
            _ => true,
        }
    }

    /// Reports the frame's status to the sender.
    pub fn tell(&mut self, radio: usize, acknowledged: Option<i32>, out: &mut Vec<Action>) {
        self.done = true;
        let mut rates = self.sent.rates;
        for (rate, tries) in rates.iter_mut().zip(self.tries) {
            rate.count = tries;
            if tries == 0 {
                rate.index = -1;
            }
        }
        out.push(Action::Told {
            radio,
            cookie: self.sent.cookie,
            flags: match acknowledged {
                Some(_) => self.sent.flags | hwsim::ACKNOWLEDGED,
                None => self.sent.flags,
            },
            rates,
            signal: acknowledged.unwrap_or(0),
        });
    }
}

/// Returns the address at this offset of a frame.
pub(super) fn address(frame: &[u8], at: usize) -> Mac {
    let octets = frame.get(at..at + 6);
    octets
        .and_then(|octets| octets.try_into().ok())
        .unwrap_or_default()
}

/// Returns the indices of the frames that form one A-MPDU: the next frame and those behind it for
/// the same receiver and category, with the same rate. Voice frames go alone, as in Linux.
pub(super) fn together(
    queue: &VecDeque<QueuedFrame>,
    category: usize,
    rate: &super::rate::Rate,
    aggregate: bool,
) -> Vec<usize> {
    let mut waiting = queue.iter().enumerate().filter(|(_, frame)| !frame.done);
    let Some((at, first)) = waiting.next() else {
        return Vec::new();
    };
    let mut found = vec![at];
    let fits = aggregate && rate.aggregates && category != VOICE;
    if !fits || !first.is_acknowledged() || first.priority().is_none() {
        return found;
    }
    let mut octets = subframe(first);
    for (at, frame) in waiting {
        if found.len() == AGGREGATE_FRAMES {
            break;
        }
        let same = frame.to() == first.to()
            && frame.priority() == first.priority()
            && frame.sent.frequency == first.sent.frequency
            && (frame.rate().index, frame.rate().flags) == (first.rate().index, first.rate().flags);
        let with = octets + subframe(frame);
        if !same || with > AGGREGATE_OCTETS || rate.airtime(with) > AGGREGATE_TIME {
            // Later frames must not overtake this frame.
            break;
        }
        octets = with;
        found.push(at);
    }
    found
}

/// Bytes of a frame in an A-MPDU.
pub(super) fn subframe(frame: &QueuedFrame) -> usize {
    (DELIMITER + frame.octets()).next_multiple_of(4)
}

/// Delivers decoded frames and drops them from the queue, in order for each receiver. A receiver of
/// A-MPDUs puts frames in order (10.25.4); CCMP takes frames out of order for replays.
pub(super) fn release(queue: &mut VecDeque<QueuedFrame>, out: &mut Vec<Action>) {
    let mut held: Vec<Mac> = Vec::new();
    queue.retain_mut(|frame| {
        if !frame.done {
            held.push(frame.to());
            return true;
        }
        if held.contains(&frame.to()) {
            return true;
        }
        if frame
            .tries
            .iter()
            .map(|tries| u32::from(*tries))
            .sum::<u32>()
            > 1
        {
            // Retry bit: CCMP does not protect the bit (12.5.3.3.3).
            frame.sent.frame[1] |= 0x08;
        }
        let bytes = std::mem::take(&mut frame.sent.frame);
        let hearers = std::mem::take(&mut frame.heard);
        if !hearers.is_empty() {
            out.push(Action::Heard {
                hearers,
                frame: bytes,
                rate: frame.shown,
                frequency: frame.sent.frequency,
            });
        }
        false
    });
}

/// Turns a request for a block acknowledgement session into one for a delayed session, which no
/// mac80211 receiver grants. In a session, mac80211_hwsim marks sent frames as part of an A-MPDU
/// but never marks the status (`IEEE80211_TX_STAT_AMPDU`), so rate control learns nothing. This
/// medium aggregates frames by itself. Encrypted requests (protected management frames) stay
/// unchanged.
fn refuse_block_ack(frame: &mut [u8]) {
    const ACTION: u8 = 0xd0;
    const PROTECTED: u8 = 0x40;
    // 9.6.4.2: category, action, token, parameters; the second bit of parameters is the policy.
    let is_request = frame[0] == ACTION && frame[1] & PROTECTED == 0;
    match frame.get_mut(24..28) {
        Some([3, 0, _, parameters]) if is_request => *parameters &= !2,
        _ => {}
    }
}
