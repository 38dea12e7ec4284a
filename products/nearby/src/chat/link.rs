//! Connection to the daemon, in threads: one receives events, one sends messages. All of them only
//! send to the loop.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use api::{Client, ClientError, Method};

use super::event::Event;
use super::model::DaemonEvent;
use crate::daemon::{Notification, Peers, RecentMessages, Say, SendResult};

/// Interval of requests for the peers nearby.
const LOOK: Duration = Duration::from_secs(1);
/// Interval of attempts to reach a daemon that has ended.
const AGAIN: Duration = Duration::from_secs(1);

/// Sends events of a thread, and reports its panic, after which the chat would hang.
#[derive(Debug)]
pub struct EventSender(pub SyncSender<Event>);

impl Drop for EventSender {
    fn drop(&mut self) {
        if thread::panicking() {
            // A failed send means that the loop has ended.
            let _ = self.0.send(Event::Panicked);
        }
    }
}

/// Returns an error's text with the program's name.
fn words(error: &ClientError) -> String {
    match error {
        ClientError::NotRunning(path) => format!("no program listens at {}", path.display()),
        ClientError::Silent => "no answer".to_owned(),
        ClientError::Broken(_) => "the connection broke".to_owned(),
        error => error.to_string(),
    }
}

/// Receives events, and reconnects when the stream ends.
pub fn hear(socket: PathBuf, events: SyncSender<Event>) {
    let teller = EventSender(events);
    thread::spawn(move || {
        loop {
            let why = match follow(&socket, &teller.0) {
                Ok(()) => "the connection ended".to_owned(),
                Err(error) => words(&error),
            };
            if teller.0.send(Event::Told(DaemonEvent::Lost(why))).is_err() {
                return;
            }
            thread::sleep(AGAIN);
        }
    });
}

fn follow(socket: &Path, events: &SyncSender<Event>) -> Result<(), ClientError> {
    let client = Client::new(socket)?;
    // First the stream, then the history, so that no message is lost between them. Messages in both
    // are identical.
    let stream = client.open("/v1/messages")?;
    let past = || -> Result<DaemonEvent, ClientError> {
        let past: RecentMessages = client.get("/v1/past")?;
        Ok(DaemonEvent::Begun(past.messages))
    };
    if events.send(Event::Told(past()?)).is_err() {
        return Ok(());
    }
    for line in stream.lines() {
        let line = line.map_err(|error| ClientError::Broken(error.to_string()))?;
        // A later version may send unknown events.
        let Ok(said) = serde_json::from_str::<Notification>(&line) else {
            continue;
        };
        let missed = matches!(said, Notification::Missed { .. });
        if events.send(Event::Told(DaemonEvent::Said(said))).is_err() {
            return Ok(());
        }
        if missed && events.send(Event::Told(past()?)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends messages in order, and requests the peers nearby in between.
pub fn speak(socket: PathBuf, asked: Receiver<Say>, events: SyncSender<Event>) {
    let teller = EventSender(events);
    thread::spawn(move || {
        let mut wait = Duration::ZERO;
        loop {
            let told = match asked.recv_timeout(wait) {
                Ok(what) => DaemonEvent::Answered(say(&socket, what)),
                Err(RecvTimeoutError::Timeout) => {
                    wait = LOOK;
                    // The receiving thread reports a lost daemon.
                    let peers = Client::new(&socket).and_then(|it| it.get::<Peers>("/v1/peers"));
                    let Ok(told) = peers else { continue };
                    DaemonEvent::Peers(told.peers)
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if teller.0.send(Event::Told(told)).is_err() {
                return;
            }
        }
    });
}

fn say(socket: &Path, what: Say) -> Result<SendResult, [String; 3]> {
    let said =
        Client::new(socket).and_then(|client| client.send(Method::POST, "/v1/messages", &what));
    said.map_err(|error| [what.to, what.text, words(&error)])
}
