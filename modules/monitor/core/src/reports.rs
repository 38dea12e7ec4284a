//! Reports of conversations: which are due, and how much of each went all the way.

use kernel::TalkKey;

use crate::count::{Both, Count};
use crate::reading::Millis;
use crate::talk::{Talk, Told};
use crate::talks::{TOLD, Talks};

/// Reports that wait to be taken.
#[derive(Debug)]
pub(crate) struct Reports {
    due: Vec<Told>,
    /// Interval of reports about running conversations, in milliseconds; `None`: no reports.
    every: Option<Millis>,
    /// Maximum number of reports in a second: each takes memory until it is sent.
    most: usize,
}

impl Reports {
    /// `talks`: so many conversations are remembered at most.
    pub(crate) fn new(talks: usize) -> Self {
        Self {
            due: Vec::new(),
            every: None,
            most: (talks / TOLD).max(64),
        }
    }

    pub(crate) fn set_interval(&mut self, every: Option<Millis>) {
        self.every = every;
    }

    /// Returns the number of conversations that can still be reported in this second.
    pub(crate) fn room(&self) -> usize {
        match self.every {
            Some(_) => self.most.saturating_sub(self.due.len()),
            None => usize::MAX,
        }
    }

    /// Returns true if no further conversation may be removed in this second, as too many ended:
    /// half of the room is for those that are due.
    pub(crate) fn is_crowded(&self) -> bool {
        self.every.is_some() && self.due.len() >= self.most / 2
    }

    /// Returns true if a report on a running conversation is due.
    pub(crate) fn is_due(&self, talk: &Talk, now: Millis) -> bool {
        let waited = now.saturating_sub(talk.told_at);
        self.every.is_some_and(|every| waited >= every) && talk.untold() != Both::default()
    }

    /// Reports a running conversation.
    pub(crate) fn add(&mut self, talks: &mut Talks, key: &TalkKey, now: Millis) {
        self.report(talks, key, now, false, false);
    }

    /// Reports a conversation that is over, if reports are active.
    pub(crate) fn add_ended(&mut self, talks: &mut Talks, key: &TalkKey, now: Millis) {
        if self.every.is_some() {
            self.report(talks, key, now, true, true);
        }
    }

    /// Reports some of all that go on. False: there are no more.
    pub(crate) fn add_rest(&mut self, talks: &mut Talks, now: Millis) -> bool {
        if self.every.is_none() {
            return false;
        }
        let before = self.due.len();
        // Leading conversations come first, so that a led one reports only its rest.
        let mut keys: Vec<(bool, TalkKey)> = talks.values().map(|t| (t.led > 0, t.key)).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            if self.due.len() >= before + self.most {
                break;
            }
            self.report(talks, &key, now, false, true);
        }
        self.due.len() > before
    }

    pub(crate) fn take(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.due)
    }

    /// Reports a leader, or a conversation without another half: the traffic that passed both
    /// ports; and at its end also the rest, which was dropped or belongs to the router.
    fn report(&mut self, talks: &mut Talks, key: &TalkKey, now: Millis, over: bool, last: bool) {
        let Some(talk) = talks.get(key) else { return };
        let new = talk.untold();
        let twin = talk.twin.and_then(|twin| talks.get(&twin));
        let out = twin.map(|twin| twin.key.port);
        let all_the_way = match twin {
            Some(twin) => common(new, twin.untold()),
            None => new,
        };
        if let Some(twin) = talk.twin.and_then(|twin| talks.get_mut(&twin)) {
            twin.told += mirrored(all_the_way);
        }
        let Some(talk) = talks.get_mut(key) else {
            return;
        };
        let since = talk.new_since();
        if all_the_way != Both::default() {
            self.due.push(talk.tell(all_the_way, out, since, now, over));
        }
        let rest = talk.untold();
        if (over || last) && rest != Both::default() {
            self.due.push(talk.tell(rest, None, since, now, over));
        }
        talk.told_at = now;
    }
}

/// Returns the common growth of both since the last report, seen from the leader.
fn common(lead: Both, twin: Both) -> Both {
    let least = |one: Count, other: Count| Count {
        packets: one.packets.min(other.packets),
        octets: one.octets.min(other.octets),
    };
    Both {
        sent: least(lead.sent, twin.received),
        received: least(lead.received, twin.sent),
    }
}

/// Swaps the directions.
fn mirrored(both: Both) -> Both {
    Both {
        sent: both.received,
        received: both.sent,
    }
}
