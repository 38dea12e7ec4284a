//! Pending queries to name servers: an answer counts only for the station that asked.

use kernel::Mac;

use super::bounded::Bounded;
use super::dns::Question;
use super::{FlowKey, Millis};

/// Questions that wait.
pub const MOST_QUESTIONS: usize = 1024;
/// Longest wait for an answer: longer than that of resolvers (5 s, resolv.conf(5)).
pub const WAITED: Millis = 10_000;

/// A flow and the number in the message (RFC 1035, 4.1.1): one socket may ask several things.
type Key = (FlowKey, u16);

/// Pending queries. A query counts for the hardware address that sent it: a forger who sent no
/// query has to know ports, number and name.
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

    /// Records a query of a station.
    pub(super) fn ask(&mut self, flow: FlowKey, mac: Mac, question: Question, now: Millis) {
        let asked = Asked {
            mac,
            question,
            since: now,
        };
        self.0.put((flow, asked.question.id), asked);
    }

    /// Returns true if the receiver of an answer sent this query, and removes the query.
    pub(super) fn answered(&mut self, flow: FlowKey, mac: Mac, question: &Question) -> bool {
        let key = (flow, question.id);
        let fits = |asked: &Asked| asked.mac == mac && asked.question == *question;
        self.0.get(&key).is_some_and(fits) && self.0.remove(&key).is_some()
    }

    /// Removes queries that are too old for an answer.
    pub(super) fn forget(&mut self, now: Millis) {
        while let Some((key, asked)) = self.0.oldest()
            && now.saturating_sub(asked.since) > WAITED
        {
            self.0.remove(&key);
        }
    }
}
