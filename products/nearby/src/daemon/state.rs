//! The room, with the connections that are there, and who listens to what comes.

mod keeps;
mod links;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use api::Feed;
use tracing::{debug, info};

use self::links::Link;
use super::Settings;
use super::answer::Said;
use super::listeners::Listeners;
use super::metrics::{Counts, Figures};
use super::names::Names;
use super::past::{Message, Past};
use super::village;
use crate::Id;
use crate::bluetooth::{Bluetooth, Told};
use crate::envelope::{self, Content, Key};
use crate::queue::{Files, Queue};
use crate::room::{Action, Event, Format, Room, Shown, To};

/// What is said may be said to be so much later, ms: more than that is another clock.
const DRIFT: u64 = 60_000;

/// All of a running program; copies are the same.
#[derive(Clone)]
pub struct State(Rc<RefCell<Inner>>);

struct Inner {
    key: Arc<Key>,
    room: Room,
    begun: Instant,
    bluetooth: Option<Rc<Bluetooth>>,
    links: BTreeMap<u32, Link>,
    listeners: Listeners,
    names: Names,
    past: Past,
    counts: Counts,
    /// When something was said here last: milliseconds since 1970.
    said: u64,
    queue: Queue,
    /// The queue's clock when this began.
    before: u64,
}

/// Milliseconds since 1970.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_millis() as u64)
}

/// When something is said now: what is said twice in a millisecond would else be one message to others,
/// which is told once. Not where the clock was set back.
fn after(last: u64, now: u64) -> u64 {
    match last >= now && last - now < DRIFT {
        true => last + 1,
        false => now,
    }
}

impl State {
    /// Begins, with an adapter where there is one.
    pub fn new(key: Arc<Key>, settings: &Settings, bluetooth: Option<Bluetooth>) -> Self {
        let mut room = Room::new(crate::room::Settings {
            own: key.node().id(),
            node: Some(key.node()),
            address: bluetooth.as_ref().map_or([0; 6], |it| it.address().0),
            formats: settings.formats.clone(),
            links: settings.links,
        });
        let queue = Queue::open(settings.state.join("queue"), settings.queue, Files);
        room.rests(settings.power.rests());
        room.keeps(queue.known(), queue.last());
        room.remember(queue.clock(), &queue.remembered());
        Self(Rc::new(RefCell::new(Inner {
            key,
            room,
            begun: Instant::now(),
            bluetooth: bluetooth.map(Rc::new),
            links: BTreeMap::new(),
            listeners: Listeners::default(),
            names: Names::default(),
            past: Past::default(),
            counts: Counts::default(),
            said: 0,
            before: queue.clock(),
            queue,
        })))
    }

    /// The adapter, while it is there.
    pub fn bluetooth(&self) -> Option<Rc<Bluetooth>> {
        self.0.borrow().bluetooth.clone()
    }

    /// The adapter is there again.
    pub fn begin(&self, bluetooth: Bluetooth) {
        let mut inner = self.0.borrow_mut();
        inner.room.anew(Some(bluetooth.address().0));
        inner.bluetooth = Some(Rc::new(bluetooth));
    }

    /// All connections end, before the adapter is given up.
    pub async fn leave(&self) {
        let (addresses, bluetooth) = {
            let inner = self.0.borrow();
            let links = inner.links.values();
            let addresses: BTreeSet<_> = links.filter_map(Link::address).collect();
            (addresses, inner.bluetooth.clone())
        };
        if let Some(bluetooth) = bluetooth {
            bluetooth.leave(addresses).await;
        }
    }

    /// The adapter is gone, and all its connections.
    pub fn end(&self) {
        let mut inner = self.0.borrow_mut();
        inner.bluetooth = None;
        let by_it = |(link, it): (&u32, &Link)| (it.format != Format::Ip).then_some(*link);
        let all: Vec<u32> = inner.links.iter().filter_map(by_it).collect();
        for link in all {
            inner.close(link);
        }
        inner.room.anew(None);
    }

    /// The adapter told something.
    pub fn told(&self, told: Told) {
        self.0.borrow_mut().told(told);
    }

    /// A village's link told something.
    pub fn linked(&self, told: village::Told) {
        self.0.borrow_mut().linked(told);
    }

    /// Time goes by.
    pub fn tick(&self) {
        let mut inner = self.0.borrow_mut();
        inner.happen(Event::Tick);
        inner.keep_on();
        if let Some(bluetooth) = &inner.bluetooth {
            bluetooth.need(inner.needs());
        }
        inner.listeners.sweep();
    }

    /// BlueZ does not say that whoever called is gone.
    pub async fn look(&self) {
        let Some(bluetooth) = self.bluetooth() else {
            self.0.borrow_mut().beat();
            return;
        };
        let calls = |(link, it): (&u32, &Link)| {
            let address = it.address().filter(|_| !it.caller);
            address.map(|address| (*link, address))
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

    /// What somebody calls themselves.
    pub fn name(&self, id: Id) -> Option<String> {
        self.0.borrow().names.of(id).map(str::to_owned)
    }

    /// How many of those who are meant are near.
    pub fn near(&self, to: To) -> usize {
        let is_meant = |it: &Shown| to == To::All || to == To::One(it.id);
        self.0.borrow().room.shown().filter(is_meant).count()
    }

    /// Says something to all who are near, or to one of them. Gives to how many.
    pub fn say(&self, to: To, text: &str) -> usize {
        // Also where it cannot be kept for them: then it is told that it did not get there.
        let away = self.away_of(to);
        let mut inner = self.0.borrow_mut();
        let time = after(inner.said, unix_millis());
        inner.said = time;
        let octets = envelope::feed(&inner.key, text, time);
        let now = inner.now();
        let (number, mut out) = (inner.queue.next_number(now), Vec::new());
        let count = inner.room.send(now, to, number, &octets, &mut out);
        let peer = match to {
            To::All => None,
            To::One(id) => Some(id.to_string()),
        };
        // Whom nobody hears, and nobody will, said nothing.
        let all = count + away;
        if peer.is_none() || all > 0 {
            let sender = inner.key.node().id().to_string();
            inner.tell(&Said::Own {
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

    /// What was said lately.
    pub fn past(&self) -> Vec<Message> {
        self.0.borrow().past.messages().cloned().collect()
    }

    /// Somebody listens from now on.
    pub fn listen(&self, feed: Feed) {
        self.0.borrow_mut().listeners.add(feed);
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.0.borrow().listeners.count()
    }

    /// Whoever listens is told that there is nothing to be told.
    pub fn beat(&self) {
        self.0.borrow_mut().beat();
    }

    /// What is exported.
    pub fn figures(&self) -> Figures {
        let inner = self.0.borrow();
        Figures {
            peers: inner.room.shown().collect(),
            connections: inner.links.values().map(|it| it.format).collect(),
            listeners: inner.listeners.count(),
            room: inner.room.counts(),
            counts: inner.counts.clone(),
        }
    }
}

impl Inner {
    fn now(&self) -> u64 {
        self.before + self.begun.elapsed().as_millis() as u64
    }

    fn happen(&mut self, event: Event<'_>) {
        let now = self.now();
        let actions = self.room.handle(now, event);
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
                Action::Store(store) => self.store(store),
                Action::Message {
                    from,
                    format,
                    octets,
                } => {
                    if let Ok(Content::Routing(profiles)) = envelope::read(&octets) {
                        profiles.into_iter().for_each(|it| self.names.note(it));
                    }
                    self.tell(&Said::read(from, format, &octets));
                }
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
        self.saw(id);
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

    fn tell(&mut self, said: &Said) {
        self.past.note(said);
        self.counts.note(said);
        let Ok(mut line) = serde_json::to_vec(said) else {
            return;
        };
        line.push(b'\n');
        self.listeners.tell(&line);
    }

    /// Whoever listens is told that there is nothing to be told.
    fn beat(&mut self) {
        self.listeners.beat();
    }
}

/// Names of formats, as they are told.
pub fn names(formats: &BTreeSet<Format>) -> Vec<String> {
    formats.iter().map(|it| it.name().to_owned()).collect()
}
