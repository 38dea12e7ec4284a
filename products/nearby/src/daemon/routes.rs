//! Routes of the socket.

use std::time::Duration;

use super::state::{State, unix_millis};
use super::wire::{PeerInfo, Peers, RecentMessages, Say, SendResult, names};
use crate::Id;
use crate::envelope::LONGEST_TEXT as LONGEST;
use crate::machine::Recipients;
use api::{AccessLevel, ApiRequest, Method, Problem, Response, ResponseFuture, Route, Routes};

/// Largest request body, in bytes: JSON encodes some characters with six.
const BODY: usize = 6 * LONGEST + 1024;
/// Listeners at once, by the socket and by the page: one more is refused.
pub const LISTENERS: usize = 32;
/// Largest amount of data that waits for a listener, in bytes.
const WAITING: usize = 1 << 20;

/// Returns all routes.
pub fn routes(state: &State) -> Routes {
    let [peers, say, listen, past] = [(); 4].map(|()| state.clone());
    Routes::new([
        Route::get("/v1/peers", AccessLevel::Root, move |()| Ok(shown(&peers))),
        Route::get("/v1/past", AccessLevel::Root, move |()| {
            Ok(RecentMessages {
                messages: past.past(),
            })
        }),
        Route::new(
            Method::POST,
            "/v1/messages",
            AccessLevel::Root,
            move |asked: ApiRequest<(), Say>| said(&say, &asked.body),
        )
        .with_body(BODY),
        Route::raw_async(
            Method::GET,
            "/v1/messages",
            AccessLevel::Root,
            move |_: ApiRequest| {
                let answer: ResponseFuture<Response<_>> =
                    Box::pin(std::future::ready(listens(&listen)));
                answer
            },
        ),
    ])
}

fn listens(state: &State) -> Result<Response<api::server::ResponseBody>, Problem> {
    if state.listeners() >= LISTENERS {
        let detail = format!("{LISTENERS} listen already");
        let hint = "close some of the listening pages and programs";
        let problem = Problem::new(503, "too_many", detail, hint);
        return Err(problem.with_retry_after(Duration::from_secs(10)));
    }
    let (feed, drain) = api::feed(WAITING);
    state.listen(feed);
    Ok(api::server::stream_response(
        "application/x-ndjson",
        drain,
        "weir-end",
    ))
}

fn shown(state: &State) -> Peers {
    let now = unix_millis();
    let peers = state.peers().into_iter().map(|(it, ago)| PeerInfo {
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

fn said(state: &State, say: &Say) -> Result<SendResult, Problem> {
    let wrong = |code, detail: String, hint: &str| Problem::new(400, code, detail, hint.to_owned());
    if say.text.trim().is_empty() {
        let detail = "empty text".to_owned();
        return Err(wrong("empty", detail, "say something"));
    }
    if say.text.len() > LONGEST {
        let detail = format!(
            "text too long: {} bytes, but at most {LONGEST} are allowed",
            say.text.len()
        );
        return Err(wrong("too_long", detail, "send it in pieces"));
    }
    let to = match say.to.as_str() {
        "all" => Recipients::All,
        id => {
            let id: Result<Id, _> = id.parse();
            Recipients::One(id.map_err(|error| {
                wrong(
                    "no_id",
                    error.to_string(),
                    "see the ids in `weir-nearby peers`",
                )
            })?)
        }
    };
    let not_kept = |id: Id| {
        Problem::new(
            503,
            "not_kept",
            format!("{id} is not near, and messages for it cannot be stored"),
            "see the log for the problem with the disk".to_owned(),
        )
    };
    // An undeliverable message gets no number and no entry in the history.
    match (state.near(to), state.waits(to), to) {
        (0, Err(id), _) => return Err(not_kept(id)),
        (0, Ok(0), Recipients::All) => {
            return Err(Problem::new(
                404,
                "nobody",
                "no peers near, and none within the last seven days".to_owned(),
                "wait until `weir-nearby peers` has somebody".to_owned(),
            ));
        }
        (0, Ok(0), Recipients::One(id)) => {
            return Err(Problem::new(
                404,
                "not_near",
                format!("{id} is not near, and was not in the last seven days"),
                "see `weir-nearby peers`".to_owned(),
            ));
        }
        _ => {}
    }
    let peers = state.say(to, &say.text);
    match (peers, state.waits(to)) {
        // This message itself filled the queue.
        (0, Err(id)) => Err(not_kept(id)),
        (peers, waiting) => Ok(SendResult {
            peers,
            waiting: waiting.unwrap_or(0),
        }),
    }
}

#[cfg(test)]
mod tests;
