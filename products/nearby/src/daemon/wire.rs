//! Requests, answers and events of the socket.

use std::collections::BTreeSet;

use api::Body;
use serde::{Deserialize, Serialize};

use crate::Id;
use crate::envelope::{self, Content};
use crate::machine::Format;

/// Peers nearby and away.
#[derive(Debug, Serialize, Deserialize)]
pub struct Peers {
    /// Peers nearby, by id.
    pub peers: Vec<PeerInfo>,
    /// Peers that were near in the last seven days and are away now, by id.
    #[serde(default)]
    pub away: Vec<AwayPeerInfo>,
}

/// A peer that is away.
#[derive(Debug, Serialize, Deserialize)]
pub struct AwayPeerInfo {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Time of the last contact, in milliseconds since 1970; `None` if unknown.
    pub last_seen: Option<u64>,
    /// Number of messages that wait for the peer.
    pub waiting: usize,
}

/// A peer nearby.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeerInfo {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Name from the peer's signed profile.
    pub name: Option<String>,
    /// Last Bluetooth address, or address and port of a link by IP.
    pub address: String,
    /// Formats that the peer speaks: `v1`, `v2`, `ip`.
    pub formats: Vec<String>,
    /// Formats with a connection.
    pub linked: Vec<String>,
    /// True if a channel (L2CAP) carries the messages of v2 to the peer.
    #[serde(default)]
    pub channel: bool,
    /// Signal strength, dBm.
    pub signal: Option<i16>,
    /// Time of the last contact, in milliseconds since 1970.
    pub last_seen: u64,
    /// Number of messages that wait for the peer.
    pub waiting: usize,
}

/// Request to send a message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// `all`, or an id.
    pub to: String,
    /// Text of the message.
    pub text: String,
}

impl Body for Say {
    const EXPECTED: &'static str =
        "a JSON object with \"to\", which is \"all\" or an id, and \"text\"";
}

/// Recent messages.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentMessages {
    /// The oldest first.
    pub messages: Vec<Message>,
}

/// Recipients of a message.
#[derive(Debug, Serialize, Deserialize)]
pub struct SendResult {
    /// Number of recipients that are near.
    pub peers: usize,
    /// Number of recipients away for whom the message waits.
    #[serde(default)]
    pub waiting: usize,
}

/// Event for listeners, a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Notification {
    /// A peer came near.
    Near {
        /// Id of the peer.
        peer: String,
    },
    /// A peer is no longer near.
    Gone {
        /// Id of the peer.
        peer: String,
    },
    /// A signed message to all.
    Message {
        /// Peer that delivered the message.
        peer: String,
        /// Format of the connection.
        format: String,
        /// Id of the sender.
        sender: String,
        /// Text of the message.
        text: String,
        /// Time by the sender's clock, in milliseconds since 1970.
        time: u64,
    },
    /// A message from person to person, encrypted by them and passed on.
    Direct {
        /// Peer that delivered the message.
        peer: String,
        /// Format of the connection.
        format: String,
        /// Id of the sender, who signed the message.
        sender: String,
        /// Id of the receiver.
        receiver: String,
        /// Size of the message, in bytes.
        octets: usize,
    },
    /// An own message.
    Own {
        /// Number of the message, counted from 1.
        number: u64,
        /// Id of this node.
        sender: String,
        /// Text of the message.
        text: String,
        /// Time, in milliseconds since 1970.
        time: u64,
        /// Number of recipients.
        to: u64,
        /// Recipient of a direct message.
        peer: Option<String>,
    },
    /// A message without readable content.
    Other {
        /// Peer that sent the message.
        peer: String,
        /// Format of the connection.
        format: String,
        /// `routing`, `sealed`, or the reason why the message is not valid.
        kind: String,
        /// Size of the message, in bytes.
        octets: usize,
    },
    /// Result for one recipient of an own message.
    Outcome {
        /// Number of the message, counted from 1.
        number: u64,
        /// Recipient.
        peer: String,
        /// True if the recipient acknowledged the message.
        done: bool,
    },
    /// The listener missed events because it was too slow.
    Missed {
        /// Number of missed lines.
        count: u64,
    },
}

impl Notification {
    /// Parses a message, as far as it is readable.
    pub fn read(from: Id, format: Format, octets: &[u8]) -> Self {
        let peer = from.to_string();
        let format = format.name().to_owned();
        let kind = match envelope::read(octets) {
            Ok(Content::Feed(feed)) => {
                return Self::Message {
                    peer,
                    format,
                    sender: feed.sender.id().to_string(),
                    text: feed.text,
                    time: feed.time,
                };
            }
            Ok(Content::Direct {
                sender, receiver, ..
            }) => {
                return Self::Direct {
                    peer,
                    format,
                    sender: sender.id().to_string(),
                    receiver: receiver.id().to_string(),
                    octets: octets.len(),
                };
            }
            Ok(Content::Routing(_) | Content::Identification { .. }) => "routing".to_owned(),
            Ok(Content::Sealed) => "sealed".to_owned(),
            Err(error) => error.to_string(),
        };
        Self::Other {
            peer,
            format,
            kind,
            octets: octets.len(),
        }
    }
}

/// A message, own or received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Peer that delivered the message, or recipient of an own direct one.
    pub peer: Option<String>,
    /// Format of the connection.
    pub format: Option<String>,
    /// Id of the sender.
    pub sender: String,
    /// Text of the message.
    pub text: String,
    /// Time by the sender's clock, in milliseconds since 1970.
    pub time: u64,
    /// True for an own message.
    pub own: bool,
    /// Number of an own message.
    pub number: Option<u64>,
    /// Number of recipients of an own message.
    pub to: u64,
    /// Number of recipients that acknowledged the message.
    pub done: u64,
    /// Number of recipients whom the message did not reach.
    pub failed: u64,
}

impl Message {
    /// Returns the message of an event, if the event is one.
    pub fn of(said: &Notification) -> Option<Self> {
        match said {
            Notification::Message {
                peer,
                format,
                sender,
                text,
                time,
            } => Some(Self {
                peer: Some(peer.clone()),
                format: Some(format.clone()),
                sender: sender.clone(),
                text: text.clone(),
                time: *time,
                own: false,
                number: None,
                to: 0,
                done: 0,
                failed: 0,
            }),
            Notification::Own {
                number,
                sender,
                text,
                time,
                to,
                peer,
            } => Some(Self {
                peer: peer.clone(),
                format: None,
                sender: sender.clone(),
                text: text.clone(),
                time: *time,
                own: true,
                number: Some(*number),
                to: *to,
                done: 0,
                failed: 0,
            }),
            Notification::Near { .. }
            | Notification::Gone { .. }
            | Notification::Direct { .. }
            | Notification::Other { .. }
            | Notification::Outcome { .. }
            | Notification::Missed { .. } => None,
        }
    }
}

/// Returns the names of formats, as exported.
pub fn names(formats: &BTreeSet<Format>) -> Vec<String> {
    formats.iter().map(|it| it.name().to_owned()).collect()
}
