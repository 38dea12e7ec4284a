//! What passed of one connection, as visits found it: who was heard, and whether that was answered.

use crate::action::Reading;
use crate::sight::Sight;
use crate::time::Millis;

/// One side says nothing for this time while the other one does: whatever that says, it is not
/// answered.
const UNANSWERED: Millis = 60_000;

/// One side has been heard alone since the other one was.
#[derive(Clone, Copy, Debug)]
struct Alone {
    direction: usize,
    /// Visits that found it so.
    visits: u8,
    /// It sent more than acknowledgements.
    data: bool,
}

/// Whether what one side sends is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Given,
    /// Data went by since the last visit: the answer may be on its way.
    Awaited,
    Missing,
}

/// What conntrack is to be told of one that it has as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) seconds: u32,
    /// As in a renewal.
    pub(crate) mark: Option<bool>,
    /// Nothing moves any more: it is told of the last packet.
    pub(crate) rests: bool,
}

/// The packets that keep an entry alive, as visits found them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trail {
    /// The last visit, and what it found.
    pub(crate) visited: Millis,
    pub(crate) packets: [u64; 2],
    octets: [u64; 2],
    pub(crate) shown: [u32; 2],
    /// The visit at which each direction was last found to have moved.
    pub(crate) heard: [Option<Millis>; 2],
    alone: Option<Alone>,
    /// Conntrack is being asked about a packet that came after this.
    pub(crate) asked: Option<Millis>,
    pub(crate) sight: Sight,
    /// What is told of it once it is known that it did not close without a word.
    pub(crate) pending: Option<Pending>,
    /// Conntrack was asked whether it saw what moved before this rest.
    pub(crate) inquired: bool,
}

impl Trail {
    /// Nothing passed yet.
    pub(crate) fn begin(sight: Sight, now: Millis) -> Self {
        Self {
            visited: now,
            sight,
            ..Self::default()
        }
    }

    /// It may have closed without a word: before it is told this, conntrack is asked.
    pub(crate) fn ask_first(&mut self, seconds: u32, mark: Option<bool>, rests: bool) {
        self.inquired = true;
        self.pending = Some(Pending {
            seconds,
            mark,
            rests,
        });
    }

    /// Takes in who was heard.
    pub(crate) fn hear(
        &mut self,
        active: &[bool; 2],
        readings: &[Reading; 2],
        bare: u64,
        now: Millis,
    ) {
        for (heard, active) in self.heard.iter_mut().zip(active) {
            if *active {
                *heard = Some(now);
            }
        }
        if active[0] && active[1] {
            self.alone = None;
        } else if let Some(direction) = active.iter().position(|active| *active) {
            let packets = readings[direction]
                .packets
                .wrapping_sub(self.packets[direction]);
            let octets = readings[direction]
                .octets
                .wrapping_sub(self.octets[direction]);
            let reading = &readings[direction];
            let shown =
                reading.shown != self.shown[direction] && u64::from(reading.shown_length) > bare;
            let data = shown || octets > packets.saturating_mul(bare);
            let former = self.alone.filter(|alone| alone.direction == direction);
            self.alone = Some(Alone {
                direction,
                visits: former.map_or(0, |alone| alone.visits).saturating_add(1),
                data: data || former.is_some_and(|alone| alone.data),
            });
        }
        self.packets = readings.map(|reading| reading.packets);
        self.octets = readings.map(|reading| reading.octets);
        self.shown = readings.map(|reading| reading.shown);
    }

    /// Whether what one side sends is answered. Of a side that was never heard nothing can be
    /// said: its packets may come by a device that is no port.
    pub(crate) fn answer(&self) -> Answer {
        let Some(alone) = self.alone else {
            return Answer::Given;
        };
        let (Some(last), Some(other)) =
            (self.heard[alone.direction], self.heard[1 - alone.direction])
        else {
            return Answer::Given;
        };
        let long = last.saturating_sub(other) >= UNANSWERED;
        match (alone.data, alone.visits) {
            (true, 2..) => Answer::Missing,
            _ if long => Answer::Missing,
            (true, _) => Answer::Awaited,
            (false, _) => Answer::Given,
        }
    }
}
