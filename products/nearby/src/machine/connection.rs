use std::collections::VecDeque;
use std::net::SocketAddr;

use super::endpoint::{Address, Endpoint, Format};
use super::peer::PendingMessage;
use crate::v2::link::{self, CloseReason, Link};
use crate::village::MessageStream;
use crate::{Id, v1};

/// Messages in v1 that are not written yet, at most.
const AHEAD: usize = 4;
/// Maximum bytes of their frames: beyond it no message is accepted.
const HEAVY: usize = 32_768;
/// Malformed frames of v1 in a row until the connection is closed.
const WRONG: u32 = 16;

/// Longest time, ms, for which simultaneous calls may leave two connections.
pub const SETTLED: u64 = 10_000;
/// Time without a frame after which a peer may be gone, ms: peers send one each five seconds.
pub const ALIVE: u64 = 6_000;

/// Time until a called peer without a frame counts as mute, ms.
const DUMB: u64 = 1_500;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    place: Endpoint,
    caller: bool,
    kind: Kind,
    opened: u64,
    /// Time of the last frame received.
    heard: u64,
    /// True after the first frame received.
    speaks: bool,
    /// Time of the last frame in either direction.
    busy: u64,
}

#[derive(Debug)]
enum Kind {
    /// Messages go one way only: from the caller.
    V1 {
        peer: Option<Id>,
        own: Id,
        reader: v1::Reader,
        wrong: u32,
        /// Messages with unsent writes, and the remaining bytes of the first.
        messages: VecDeque<(u64, Vec<u8>)>,
        writes: VecDeque<Vec<u8>>,
        /// The message whose last write is in progress.
        written: Option<u64>,
    },
    V2(Link),
    Ip(MessageStream),
}

impl Connection {
    /// Creates a connection at its opening.
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
            // The only other format by Bluetooth.
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

    /// Creates a link of a village with a node of proven id.
    pub fn by_ip(address: SocketAddr, caller: bool, peer: Id, now: u64) -> Self {
        Self {
            place: Endpoint::Ip(address),
            caller,
            kind: Kind::Ip(MessageStream::new(peer, now)),
            opened: now,
            heard: now,
            speaks: false,
            busy: now,
        }
    }

    /// Sets the maximum bytes of frames; frames of v1 stay as they are.
    pub fn frames_of(&mut self, octets: usize) {
        if let Kind::V2(link) = &mut self.kind {
            link.frames_of(octets);
        }
    }

    /// Notes that a channel for longer frames opened or closed.
    pub fn channel(&mut self, is: bool) {
        if let Kind::V2(link) = &mut self.kind {
            link.channel(is);
        }
    }

    /// Returns true if the connection has a channel.
    pub fn has_channel(&self) -> bool {
        matches!(&self.kind, Kind::V2(link) if link.has_channel())
    }

    /// Handles a whole message of a channel.
    pub fn whole(&mut self, now: u64, octets: &[u8]) -> Vec<link::Event> {
        self.busy = now;
        self.heard = now;
        match &mut self.kind {
            Kind::V2(link) => link.whole(now, octets),
            Kind::V1 { .. } | Kind::Ip(_) => Vec::new(),
        }
    }

    /// Returns true if the connection is settled and the peer active: no other connection with the
    /// same id replaces it. A restarted peer waits until it is silent.
    pub fn stands(&self, now: u64) -> bool {
        now >= self.opened + SETTLED && now < self.heard + ALIVE
    }

    /// Returns true if a called peer had time to send a frame and sent none.
    pub fn is_dumb(&self, now: u64) -> bool {
        self.caller && self.is_double() && !self.speaks && now >= self.opened + DUMB
    }

    /// Returns the peer's place.
    pub fn place(&self) -> Endpoint {
        self.place
    }

    /// Returns the peer's address if connected by Bluetooth.
    pub fn address(&self) -> Option<Address> {
        match self.place {
            Endpoint::Bluetooth(address) => Some(address),
            Endpoint::Ip(_) => None,
        }
    }

    /// Returns true if this side called.
    pub fn is_caller(&self) -> bool {
        self.caller
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::V1 { .. } => Format::V1,
            Kind::V2(_) => Format::V2,
            Kind::Ip(_) => Format::Ip,
        }
    }

    /// Returns the peer's id, if known.
    pub fn peer(&self) -> Option<Id> {
        match &self.kind {
            Kind::V1 { peer, .. } => *peer,
            Kind::V2(link) => link.peer(),
            Kind::Ip(link) => Some(link.peer()),
        }
    }

    /// Returns true if messages can be sent by the connection.
    pub fn sends(&self) -> bool {
        self.caller || self.is_double()
    }

    /// Returns true if messages go both ways.
    pub fn is_double(&self) -> bool {
        self.format() != Format::V1
    }

    /// Takes a message, if it can.
    pub fn send(&mut self, message: &PendingMessage) -> bool {
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

    /// Returns the next frame, and the messages completely written: v1 acknowledges each write
    /// before the next.
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

    /// Handles bytes from the other side.
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
                        // The sender is as claimed, as long as the claim does not change.
                        Ok((from, message)) if peer.is_none_or(|peer| peer == from) => {
                            if peer.is_none() {
                                *peer = Some(from);
                                events.push(link::Event::Peer(from));
                            }
                            *wrong = 0;
                            events.push(link::Event::Message(message));
                        }
                        Ok(_) => events.push(link::Event::Close(CloseReason::Another)),
                        Err(_) => {
                            *wrong += 1;
                            if *wrong >= WRONG {
                                events.push(link::Event::Close(CloseReason::Noise));
                            }
                        }
                    }
                }
                events
            }
        }
    }

    /// Handles a tick.
    pub fn tick(&mut self, now: u64) -> Vec<link::Event> {
        match &mut self.kind {
            Kind::V1 { .. } => Vec::new(),
            Kind::V2(link) => link.tick(now),
            Kind::Ip(link) => link.tick(now),
        }
    }

    /// Returns true if a connection that exists only for messages has been idle for `time`, without
    /// any messages left.
    pub fn is_idle(&self, now: u64, time: u64) -> bool {
        match &self.kind {
            Kind::V1 {
                messages, writes, ..
            } => self.caller && messages.is_empty() && writes.is_empty() && now >= self.busy + time,
            Kind::V2(_) | Kind::Ip(_) => false,
        }
    }

    /// Closes the connection. Returns the complete messages, and those without a known outcome.
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
