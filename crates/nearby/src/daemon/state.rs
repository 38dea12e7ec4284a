//! The room, with the connections that are there, and who listens to what comes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use api::Feed;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::{debug, info, trace};

use super::Settings;
use super::answer::Said;
use crate::Id;
use crate::bluetooth::{Bluetooth, Told};
use crate::envelope::{self, Key};
use crate::room::{Action, Event, Format, Room, Shown, To};

/// All of a running program; copies are the same.
#[derive(Clone)]
pub struct State(Rc<RefCell<Inner>>);

struct Inner {
    key: Key,
    room: Room,
    begun: Instant,
    bluetooth: Option<Rc<Bluetooth>>,
    links: BTreeMap<u32, Link>,
    feeds: Vec<Feed>,
    sent: u64,
}

struct Link {
    address: bluer::Address,
    format: Format,
    caller: bool,
    writer: mpsc::Sender<Vec<u8>>,
    /// What it does not take yet.
    held: Option<Vec<u8>>,
}

/// Milliseconds since 1970.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_millis() as u64)
}

impl State {
    /// Begins with an adapter.
    pub fn new(key: Key, settings: &Settings, bluetooth: Bluetooth) -> Self {
        let room = Room::new(crate::room::Settings {
            own: key.node(),
            address: bluetooth.address().0,
            formats: settings.formats.clone(),
            links: settings.links,
        });
        Self(Rc::new(RefCell::new(Inner {
            key,
            room,
            begun: Instant::now(),
            bluetooth: Some(Rc::new(bluetooth)),
            links: BTreeMap::new(),
            feeds: Vec::new(),
            sent: 0,
        })))
    }

    /// The adapter, while it is there.
    pub fn bluetooth(&self) -> Option<Rc<Bluetooth>> {
        self.0.borrow().bluetooth.clone()
    }

    /// The adapter is there again.
    pub fn begin(&self, bluetooth: Bluetooth) {
        self.0.borrow_mut().bluetooth = Some(Rc::new(bluetooth));
    }

    /// The adapter is gone, and all connections.
    pub fn end(&self) {
        let mut inner = self.0.borrow_mut();
        inner.bluetooth = None;
        let all: Vec<u32> = inner.links.keys().copied().collect();
        for link in all {
            inner.close(link);
        }
    }

    /// The adapter told something.
    pub fn told(&self, told: Told) {
        self.0.borrow_mut().told(told);
    }

    /// Time goes by.
    pub fn tick(&self) {
        let mut inner = self.0.borrow_mut();
        inner.happen(Event::Tick);
        inner.feeds.retain(|feed| !feed.is_gone());
    }

    /// Whoever called by v1 says nothing when they go.
    pub async fn look(&self, bluetooth: &Bluetooth) {
        let calls = |(link, it): (&u32, &Link)| {
            let one_way = it.format == Format::V1 && !it.caller;
            one_way.then_some((*link, it.address))
        };
        let all: Vec<_> = self.0.borrow().links.iter().filter_map(calls).collect();
        for (link, address) in all {
            if !bluetooth.is_connected(address).await {
                self.0.borrow_mut().close(link);
            }
        }
        self.0.borrow_mut().beat();
    }

    /// All who are near, and how long ago each was heard, ms.
    pub fn peers(&self) -> Vec<(Shown, u64)> {
        let inner = self.0.borrow();
        let now = inner.now();
        let ago = |shown: Shown| {
            let ago = now.saturating_sub(shown.seen);
            (shown, ago)
        };
        inner.room.shown().map(ago).collect()
    }

    /// Says something to all who are near, or to one of them. Gives to how many.
    pub fn say(&self, to: To, text: &str) -> usize {
        let mut inner = self.0.borrow_mut();
        let octets = envelope::feed(&inner.key, text, unix_millis());
        let now = inner.now();
        inner.sent += 1;
        let (number, mut out) = (inner.sent, Vec::new());
        let count = inner.room.send(now, to, number, &octets, &mut out);
        inner.act(out);
        count
    }

    /// Somebody listens from now on.
    pub fn listen(&self, feed: Feed) {
        self.0.borrow_mut().feeds.push(feed);
    }
}

impl Inner {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn happen(&mut self, event: Event<'_>) {
        let now = self.now();
        let actions = self.room.handle(now, event);
        self.act(actions);
    }

    fn told(&mut self, told: Told) {
        match told {
            Told::Seen {
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
            Told::Opened(opened) => {
                let link = Link {
                    address: opened.address,
                    format: opened.format,
                    caller: opened.caller,
                    writer: opened.writer,
                    held: None,
                };
                info!(
                    address = %opened.address,
                    format = opened.format.name(),
                    caller = opened.caller,
                    frame = opened.frame,
                    "a connection"
                );
                self.links.insert(opened.link, link);
                self.happen(Event::Opened {
                    link: opened.link,
                    address: opened.address.0,
                    format: opened.format,
                    caller: opened.caller,
                    id: opened.id,
                    frame: opened.frame,
                });
            }
            Told::Refused(address, why) => {
                debug!(%address, why, "not reached");
                self.let_go(address);
                self.happen(Event::Refused(address.0));
            }
            Told::Heard(link, octets) => self.happen(Event::Heard(link, &octets)),
            Told::Frames(link, octets) => self.room.frames_of(link, octets),
            Told::Written(link) => self.pump(link),
            Told::Closed(link) => self.hang_up(link),
        }
    }

    fn close(&mut self, link: u32) {
        if let Some(closed) = self.links.remove(&link) {
            info!(address = %closed.address, format = closed.format.name(), "a connection no longer");
            self.happen(Event::Closed(link));
        }
    }

    /// A connection is over, and what is below it.
    fn hang_up(&mut self, link: u32) {
        let Some(address) = self.links.get(&link).map(|it| it.address) else {
            return;
        };
        self.close(link);
        self.let_go(address);
    }

    /// What BlueZ has of an address ends, unless somebody speaks by it.
    fn let_go(&self, address: bluer::Address) {
        if !self.links.values().any(|it| it.address == address)
            && let Some(bluetooth) = &self.bluetooth
        {
            bluetooth.close(address);
        }
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
                Action::Message {
                    from,
                    format,
                    octets,
                } => self.tell(&Said::read(from, format, &octets)),
                Action::Outcome(number, id, done) => {
                    self.tell(&Said::Outcome {
                        number,
                        peer: id.to_string(),
                        done,
                    });
                }
            }
        }
    }

    fn near(&mut self, id: Id, is: bool) {
        match is {
            true => info!(%id, "is near"),
            false => info!(%id, "is near no longer"),
        }
        let peer = id.to_string();
        self.tell(&match is {
            true => Said::Near { peer },
            false => Said::Gone { peer },
        });
    }

    /// A connection takes what there is to be written, as much as it can.
    fn pump(&mut self, number: u32) {
        loop {
            let now = self.now();
            let Some(link) = self.links.get_mut(&number) else {
                return;
            };
            let mut out = Vec::new();
            let held = link.held.take();
            let next = held.or_else(|| match link.writer.capacity() {
                0 => None,
                _ => self.room.next(now, number, &mut out),
            });
            let is_done = match next {
                None => true,
                Some(frame) => match link.writer.try_send(frame) {
                    Ok(()) => false,
                    Err(TrySendError::Full(frame)) => {
                        link.held = Some(frame);
                        true
                    }
                    // That it is closed is told as well.
                    Err(TrySendError::Closed(_)) => true,
                },
            };
            // What follows from it wakes others, and not this one again.
            out.retain(|it| *it != Action::Wake(number));
            self.act(out);
            if is_done {
                return;
            }
        }
    }

    fn tell(&mut self, said: &Said) {
        let Ok(mut line) = serde_json::to_vec(said) else {
            return;
        };
        line.push(b'\n');
        // Who does not keep up misses it.
        for feed in &mut self.feeds {
            feed.offer(&line);
        }
    }

    /// Whoever listens is told that there is nothing to be told.
    fn beat(&mut self) {
        for feed in &mut self.feeds {
            feed.offer(b"\n");
        }
    }
}

/// Names of formats, as they are told.
pub fn names(formats: &BTreeSet<Format>) -> Vec<String> {
    formats.iter().map(|it| it.name().to_owned()).collect()
}
