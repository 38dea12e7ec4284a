//! Reports of conversations: which are due, and how much of each went all the way.

use kernel::ConversationKey;

use crate::conversation::{Conversation, ConversationReport};
use crate::conversation_table::{ConversationTable, REPORT_DIVISOR};
use crate::count::{Count, Counts};
use crate::reading::Millis;

/// Reports that wait to be taken.
#[derive(Debug)]
pub(crate) struct Reports {
    due: Vec<ConversationReport>,
    /// Interval of reports about running conversations, in milliseconds; `None`: no reports.
    every: Option<Millis>,
    /// Maximum number of reports in a second: each takes memory until it is sent.
    most: usize,
}

impl Reports {
    /// `conversations`: maximum number of conversations.
    pub(crate) fn new(conversations: usize) -> Self {
        Self {
            due: Vec::new(),
            every: None,
            most: (conversations / REPORT_DIVISOR).max(64),
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
    pub(crate) fn is_due(&self, conversation: &Conversation, now: Millis) -> bool {
        let waited = now.saturating_sub(conversation.reported_at);
        self.every.is_some_and(|every| waited >= every)
            && conversation.unreported() != Counts::default()
    }

    /// Reports a running conversation.
    pub(crate) fn add(
        &mut self,
        conversations: &mut ConversationTable,
        key: &ConversationKey,
        now: Millis,
    ) {
        self.report(conversations, key, now, false, false);
    }

    /// Reports a conversation that is over, if reports are active.
    pub(crate) fn add_ended(
        &mut self,
        conversations: &mut ConversationTable,
        key: &ConversationKey,
        now: Millis,
    ) {
        if self.every.is_some() {
            self.report(conversations, key, now, true, true);
        }
    }

    /// Reports a batch of the active conversations. Returns false after the last batch.
    pub(crate) fn add_rest(&mut self, conversations: &mut ConversationTable, now: Millis) -> bool {
        if self.every.is_none() {
            return false;
        }
        let before = self.due.len();
        // Leaders come first, so that a led conversation reports only its remaining traffic.
        let mut keys: Vec<(bool, ConversationKey)> = conversations
            .values()
            .map(|t| (t.leaders > 0, t.key))
            .collect();
        keys.sort_unstable();
        for (_, key) in keys {
            if self.due.len() >= before + self.most {
                break;
            }
            self.report(conversations, &key, now, false, true);
        }
        self.due.len() > before
    }

    pub(crate) fn take(&mut self) -> Vec<ConversationReport> {
        std::mem::take(&mut self.due)
    }

    /// Reports a leader, or a conversation without another half: the traffic that passed both
    /// ports. At the end, also reports the remaining traffic, which was dropped or belongs to the
    /// router.
    fn report(
        &mut self,
        conversations: &mut ConversationTable,
        key: &ConversationKey,
        now: Millis,
        over: bool,
        last: bool,
    ) {
        let Some(conversation) = conversations.get(key) else {
            return;
        };
        let new = conversation.unreported();
        let twin = conversation
            .other_half
            .and_then(|twin| conversations.get(&twin));
        let out = twin.map(|twin| twin.key.port);
        let all_the_way = match twin {
            Some(twin) => common(new, twin.unreported()),
            None => new,
        };
        if let Some(twin) = conversation
            .other_half
            .and_then(|twin| conversations.get_mut(&twin))
        {
            twin.reported += mirrored(all_the_way);
        }
        let Some(conversation) = conversations.get_mut(key) else {
            return;
        };
        let since = conversation.unreported_since();
        if all_the_way != Counts::default() {
            self.due
                .push(conversation.report(all_the_way, out, since, now, over));
        }
        let rest = conversation.unreported();
        if (over || last) && rest != Counts::default() {
            self.due
                .push(conversation.report(rest, None, since, now, over));
        }
        conversation.reported_at = now;
    }
}

/// Returns the common growth of both since the last report, seen from the leader.
fn common(lead: Counts, twin: Counts) -> Counts {
    let least = |one: Count, other: Count| Count {
        packets: one.packets.min(other.packets),
        bytes: one.bytes.min(other.bytes),
    };
    Counts {
        sent: least(lead.sent, twin.received),
        received: least(lead.received, twin.sent),
    }
}

/// Swaps the directions.
fn mirrored(both: Counts) -> Counts {
    Counts {
        sent: both.received,
        received: both.sent,
    }
}
