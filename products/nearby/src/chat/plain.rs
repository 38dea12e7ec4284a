//! The loop without a terminal: sends each line of standard input, prints each message as a line.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;

use super::clock::clock;
use super::event::{AHEAD, Event};
use super::link::{self, EventSender};
use super::model::DaemonEvent;
use crate::daemon::{Message, Notification, Say};
use crate::envelope::LONGEST_TEXT;
use crate::sanitize::harmless;

/// Maximum bytes of a line: the daemon accepts no longer one.
const LONGEST: u64 = LONGEST_TEXT as u64;
/// Largest number of remembered messages: a returned daemon repeats the last ones.
const KNOWN: usize = 500;

/// Result of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All lines were sent.
    Well,
    /// At least one line was not sent; the errors are on standard error.
    NotAllSaid,
}

/// Sends and prints until standard input ends and all lines are sent.
///
/// # Errors
/// Standard output cannot be written to.
pub fn plain(socket: &Path, output: &mut impl Write) -> io::Result<Outcome> {
    let (events, happening) = sync_channel(AHEAD);
    let (requests, asked) = channel();
    link::hear(socket.to_owned(), events.clone());
    link::speak(socket.to_owned(), asked, events.clone());
    lines(events);
    let is_typed = io::stdin().is_terminal();
    let mut known = Known::default();
    let (mut waits, mut is_over, mut ended) = (0, false, Outcome::Well);
    let mut is_there = true;
    // Number of absent peers that a message waits for.
    let mut later = None;
    for event in happening {
        match event {
            Event::Told(DaemonEvent::Said(Notification::Missed { count })) => {
                eprintln!(
                    "weir-nearby: {count} events were missed, because this program was too slow"
                );
            }
            Event::Told(DaemonEvent::Said(said)) => {
                // The user's own messages need no echo.
                if let Some(message) = Message::of(&said).filter(|it| !it.own)
                    && known.is_new(&message)
                {
                    writeln!(output, "{}", line(&message))?;
                    output.flush()?;
                }
            }
            Event::Told(DaemonEvent::Begun(past)) => {
                if !std::mem::replace(&mut is_there, true) {
                    eprintln!("weir-nearby: reachable again");
                }
                // The first history is not new; after a reconnect the missed messages are.
                let is_first = known.begin();
                for message in past.iter().filter(|it| !it.own) {
                    if known.is_new(message) && !is_first {
                        writeln!(output, "{}", line(message))?;
                    }
                }
                output.flush()?;
            }
            Event::Told(DaemonEvent::Lost(why)) => {
                if std::mem::replace(&mut is_there, false) {
                    eprintln!("weir-nearby: not reachable: {why}; trying again");
                }
            }
            Event::Told(DaemonEvent::Answered(answer)) => {
                waits -= 1;
                match answer {
                    // Told once, and not for each line.
                    Ok(answer) => {
                        let waits = (answer.peers == 0).then_some(answer.waiting);
                        if let Some(count) = waits.filter(|_| later != waits) {
                            eprintln!("weir-nearby: no peers near: the message waits for {count}");
                        }
                        later = waits;
                    }
                    Err([_, _, why]) => {
                        ended = Outcome::NotAllSaid;
                        eprintln!("weir-nearby: not sent: {why}");
                    }
                }
            }
            // A typed line with a slash is meant as a command and must not go to all peers.
            Event::Line(Some(Ok(text))) if is_typed && text.starts_with('/') => match text.trim() {
                "/quit" => is_over = true,
                command => {
                    let only = "without a terminal, /quit is the only command";
                    eprintln!("weir-nearby: {} is not sent: {only}", harmless(command));
                }
            },
            Event::Line(Some(Ok(text))) => {
                if !text.trim().is_empty() {
                    waits += 1;
                    let to = "all".to_owned();
                    // The receiver ends only after reporting its end.
                    let _ = requests.send(Say { to, text });
                }
            }
            Event::Line(Some(Err(why))) => {
                ended = Outcome::NotAllSaid;
                eprintln!("weir-nearby: not sent: {why}");
            }
            Event::Line(None) => is_over = true,
            Event::Panicked => return Err(io::Error::other("sending failed in part")),
            Event::Stop => return Ok(ended),
            Event::Told(DaemonEvent::Peers(_))
            | Event::Key(_)
            | Event::Pasted(_)
            | Event::Resized => {}
        }
        if is_over && waits == 0 {
            return Ok(ended);
        }
    }
    Ok(ended)
}

/// Formats a message in one line.
fn line(message: &Message) -> String {
    let text = harmless(&message.text).replace('\n', " ");
    format!("{} {}  {text}", clock(message.time), message.sender)
}

/// Messages that were shown.
#[derive(Default)]
struct Known {
    has_begun: bool,
    all: VecDeque<(String, u64, String)>,
}

impl Known {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true)
    }

    fn is_new(&mut self, message: &Message) -> bool {
        let one = (message.sender.clone(), message.time, message.text.clone());
        if self.all.contains(&one) {
            return false;
        }
        self.all.push_back(one);
        if self.all.len() > KNOWN {
            self.all.pop_front();
        }
        true
    }
}

/// Reads lines in a thread that ends with the process, or with standard input.
fn lines(events: SyncSender<Event>) {
    let teller = EventSender(events);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let line = read(&mut input);
            let is_over = line.is_none();
            if teller.0.send(Event::Line(line)).is_err() || is_over {
                return;
            }
        }
    });
}

/// Reads a line. Returns an error for an invalid line, and skips one that is too long.
fn read(input: &mut impl BufRead) -> Option<Result<String, String>> {
    let mut octets = Vec::new();
    let mut is_long = false;
    loop {
        octets.clear();
        let taken = input
            .by_ref()
            .take(LONGEST + 1)
            .read_until(b'\n', &mut octets);
        match taken {
            // An input error counts as the end of the input.
            Err(_) => return None,
            Ok(0) if !is_long => return None,
            Ok(_) => {}
        }
        let is_whole = octets.pop_if(|it| *it == b'\n').is_some();
        if octets.len() as u64 > LONGEST {
            is_long = true;
        }
        if is_whole || octets.len() as u64 <= LONGEST {
            break;
        }
    }
    octets.pop_if(|it| *it == b'\r');
    if is_long {
        return Some(Err(format!("a line has more than {LONGEST} bytes")));
    }
    let text = String::from_utf8(octets);
    Some(text.map_err(|_| "a line is not UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_and_long_ones_passed_over() {
        let long = "x".repeat(100_000);
        let most = "y".repeat(LONGEST as usize);
        let text = format!("one\r\n\n{long}\n{most}\nlast");
        let mut input = text.as_bytes();
        let mut all = Vec::new();
        while let Some(line) = read(&mut input) {
            all.push(line);
        }
        let ok = |text: &str| Ok(text.to_owned());
        let long = Err(format!("a line has more than {LONGEST} bytes"));
        assert_eq!(
            all,
            [ok("one"), ok(""), long.clone(), ok(&most), ok("last")]
        );
        // Without a line after it, too.
        let text = "x".repeat(LONGEST as usize + 1);
        assert_eq!(read(&mut text.as_bytes()), Some(long));
        assert_eq!(
            read(&mut &b"\xff\n"[..]),
            Some(Err("a line is not UTF-8 text".to_owned()))
        );
    }
}
