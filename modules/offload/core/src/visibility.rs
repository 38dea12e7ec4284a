//! Detects whether conntrack sees the packets of a connection that weir shows to it.
//!
//! Conntrack may stop seeing packets without a message about the connection: the last rule that
//! needs conntrack is removed, and its hooks with it; a `notrack` rule is added; a rule drops the
//! packets before conntrack. Then no packet renews the entry, and weir must not either. The entry
//! then keeps its end, although weir showed packets.

use crate::time::Millis;

/// Minimum time from reading the entry to a packet that must have changed its end.
const APART: Millis = 3_000;
/// Precision of the remaining time: whole seconds, and less than this after it was read.
const WHOLE: Millis = 1_000;
/// Delay between weir's message and conntrack, and that of conntrack's reply.
const DELAY: Millis = 500;
/// Misses in a row that mean that conntrack does not see the packets: one may be chance, if one
/// packet gave less time than the last.
const MISSED: u8 = 2;
/// Lifetime of an observation: twice the interval at which weir learns time-outs again.
const FRESH: Millis = 120_000;

/// Knowledge of whether conntrack sees the packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Visibility {
    stood: Option<Stood>,
    /// A packet was shown since, and long enough after it.
    shown: bool,
    /// Consecutive readings that found the end unchanged, although packets were shown.
    missed: u8,
    /// The round in which conntrack was last known to see them, and when.
    seen: Option<(u64, Millis)>,
    /// Time at or after which conntrack saw a packet, regardless of later misses.
    last: Millis,
}

/// Conclusion from the entry about the packets that weir showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// A packet changed the end.
    Moved,
    /// A packet must have changed the end, and did not.
    Missed,
    /// No conclusion.
    Open,
}

/// End of the entry at one reading.
#[derive(Clone, Copy, Debug)]
struct Stood {
    /// Earliest and latest end.
    end: [Millis; 2],
    at: Millis,
    /// Rounds are from one end of all proofs to the next one.
    round: u64,
}

impl Visibility {
    /// Starts with packets from before the first install, which conntrack saw: they created the
    /// entry.
    pub(crate) fn begin(&mut self, first: bool, round: u64, now: Millis) {
        self.missed = 0;
        self.shown = false;
        if first {
            self.seen = Some((round, now));
            self.last = now;
        }
    }

    /// Records weir's refresh, which ends the entry at `end`.
    pub(crate) fn told(&mut self, end: Millis, at: Millis, round: u64) {
        self.stand([end, end + DELAY], at, round);
    }

    fn stand(&mut self, end: [Millis; 2], at: Millis, round: u64) {
        self.stood = Some(Stood { end, at, round });
        self.shown = false;
    }

    /// Records a packet shown after `since`.
    pub(crate) fn shown(&mut self, since: Millis) {
        let apart = |stood: Stood| since >= stood.at.saturating_add(APART);
        self.shown |= self.stood.is_some_and(apart);
    }

    /// Handles a reading of the entry, which ends at `end` or less than a whole second later.
    /// `short`: earlier than a packet shown just before would set, by all known timeouts.
    pub(crate) fn looked(
        &mut self,
        end: Millis,
        short: bool,
        at: Millis,
        round: u64,
    ) -> Observation {
        let [first, last] = [end.saturating_sub(DELAY), end + WHOLE];
        let Some(stood) = self.stood else {
            self.stand([first, last], at, round);
            return Observation::Open;
        };
        if first > stood.end[1] || last < stood.end[0] {
            self.missed = 0;
            // Since then: perhaps before the rounds that came after.
            self.seen = self.seen.max(Some((stood.round, stood.at)));
            self.last = self.last.max(stood.at);
            self.stand([first, last], at, round);
            return Observation::Moved;
        }
        if !self.shown && !short {
            return Observation::Open;
        }
        self.seen = None;
        if !self.shown {
            // Only a doubt: the timeouts that packets set may have changed.
            self.missed = self.missed.max(1);
            return Observation::Missed;
        }
        self.missed = self.missed.saturating_add(1);
        // Keep the present end: a packet just after the last reading may have changed it a little.
        self.stand([first, last], at, round);
        Observation::Missed
    }

    /// Returns true if conntrack sees the packets, as far as weir knows.
    pub(crate) fn sure(&self, round: u64, now: Millis) -> bool {
        let fresh = |(seen, at)| seen == round && now.saturating_sub(at) < FRESH;
        self.missed == 0 && self.seen.is_some_and(fresh)
    }

    /// Proofs ended since it was last known to see them: rules may have changed.
    pub(crate) fn changed(&self, round: u64) -> bool {
        self.seen.is_none_or(|(seen, _)| seen != round)
    }

    /// Returns true if conntrack did not see the packets at the last reading.
    pub(crate) fn doubtful(&self) -> bool {
        self.missed > 0
    }

    /// Returns a time at or before which conntrack last saw a packet.
    pub(crate) fn last(&self) -> Millis {
        self.last
    }

    /// Returns true if conntrack does not see the packets.
    pub(crate) fn lost(&self) -> bool {
        self.missed >= MISSED
    }

    /// Returns true if a packet has changed the end of a connection that is the kernel's.
    pub(crate) fn returned(&self, end: Millis) -> bool {
        self.stood
            .is_some_and(|stood| end.abs_diff(stood.end[0]) > APART)
    }
}
