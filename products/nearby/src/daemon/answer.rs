//! What is asked by the socket, and answered.

use std::time::Duration;

use api::{Asked, Body, Later, Method, Problem, Response, Route, Routes, Who};
use serde::{Deserialize, Serialize};

use super::past::Message;
use super::state::{State, names, unix_millis};
use crate::Id;
use crate::envelope::{self, Content, LONGEST_TEXT as LONGEST};
use crate::room::{Format, To};

/// What is asked, octets: JSON says some characters with six.
const BODY: usize = 6 * LONGEST + 1024;
/// Listeners at once, by the socket and by the page: one more is refused.
pub const LISTENERS: usize = 32;
/// What waits for somebody who listens, octets.
const WAITING: usize = 1 << 20;

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

/// What can be asked.
pub fn routes(state: &State) -> Routes {
    let [peers, say, listen, past] = [(); 4].map(|()| state.clone());
    Routes::new([
        Route::get("/v1/peers", Who::Root, move |()| Ok(shown(&peers))),
        Route::get("/v1/past", Who::Root, move |()| {
            Ok(Lately {
                messages: past.past(),
            })
        }),
        Route::new(
            Method::POST,
            "/v1/messages",
            Who::Root,
            move |asked: Asked<(), Say>| said(&say, &asked.body),
        )
        .with_body(BODY),
        Route::raw_later(Method::GET, "/v1/messages", Who::Root, move |_: Asked| {
            let answer: Later<Response<_>> = Box::pin(std::future::ready(listens(&listen)));
            answer
        }),
    ])
}

fn listens(state: &State) -> Result<Response<api::server::Answer>, Problem> {
    if state.listeners() >= LISTENERS {
        let detail = format!("{LISTENERS} listen already");
        let hint = "close some of the pages and programs that listen";
        let problem = Problem::new(503, "too_many", detail, hint);
        return Err(problem.again_after(Duration::from_secs(10)));
    }
    let (feed, drain) = api::feed(WAITING);
    state.listen(feed);
    Ok(api::server::streamed(
        "application/x-ndjson",
        drain,
        "weir-end",
    ))
}

fn shown(state: &State) -> Peers {
    let now = unix_millis();
    let peers = state.peers().into_iter().map(|(it, ago)| PeerShown {
        id: it.id.to_string(),
        name: state.name(it.id),
        address: it.place.to_string(),
        formats: names(&it.formats),
        linked: names(&it.linked),
        channel: it.channel,
        signal: it.signal,
        last_seen: now.saturating_sub(ago),
        waiting: it.waiting,
    });
    Peers {
        peers: peers.collect(),
        away: state.away(),
    }
}

fn said(state: &State, say: &Say) -> Result<Answer, Problem> {
    let wrong = |code, detail: String, hint: &str| Problem::new(400, code, detail, hint.to_owned());
    if say.text.trim().is_empty() {
        let detail = "the text is empty, and nobody would be told anything".to_owned();
        return Err(wrong("empty", detail, "say something"));
    }
    if say.text.len() > LONGEST {
        let detail = format!(
            "the text has {} bytes, and {LONGEST} are the most",
            say.text.len()
        );
        return Err(wrong("too_long", detail, "send it in pieces"));
    }
    let to = match say.to.as_str() {
        "all" => To::All,
        id => {
            let id: Result<Id, _> = id.parse();
            To::One(id.map_err(|error| {
                wrong(
                    "no_id",
                    error.to_string(),
                    "`weir-nearby peers` has the ids",
                )
            })?)
        }
    };
    let not_kept = |id: Id| {
        Problem::new(
            503,
            "not_kept",
            format!("{id} is not near, and what waits for it cannot be kept"),
            "the log says what is wrong with the disk".to_owned(),
        )
    };
    // What goes nowhere is not said: it has no number, and no place in what was said.
    match (state.near(to), state.waits(to), to) {
        (0, Err(id), _) => return Err(not_kept(id)),
        (0, Ok(0), To::All) => {
            return Err(Problem::new(
                404,
                "nobody",
                "nobody is near, and nobody was in the last seven days".to_owned(),
                "wait until `weir-nearby peers` has somebody".to_owned(),
            ));
        }
        (0, Ok(0), To::One(id)) => {
            return Err(Problem::new(
                404,
                "not_near",
                format!("{id} is not near, and was not in the last seven days"),
                "`weir-nearby peers` has those who are or were".to_owned(),
            ));
        }
        _ => {}
    }
    let peers = state.say(to, &say.text);
    match (peers, state.waits(to)) {
        // It became so by this message.
        (0, Err(id)) => Err(not_kept(id)),
        (peers, waiting) => Ok(Answer {
            peers,
            waiting: waiting.unwrap_or(0),
        }),
    }
}

#[cfg(test)]
mod tests;
