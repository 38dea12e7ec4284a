//! Packets of one connection, as visits found them: the active sides, and whether they got answers.

use crate::action::Reading;
use crate::time::Millis;
use crate::visibility::Visibility;

/// Time of silence on one side while the other sends, after which packets count as not answered.
const UNANSWERED: Millis = 60_000;

/// State while packets come from one side only.
#[derive(Clone, Copy, Debug)]
struct Alone {
    direction: usize,
    /// Visits that found it so.
    visits: u8,
    /// True if the side sent more than acknowledgements.
    data: bool,
}

/// State of the answer to the packets of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Given,
    /// Data went by since the last visit: the answer may be on its way.
    Awaited,
    Missing,
}

/// Refresh for conntrack, pending until conntrack confirms that the entry is unchanged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) seconds: u32,
    /// Mark as in a renewal.
    pub(crate) mark: Option<bool>,
    /// True if the flow is idle: the refresh is for the last packet.
    pub(crate) rests: bool,
}

/// The packets that keep an entry alive, as visits found them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Time of the last visit.
    pub(crate) visited: Millis,
    pub(crate) packets: [u64; 2],
    octets: [u64; 2],
    pub(crate) shown: [u32; 2],
    /// Last visit that found traffic, per direction.
    pub(crate) heard: [Option<Millis>; 2],
    alone: Option<Alone>,
    /// Time of a pending query to conntrack about a later packet.
    pub(crate) asked: Option<Millis>,
    pub(crate) sight: Visibility,
    /// Refresh to send once the connection is known not to have closed silently.
    pub(crate) pending: Option<Pending>,
    /// Conntrack was queried about the traffic before this idle period.
    pub(crate) inquired: bool,
}

impl Activity {
    /// Starts without packets.
    pub(crate) fn begin(sight: Visibility, now: Millis) -> Self {
        Self {
            visited: now,
            sight,
            ..Self::default()
        }
    }

    /// Defers a refresh until conntrack answers: the connection may have closed silently.
    pub(crate) fn ask_first(&mut self, seconds: u32, mark: Option<bool>, rests: bool) {
        self.inquired = true;
        self.pending = Some(Pending {
            seconds,
            mark,
            rests,
        });
    }

    /// Records which sides sent packets.
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
                .bytes
                .wrapping_sub(self.octets[direction]);
            let reading = &readings[direction];
            let shown =
                reading.trials != self.shown[direction] && u64::from(reading.shown_length) > bare;
            let data = shown || octets > packets.saturating_mul(bare);
            let former = self.alone.filter(|alone| alone.direction == direction);
            self.alone = Some(Alone {
                direction,
                visits: former.map_or(0, |alone| alone.visits).saturating_add(1),
                data: data || former.is_some_and(|alone| alone.data),
            });
        }
        self.packets = readings.map(|reading| reading.packets);
        self.octets = readings.map(|reading| reading.bytes);
        self.shown = readings.map(|reading| reading.trials);
    }

    /// Returns whether the packets of one side get answers. Unknown for a silent side: its packets
    /// may arrive at a device that is not a port.
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
