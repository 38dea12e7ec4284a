//! Requests, answers and events of the socket.

use std::collections::BTreeSet;

use api::Body;
use serde::{Deserialize, Serialize};

use crate::Id;
use crate::envelope::{self, Content};
use crate::room::Format;

/// All who are near.
#[derive(Debug, Serialize, Deserialize)]
pub struct Peers {
    /// By id.
    pub peers: Vec<PeerShown>,
    /// Those who were near in the last seven days and are not, by id.
    #[serde(default)]
    pub away: Vec<AwayShown>,
}

/// Somebody who was near.
#[derive(Debug, Serialize, Deserialize)]
pub struct AwayShown {
    /// 16 hexadecimal digits.
    pub id: String,
    /// When it was near last: milliseconds since 1970; none where that is not known.
    pub last_seen: Option<u64>,
    /// Messages that wait for it.
    pub waiting: usize,
}

/// Somebody who is near.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeerShown {
    /// 16 hexadecimal digits.
    pub id: String,
    /// What it calls itself, where that was told and signed.
    pub name: Option<String>,
    /// Where it was heard last: a Bluetooth address, or where there is a link by IP an address and port.
    pub address: String,
    /// What it speaks: `v1`, `v2`, `ip`.
    pub formats: Vec<String>,
    /// By what there are connections.
    pub linked: Vec<String>,
    /// Whether a channel (L2CAP) carries what v2 says to it.
    #[serde(default)]
    pub channel: bool,
    /// How loud it was, dBm.
    pub signal: Option<i16>,
    /// When it was heard last: milliseconds since 1970.
    pub last_seen: u64,
    /// Messages that wait for it.
    pub waiting: usize,
}

/// What is to be said.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// `all`, or an id.
    pub to: String,
    /// What.
    pub text: String,
}

impl Body for Say {
    const EXPECTED: &'static str =
        "a JSON object with \"to\", which is \"all\" or an id, and \"text\"";
}

/// What was said lately.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lately {
    /// The oldest first.
    pub messages: Vec<Message>,
}

/// To whom something was said.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// How many of those who are near.
    pub peers: usize,
    /// For how many it waits who are not near.
    #[serde(default)]
    pub waiting: usize,
}

/// What is told to who listens: a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Said {
    /// Somebody is near.
    Near {
        /// Who.
        peer: String,
    },
    /// Somebody is near no longer.
    Gone {
        /// Who.
        peer: String,
    },
    /// Somebody said something to all, and signed it.
    Message {
        /// By which peer it came.
        peer: String,
        /// By which format.
        format: String,
        /// Who said it.
        sender: String,
        /// What.
        text: String,
        /// When, by their clock: milliseconds since 1970.
        time: u64,
    },
    /// A message from person to person, encrypted by them and passed on.
    Direct {
        /// By which peer it came.
        peer: String,
        /// By which format.
        format: String,
        /// Who signed it.
        sender: String,
        /// For whom it is.
        receiver: String,
        /// Its octets.
        octets: usize,
    },
    /// Something was said here.
    Own {
        /// Which one: they are counted from 1.
        number: u64,
        /// Who this is.
        sender: String,
        /// What.
        text: String,
        /// When: milliseconds since 1970.
        time: u64,
        /// To how many.
        to: u64,
        /// To whom, where it was said to one alone.
        peer: Option<String>,
    },
    /// A message that is not to be read here.
    Other {
        /// By which peer it came.
        peer: String,
        /// By which format.
        format: String,
        /// `routing`, `sealed`, or why it is no message of qaul's.
        kind: String,
        /// Its octets.
        octets: usize,
    },
    /// What became of something that was said here.
    Outcome {
        /// Which one: they are counted from 1.
        number: u64,
        /// To whom.
        peer: String,
        /// It was acknowledged.
        done: bool,
    },
    /// Whoever listens did not take all that was told, for a while.
    Missed {
        /// How much was told meanwhile, lines.
        count: u64,
    },
}

impl Said {
    /// A message, as far as it can be read.
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

/// A message that was said, here or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// By which peer it came; of one that was said here to one peer alone, to whom.
    pub peer: Option<String>,
    /// By which format it came.
    pub format: Option<String>,
    /// Who said it.
    pub sender: String,
    /// What.
    pub text: String,
    /// When, by their clock: milliseconds since 1970.
    pub time: u64,
    /// It was said here.
    pub own: bool,
    /// Which one of those that were said here.
    pub number: Option<u64>,
    /// To how many it was said here.
    pub to: u64,
    /// How many of them have it.
    pub done: u64,
    /// How many it did not get to.
    pub failed: u64,
}

impl Message {
    /// What is told as it happens, where it is a message.
    pub fn of(said: &Said) -> Option<Self> {
        match said {
            Said::Message {
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
            Said::Own {
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
            Said::Near { .. }
            | Said::Gone { .. }
            | Said::Direct { .. }
            | Said::Other { .. }
            | Said::Outcome { .. }
            | Said::Missed { .. } => None,
        }
    }
}

/// Names of formats, as they are told.
pub fn names(formats: &BTreeSet<Format>) -> Vec<String> {
    formats.iter().map(|it| it.name().to_owned()).collect()
}
