//! Questions to name servers that are not answered yet: an answer is believed by whom asked alone.

use kernel::Mac;

use super::bounded::Bounded;
use super::dns::Question;
use super::{Conversation, Millis};

/// Questions that wait.
pub const MOST_QUESTIONS: usize = 1024;
/// How long an answer is waited for: longer than resolvers do (5 s, resolv.conf(5)).
pub const WAITED: Millis = 10_000;

/// A flow and the number in the message (RFC 1035, 4.1.1): one socket may ask several things.
type Key = (Conversation, u16);

/// What was asked. Whoever forges an answer has to know ports, number and name, and asked for
/// nothing himself: a question counts for the hardware address that it came from.
#[derive(Debug)]
pub(super) struct Questions(Bounded<Key, Asked>);

#[derive(Debug)]
struct Asked {
    mac: Mac,
    question: Question,
    since: Millis,
}

impl Questions {
    pub(super) fn new() -> Self {
        Self(Bounded::new(MOST_QUESTIONS))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A station asks.
    pub(super) fn ask(&mut self, flow: Conversation, mac: Mac, question: Question, now: Millis) {
        let asked = Asked {
            mac,
            question,
            since: now,
        };
        self.0.put((flow, asked.question.id), asked);
    }

    /// Whether an answer that says this was asked for so, by whom it goes to. It is answered then.
    pub(super) fn answered(&mut self, flow: Conversation, mac: Mac, question: &Question) -> bool {
        let key = (flow, question.id);
        let fits = |asked: &Asked| asked.mac == mac && asked.question == *question;
        self.0.get(&key).is_some_and(fits) && self.0.remove(&key).is_some()
    }

    /// Nobody answers any more.
    pub(super) fn forget(&mut self, now: Millis) {
        while let Some((key, asked)) = self.0.oldest()
            && now.saturating_sub(asked.since) > WAITED
        {
            self.0.remove(&key);
        }
    }
}
