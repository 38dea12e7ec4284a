//! Connection to a peer: identity, activity, and messages both ways.

use super::frame::{Control, Frame};
use super::inbox::{Inbox, InboxEvent};
use super::outbox::{Outbox, Outcome, Priority, SendError};
use super::{FRAME, LONGEST_FRAME, channel};
use crate::{Id, SharedBytes};

/// Interval of introductions until the peer's, ms.
pub const INTRODUCES: u64 = 1_500;
/// Timeout of the peer's introduction, ms.
pub const NOBODY: u64 = 6_000;
/// Interval of pings, ms: a peer treats silence of 16 s as the end.
pub const PINGS: u64 = 5_000;
/// Time of silence after which a peer is gone, ms.
pub const SILENT: u64 = 16_000;
/// Malformed frames in a row until the connection is closed.
const WRONG: u32 = 16;

/// Event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer introduced itself.
    Peer(Id),
    /// A message arrived.
    Message(Vec<u8>),
    /// A message arrived by IP, and may use this number of further links.
    Hopped(u8, Vec<u8>),
    /// The outcome of an own message, by its number: true if delivered.
    Outcome(u64, bool),
    /// A message of the peer was lost.
    Lost,
    /// The connection must be closed.
    Close(CloseReason),
}

/// Reason to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer did not introduce itself.
    Nobody,
    /// The peer is silent.
    Silent,
    /// The peer claims another id than before, or than was found.
    Another,
    /// The peer's frames are malformed.
    Noise,
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    own: Id,
    peer: Option<Id>,
    inbox: Inbox,
    outbox: Outbox,
    /// Size of a frame by GATT, in bytes.
    frame: usize,
    /// True if there is a channel.
    channel: bool,
    opened: u64,
    /// Number of introductions, and the time of the last.
    introduced: (u32, u64),
    heard: u64,
    said: u64,
    wrong: u32,
}

impl Link {
    /// Creates a link for an open connection. `peer`: the id, if read from the peer's values.
    pub fn new(own: Id, peer: Option<Id>, now: u64) -> Self {
        Self {
            own,
            peer,
            inbox: Inbox::new(),
            outbox: Outbox::new(own),
            frame: FRAME,
            channel: false,
            opened: now,
            introduced: (0, now),
            heard: now,
            said: now,
            wrong: 0,
        }
    }

    /// Returns the peer's id, if introduced.
    pub fn peer(&self) -> Option<Id> {
        self.peer
    }

    /// Sets the frame size in bytes, used without a channel.
    pub fn frames_of(&mut self, octets: usize) {
        self.frame = octets.clamp(FRAME, LONGEST_FRAME);
        if !self.channel {
            self.outbox.frames_of(self.frame);
        }
    }

    /// Notes that a channel for longer frames opened or closed: frames in flight are then resent
    /// without the channel.
    pub fn channel(&mut self, is: bool) {
        self.channel = is;
        match is {
            true => self.outbox.frames_of(channel::FRAME),
            false => {
                self.outbox.frames_of(self.frame);
                self.outbox.cut_anew();
            }
        }
    }

    /// Returns true if there is a channel.
    pub fn has_channel(&self) -> bool {
        self.channel
    }

    /// Handles a whole message of a channel, which has no acknowledgement.
    pub fn whole(&mut self, now: u64, octets: &[u8]) -> Vec<Event> {
        self.heard = now;
        let event = self.peer.map(|_| Event::Message(octets.to_vec()));
        event.into_iter().collect()
    }

    /// Sends a message. See [`Outbox::send`].
    ///
    /// # Errors
    /// The message is refused.
    pub fn send(
        &mut self,
        number: u64,
        priority: Priority,
        octets: impl Into<SharedBytes>,
    ) -> Result<(), SendError> {
        self.outbox.send(number, priority, octets)
    }

    /// Returns the next frame, when the connection accepts one.
    pub fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        let (times, last) = self.introduced;
        // The first introduction may be lost without notice.
        let introduces =
            times == 0 || (times == 1 || self.peer.is_none()) && now >= last + INTRODUCES;
        let frame = match introduces {
            true => {
                self.introduced = (times + 1, now);
                Frame::Control(Control::Id(self.own)).octets()
            }
            false => match self.outbox.next(now) {
                None if now >= self.said + PINGS => Frame::Control(Control::Ping).octets(),
                frame => frame?,
            },
        };
        self.said = now;
        Some(frame)
    }

    /// Handles a frame.
    pub fn heard(&mut self, now: u64, octets: &[u8]) -> Vec<Event> {
        let frame = match Frame::read(octets) {
            Ok(frame) => frame,
            Err(_) => {
                self.wrong += 1;
                let over = self.wrong >= WRONG;
                return over
                    .then_some(Event::Close(CloseReason::Noise))
                    .into_iter()
                    .collect();
            }
        };
        self.wrong = 0;
        self.heard = now;
        let mut events = Vec::new();
        match frame {
            Frame::Chunk(chunk) => {
                // Only the sender itself may send its messages.
                let other = chunk.first.is_some_and(|it| Some(it.from) != self.peer);
                if self.peer.is_none() || other {
                    if self.peer.is_none() {
                        self.outbox.say(Control::AskId);
                    }
                    self.outbox.say(Control::Failed(chunk.queue, 0));
                    return events;
                }
                let told = self.inbox.chunk(now, &chunk);
                self.told(told, &mut events);
            }
            Frame::Control(Control::AskId) => self.outbox.say(Control::Id(self.own)),
            Frame::Control(Control::Id(id)) => match self.peer {
                Some(peer) if peer != id => events.push(Event::Close(CloseReason::Another)),
                Some(_) => {}
                None if id == self.own => events.push(Event::Close(CloseReason::Another)),
                None => {
                    self.peer = Some(id);
                    events.push(Event::Peer(id));
                }
            },
            Frame::Control(Control::AskDone(queue)) => {
                let replies = self.inbox.asked(queue);
                replies.into_iter().for_each(|it| self.outbox.say(it));
            }
            Frame::Control(control) => events.extend(self.outbox.heard(now, &control).map(outcome)),
        }
        events
    }

    /// Handles a tick.
    pub fn tick(&mut self, now: u64) -> Vec<Event> {
        let mut events = Vec::new();
        let told = self.inbox.tick(now);
        self.told(told, &mut events);
        events.extend(self.outbox.tick(now).into_iter().map(outcome));
        if self.peer.is_none() && now >= self.opened + NOBODY {
            events.push(Event::Close(CloseReason::Nobody));
        } else if now >= self.heard + SILENT {
            events.push(Event::Close(CloseReason::Silent));
        }
        events
    }

    /// Closes the link. Returns the complete messages, and numbers without a known outcome.
    pub fn end(mut self) -> (Vec<Event>, Vec<u64>) {
        let mut events = Vec::new();
        let told = self.inbox.end();
        self.told(told, &mut events);
        (events, self.outbox.end())
    }

    fn told(&mut self, told: Vec<InboxEvent>, events: &mut Vec<Event>) {
        for one in told {
            match one {
                InboxEvent::Message(_, octets) => events.push(Event::Message(octets)),
                InboxEvent::Reply(control) => self.outbox.say(control),
                InboxEvent::Lost => events.push(Event::Lost),
            }
        }
    }
}

fn outcome((number, done): Outcome) -> Event {
    Event::Outcome(number, done)
}

#[cfg(test)]
mod tests;
