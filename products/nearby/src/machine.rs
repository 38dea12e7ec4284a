//! Peers nearby: their identities and connections, and the path of each message.
//!
//! A message to all is relayed once to each peer, in the peer's format. Thus devices of Linux and
//! Android receive each other's messages.

mod away_peers;
mod connection;
mod counts;
mod delivery;
mod endpoint;
mod event;
mod links;
mod peer;
mod recent;
mod sightings;

use std::collections::BTreeSet;
use std::net::SocketAddr;

pub use away_peers::{AWAY, FORGOTTEN, Message, StoreAction, StoreRequest};
use connection::Connection;
pub use counts::Counts;
pub use delivery::{Delivery, PEERS};
pub use endpoint::{Address, Endpoint, Format};
pub use event::{Action, Event, Recipients, Settings};
pub use links::LINKS;
pub use peer::{PIECE, PeerReport};
pub use sightings::{AGAIN, WAITS};
use sightings::{Advertisement, Sightings};

use crate::Id;
use crate::envelope::{self, Content};
use crate::v2::link;
use crate::village::HOPS;

/// Time after which an unseen peer without a connection is out of range, ms.
pub const GONE: u64 = 15_000;
/// Time after which an idle connection of v1 is closed, ms: it prevents a call from the peer.
const IDLE: u64 = 2_000;
/// Age at which an undelivered message is dropped, ms.
pub const AGE: u64 = 600_000;

/// State machine: peers nearby, and their messages.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    sightings: Sightings,
    delivery: Delivery,
    /// Time after which an unseen peer is gone, ms.
    gone: u64,
}

impl Machine {
    /// Creates a room without peers.
    pub fn new(settings: Settings) -> Self {
        Self {
            sightings: Sightings::new(settings.own, settings.address),
            settings,
            delivery: Delivery::default(),
            gone: GONE,
        }
    }

    /// Handles the loss or replacement of the radio, now at this address. The new radio must see an
    /// address before calling it.
    pub fn anew(&mut self, address: Option<Address>) {
        self.sightings.anew(address);
    }

    /// Returns the messages in delivery, and the state of the stored ones.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Returns the delivery, for the results of storage actions.
    pub fn delivery_mut(&mut self) -> &mut Delivery {
        &mut self.delivery
    }

    /// Sends a message; its outcomes have this number, which is below 2⁶³. Returns the number of
    /// recipients nearby. With storage, the message waits for those that are away.
    pub fn send(
        &mut self,
        now: u64,
        to: Recipients,
        number: u64,
        octets: &[u8],
        out: &mut Vec<Action>,
    ) -> usize {
        self.delivery.send(now, to, number, octets, out)
    }

    /// Returns the counters since the start.
    pub fn counts(&self) -> Counts {
        self.delivery.counts()
    }

    /// Returns true if there is an IP link with a node.
    pub fn reaches(&self, id: Id) -> bool {
        self.delivery.links.reaches(id)
    }

    /// Sets the pause of the radio, ms, which delays the next sighting of a peer.
    pub fn rests(&mut self, time: u64) {
        self.gone = GONE + time;
    }

    /// Returns the peers nearby.
    pub fn shown(&self) -> impl Iterator<Item = PeerReport> {
        self.delivery.shown()
    }

    /// Sets the maximum bytes of a connection's frames.
    pub fn frames_of(&mut self, link: u32, octets: usize) {
        if let Some(connection) = self.delivery.links.get_mut(link) {
            connection.frames_of(octets);
        }
    }

    /// Records that a channel for longer frames opened or closed in addition to a connection.
    pub fn channel(&mut self, link: u32, is: bool) {
        if let Some(connection) = self.delivery.links.get_mut(link) {
            connection.channel(is);
        }
    }

    /// Returns the next frame of a connection that has room for one.
    pub fn next(&mut self, now: u64, link: u32, out: &mut Vec<Action>) -> Option<Vec<u8>> {
        let connection = self.delivery.links.get_mut(link)?;
        let (octets, done) = connection.next(now);
        let id = connection.peer();
        for number in done {
            self.delivery.settled(id, number, true, out);
        }
        octets
    }

    /// Handles an event; returns the actions in order.
    pub fn handle(&mut self, now: u64, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Seen {
                address,
                format,
                prefix,
                signal,
            } => {
                let heard = Advertisement {
                    address,
                    format,
                    prefix,
                    signal,
                };
                self.see(now, heard, &mut out);
            }
            Event::Opened {
                link,
                address,
                format,
                caller,
                id,
                frame,
            } => {
                if caller {
                    self.sightings.called();
                }
                let connection =
                    Connection::new(format, address, caller, self.settings.own, id, frame, now);
                self.delivery.links.insert(link, connection);
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
            Event::Refused(address) => self.sightings.refused(now, address),
            Event::Heard(link, octets) => self.hear(now, link, octets, &mut out),
            Event::Whole(link, octets) => {
                let connection = self.delivery.links.get_mut(link);
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
        let Some(connection) = self.delivery.links.get_mut(link) else {
            return;
        };
        let events = connection.heard(now, octets);
        let by_ip = connection
            .peer()
            .filter(|_| connection.format() == Format::Ip);
        if let Some(id) = by_ip {
            self.delivery.heard(now, id);
        }
        self.told(now, link, events, out);
        out.push(Action::Wake(link));
    }

    fn told(&mut self, now: u64, link: u32, events: Vec<link::Event>, out: &mut Vec<Action>) {
        for event in events {
            let Some(connection) = self.delivery.links.get(link) else {
                return;
            };
            let (id, format) = (connection.peer(), connection.format());
            match event {
                link::Event::Peer(id) => self.know(now, link, id, out),
                link::Event::Outcome(number, done) => self.delivery.settled(id, number, done, out),
                link::Event::Lost => {}
                link::Event::Close(_) => out.push(Action::Close(link)),
                link::Event::Message(octets) => {
                    let Some(id) = id else { continue };
                    self.delivery.heard(now, id);
                    self.message(now, id, (format, Some(HOPS)), octets, out);
                }
                link::Event::Hopped(hops, octets) => {
                    let Some(id) = id else { continue };
                    self.message(now, id, (format, hops.checked_sub(1)), octets, out);
                }
            }
        }
    }

    /// Handles a received message: reports and passes it on once; by IP within its hops.
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
                self.delivery.answer(now, from, &answer, out);
            }
            return;
        }
        if !self.delivery.is_new(now, &octets) {
            return;
        }
        // Unsigned content is not relayed: this node would seem to be its source.
        if let Ok(Content::Feed(_) | Content::Direct { .. }) = content {
            self.delivery.pass_on(now, from, hops, &octets, out);
        }
        out.push(Action::Message {
            from,
            format,
            octets,
        });
    }

    fn close(&mut self, now: u64, link: u32, out: &mut Vec<Action>) {
        let Some(connection) = self.delivery.links.remove(link) else {
            return;
        };
        let (id, format) = (connection.peer(), connection.format());
        if let Some(address) = connection.address() {
            let is_dumb = connection.is_dumb(now);
            self.sightings.parted(now, address, is_dumb);
        }
        let (events, unknown) = connection.end();
        if let Some(id) = id {
            for event in events {
                if let link::Event::Message(octets) = event {
                    self.message(now, id, (format, Some(HOPS)), octets, out);
                }
            }
            self.delivery.parted(now, id, format, &unknown, out);
        }
    }

    fn tick(&mut self, now: u64, out: &mut Vec<Action>) {
        // Before any sending: the stored messages are not loaded yet.
        self.delivery.keep_late(now, out);
        self.delivery.spill();
        for link in self.delivery.links.numbers() {
            let Some(connection) = self.delivery.links.get_mut(link) else {
                continue;
            };
            if connection.is_idle(now, IDLE) {
                out.push(Action::Close(link));
            }
            let events = connection.tick(now);
            self.told(now, link, events, out);
            out.push(Action::Wake(link));
        }
        self.sightings.forget(now, self.gone);
        self.delivery.tick(now, self.gone, AGE, out);
    }

    fn see(&mut self, now: u64, heard: Advertisement, out: &mut Vec<Action>) {
        if !self.settings.formats.contains(&heard.format) {
            return;
        }
        let known = |prefix| self.delivery.known(prefix);
        if let Some((id, formats, signal)) = self.sightings.see(now, heard, known) {
            let place = heard.address.into();
            self.delivery.near(now, id, place, &formats, signal, out);
        }
    }

    /// Handles a new link by IP.
    fn reach(
        &mut self,
        now: u64,
        link: u32,
        (address, caller): (SocketAddr, bool),
        id: Id,
        out: &mut Vec<Action>,
    ) {
        let is_full = self.delivery.links.is_full(id);
        let connection = Connection::by_ip(address, caller, id, now);
        self.delivery.links.insert(link, connection);
        if !is_full {
            self.know(now, link, id, out);
        }
        // An id without a place in the list of peers would receive nothing.
        if is_full || !self.delivery.has(id) {
            out.push(Action::Close(link));
        }
    }

    /// Sets the peer at the other end of a connection.
    fn know(&mut self, now: u64, link: u32, id: Id, out: &mut Vec<Action>) {
        let Some(connection) = self.delivery.links.get(link) else {
            return;
        };
        let (place, format) = (connection.place(), connection.format());
        if id == self.settings.own {
            out.push(Action::Close(link));
            return;
        }
        let (mut formats, mut signal) = (BTreeSet::from([format]), None);
        if let Endpoint::Bluetooth(address) = place
            && let Some((others, loud)) = self.sightings.know(now, address, id)
        {
            formats.extend(others);
            signal = loud;
        }
        self.delivery.near(now, id, place, &formats, signal, out);
        let lower = self.settings.own < id;
        let twice = self.delivery.links.twice(now, link, id, lower);
        out.extend(twice.map(Action::Close));
        self.delivery.flow(id, out);
        out.push(Action::Wake(link));
    }

    /// Calls an address that is due.
    fn call(&mut self, now: u64, out: &mut Vec<Action>) {
        if self.delivery.links.by_bluetooth() >= self.settings.links {
            return;
        }
        let reached = |id, address| self.delivery.links.sends_to(id, address);
        let due = self
            .sightings
            .due(now, reached, |id| self.delivery.waits(id));
        out.extend(due.map(Action::Connect));
    }
}

#[cfg(test)]
mod tests;
