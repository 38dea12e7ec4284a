//! One connection to a peer: who it is, whether it is still there, and messages both ways.

use super::frame::{Control, Frame};
use super::inbox::{Inbox, Told};
use super::outbox::{Outbox, Outcome, Priority, Refused};
use super::{FRAME, LONGEST_FRAME, channel};
use crate::{Id, Octets};

/// The own id is said again after so long, until the other said its, ms.
pub const INTRODUCES: u64 = 1_500;
/// Who did not say an id within this is nobody, ms.
pub const NOBODY: u64 = 6_000;
/// Something is said so often, ms: others take who is silent for 16 s for gone.
pub const PINGS: u64 = 5_000;
/// Who is silent for so long is gone, ms.
pub const SILENT: u64 = 16_000;
/// Frames in a row that are none, until the connection is closed.
const WRONG: u32 = 16;

/// What a connection has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The other said who it is, first.
    Peer(Id),
    /// A message came.
    Message(Vec<u8>),
    /// A message came by IP, and may go by so many more links.
    Hopped(u8, Vec<u8>),
    /// What became of a message.
    Outcome(u64, bool),
    /// A message of the other came to nothing.
    Lost,
    /// The connection is to be closed.
    Close(Why),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It did not say who it is.
    Nobody,
    /// Nothing is heard of it.
    Silent,
    /// It says that it is somebody else than before, or than it was found to be.
    Another,
    /// What it says is no frame.
    Noise,
}

/// One connection.
#[derive(Debug)]
pub struct Link {
    own: Id,
    peer: Option<Id>,
    inbox: Inbox,
    outbox: Outbox,
    /// Octets of a frame by GATT.
    frame: usize,
    /// There is a channel, too.
    channel: bool,
    opened: u64,
    /// How often the own id was said, and when last.
    introduced: (u32, u64),
    heard: u64,
    said: u64,
    wrong: u32,
}

impl Link {
    /// A connection was opened. `peer`: who it is, where that was read from the other's values.
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

    /// Who the other is, as far as it said.
    pub fn peer(&self) -> Option<Id> {
        self.peer
    }

    /// Frames may have so many octets from now on, where there is no channel.
    pub fn frames_of(&mut self, octets: usize) {
        self.frame = octets.clamp(FRAME, LONGEST_FRAME);
        if !self.channel {
            self.outbox.frames_of(self.frame);
        }
    }

    /// There is a channel that takes longer frames, or no longer: what was under way by it then goes
    /// again without.
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

    /// Whether there is a channel.
    pub fn has_channel(&self) -> bool {
        self.channel
    }

    /// A whole message came by a channel: nobody acknowledges those.
    pub fn whole(&mut self, now: u64, octets: &[u8]) -> Vec<Event> {
        self.heard = now;
        let event = self.peer.map(|_| Event::Message(octets.to_vec()));
        event.into_iter().collect()
    }

    /// A message is to be sent. See [`Outbox::send`].
    ///
    /// # Errors
    /// It is not taken.
    pub fn send(
        &mut self,
        number: u64,
        priority: Priority,
        octets: impl Into<Octets>,
    ) -> Result<(), Refused> {
        self.outbox.send(number, priority, octets)
    }

    /// The next frame: asked for when the connection takes one.
    pub fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        let (times, last) = self.introduced;
        // The first may be lost, and the other does not say whether it was.
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

    /// The other said something.
    pub fn heard(&mut self, now: u64, octets: &[u8]) -> Vec<Event> {
        let frame = match Frame::read(octets) {
            Ok(frame) => frame,
            Err(_) => {
                self.wrong += 1;
                let over = self.wrong >= WRONG;
                return over
                    .then_some(Event::Close(Why::Noise))
                    .into_iter()
                    .collect();
            }
        };
        self.wrong = 0;
        self.heard = now;
        let mut events = Vec::new();
        match frame {
            Frame::Chunk(chunk) => {
                // Nobody speaks for somebody else.
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
                Some(peer) if peer != id => events.push(Event::Close(Why::Another)),
                Some(_) => {}
                None if id == self.own => events.push(Event::Close(Why::Another)),
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

    /// Time goes by.
    pub fn tick(&mut self, now: u64) -> Vec<Event> {
        let mut events = Vec::new();
        let told = self.inbox.tick(now);
        self.told(told, &mut events);
        events.extend(self.outbox.tick(now).into_iter().map(outcome));
        if self.peer.is_none() && now >= self.opened + NOBODY {
            events.push(Event::Close(Why::Nobody));
        } else if now >= self.heard + SILENT {
            events.push(Event::Close(Why::Silent));
        }
        events
    }

    /// The connection is closed: what came whole, and numbers of messages that nothing is known of.
    pub fn end(mut self) -> (Vec<Event>, Vec<u64>) {
        let mut events = Vec::new();
        let told = self.inbox.end();
        self.told(told, &mut events);
        (events, self.outbox.end())
    }

    fn told(&mut self, told: Vec<Told>, events: &mut Vec<Event>) {
        for one in told {
            match one {
                Told::Message(_, octets) => events.push(Event::Message(octets)),
                Told::Reply(control) => self.outbox.say(control),
                Told::Lost => events.push(Event::Lost),
            }
        }
    }
}

fn outcome((number, done): Outcome) -> Event {
    Event::Outcome(number, done)
}

#[cfg(test)]
mod tests;
