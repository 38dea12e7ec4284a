//! Everybody who is near: who they are, to whom there is a connection, and what goes to whom.
//!
//! A message to all that comes by one format goes on to all peers, by whichever they understand: so
//! those of Linux and those of Android hear each other. Each goes once to each.

mod connection;
mod counts;
mod far;
mod kept;
mod near;
mod peer;
mod recent;
mod sends;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use connection::Connection;
pub use connection::{Format, Place};
pub use counts::Counts;
pub use far::LINKS;
use kept::Kept;
pub use kept::{AWAY, FORGOTTEN, Keep, Message, Store};
use peer::Peer;
pub use peer::{PIECE, Shown};
use recent::Recent;

use crate::Id;
use crate::envelope::{self, Content, Node};
use crate::octets::Pool;
use crate::v2::link;
use crate::v2::outbox::Priority;
use crate::village::HOPS;

/// A Bluetooth address.
pub type Address = [u8; 6];

/// Who was not seen for so long, and has no connection, is out of range, ms.
pub const GONE: u64 = 15_000;
/// Peers at most; and as many as are reached by IP.
pub const PEERS: usize = 64;
/// So long it is waited for the one that is to call, ms.
pub const WAITS: u64 = 8_000;
/// Who could not be called is called again after so long, twice as long each time, and at most, ms.
pub const AGAIN: [u64; 2] = [2_000, 60_000];
/// A connection of v1 without anything to write is kept for so long, ms: the other may not call while
/// it is there.
const IDLE: u64 = 2_000;
/// A message that does not get through is given up after so long, ms.
pub const AGE: u64 = 600_000;

/// How it is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who this is.
    pub own: Id,
    /// The same in whole, where the room is a node of qaul's: it says so to who asks, and passes on.
    /// Without it whoever uses the room does both, and is given all that comes.
    pub node: Option<Node>,
    /// Where.
    pub address: Address,
    /// Which formats are spoken.
    pub formats: BTreeSet<Format>,
    /// Connections by Bluetooth at most.
    pub links: usize,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// An advertisement was heard.
    Seen {
        /// Whose.
        address: Address,
        /// What it speaks.
        format: Format,
        /// How its id begins, where it says so.
        prefix: Option<[u8; 5]>,
        /// How loud, dBm.
        signal: Option<i16>,
    },
    /// There is a connection.
    Opened {
        /// A number that no other has.
        link: u32,
        /// With whom.
        address: Address,
        /// What is spoken.
        format: Format,
        /// Whether this side called.
        caller: bool,
        /// Who it is, where that was read.
        id: Option<Id>,
        /// Octets of a frame.
        frame: usize,
    },
    /// There is a link by IP, with somebody who proved their id.
    Reached {
        /// A number that no other has.
        link: u32,
        /// With whom.
        address: SocketAddr,
        /// Whether this side called.
        caller: bool,
        /// Who it is.
        id: Id,
    },
    /// Who was to be called was not reached.
    Refused(Address),
    /// A write or notification came by a connection.
    Heard(u32, &'a [u8]),
    /// A whole message came by a channel beside a connection.
    Whole(u32, &'a [u8]),
    /// A connection is no longer.
    Closed(u32),
    /// Time goes by.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Call: what comes of it is an event.
    Connect(Address),
    /// End a connection.
    Close(u32),
    /// Something may be there to be written: ask [`Room::next`].
    Wake(u32),
    /// Somebody is near, or no longer.
    Near(Id, bool),
    /// A message came, whatever it is.
    Message {
        /// From which peer.
        from: Id,
        /// By which format.
        format: Format,
        /// The message.
        octets: Vec<u8>,
    },
    /// What became of a message, by its number: it got to a peer, or did not.
    Outcome(u64, Id, bool),
    /// Something is to be done to what is kept: never before [`Room::keeps`].
    Store(Store),
}

/// To whom a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To all who are near.
    All,
    /// To one.
    One(Id),
}

/// What is known of an address that advertises.
#[derive(Debug)]
struct Seen {
    formats: BTreeSet<Format>,
    prefix: Option<[u8; 5]>,
    signal: Option<i16>,
    first: u64,
    last: u64,
    id: Option<Id>,
    /// When it may be called again, and how long it is waited after that.
    again: (u64, u64),
    /// Whether it was heard since a connection with it ended or a call came to nothing: until then BlueZ,
    /// which was told to forget it, knows nobody to be called.
    heard: bool,
}

/// All who are near.
#[derive(Debug)]
pub struct Room {
    settings: Settings,
    own: Id,
    seen: BTreeMap<Address, Seen>,
    peers: BTreeMap<Id, Peer>,
    links: BTreeMap<u32, Connection>,
    calling: Option<Address>,
    recent: Recent,
    /// Numbers of messages that are passed on: nobody waits for their outcome.
    passed: u64,
    /// Messages that came again.
    doubled: u64,
    /// Of the numbers of messages that are passed on, those of answers of its own.
    answered: u64,
    /// Counts what messages take that are in memory.
    pool: Pool,
    /// What is known of those who are away, where messages are kept for them.
    kept: Option<Kept>,
    /// Who was not heard for so long is gone, ms.
    gone: u64,
}

/// Numbers from here on are those of messages that are passed on.
const PASSED: u64 = 1 << 63;

impl Room {
    /// Nobody is near yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            own: settings.own,
            settings,
            seen: BTreeMap::new(),
            peers: BTreeMap::new(),
            links: BTreeMap::new(),
            calling: None,
            recent: Recent::new(),
            passed: PASSED,
            doubled: 0,
            answered: 0,
            pool: Pool::default(),
            kept: None,
            gone: GONE,
        }
    }

    /// The radio rests for so long, ms: who is near is heard so much later.
    pub fn rests(&mut self, time: u64) {
        self.gone = GONE + time;
    }

    /// All who are near.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.peers.iter().map(|(id, peer)| {
            let linked = self.links.values().filter(|it| it.peer() == Some(*id));
            let by_ip = linked.clone().find(|it| it.format() == Format::Ip);
            let channel = linked.clone().any(Connection::has_channel);
            let shown = peer.shown(*id, linked.map(Connection::format).collect());
            Shown {
                place: by_ip.map_or(shown.place, Connection::place),
                channel,
                ..shown
            }
        })
    }

    /// Frames of a connection may have so many octets from now on.
    pub fn frames_of(&mut self, link: u32, octets: usize) {
        if let Some(connection) = self.links.get_mut(&link) {
            connection.frames_of(octets);
        }
    }

    /// There is a channel beside a connection that takes longer frames, or no longer.
    pub fn channel(&mut self, link: u32, is: bool) {
        if let Some(connection) = self.links.get_mut(&link) {
            connection.channel(is);
        }
    }

    /// What is to be written next by a connection: asked for when it takes more.
    pub fn next(&mut self, now: u64, link: u32, out: &mut Vec<Action>) -> Option<Vec<u8>> {
        let connection = self.links.get_mut(&link)?;
        let (octets, done) = connection.next(now);
        let id = connection.peer();
        for number in done {
            self.settled(id, number, true, out);
        }
        octets
    }

    /// What happened, and when; what is to be done comes out, in this order.
    pub fn handle(&mut self, now: u64, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Seen {
                address,
                format,
                prefix,
                signal,
            } => self.see(now, address, format, prefix, signal, &mut out),
            Event::Opened {
                link,
                address,
                format,
                caller,
                id,
                frame,
            } => {
                if caller {
                    self.calling = None;
                }
                let connection = Connection::new(format, address, caller, self.own, id, frame, now);
                self.links.insert(link, connection);
                match id {
                    Some(id) => self.know(now, link, id, &mut out),
                    None => out.push(Action::Wake(link)),
                }
            }
            Event::Reached {
                link,
                address,
                caller,
                id,
            } => self.reach(now, link, (address, caller), id, &mut out),
            Event::Refused(address) => {
                // It may be one from before the radio went.
                self.calling = self.calling.filter(|it| *it != address);
                if let Some(seen) = self.seen.get_mut(&address) {
                    let (_, pause) = seen.again;
                    seen.heard = false;
                    seen.again = (now + pause, (2 * pause).min(AGAIN[1]));
                }
            }
            Event::Heard(link, octets) => self.hear(now, link, octets, &mut out),
            Event::Whole(link, octets) => {
                let connection = self.links.get_mut(&link);
                let events = connection.map(|it| it.whole(now, octets));
                self.told(now, link, events.unwrap_or_default(), &mut out);
            }
            Event::Closed(link) => self.close(now, link, &mut out),
            Event::Tick => self.tick(now, &mut out),
        }
        self.call(now, &mut out);
        out
    }

    fn hear(&mut self, now: u64, link: u32, octets: &[u8], out: &mut Vec<Action>) {
        let Some(connection) = self.links.get_mut(&link) else {
            return;
        };
        let events = connection.heard(now, octets);
        let by_ip = connection
            .peer()
            .filter(|_| connection.format() == Format::Ip);
        if let Some(peer) = by_ip.and_then(|id| self.peers.get_mut(&id)) {
            peer.heard(now);
        }
        self.told(now, link, events, out);
        out.push(Action::Wake(link));
    }

    fn told(&mut self, now: u64, link: u32, events: Vec<link::Event>, out: &mut Vec<Action>) {
        for event in events {
            let Some(connection) = self.links.get(&link) else {
                return;
            };
            let (id, format) = (connection.peer(), connection.format());
            match event {
                link::Event::Peer(id) => self.know(now, link, id, out),
                link::Event::Outcome(number, done) => self.settled(id, number, done, out),
                link::Event::Lost => {}
                link::Event::Close(_) => out.push(Action::Close(link)),
                link::Event::Message(octets) => {
                    let Some(id) = id else { continue };
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.heard(now);
                    }
                    self.message(now, id, (format, Some(HOPS)), octets, out);
                }
                link::Event::Hopped(hops, octets) => {
                    let Some(id) = id else { continue };
                    self.message(now, id, (format, hops.checked_sub(1)), octets, out);
                }
            }
        }
    }

    /// A message came: it is given out, and goes on, once; by IP where it still may.
    fn message(
        &mut self,
        now: u64,
        from: Id,
        (format, hops): (Format, Option<u8>),
        octets: Vec<u8>,
        out: &mut Vec<Action>,
    ) {
        let Some(node) = self.settings.node else {
            out.push(Action::Message {
                from,
                format,
                octets,
            });
            return;
        };
        let octets = envelope::plain(&octets).unwrap_or(octets);
        let content = envelope::read(&octets);
        if let Ok(Content::Identification { asks, .. }) = content {
            if asks {
                let answer = envelope::identification(&node, false);
                self.passed += 1;
                self.answered += 1;
                self.give(now, from, self.passed, Priority::Urgent, &answer, out);
            }
            return;
        }
        if !self.recent.is_new(now, &octets) {
            self.doubled += 1;
            return;
        }
        // What nobody signed goes no further: whoever is asked for it would be this node.
        if let Ok(Content::Feed(_) | Content::Direct { .. }) = content {
            self.pass_on(now, from, hops, &octets, out);
        }
        out.push(Action::Message {
            from,
            format,
            octets,
        });
    }

    fn close(&mut self, now: u64, link: u32, out: &mut Vec<Action>) {
        let Some(connection) = self.links.remove(&link) else {
            return;
        };
        let (id, format) = (connection.peer(), connection.format());
        self.parts(now, &connection);
        let (events, unknown) = connection.end();
        if let Some(id) = id {
            for event in events {
                if let link::Event::Message(octets) = event {
                    self.message(now, id, (format, Some(HOPS)), octets, out);
                }
            }
            let is_far = self.reaches(id);
            if let Some(peer) = self.peers.get_mut(&id) {
                if format == Format::Ip && !is_far {
                    peer.parted(now);
                }
                peer.back(&unknown);
            }
            self.flow(id, out);
        }
    }

    fn tick(&mut self, now: u64, out: &mut Vec<Action>) {
        // Before anything is sent: what is kept is not yet there.
        self.keep_late(now, out);
        self.spill();
        let all: Vec<u32> = self.links.keys().copied().collect();
        for link in all {
            let Some(connection) = self.links.get_mut(&link) else {
                continue;
            };
            if connection.is_idle(now, IDLE) {
                out.push(Action::Close(link));
            }
            let events = connection.tick(now);
            self.told(now, link, events, out);
            out.push(Action::Wake(link));
        }
        self.seen.retain(|_, seen| now < seen.last + self.gone);
        let linked: BTreeSet<Id> = self.links.values().filter_map(Connection::peer).collect();
        let mut old = Vec::new();
        for (id, peer) in &mut self.peers {
            old.extend(peer.old(now, AGE).into_iter().map(|number| (number, *id)));
        }
        let away = self.gone;
        let gone = |(id, peer): &(&Id, &Peer)| now >= peer.seen() + away && !linked.contains(id);
        let gone: Vec<Id> = self.peers.iter().filter(gone).map(|(id, _)| *id).collect();
        for id in gone {
            out.push(Action::Near(id, false));
            let lost = self.leaves(now, id, out).into_iter();
            old.extend(lost.map(|number| (number, id)));
        }
        for (number, id) in old {
            self.outcome(number, id, false, out);
        }
    }
}

#[cfg(test)]
mod tests;
