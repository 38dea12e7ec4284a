//! State of a chat: messages, peers nearby and the input line. Pure: keys and events of the daemon
//! go in, actions come out.

use std::collections::{BTreeSet, VecDeque};

use super::input::Input;
use crate::daemon::{Message, Notification, PeerInfo, SendResult};

/// Lines that are remembered.
const ENTRIES: usize = 500;
/// Shown digits of an id, unless another id begins with the same.
const SHORT: usize = 8;

/// The commands that may be typed.
pub const HELP: &str = "\
/peers           list peers near, and their signal
/to ID TEXT      send TEXT to one peer, which passes it on: everyone can read it
/to ID, /to all  set the recipient of further lines; nothing is private
/help            show this help
/quit            end; Ctrl-C and Ctrl-D do the same
Page up and page down scroll through earlier messages.";

/// Notice on each direct message: the line looks private, but every receiver passes the message on.
pub const PUBLIC: &str = "everyone can read it";

/// Event from the daemon.
#[derive(Debug)]
pub enum DaemonEvent {
    /// The daemon is reachable; with its recent messages.
    Begun(Vec<Message>),
    /// An event of the daemon.
    Said(Notification),
    /// Peers nearby.
    Peers(Vec<PeerInfo>),
    /// The daemon is unreachable, with the reason.
    Lost(String),
    /// The result of sending a message; for a failure the recipient, the text and the reason.
    Answered(Result<SendResult, [String; 3]>),
}

/// A message or a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds since 1970.
    pub time: u64,
    /// Content of the entry.
    pub kind: Kind,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A chat message.
    Message(Message),
    /// A notice.
    Note(String),
    /// An error.
    Wrong(String),
}

/// Action for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Say it, to `all` or an id.
    Say(String, String),
    /// End.
    Quit,
}

/// State of a chat.
#[derive(Debug, Default)]
pub struct Chat {
    /// Input line.
    pub input: Input,
    /// Rows below the visible ones.
    pub scrolled: usize,
    entries: VecDeque<Entry>,
    peers: Vec<PeerInfo>,
    is_there: bool,
    was_there: bool,
    to: Option<String>,
}

impl Chat {
    /// Returns the lines, the oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the peers nearby.
    pub fn peers(&self) -> &[PeerInfo] {
        &self.peers
    }

    /// Returns true if the daemon is reachable.
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Returns the recipient of direct messages; `None`: all peers.
    pub fn to(&self) -> Option<&str> {
        self.to.as_deref()
    }

    /// Returns an id for display, shortened if the short form is unique.
    pub fn name(&self, id: &str) -> String {
        let short: String = id.chars().take(SHORT).collect();
        let mut alike: BTreeSet<&str> = BTreeSet::from([id]);
        alike.extend(self.peers.iter().map(|it| it.id.as_str()));
        alike.extend(self.entries.iter().filter_map(|it| match &it.kind {
            Kind::Message(message) => Some(message.sender.as_str()),
            Kind::Note(_) | Kind::Wrong(_) => None,
        }));
        match alike.iter().filter(|it| it.starts_with(&short)).count() {
            1 => short,
            _ => id.to_owned(),
        }
    }

    /// Handles an event of the daemon.
    pub fn told(&mut self, told: DaemonEvent, now: u64) {
        match told {
            DaemonEvent::Begun(past) => self.begin(past, now),
            DaemonEvent::Said(said) => self.said(said, now),
            DaemonEvent::Peers(peers) => self.peers = peers,
            DaemonEvent::Lost(why) => {
                // Report a lost daemon once until the daemon returns.
                if std::mem::take(&mut self.is_there) || !self.was_there {
                    self.was_there = true;
                    let text = format!("weir-nearby is not reachable: {why}. Trying again.");
                    self.put(now, Kind::Wrong(text));
                }
                self.peers.clear();
            }
            // The daemon also reports own messages as events.
            DaemonEvent::Answered(Ok(_)) => {}
            DaemonEvent::Answered(Err([to, text, why])) => {
                self.put(now, Kind::Wrong(format!("not sent: {why}")));
                // Restores the text for another attempt, unless the user has typed another text.
                let now = self.to.as_deref().unwrap_or("all");
                if self.input.text().is_empty() {
                    match to == now {
                        true => self.input.put(&text),
                        false => self.input.put(&format!("/to {to} {text}")),
                    }
                }
            }
        }
    }

    fn begin(&mut self, past: Vec<Message>, now: u64) {
        // Requests missed messages as well.
        if !std::mem::replace(&mut self.is_there, true) && self.was_there {
            self.put(now, Kind::Note("weir-nearby is reachable again".to_owned()));
        }
        self.was_there = true;
        // A restarted daemon restarts its numbers.
        for entry in &mut self.entries {
            if let Kind::Message(message) = &mut entry.kind {
                message.number = None;
            }
        }
        for message in past {
            let known = self.entries.iter_mut().find_map(|it| match &mut it.kind {
                Kind::Message(known) if same(known, &message) => Some(known),
                _ => None,
            });
            match known {
                Some(known) => *known = message,
                None => self.put(message.time, Kind::Message(message)),
            }
        }
    }

    fn said(&mut self, said: Notification, now: u64) {
        match said {
            Notification::Near { peer } => {
                let text = format!("{} is near", self.name(&peer));
                self.put(now, Kind::Note(text));
            }
            Notification::Gone { peer } => {
                let text = format!("{} is no longer near", self.name(&peer));
                self.peers.retain(|it| it.id != peer);
                self.put(now, Kind::Note(text));
            }
            Notification::Direct {
                sender,
                receiver,
                octets,
                ..
            } => {
                let [sender, receiver] = [&sender, &receiver].map(|it| self.name(it));
                let text = format!("{sender} sent {receiver} {octets} bytes, encrypted");
                self.put(now, Kind::Note(text));
            }
            Notification::Other {
                peer, kind, octets, ..
            } => {
                let name = self.name(&peer);
                let text = format!("{name} sent {octets} bytes that cannot be read here: {kind}");
                self.put(now, Kind::Note(text));
            }
            Notification::Missed { count } => {
                let text = format!("{count} events were missed, because this program was too slow");
                self.put(now, Kind::Wrong(text));
            }
            Notification::Outcome { number, done, .. } => {
                let messages = self.entries.iter_mut().rev();
                let message = messages.into_iter().find_map(|it| match &mut it.kind {
                    Kind::Message(message) if message.number == Some(number) => Some(message),
                    _ => None,
                });
                if let Some(message) = message {
                    match done {
                        // The message may have arrived with the history too.
                        true => message.done = (message.done + 1).min(message.to),
                        false => message.failed = (message.failed + 1).min(message.to),
                    }
                }
            }
            said => {
                let Some(message) = Message::of(&said) else {
                    return;
                };
                let mut all = self.entries.iter();
                let is_known =
                    all.any(|it| matches!(&it.kind, Kind::Message(known) if same(known, &message)));
                if !is_known {
                    self.put(message.time, Kind::Message(message));
                }
            }
        }
    }

    fn put(&mut self, time: u64, kind: Kind) {
        self.entries.push_back(Entry { time, kind });
        if self.entries.len() > ENTRIES {
            self.entries.pop_front();
        }
    }

    /// Handles the end of the typed line.
    pub fn enter(&mut self, now: u64) -> Option<Action> {
        self.scrolled = 0;
        let line = self.input.take();
        let (command, rest) = match line.trim().split_once(char::is_whitespace) {
            Some((command, rest)) => (command, rest.trim()),
            None => (line.trim(), ""),
        };
        match command {
            "" => None,
            "/quit" => Some(Action::Quit),
            "/help" => {
                self.put(now, Kind::Note(HELP.to_owned()));
                None
            }
            "/peers" => {
                let text = self.listed();
                self.put(now, Kind::Note(text));
                None
            }
            "/to" => self.turn(rest, now),
            // An unknown command may be a private message: do not send it to all.
            _ if command.starts_with('/') => {
                let text = format!("{command} is not a command: see /help");
                self.put(now, Kind::Wrong(text));
                None
            }
            _ => {
                let to = self.to.clone().unwrap_or_else(|| "all".to_owned());
                Some(Action::Say(to, line))
            }
        }
    }

    /// Handles `/to ID`, `/to ID TEXT`, `/to all`.
    fn turn(&mut self, rest: &str, now: u64) -> Option<Action> {
        let (whom, text) = match rest.split_once(char::is_whitespace) {
            Some((whom, text)) => (whom, text.trim()),
            None => (rest, ""),
        };
        if whom == "all" || whom.is_empty() {
            if !text.is_empty() {
                return Some(Action::Say("all".to_owned(), text.to_owned()));
            }
            self.to = None;
            self.put(now, Kind::Note("messages go to all".to_owned()));
            return None;
        }
        let lower = whom.to_ascii_lowercase();
        let near = self.peers.iter().map(|it| &it.id);
        let found: Vec<String> = near.filter(|id| id.starts_with(&lower)).cloned().collect();
        let [id] = found.as_slice() else {
            let why = match found.len() {
                0 => format!("no peer near has an id that begins with {whom}"),
                count => format!("{count} peers near have ids that begin with {whom}"),
            };
            self.put(now, Kind::Wrong(format!("{why}; see /peers")));
            return None;
        };
        if !text.is_empty() {
            return Some(Action::Say(id.clone(), text.to_owned()));
        }
        let name = self.name(id);
        let text = format!("messages go to {name}, until /to all; {PUBLIC}");
        self.to = Some(id.clone());
        self.put(now, Kind::Note(text));
        None
    }

    fn listed(&self) -> String {
        if self.peers.is_empty() {
            return "no peers near".to_owned();
        }
        let line = |it: &PeerInfo| {
            let signal = it.signal.map_or(String::new(), |it| format!("  {it} dBm"));
            let waiting = match it.waiting {
                0 => String::new(),
                count => format!("  {count} waiting"),
            };
            format!("{}  {}{signal}{waiting}", it.id, it.formats.join(" "))
        };
        let lines: Vec<String> = self.peers.iter().map(line).collect();
        lines.join("\n")
    }
}

/// Returns true for two copies of one message: `time` is in milliseconds of the sender's clock.
fn same(one: &Message, other: &Message) -> bool {
    (&one.sender, one.time, &one.text) == (&other.sender, other.time, &other.text)
}

#[cfg(test)]
mod tests;
