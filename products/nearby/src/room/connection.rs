use std::collections::VecDeque;
use std::net::SocketAddr;

use super::peer::Waiting;
use super::place::{Address, Format, Place};
use crate::v2::link::{self, Link, Why};
use crate::village::Exchange;
use crate::{Id, v1};

/// Messages in v1 that are not written yet, at most.
const AHEAD: usize = 4;
/// Octets of their frames: beyond that none is taken.
const HEAVY: usize = 32_768;
/// Frames in v1 in a row that are none, until the connection is closed.
const WRONG: u32 = 16;

/// Where both call at once there are two connections for less than this, ms.
pub const SETTLED: u64 = 10_000;
/// Others say something each five seconds: who was silent for longer may be gone, ms.
pub const ALIVE: u64 = 6_000;

/// Who is called says who it is at once: without a word for so long it cannot, ms.
const DUMB: u64 = 1_500;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    place: Place,
    caller: bool,
    kind: Kind,
    opened: u64,
    /// When something was heard last.
    heard: u64,
    /// Whether anything ever was.
    speaks: bool,
    /// When something was written or heard last.
    busy: u64,
}

#[derive(Debug)]
enum Kind {
    /// Messages go one way only: from who called.
    V1 {
        peer: Option<Id>,
        own: Id,
        reader: v1::Reader,
        wrong: u32,
        /// Messages whose writes are yet to come, and what is left of the first.
        messages: VecDeque<(u64, Vec<u8>)>,
        writes: VecDeque<Vec<u8>>,
        /// The message whose last write is under way.
        written: Option<u64>,
    },
    V2(Link),
    Ip(Exchange),
}

impl Connection {
    /// One that was opened now.
    pub fn new(
        format: Format,
        address: Address,
        caller: bool,
        own: Id,
        peer: Option<Id>,
        frame: usize,
        now: u64,
    ) -> Self {
        let kind = match format {
            // By Bluetooth there is nothing else.
            Format::V1 | Format::Ip => Kind::V1 {
                peer,
                own,
                reader: v1::Reader::default(),
                wrong: 0,
                messages: VecDeque::new(),
                writes: VecDeque::new(),
                written: None,
            },
            Format::V2 => {
                let mut link = Link::new(own, peer, now);
                link.frames_of(frame);
                Kind::V2(link)
            }
        };
        Self {
            place: address.into(),
            caller,
            kind,
            opened: now,
            heard: now,
            speaks: false,
            busy: now,
        }
    }

    /// A village's link that was made now, with somebody who proved their id.
    pub fn by_ip(address: SocketAddr, caller: bool, peer: Id, now: u64) -> Self {
        Self {
            place: Place::Ip(address),
            caller,
            kind: Kind::Ip(Exchange::new(peer, now)),
            opened: now,
            heard: now,
            speaks: false,
            busy: now,
        }
    }

    /// Frames may have so many octets from now on; of v1 they are as they are.
    pub fn frames_of(&mut self, octets: usize) {
        if let Kind::V2(link) = &mut self.kind {
            link.frames_of(octets);
        }
    }

    /// There is a channel beside it that takes longer frames, or no longer.
    pub fn channel(&mut self, is: bool) {
        if let Kind::V2(link) = &mut self.kind {
            link.channel(is);
        }
    }

    /// Whether there is a channel beside it.
    pub fn has_channel(&self) -> bool {
        matches!(&self.kind, Kind::V2(link) if link.has_channel())
    }

    /// A whole message came by a channel.
    pub fn whole(&mut self, now: u64, octets: &[u8]) -> Vec<link::Event> {
        self.busy = now;
        self.heard = now;
        match &mut self.kind {
            Kind::V2(link) => link.whole(now, octets),
            Kind::V1 { .. } | Kind::Ip(_) => Vec::new(),
        }
    }

    /// Whether it is there for a while, and the other still is: nobody takes its place by saying the
    /// same id. Who begins anew waits until it is silent.
    pub fn stands(&self, now: u64) -> bool {
        now >= self.opened + SETTLED && now < self.heard + ALIVE
    }

    /// Whether the other, who was called, had time to say something, and nothing was heard.
    pub fn is_dumb(&self, now: u64) -> bool {
        self.caller && self.is_double() && !self.speaks && now >= self.opened + DUMB
    }

    /// With whom.
    pub fn place(&self) -> Place {
        self.place
    }

    /// With whom, where that is by Bluetooth.
    pub fn address(&self) -> Option<Address> {
        match self.place {
            Place::Bluetooth(address) => Some(address),
            Place::Ip(_) => None,
        }
    }

    /// Whether this side called.
    pub fn is_caller(&self) -> bool {
        self.caller
    }

    /// What is spoken.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::V1 { .. } => Format::V1,
            Kind::V2(_) => Format::V2,
            Kind::Ip(_) => Format::Ip,
        }
    }

    /// Who the other is, where it is known.
    pub fn peer(&self) -> Option<Id> {
        match &self.kind {
            Kind::V1 { peer, .. } => *peer,
            Kind::V2(link) => link.peer(),
            Kind::Ip(link) => Some(link.peer()),
        }
    }

    /// Whether messages can be sent by it.
    pub fn sends(&self) -> bool {
        self.caller || self.is_double()
    }

    /// Whether messages go both ways.
    pub fn is_double(&self) -> bool {
        self.format() != Format::V1
    }

    /// Takes a message, if it can.
    pub fn send(&mut self, message: &Waiting) -> bool {
        match &mut self.kind {
            Kind::V1 { messages, own, .. } => {
                let octets: usize = messages.iter().map(|(_, frame)| frame.len()).sum();
                let room = messages.len() < AHEAD && octets < HEAVY;
                if room {
                    messages.push_back((message.number, v1::frame(*own, &message.octets)));
                }
                room
            }
            Kind::V2(link) => {
                let octets = message.octets.clone();
                link.send(message.number, message.priority, octets).is_ok()
            }
            Kind::Ip(link) => link.send(message.number, message.hops, message.octets.clone()),
        }
    }

    /// What is written next, and the messages that are written: of v1 each write is acknowledged before
    /// the next is asked for.
    pub fn next(&mut self, now: u64) -> (Option<Vec<u8>>, Vec<u64>) {
        match &mut self.kind {
            Kind::V1 {
                messages,
                writes,
                written,
                ..
            } => {
                let mut done = Vec::new();
                if writes.is_empty() {
                    done.extend(written.take());
                    if let Some((number, frame)) = messages.pop_front() {
                        *writes = v1::writes(&frame).map(<[u8]>::to_vec).collect();
                        *written = Some(number);
                    }
                }
                let next = writes.pop_front();
                if next.is_some() {
                    self.busy = now;
                }
                (next, done)
            }
            Kind::V2(link) => (link.next(now), Vec::new()),
            Kind::Ip(link) => (link.next(now), Vec::new()),
        }
    }

    /// The other wrote something.
    pub fn heard(&mut self, now: u64, octets: &[u8]) -> Vec<link::Event> {
        self.busy = now;
        self.heard = now;
        self.speaks = true;
        match &mut self.kind {
            Kind::V2(link) => link.heard(now, octets),
            Kind::Ip(link) => link.heard(now, octets),
            Kind::V1 {
                peer,
                reader,
                wrong,
                ..
            } => {
                let mut events = Vec::new();
                for told in reader.write(octets) {
                    match told {
                        // Who writes is who it says, as long as it is the same one.
                        Ok((from, message)) if peer.is_none_or(|peer| peer == from) => {
                            if peer.is_none() {
                                *peer = Some(from);
                                events.push(link::Event::Peer(from));
                            }
                            *wrong = 0;
                            events.push(link::Event::Message(message));
                        }
                        Ok(_) => events.push(link::Event::Close(Why::Another)),
                        Err(_) => {
                            *wrong += 1;
                            if *wrong >= WRONG {
                                events.push(link::Event::Close(Why::Noise));
                            }
                        }
                    }
                }
                events
            }
        }
    }

    /// Time goes by.
    pub fn tick(&mut self, now: u64) -> Vec<link::Event> {
        match &mut self.kind {
            Kind::V1 { .. } => Vec::new(),
            Kind::V2(link) => link.tick(now),
            Kind::Ip(link) => link.tick(now),
        }
    }

    /// Whether nothing went by it for so long, and nothing is to, where a connection is for messages
    /// only.
    pub fn is_idle(&self, now: u64, time: u64) -> bool {
        match &self.kind {
            Kind::V1 {
                messages, writes, ..
            } => self.caller && messages.is_empty() && writes.is_empty() && now >= self.busy + time,
            Kind::V2(_) | Kind::Ip(_) => false,
        }
    }

    /// It is closed: what came whole, and the messages of which nothing is known.
    pub fn end(self) -> (Vec<link::Event>, Vec<u64>) {
        match self.kind {
            Kind::V2(link) => link.end(),
            Kind::Ip(link) => (Vec::new(), link.end()),
            Kind::V1 {
                messages, written, ..
            } => {
                let rest = messages.into_iter().map(|(number, _)| number);
                (Vec::new(), written.into_iter().chain(rest).collect())
            }
        }
    }
}
