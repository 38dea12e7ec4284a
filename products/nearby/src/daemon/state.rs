//! State of the daemon: the room, its connections, and the listeners.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use api::StreamSender;
use tracing::{debug, info, trace};

use super::links::{Link, Links};
use super::listeners::Listeners;
use super::mailbox::Mailbox;
use super::metrics::{Counts, Figures};
use super::names::Names;
use super::recent::RecentLog;
use super::settings::Settings;
use super::village;
use super::wire::{AwayPeerInfo, Message, Notification};
use crate::Id;
use crate::bluetooth::{Bluetooth, BluetoothEvent};
use crate::envelope::{self, Content, Key};
use crate::machine::{Action, Endpoint, Event, Format, PeerReport, Recipients};

/// Largest lead of a message's time over the clock, ms: beyond, the clock was set back.
const DRIFT: u64 = 60_000;

/// Shared state of the daemon; a clone refers to the same state.
#[derive(Clone)]
pub struct State(Rc<RefCell<Inner>>);

struct Inner {
    key: Arc<Key>,
    mailbox: Mailbox,
    bluetooth: Option<Rc<Bluetooth>>,
    links: Links,
    listeners: Listeners,
    names: Names,
    past: RecentLog,
    counts: Counts,
    /// Time of the last own message: milliseconds since 1970.
    said: u64,
}

/// Milliseconds since 1970.
pub fn unix_millis() -> u64 {
    net::clock::unix().as_millis() as u64
}

/// Returns the time of a new message: two messages of one millisecond would be one message to
/// others. A clock that was set back is followed.
fn after(last: u64, now: u64) -> u64 {
    match last >= now && last - now < DRIFT {
        true => last + 1,
        false => now,
    }
}

impl State {
    /// Creates the state, with an adapter if there is one.
    pub fn new(key: Arc<Key>, settings: &Settings, bluetooth: Option<Bluetooth>) -> Self {
        let address = bluetooth.as_ref().map_or([0; 6], |it| it.address().0);
        let mailbox = Mailbox::open(key.node(), address, settings);
        Self(Rc::new(RefCell::new(Inner {
            key,
            mailbox,
            bluetooth: bluetooth.map(Rc::new),
            links: Links::default(),
            listeners: Listeners::default(),
            names: Names::default(),
            past: RecentLog::default(),
            counts: Counts::default(),
            said: 0,
        })))
    }

    /// Returns the adapter, while it is available.
    pub fn bluetooth(&self) -> Option<Rc<Bluetooth>> {
        self.0.borrow().bluetooth.clone()
    }

    /// Handles an adapter that is available again.
    pub fn begin(&self, bluetooth: Bluetooth) {
        let mut inner = self.0.borrow_mut();
        inner.mailbox.room_mut().anew(Some(bluetooth.address().0));
        inner.bluetooth = Some(Rc::new(bluetooth));
    }

    /// Closes all connections, before the adapter is closed.
    pub async fn leave(&self) {
        let (addresses, bluetooth) = {
            let inner = self.0.borrow();
            (inner.links.addresses(), inner.bluetooth.clone())
        };
        if let Some(bluetooth) = bluetooth {
            bluetooth.leave(addresses).await;
        }
    }

    /// Handles the loss of the adapter with all its connections.
    pub fn end(&self) {
        let mut inner = self.0.borrow_mut();
        inner.bluetooth = None;
        for link in inner.links.by_bluetooth() {
            inner.close(link);
        }
        inner.mailbox.room_mut().anew(None);
    }

    /// Handles an event of the adapter.
    pub fn told(&self, told: BluetoothEvent) {
        self.0.borrow_mut().told(told);
    }

    /// Handles an event of a village's link.
    pub fn linked(&self, told: village::LinkEvent) {
        self.0.borrow_mut().linked(told);
    }

    /// Handles a tick.
    pub fn tick(&self) {
        let mut inner = self.0.borrow_mut();
        inner.happen(Event::Tick);
        let actions = inner.mailbox.tick(unix_millis());
        inner.act(actions);
        if let Some(bluetooth) = &inner.bluetooth {
            bluetooth.need(inner.mailbox.needs());
        }
        inner.listeners.sweep();
    }

    /// Closes links of callers that have gone, because BlueZ does not report their end.
    pub async fn look(&self) {
        let Some(bluetooth) = self.bluetooth() else {
            self.0.borrow_mut().beat();
            return;
        };
        let callers = self.0.borrow().links.callers();
        for (link, address) in callers {
            if !bluetooth.is_connected(address).await {
                self.0.borrow_mut().close(link);
            }
        }
        self.0.borrow_mut().beat();
    }

    /// Returns the peers nearby, each with the time since the last contact, in ms.
    pub fn peers(&self) -> Vec<(PeerReport, u64)> {
        self.0.borrow().mailbox.heard()
    }

    /// Returns the name of a node.
    pub fn name(&self, id: Id) -> Option<String> {
        self.0.borrow().names.of(id).map(str::to_owned)
    }

    /// Returns the number of recipients that are near.
    pub fn near(&self, to: Recipients) -> usize {
        let is_meant = |it: &PeerReport| to == Recipients::All || to == Recipients::One(it.id);
        self.0
            .borrow()
            .mailbox
            .room()
            .shown()
            .filter(is_meant)
            .count()
    }

    /// Returns the known peers that are away.
    pub fn away(&self) -> Vec<AwayPeerInfo> {
        self.0.borrow().mailbox.away()
    }

    /// Returns the number of peers away for whom a new message would wait.
    ///
    /// # Errors
    /// The peer for whom the message cannot be stored.
    pub fn waits(&self, to: Recipients) -> Result<usize, Id> {
        self.0.borrow().mailbox.waits(to)
    }

    /// Sends a message to all peers nearby, or to one. Returns the number of recipients.
    pub fn say(&self, to: Recipients, text: &str) -> usize {
        // Peers for whom the message cannot be stored count too: their outcome is a failure.
        let mut inner = self.0.borrow_mut();
        let away = inner.mailbox.away_of(to).count();
        let time = after(inner.said, unix_millis());
        inner.said = time;
        let octets = envelope::feed(&inner.key, text, time);
        let mut out = Vec::new();
        let (number, count) = inner.mailbox.send(to, &octets, &mut out);
        let peer = match to {
            Recipients::All => None,
            Recipients::One(id) => Some(id.to_string()),
        };
        // A direct message without a recipient leaves no trace.
        let all = count + away;
        if peer.is_none() || all > 0 {
            let sender = inner.key.node().id().to_string();
            inner.tell(&Notification::Own {
                number,
                sender,
                text: text.to_owned(),
                time,
                to: all as u64,
                peer,
            });
        }
        inner.act(out);
        count
    }

    /// Returns the recent messages.
    pub fn past(&self) -> Vec<Message> {
        self.0.borrow().past.messages().cloned().collect()
    }

    /// Adds a listener.
    pub fn listen(&self, feed: StreamSender) {
        self.0.borrow_mut().listeners.add(feed);
    }

    /// Returns the number of listeners.
    pub fn listeners(&self) -> usize {
        self.0.borrow().listeners.count()
    }

    /// Sends a heartbeat to the listeners.
    pub fn beat(&self) {
        self.0.borrow_mut().beat();
    }

    /// Returns the values for the metrics.
    pub fn figures(&self) -> Figures {
        let inner = self.0.borrow();
        Figures {
            peers: inner.mailbox.room().shown().collect(),
            connections: inner.links.formats().collect(),
            listeners: inner.listeners.count(),
            room: inner.mailbox.room().counts(),
            counts: inner.counts.clone(),
        }
    }
}

impl Inner {
    fn happen(&mut self, event: Event<'_>) {
        let actions = self.mailbox.handle(event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Connect(address) => {
                    let address = bluer::Address(address);
                    debug!(%address, "calls");
                    match &self.bluetooth {
                        Some(bluetooth) => bluetooth.call(address),
                        None => self.happen(Event::Refused(address.0)),
                    }
                }
                Action::Close(link) => self.hang_up(link),
                Action::Wake(link) => self.pump(link),
                Action::Near(id, is) => self.near(id, is),
                Action::Store(store) => {
                    let actions = self.mailbox.store(store);
                    self.act(actions);
                }
                Action::Message {
                    from,
                    format,
                    octets,
                } => {
                    if let Ok(Content::Routing(profiles)) = envelope::read(&octets) {
                        profiles.into_iter().for_each(|it| self.names.note(it));
                    }
                    self.tell(&Notification::read(from, format, &octets));
                }
                Action::Outcome(number, id, done) => {
                    self.tell(&Notification::Outcome {
                        number,
                        peer: id.to_string(),
                        done,
                    });
                }
            }
        }
    }

    fn near(&mut self, id: Id, is: bool) {
        self.mailbox.saw(id, unix_millis());
        match is {
            true => info!(%id, "is near"),
            false => info!(%id, "is no longer near"),
        }
        let peer = id.to_string();
        self.tell(&match is {
            true => Notification::Near { peer },
            false => Notification::Gone { peer },
        });
    }

    fn tell(&mut self, said: &Notification) {
        self.past.note(said);
        self.counts.note(said);
        let Ok(mut line) = serde_json::to_vec(said) else {
            return;
        };
        line.push(b'\n');
        self.listeners.tell(&line);
    }

    fn told(&mut self, told: BluetoothEvent) {
        match told {
            BluetoothEvent::Seen {
                address,
                format,
                prefix,
                signal,
            } => {
                trace!(%address, format = format.name(), "heard");
                self.happen(Event::Seen {
                    address: address.0,
                    format,
                    prefix,
                    signal,
                });
            }
            BluetoothEvent::Opened(opened) => {
                let place = opened.address.0.into();
                let link = Link::new(place, opened.format, opened.caller, opened.writer);
                info!(
                    address = %opened.address,
                    format = opened.format.name(),
                    caller = opened.caller,
                    frame = opened.frame,
                    "a connection"
                );
                self.links.insert(opened.link, link);
                // The new connection serves both directions: a call in progress would wait in vain.
                if !opened.caller
                    && opened.format == Format::V2
                    && let Some(bluetooth) = &self.bluetooth
                    && bluetooth.give_up(opened.address)
                {
                    self.happen(Event::Refused(opened.address.0));
                }
                self.happen(Event::Opened {
                    link: opened.link,
                    address: opened.address.0,
                    format: opened.format,
                    caller: opened.caller,
                    id: opened.id,
                    frame: opened.frame,
                });
            }
            BluetoothEvent::Refused(address, why) => {
                debug!(%address, why, "not reached");
                self.let_go(address);
                self.happen(Event::Refused(address.0));
            }
            BluetoothEvent::Heard(link, octets) => {
                if let Some(from) = self.links.get(link) {
                    self.counts.read(from.format(), octets.len());
                }
                self.happen(Event::Heard(link, &octets));
            }
            BluetoothEvent::Whole(link, octets) => {
                self.counts.read(Format::V2, octets.len());
                self.happen(Event::Whole(link, &octets));
            }
            BluetoothEvent::Channel(link, is) => {
                debug!(link, is, "channel beside the connection");
                self.mailbox.room_mut().channel(link, is);
                self.pump(link);
            }
            BluetoothEvent::Frames(link, octets) => self.mailbox.room_mut().frames_of(link, octets),
            BluetoothEvent::Written(link) => self.pump(link),
            BluetoothEvent::Closed(link) => self.hang_up(link),
        }
    }

    fn linked(&mut self, told: village::LinkEvent) {
        match told {
            village::LinkEvent::Reached(reached) => {
                let (address, caller, id) = (reached.address, reached.caller, reached.id);
                info!(%address, %id, caller, "a link");
                let link = Link::new(Endpoint::Ip(address), Format::Ip, caller, reached.writer);
                self.links.insert(reached.link, link);
                self.happen(Event::Reached {
                    link: reached.link,
                    address,
                    caller,
                    id,
                });
            }
            village::LinkEvent::Heard(link, record) => {
                self.counts.read(Format::Ip, record.len());
                self.happen(Event::Heard(link, &record));
            }
            village::LinkEvent::Written(link) => self.pump(link),
            village::LinkEvent::Closed(link) => self.hang_up(link),
        }
    }

    /// Handles the end of a connection.
    fn close(&mut self, link: u32) {
        if let Some(closed) = self.links.remove(link) {
            info!(address = %closed.place(), format = closed.format().name(), "connection closed");
            self.happen(Event::Closed(link));
        }
    }

    /// Closes a connection and its transport.
    fn hang_up(&mut self, link: u32) {
        let Some(place) = self.links.get(link).map(Link::place) else {
            return;
        };
        self.close(link);
        if let Endpoint::Bluetooth(address) = place {
            self.let_go(bluer::Address(address));
        }
    }

    /// Closes BlueZ's connection with an address unless a link uses the address.
    fn let_go(&self, address: bluer::Address) {
        let place = Endpoint::Bluetooth(address.0);
        if !self.links.reaches(place)
            && let Some(bluetooth) = &self.bluetooth
        {
            bluetooth.close(address);
        }
    }

    /// Writes the waiting frames of a connection, as far as it has room.
    fn pump(&mut self, number: u32) {
        loop {
            let Some(link) = self.links.get_mut(number) else {
                return;
            };
            let mut out = Vec::new();
            let written = link.write(|| self.mailbox.next(number, &mut out));
            if let Some(octets) = written {
                self.counts.wrote(link.format(), octets);
            }
            // The resulting actions wake other links, not this one again.
            out.retain(|it| *it != Action::Wake(number));
            self.act(out);
            if written.is_none() {
                return;
            }
        }
    }

    /// Sends a heartbeat to the listeners.
    fn beat(&mut self) {
        self.listeners.beat();
    }
}

impl Drop for Inner {
    /// Stores the messages in memory on the disk until the next start.
    fn drop(&mut self) {
        let actions = self.mailbox.keep_all(unix_millis());
        self.act(actions);
        self.mailbox.end();
    }
}

#[cfg(test)]
mod tests;
