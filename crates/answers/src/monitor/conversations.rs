//! Query of conversations.

use std::fmt;
use std::ops::RangeInclusive;

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};

use super::{Conversation, Conversations};

/// Default limit of listed conversations.
pub const DEFAULT_CONVERSATIONS: u32 = 100;
/// Allowed limits. The largest one bounds the memory of one answer to some 3 MB.
pub const CONVERSATION_LIMITS: RangeInclusive<u32> = 0..=5000;

const PARAMETERS: &str = "the parameters are device, port, sort and limit";

/// Query of `GET /v1/conversations`: filters, order and limit. `None` does not filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationsQuery {
    /// Selects the station with this hardware address, written as by [`normal_mac`].
    pub device: Option<String>,
    /// Selects conversations of stations behind the port of this name.
    pub port: Option<String>,
    /// Order of the list.
    pub sort: ConversationSort,
    /// Largest number of listed conversations: one of [`CONVERSATION_LIMITS`].
    pub limit: u32,
}

impl Default for ConversationsQuery {
    fn default() -> Self {
        Self {
            device: None,
            port: None,
            sort: ConversationSort::Rate,
            limit: DEFAULT_CONVERSATIONS,
        }
    }
}

/// Orders of conversations, each with the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConversationSort {
    /// Current bits per second, both directions.
    #[default]
    Rate,
    /// Bytes since the start, both directions.
    Bytes,
    /// Most recently seen first.
    Recent,
}

impl fmt::Display for ConversationSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Recent => "recent",
        })
    }
}

impl ConversationSort {
    fn key(self, conversation: &Conversation) -> u64 {
        match self {
            Self::Rate => conversation
                .rate
                .received
                .saturating_add(conversation.rate.sent),
            Self::Bytes => conversation
                .received
                .bytes
                .saturating_add(conversation.sent.bytes),
            Self::Recent => conversation.last_seen,
        }
    }
}

impl Query for ConversationsQuery {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "device" => query.device = Some(mac(name, value)?),
                "port" => query.port = Some(value.clone()),
                "sort" => {
                    query.sort = match value.as_str() {
                        "rate" => ConversationSort::Rate,
                        "bytes" => ConversationSort::Bytes,
                        "recent" => ConversationSort::Recent,
                        _ => return Err(wrong(name, value, "rate, bytes, recent")),
                    }
                }
                "limit" => {
                    let limit = number(value).filter(|limit| CONVERSATION_LIMITS.contains(limit));
                    let allowed = format!(
                        "{} to {}",
                        CONVERSATION_LIMITS.start(),
                        CONVERSATION_LIMITS.end()
                    );
                    query.limit = limit.ok_or_else(|| wrong(name, value, &allowed))?;
                }
                other => return Err(unknown("/v1/conversations", other, PARAMETERS)),
            }
        }
        Ok(query)
    }

    /// Omits parameters that have their default.
    fn to_query(&self) -> String {
        let sort = (self.sort != ConversationSort::default()).then(|| self.sort.to_string());
        let limit = (self.limit != DEFAULT_CONVERSATIONS).then(|| self.limit.to_string());
        query::encode([
            ("device", self.device.clone()),
            ("port", self.port.clone()),
            ("sort", sort),
            ("limit", limit),
        ])
    }
}

impl ConversationsQuery {
    /// Returns true if the conversation matches the filters.
    pub fn matches(&self, conversation: &Conversation) -> bool {
        let device = self.device.as_deref();
        let port = self.port.as_deref();
        device.is_none_or(|mac| mac == conversation.mac)
            && port.is_none_or(|port| port == conversation.port)
    }

    /// Filters, sorts and limits. Keeps at most twice the limit of matching conversations, so that
    /// a full table needs little memory if the iterator yields them one by one.
    pub fn select(&self, conversations: impl IntoIterator<Item = Conversation>) -> Conversations {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut answer = Conversations::default();
        let kept = &mut answer.conversations;
        // The number decides between equals, so that a refreshed list does not jump.
        let order = |a: &Conversation, b: &Conversation| {
            let largest = self.sort.key(b).cmp(&self.sort.key(a));
            largest.then(a.id.cmp(&b.id))
        };
        for conversation in conversations
            .into_iter()
            .filter(|conversation| self.matches(conversation))
        {
            answer.total += 1;
            kept.push(conversation);
            if kept.len() > limit.saturating_mul(2) {
                kept.sort_unstable_by(order);
                kept.truncate(limit);
            }
        }
        kept.sort_unstable_by(order);
        kept.truncate(limit);
        answer
    }
}

/// Returns a hardware address as the API writes it, `02:00:5e:10:00:01`; `None` if the text is not
/// an address. Capital letters and hyphens are accepted.
pub fn normal_mac(text: &str) -> Option<String> {
    net::mac::parse(text).map(|mac| net::mac::text(&mac))
}

pub(crate) fn mac(name: &str, value: &str) -> Result<String, Problem> {
    normal_mac(value).ok_or_else(|| {
        wrong(
            name,
            value,
            "a hardware address such as 02:00:5e:10:00:01, as in GET /v1/devices",
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::monitor::{Count, Rate};

    fn pairs(query: &str) -> Vec<(String, String)> {
        query::decode(query).expect("well formed")
    }

    fn conversation(id: u64, rate: u64, bytes: u64) -> Conversation {
        Conversation {
            id,
            port: "lan0".into(),
            mac: format!("02:00:00:00:00:0{}", id % 2),
            protocol_number: 6,
            station: "192.168.1.2".into(),
            station_port: 40000,
            remote: "198.51.100.1".into(),
            remote_port: 443,
            received: Count { bytes, packets: 1 },
            rate: Rate {
                received: rate,
                sent: 0,
            },
            last_seen: id,
            ..Conversation::default()
        }
    }

    fn ids(query: &str, conversations: impl IntoIterator<Item = Conversation>) -> (u64, Vec<u64>) {
        let query = ConversationsQuery::from_pairs(&pairs(query)).expect("a query");
        let answer = query.select(conversations);
        (
            answer.total,
            answer
                .conversations
                .iter()
                .map(|conversation| conversation.id)
                .collect(),
        )
    }

    #[test]
    fn selects_the_largest_and_counts_what_the_limit_hides() {
        let conversations = || {
            [
                conversation(1, 5, 100),
                conversation(2, 9, 1),
                conversation(3, 5, 100),
                conversation(4, 0, 7),
            ]
        };
        assert_eq!(ids("", conversations()), (4, vec![2, 1, 3, 4]));
        assert_eq!(ids("sort=bytes&limit=2", conversations()), (4, vec![1, 3]));
        assert_eq!(ids("sort=recent&limit=1", conversations()), (4, vec![4]));
        assert_eq!(ids("limit=0", conversations()), (4, vec![]));
        assert_eq!(
            ids("device=02-00-00-00-00-01", conversations()),
            (2, vec![1, 3])
        );
        assert_eq!(ids("port=lan1", conversations()), (0, vec![]));
        let many = (0..10_000).map(|id| conversation(id, id % 7919, 0));
        assert_eq!(ids("limit=3", many), (10_000, vec![7918, 7917, 7916]));
    }

    #[test]
    fn says_what_can_be_given() {
        let conversations = |query| ConversationsQuery::from_pairs(&pairs(query)).map(|_| ());
        for (answer, detail, hint) in [
            (
                conversations("sort=name"),
                "invalid value `name` of `sort`",
                "give rate, bytes, recent",
            ),
            (
                conversations("limit=5001"),
                "invalid value `5001` of `limit`",
                "give 0 to 5000",
            ),
            (
                conversations("device=laptop"),
                "invalid value `laptop` of `device`",
                "give a hardware address such as 02:00:5e:10:00:01, as in GET /v1/devices",
            ),
            (
                conversations("x=1"),
                "`x` is not a parameter of /v1/conversations",
                PARAMETERS,
            ),
        ] {
            let problem = answer.expect_err("to be refused");
            assert_eq!(
                (
                    problem.status,
                    problem.detail.as_str(),
                    problem.hint.as_str()
                ),
                (400, detail, hint)
            );
        }
    }

    #[test]
    fn hardware_addresses_are_written_one_way() {
        let normal = Some("02:00:5e:10:00:0f".to_owned());
        for text in ["02:00:5e:10:00:0f", "02-00-5E-10-00-0F"] {
            assert_eq!(normal_mac(text), normal);
        }
        for wrong in [
            "",
            "02:00:5e:10:00",
            "02:00:5e:10:00:0f:1",
            "02:00:5e:10:00:+f",
            "2:0:5e:10:0:f",
            "é2:00:5e:10:00:0",
        ] {
            assert_eq!(normal_mac(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn queries_survive_being_written(
            mac: [u8; 6], port in proptest::option::of("\\PC{1,20}"), limit in CONVERSATION_LIMITS
        ) {
            let device = Some(net::mac::text(&mac));
            let conversations = ConversationsQuery { device, port, sort: ConversationSort::Recent, limit };
            prop_assert_eq!(ConversationsQuery::from_pairs(&pairs(&conversations.to_query())), Ok(conversations));
        }

        #[test]
        fn never_panics(name in "(device|port|sort|limit|\\PC*)", value in "\\PC*") {
            let _ = ConversationsQuery::from_pairs(&[(name, value)]);
        }
    }
}
