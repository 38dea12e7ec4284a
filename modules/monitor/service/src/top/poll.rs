//! Queries the daemon, in a thread of its own: an answer may take long, and keys do not wait for
//! it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use api::{Client, ClientError, with_query};

use super::events::{Event, PanicReporter};
use super::state::{Problem, Request, Response};
use runtime::output::sanitize;

/// Answers requests, until their sender is dropped.
pub(super) fn start(socket: PathBuf, requests: Receiver<Request>, events: Sender<Event>) {
    thread::spawn(move || {
        let told = PanicReporter(events);
        for request in requests {
            let got = ask(&socket, &request).map_err(|error| Problem {
                what: sanitize(&error.to_string()),
                hint: sanitize(&error.hint()),
            });
            let answer = Response {
                asked: request,
                got,
            };
            if told.0.send(Event::Answer(Box::new(answer))).is_err() {
                return;
            }
        }
    });
}

fn ask(
    socket: &Path,
    request: &Request,
) -> Result<(answers::Devices, Option<answers::Conversations>), ClientError> {
    let client = Client::new(socket)?;
    let devices = client.get("/v1/devices")?;
    let conversations = request
        .conversations
        .as_ref()
        .map(|conversations| client.get(&with_query("/v1/conversations", conversations)))
        .transpose()?;
    Ok((devices, conversations))
}
