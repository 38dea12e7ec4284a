//! Time-outs that a connection's entry would have with the kernel alone.
//!
//! Conntrack gives an entry a new time-out with each packet that it sees. Conntrack sees few
//! packets of a connection that weir forwards, which may leave a shorter time-out: within a
//! transfer data are not acknowledged, and the acknowledgement bypasses conntrack
//! (net/netfilter/nf_conntrack_proto_tcp.c, `IP_CT_TCP_FLAG_DATA_UNACKNOWLEDGED`). So weir learns
//! the time-out of packets that conntrack saw, and applies it to the others.

use kernel::ConnectionId;

use crate::action::{Action, Reading};
use crate::activity::{Activity, Answer};
use crate::settings::Timeouts;
use crate::time::Millis;
use crate::visibility::{Observation, Visibility};

/// Learned time-outs are learned again after this time: sysctls and policies may change silently.
const LEARNED: Millis = 60_000;
/// Maximum time from the last visit without traffic to the one that found a packet: within it, the
/// packet is less than a second old.
const RECENT: Millis = 700;
/// A segment without data: IP and TCP headers with all the options that an acknowledgement may
/// have.
const BARE: [u64; 2] = [80, 100];

/// Refresh to send to conntrack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Renewal {
    /// New time-out.
    pub(crate) seconds: u32,
    /// TCP: true if data are unacknowledged, as far as weir can see.
    pub(crate) unacknowledged: Option<bool>,
}

impl Renewal {
    /// Makes the action that sends this renewal for a connection.
    pub(crate) fn of(self, id: ConnectionId) -> Action {
        Action::Refresh {
            id,
            seconds: self.seconds,
            unacknowledged: self.unacknowledged,
        }
    }
}

/// Learned facts about the lifetime of one entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifetime {
    /// Time-out of the entry if nothing happens: earliest, latest.
    expires: Option<[Millis; 2]>,
    /// Seconds that conntrack gives with each packet, where all is acknowledged.
    given: Option<u32>,
    /// Seconds that conntrack grants for unacknowledged data, if observed.
    given_unacknowledged: Option<u32>,
    learned: Millis,
    /// Time of the last refresh.
    pub(crate) renewed: Option<Millis>,
    /// True if no message reports a change of the entry.
    owed: bool,
    /// True if no message reports its changes.
    pub(crate) unheard: bool,
    /// True if weir watches the connection for a packet that conntrack saw.
    pub(crate) watched: bool,
    /// Packets of an installed connection: most of a flood never are, and must take little room.
    trail: Option<Box<Activity>>,
}

impl Lifetime {
    /// Starts counting packets from zero.
    pub(crate) fn begin(&mut self, now: Millis, round: u64) {
        let mut sight = self
            .trail
            .as_ref()
            .map_or_else(Visibility::default, |trail| trail.sight);
        sight.begin(self.trail.is_none(), round, now);
        *self = Self {
            expires: self.expires,
            given: self.given,
            given_unacknowledged: self.given_unacknowledged,
            learned: self.learned,
            renewed: self.renewed,
            unheard: self.unheard,
            trail: Some(Box::new(Activity::begin(sight, now))),
            ..Self::default()
        };
    }

    /// Takes the remaining time from a message.
    pub(crate) fn told(&mut self, seconds: u32, now: Millis) {
        self.expires = Some([now.saturating_add(Millis::from(seconds) * 1_000); 2]);
    }

    /// Records the timeout that a packet seen by conntrack set.
    pub(crate) fn learn(&mut self, seconds: u32, now: Millis) {
        self.learned = now;
        self.given = Some(seconds);
    }

    /// Returns the shortest known timeout.
    pub(crate) fn shortest(&self) -> Option<u32> {
        self.given
            .into_iter()
            .chain(self.given_unacknowledged)
            .min()
    }

    /// Returns true if the time-out has to be learned again.
    pub(crate) fn unsure(&self, now: Millis) -> bool {
        self.given.is_none() || now.saturating_sub(self.learned) >= LEARNED
    }

    /// Returns true if a refresh for forwarded packets is due, or may be.
    pub(crate) fn owes(&self, readings: &[Reading; 2]) -> bool {
        let moved = |trail: &Activity| (0..2).any(|d| readings[d].packets != trail.packets[d]);
        self.owed || self.trail.as_deref().is_some_and(moved)
    }

    /// Returns true if conntrack does not see the packets that weir shows to it.
    pub(crate) fn lost(&self) -> bool {
        self.trail.as_ref().is_some_and(|trail| trail.sight.lost())
    }

    /// Makes the last refresh of a connection whose packets conntrack does not see.
    pub(crate) fn last_word(&mut self, round: u64, now: Millis) -> Option<Renewal> {
        let trail = self.trail.take()?;
        let renewal = self.as_last_seen(&trail, now);
        self.keep(trail, renewal, round, now);
        renewal
    }

    /// Makes the refresh to the timeout of the last packet that conntrack saw. The entry may have
    /// less, as data were unacknowledged then.
    fn as_last_seen(&mut self, trail: &Activity, now: Millis) -> Option<Renewal> {
        let end = trail.sight.last() + Millis::from(self.given?) * 1_000;
        let more = self.expires.is_some_and(|[_, latest]| latest < end);
        if !more || end <= now || trail.answer() == Answer::Missing {
            return None;
        }
        Some(self.renew(((end - now) / 1_000).max(1) as u32, None, now))
    }

    /// Returns true if the remaining time shows that conntrack saw a packet again.
    pub(crate) fn returned(&self, seconds: u32, now: Millis) -> bool {
        let end = now.saturating_add(Millis::from(seconds) * 1_000);
        let trail = self.trail.as_ref();
        trail.is_some_and(|trail| trail.sight.returned(end))
    }

    /// Seconds that a packet gives where data are not acknowledged. Of TCP.
    fn short(&self, timeouts: Option<&Timeouts>) -> Option<u32> {
        let known = self.given_unacknowledged;
        timeouts.map(|timeouts| known.unwrap_or(timeouts.tcp_unanswered()))
    }

    /// Returns the minimum timeout that a packet may leave the entry with.
    fn least(&self, timeouts: Option<&Timeouts>) -> u32 {
        let short = self.short(timeouts).unwrap_or(u32::MAX);
        short.min(self.given.unwrap_or(u32::MAX))
    }

    /// Returns true if the time-out that conntrack gives is unknown.
    pub(crate) fn unknown(&self) -> bool {
        self.given.is_none()
    }

    /// Asks conntrack, which saw a packet after `checked`. Returns false if weir has sent a refresh
    /// since; also for one at the time of `checked`, unless the packet is known to be later.
    pub(crate) fn ask(&mut self, checked: Millis, later: bool) -> bool {
        let told = |renewed| renewed > checked || renewed == checked && !later;
        if self.renewed.is_some_and(told) {
            return false;
        }
        let trail = self.trail.get_or_insert_default();
        trail.asked = Some(checked);
        trail.sight.shown(checked);
        true
    }

    /// Takes conntrack's answer. Returns true if weir learned a time-out. `by_sysctl`: no entry has
    /// time-outs of its own, so one packet's time-out determines those of the others.
    pub(crate) fn answered(
        &mut self,
        left: u32,
        unacknowledged: bool,
        (timeouts, by_sysctl): (Option<&Timeouts>, bool),
        round: u64,
        now: Millis,
    ) -> bool {
        self.told(left, now);
        let end = now.saturating_add(Millis::from(left) * 1_000);
        let least = self
            .given
            .map_or(0, |given| given.min(self.least(timeouts)));
        let trail = self.trail.get_or_insert_default();
        let asked = trail.asked.take();
        // Both times are whole seconds.
        let short = |checked| end + 2_000 < checked + Millis::from(least) * 1_000;
        // If conntrack did not see the packet, the end of the entry means nothing.
        let sure = trail.sight.sure(round, now);
        let seen = match trail
            .sight
            .looked(end, asked.is_some_and(short), now, round)
        {
            Observation::Moved => true,
            Observation::Missed => false,
            Observation::Open => sure,
        };
        let recent = |checked| now.saturating_sub(checked) <= RECENT;
        if !asked.is_some_and(recent) || !seen {
            return false;
        }
        // Whole seconds, of which less than one has passed.
        let seconds = left.saturating_add(1);
        if unacknowledged {
            self.given_unacknowledged = Some(seconds);
            // Learned anyway, as the sysctls may have been changed after they were read.
            let as_told = |t: &&Timeouts| by_sysctl && t.tcp_unanswered().abs_diff(seconds) <= 1;
            let established = timeouts.filter(as_told).map(|t| t.tcp_established);
            self.given = self.given.or(established);
            return false;
        }
        let clear = timeouts.is_none_or(|timeouts| !timeouts.ambiguous(seconds));
        if clear {
            // Whole seconds leave an uncertainty of one second.
            let same = self.given.filter(|given| given.abs_diff(seconds) <= 1);
            self.learn(same.unwrap_or(seconds), now);
        }
        clear
    }

    /// Handles an unchanged entry of conntrack: makes the pending refresh now, not with the next
    /// visit, as the connection may have closed by then.
    pub(crate) fn confirmed(&mut self, round: u64, now: Millis) -> Option<Renewal> {
        let mut trail = self.trail.take()?;
        let renewal = trail.pending.take().and_then(|told| match told.rests {
            true => self.rest(&trail, told.seconds, told.mark, now),
            false => Some(self.renew(told.seconds, told.mark, now)),
        });
        self.keep(trail, renewal, round, now);
        renewal
    }

    /// Stores the trail, and the end of the entry that follows from a refresh.
    fn keep(&mut self, mut trail: Box<Activity>, told: Option<Renewal>, round: u64, now: Millis) {
        if let Some(told) = told {
            let end = now.saturating_add(Millis::from(told.seconds) * 1_000);
            trail.sight.told(end, now, round);
        }
        self.trail = Some(trail);
    }

    /// Examines the traffic since the last visit. `timeouts` of TCP.
    pub(crate) fn visit(
        &mut self,
        readings: &[Reading; 2],
        timeouts: Option<&Timeouts>,
        bare: u64,
        round: u64,
        now: Millis,
    ) -> Visit {
        let mut trail = self.trail.take().unwrap_or_default();
        let visit = self.follow(&mut trail, readings, (timeouts, bare), round, now);
        self.keep(trail, visit.renewal, round, now);
        visit
    }

    fn follow(
        &mut self,
        trail: &mut Activity,
        readings: &[Reading; 2],
        (timeouts, bare): (Option<&Timeouts>, u64),
        round: u64,
        now: Millis,
    ) -> Visit {
        let mut visit = Visit::default();
        if trail.asked.take().is_some() {
            return visit;
        }
        trail.pending = None;
        let before = std::mem::replace(&mut trail.visited, now);
        visit.shown = (0..2).any(|d| readings[d].trials != trail.shown[d]);
        visit.moved = (0..2).any(|d| readings[d].packets != trail.packets[d]);
        let active: [bool; 2] = std::array::from_fn(|d| {
            readings[d].packets != trail.packets[d] || readings[d].trials != trail.shown[d]
        });
        trail.hear(&active, readings, bare, now);
        let short = self.short(timeouts);
        let least = self.least(timeouts);
        if visit.shown {
            trail.sight.shown(before);
            let ends = before.saturating_add(Millis::from(least) * 1_000);
            let latest = now.saturating_add(Millis::from(self.given.unwrap_or(0)) * 1_000);
            let [first, last] = self.expires.unwrap_or([ends, latest]);
            self.expires = Some([first.min(ends), last.max(latest)]);
        }
        let Some(given) = self.given else {
            // Without the mark, the next packet may show the timeout.
            let seen = !trail.sight.doubtful();
            let seconds = self.given_unacknowledged.filter(|_| visit.moved && seen);
            let asked = std::mem::take(&mut trail.inquired);
            match seconds {
                Some(seconds) if self.unheard && !asked => {
                    visit.inquiry = true;
                    trail.ask_first(seconds, Some(false), false);
                }
                _ => visit.renewal = seconds.map(|s| self.renew(s, Some(false), now)),
            }
            return visit;
        };
        let answer = match trail.answer() {
            // A whole visit without one.
            Answer::Awaited if !active.contains(&true) => Answer::Missing,
            // Conntrack knows the timeout better after a packet shown to it: this packet may have
            // been the last.
            Answer::Given if visit.shown => Answer::Awaited,
            answer => answer,
        };
        let mark = match answer {
            Answer::Awaited => None,
            known => timeouts.map(|_| known == Answer::Missing),
        };
        let seconds = match short {
            Some(short) if answer != Answer::Given => short.min(given),
            _ => given,
        };
        let [least_left, most_left] = self
            .expires
            .map_or([0; 2], |expires| expires.map(|end| end.saturating_sub(now)));
        // As long as nothing suggests that conntrack does not see the packets: the next visit is in
        // time, even if it is slightly late.
        let in_time = match trail.sight.changed(round) {
            true => 0,
            false => now.saturating_sub(before) + 1_000,
        };
        if active.contains(&true) {
            self.owed = true;
            let asked = std::mem::take(&mut trail.inquired);
            let early = least_left > Millis::from(least) * 750;
            let too_much =
                answer == Answer::Missing && most_left > Millis::from(seconds) * 1_000 + 1_000;
            // Packets shown now renew the entry if conntrack sees them; without a report from
            // conntrack, weir renews in time.
            let waits = trail.sight.doubtful()
                || !trail.sight.sure(round, now)
                    && least_left > in_time.max(Millis::from(least) * 350);
            if too_much && !trail.sight.sure(round, now) {
                // Only if conntrack saw the shown packet.
                visit.inquiry = true;
                visit.doubtful = !early;
            } else if !early && waits && !too_much {
                visit.doubtful = true;
            } else if (!early || too_much) && self.unheard && !asked {
                visit.inquiry = true;
                trail.ask_first(seconds, mark, false);
            } else if !early || too_much {
                visit.renewal = Some(self.renew(seconds, mark, now));
                // The next refresh grants the remaining time, after the answer.
                self.owed = answer == Answer::Awaited;
            }
        } else if self.owed && trail.sight.doubtful() {
            self.owed = false;
            visit.renewal = self.as_last_seen(trail, now);
        } else if self.owed
            && !trail.inquired
            // The connection may have closed.
            && (self.unheard || !trail.sight.sure(round, now) && least_left >= in_time)
        {
            trail.inquired = true;
            visit.inquiry = true;
            if self.unheard {
                trail.ask_first(seconds, mark, true);
            }
        } else if self.owed {
            visit.renewal = self.rest(trail, seconds, mark, now);
        }
        // Before the visit after the next one.
        let soon = now.saturating_add(2 * now.saturating_sub(before) + 1_000);
        visit.ends = !active.contains(&true) && self.expires.is_none_or(|[first, _]| first <= soon);
        visit
    }

    /// Makes the refresh for forwarded packets, before the connection returns to the kernel. The
    /// kernel does not learn that the data it saw was acknowledged, as its window lags far behind.
    pub(crate) fn given_back(&mut self, tcp: bool, now: Millis) -> Option<Renewal> {
        let trail = self.trail.take()?;
        let moves = trail.heard.contains(&Some(trail.visited));
        let mark = tcp.then_some(false);
        let known = self.given.or(self.given_unacknowledged);
        let known = known.filter(|_| trail.answer() == Answer::Given && !trail.sight.doubtful());
        let renewal = match known {
            // Perhaps still now.
            Some(seconds) if moves => Some(self.renew(seconds, mark, now)),
            Some(seconds) if self.owed => self.rest(&trail, seconds, mark, now),
            // No visit has counted the latest packets: the next packet that conntrack sees sets the
            // full timeout, and until then the entry keeps its old one.
            Some(_) if tcp => {
                let first = self.expires.map(|[first, _]| first);
                let left = first.map_or(0, |first| first.saturating_sub(now) / 1_000);
                (left > 0).then(|| self.renew(left as u32, mark, now))
            }
            _ => None,
        };
        self.trail = Some(trail);
        renewal
    }

    /// Makes the refresh that is still due for packets before the last visit.
    fn rest(
        &mut self,
        trail: &Activity,
        seconds: u32,
        mark: Option<bool>,
        now: Millis,
    ) -> Option<Renewal> {
        self.owed = false;
        let last = trail.heard.into_iter().flatten().max()?;
        let ends = last.saturating_add(Millis::from(seconds) * 1_000);
        if mark.is_none() && self.expires.is_some_and(|[first, _]| first >= ends) {
            return None;
        }
        let left = ends.saturating_sub(now).div_ceil(1_000).max(1);
        Some(self.renew(left as u32, mark, now))
    }

    fn renew(&mut self, seconds: u32, unacknowledged: Option<bool>, now: Millis) -> Renewal {
        self.owed = false;
        self.told(seconds, now);
        self.renewed = Some(now);
        Renewal {
            seconds,
            unacknowledged,
        }
    }
}

/// Result of a visit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Visit {
    /// Packets were forwarded.
    pub(crate) moved: bool,
    /// Conntrack was shown packets.
    pub(crate) shown: bool,
    /// Refresh to send to conntrack.
    pub(crate) renewal: Option<Renewal>,
    /// True if conntrack must see packets before another refresh: perhaps it does not see them.
    pub(crate) doubtful: bool,
    /// True if conntrack must report the remaining time, because of earlier packets.
    pub(crate) inquiry: bool,
    /// True if nothing moves and the entry may soon be over: later packets belong to conntrack.
    pub(crate) ends: bool,
}

/// Returns the longest segment without data of this family.
pub(crate) fn bare(ipv6: bool) -> u64 {
    BARE[usize::from(ipv6)]
}
