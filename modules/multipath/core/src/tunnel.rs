//! IP packets over several paths, as sealed datagrams: the part without sockets and clocks.
//!
//! The owner of the sockets feeds a [`Tunnel`] with packets ([`Tunnel::packet_in`]), datagrams
//! ([`Tunnel::datagram_in`]) and time ([`Tunnel::tick`], at [`Tunnel::next`] at the latest). After
//! each, the owner sends what [`Tunnel::send`] returns until that is `None`, and handles each
//! [`Tunnel::event`].
//!
//! A tunnel lives as long as the keys of its session: counters must not restart with the same keys.

pub mod body;
pub mod datagram;
pub mod flow;
mod lag;
mod leak;
pub mod path;
mod proof;
mod queue;
pub mod rate;
mod reorder;
pub mod report;
pub mod schedule;
pub mod settings;
mod slot;

use std::collections::VecDeque;
use std::net::SocketAddr;

pub use crate::session::DatagramKeys;
pub use body::{Body, Micros, Order};
pub use datagram::{Codec, DatagramError, OVERHEAD};
pub use path::{Count, RoundTrip, State};
pub use reorder::Deliver;
pub use report::{Event, PacketError, PathError, Report, Send};
pub use schedule::PATHS;
pub use settings::{PathSettings, Role, Settings};

use crate::Window;
use body::Hello;
use flow::Packet;
use path::Action;
use proof::{Allowance, Proof, Values};
use queue::{Line, Pool, Waiting};
use reorder::Reorder;
use schedule::{Schedule, View};
use slot::Slot;

/// Most events that are kept until they are read.
const MOST_EVENTS: usize = 64;

/// End of a tunnel.
pub struct Tunnel {
    role: Role,
    settings: Settings,
    codec: Codec,
    slots: [Option<Slot>; PATHS],
    /// Counters and windows outlive their paths, as the keys do.
    counters: [u64; PATHS],
    windows: [Window; PATHS],
    hellos: [u8; PATHS],
    schedule: Schedule,
    /// Packets of striped flows: the first path that is ready takes them.
    shared: Line,
    reorder: Reorder,
    once: Window,
    pool: Pool,
    views: Vec<View>,
    events: VecDeque<Event>,
    /// At the partner: limit of datagrams to addresses that the router has not proved.
    allowance: Allowance,
    values: Values,
    turn: usize,
}

impl Tunnel {
    /// Creates an end for a session and its keys. This end must never have a second one for them.
    pub fn new(role: Role, session: u64, keys: &DatagramKeys, settings: Settings) -> Tunnel {
        let spread = settings.longest_wait * 2 / 3;
        Tunnel {
            role,
            settings,
            codec: Codec::new(session, keys),
            slots: Default::default(),
            counters: [0; PATHS],
            windows: Default::default(),
            hellos: [0; PATHS],
            schedule: Schedule::new(settings.stripe, settings.duplicate, spread),
            shared: Line::default(),
            reorder: Reorder::default(),
            once: Window::default(),
            pool: Pool::default(),
            views: Vec::new(),
            events: VecDeque::new(),
            allowance: Allowance::default(),
            values: Values::new(settings.secret),
            turn: 0,
        }
    }

    fn happens(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push_back(event);
        }
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Adds a path, at the router. The partner learns of the path by a hello.
    ///
    /// # Errors
    /// The number is invalid or taken.
    pub fn add_path(
        &mut self,
        path: u8,
        settings: PathSettings,
        now: Micros,
    ) -> Result<(), PathError> {
        let index = usize::from(path);
        match self.slots.get(index) {
            None => Err(PathError::Number(path)),
            Some(Some(slot)) if slot.bye.is_none() => Err(PathError::Taken(path)),
            Some(_) => {
                self.open_path(index, settings, now);
                Ok(())
            }
        }
    }

    fn open_path(&mut self, index: usize, settings: PathSettings, now: Micros) {
        self.hellos[index] = self.hellos[index].wrapping_add(1);
        let asks = self.role == Role::Router;
        self.slots[index] = Some(Slot::new(settings, self.hellos[index], asks, now));
        self.schedule.forget(index as u8);
    }

    fn known(&self, path: u8) -> Result<usize, PathError> {
        let index = usize::from(path);
        match self.slots.get(index) {
            None => Err(PathError::Number(path)),
            Some(None) => Err(PathError::Unknown(path)),
            Some(Some(_)) => Ok(index),
        }
    }

    /// Changes the address or other settings of a path, and tries the path again. Packets that wait
    /// for it use other paths.
    ///
    /// # Errors
    /// An unknown path.
    pub fn change_path(
        &mut self,
        path: u8,
        settings: PathSettings,
        now: Micros,
    ) -> Result<(), PathError> {
        let index = self.known(path)?;
        let waiting = self.waiting(index, now);
        self.open_path(index, settings, now);
        self.reroute(waiting, now);
        Ok(())
    }

    /// Changes hints about a path whose address stays: its traffic continues.
    ///
    /// # Errors
    /// An unknown path.
    pub fn settle_path(&mut self, path: u8, settings: PathSettings) -> Result<(), PathError> {
        let index = self.known(path)?;
        self.hellos[index] = self.hellos[index].wrapping_add(1);
        if let Some(slot) = &mut self.slots[index] {
            slot.settle(settings, self.hellos[index]);
            slot.ask();
        }
        Ok(())
    }

    /// Removes a path. Says so to the other end, by this path, if that is possible.
    ///
    /// # Errors
    /// An unknown path.
    pub fn remove_path(&mut self, path: u8, now: Micros) -> Result<(), PathError> {
        let index = self.known(path)?;
        let waiting = self.waiting(index, now);
        if let Some(slot) = &mut self.slots[index] {
            slot.bye = Some(false);
        }
        self.schedule.forget(path);
        self.reroute(waiting, now);
        Ok(())
    }

    /// Ends the session: sends a bye by all paths, and removes them.
    pub fn close(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            slot.bye = Some(true);
        }
    }

    fn waiting(&mut self, index: usize, now: Micros) -> Vec<Waiting> {
        let slot = self.slots[index].as_mut();
        slot.map_or(Vec::new(), |slot| slot.queue.drain(now).collect())
    }

    fn look(&mut self, now: Micros) {
        self.views.clear();
        let slots = self.slots.iter().enumerate();
        let views = slots.filter_map(|(index, slot)| slot.as_ref()?.view(index as u8, now));
        self.views.extend(views);
    }

    /// Sends packets that waited for a removed path by others.
    fn reroute(&mut self, waiting: Vec<Waiting>, now: Micros) {
        for old in waiting {
            let sent = match old.order {
                // A second copy is under way.
                Order::Once(_) => Ok(()),
                Order::Free => self.packet_in(&old.packet, now),
                Order::Lane { .. } => {
                    self.share(old.order, &old.packet, now);
                    Ok(())
                }
            };
            // Without a path the packet is lost, as in the path itself.
            let _ = sent;
            self.pool.free(old.packet);
        }
    }

    fn push(&mut self, path: u8, order: Order, packet: &[u8], urgent: bool, now: Micros) {
        if let Some(slot) = &mut self.slots[usize::from(path)] {
            let waiting = Waiting {
                order,
                since: now,
                packet: self.pool.copy(packet),
            };
            let rate = slot.path.capacity.rate();
            slot.queue.push(waiting, urgent, rate, &mut self.pool);
        }
    }

    fn share(&mut self, order: Order, packet: &[u8], now: Micros) {
        let waiting = Waiting {
            order,
            since: now,
            packet: self.pool.copy(packet),
        };
        let rate = self.views.iter().map(|view| view.rate).sum();
        self.shared.push(waiting, rate, &mut self.pool);
    }

    /// Returns true if a path answers, so that packets are accepted.
    pub fn works(&self) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| {
            slot.proof.is_there() && matches!(slot.path.state(), State::Up | State::Suspect)
        })
    }

    /// Returns the size of the largest packet that fits all paths, bytes; `None` without a path.
    pub fn mtu(&self) -> Option<usize> {
        self.slots.iter().flatten().map(Slot::mtu).min()
    }

    /// Accepts a packet for the other end.
    ///
    /// # Errors
    /// Cause to refuse the packet.
    pub fn packet_in(&mut self, packet: &[u8], now: Micros) -> Result<(), PacketError> {
        let seen = Packet::read(packet, self.settings.seed).ok_or(PacketError::NoPacket)?;
        let mtu = self.mtu().ok_or(PacketError::NoPath)?;
        if packet.len() > mtu {
            return Err(PacketError::TooBig { mtu });
        }
        self.look(now);
        let place = self
            .schedule
            .choose(&seen, &self.views, now)
            .ok_or(PacketError::NoPath)?;
        if place.path.is_none() {
            self.share(place.order, packet, now);
        }
        for path in [place.path, place.copy].into_iter().flatten() {
            self.push(path, place.order, packet, place.urgent, now);
        }
        Ok(())
    }

    /// Takes a datagram and opens it in place; delivers packets that are ready.
    ///
    /// # Errors
    /// The datagram is not valid: then nothing was changed.
    pub fn datagram_in(
        &mut self,
        from: SocketAddr,
        datagram: &mut [u8],
        now: Micros,
        deliver: &mut Deliver<'_>,
    ) -> Result<(), DatagramError> {
        let length = datagram.len();
        let (header, body) = self.codec.open(datagram)?;
        let (path, index) = (header.path, usize::from(header.path));
        let unknown = DatagramError::Path(path);
        let window = self.windows.get_mut(index).ok_or(unknown)?;
        let newest = header.counter >= window.highest();
        let partner = self.role == Role::Partner;
        let tells = matches!(body, Body::Hello(_)) && partner;
        if self.slots[index].is_none() && !tells {
            return Err(unknown);
        }
        if !window.take(header.counter) {
            return Err(DatagramError::Replayed);
        }
        if let (Body::Hello(hello), true, true) = (&body, tells, newest) {
            self.told(index, hello, from, now);
        }
        let there = !partner || self.hears(index, from, newest, now);
        if let Some(slot) = &mut self.slots[index] {
            let carries = matches!(body, Body::Packet(..));
            slot.path.receives(length, carries, now);
            self.body(index, &body, (from, there), now, deliver);
        }
        Ok(())
    }

    /// At the partner: records that the router sent by a path, and returns true if it did so from
    /// its proved address. A new address is challenged.
    fn hears(&mut self, index: usize, from: SocketAddr, newest: bool, now: Micros) -> bool {
        let Some(slot) = &mut self.slots[index] else {
            return false;
        };
        let there = slot.proof.is_there() && slot.settings.remote == from;
        if newest && there {
            slot.proof.settle();
        } else if newest && slot.proof.wants(from, now) && self.allowance.take(now) {
            slot.proof.challenge(from, &mut self.values, now);
        }
        there
    }

    /// Handles a body. `from`: source address, and whether the other end is known to be there.
    fn body(
        &mut self,
        index: usize,
        body: &Body<'_>,
        (from, there): (SocketAddr, bool),
        now: Micros,
        deliver: &mut Deliver<'_>,
    ) {
        let (path, Some(slot)) = (index as u8, &mut self.slots[index]) else {
            return;
        };
        match *body {
            Body::Packet(Order::Free, packet) => deliver(packet),
            Body::Packet(Order::Once(number), packet) => {
                let near = match self.once.highest() {
                    0 => 1 << 32 | u64::from(number),
                    highest => highest,
                };
                if self.once.take(reorder::whole(near, number)) {
                    deliver(packet);
                }
            }
            Body::Packet(Order::Lane { lane, number }, packet) => {
                let at = (lane, number);
                self.reorder
                    .add(at, path, packet, now, &mut self.pool, deliver);
            }
            Body::Probe(stamp) => {
                slot.path.back.add(stamp, now, now);
                if there || self.allowance.take(now) {
                    // At the partner, to the source: the router may have moved, without proof yet.
                    let to = match self.role {
                        Role::Router => slot.settings.remote,
                        Role::Partner => from,
                    };
                    slot.asked(stamp, to, now);
                }
            }
            Body::Answer(answer) => {
                slot.knows(answer.hello);
                if slot.path.answered(&answer, now) == Some(Action::Up) {
                    self.happens(Event::Up(path));
                }
            }
            Body::Challenge(value) if self.role == Role::Router => slot.shows(value),
            Body::Response(value) if self.role == Role::Partner => {
                if slot.proof.shown(value, from) && slot.settings.remote != from {
                    slot.settings.remote = from;
                    self.happens(Event::Moved(path, from));
                }
            }
            // Handled before, or not meant for this end.
            Body::Hello(_) | Body::Challenge(_) | Body::Response(_) => {}
            Body::Bye { all } => {
                let waiting = self.waiting(index, now);
                if all {
                    self.slots = Default::default();
                    self.happens(Event::Closed);
                } else {
                    self.slots[index] = None;
                    self.schedule.forget(path);
                    self.happens(Event::Gone(path));
                    self.reroute(waiting, now);
                }
            }
        }
    }

    /// Takes a hello, at the partner: a new path, or a change.
    fn told(&mut self, index: usize, hello: &Hello, from: SocketAddr, now: Micros) {
        let told = Slot::told(hello, from);
        let mut there = false;
        if let Some(slot) = &mut self.slots[index] {
            if slot.hello == hello.number {
                return;
            }
            let same = |settings: &PathSettings| (settings.remote, settings.longest);
            if slot.bye.is_none() && same(&slot.settings) == same(&told) {
                slot.settle(told, hello.number);
                self.happens(Event::Told(index as u8));
                return;
            }
            there = slot.proof.is_there() && slot.settings.remote == from;
        }
        // The router repeats the hello.
        if !there && !self.allowance.take(now) {
            return;
        }
        let waiting = self.waiting(index, now);
        self.open_path(index, told, now);
        if let Some(slot) = &mut self.slots[index] {
            slot.hello = hello.number;
            slot.proof = Proof::new(there);
        }
        self.happens(Event::Told(index as u8));
        self.reroute(waiting, now);
    }

    /// Writes the next datagram for now into a buffer of [`datagram::LONGEST`] bytes.
    pub fn send(&mut self, now: Micros, into: &mut [u8]) -> Option<Send> {
        for _ in 0..PATHS {
            let index = self.turn;
            let path = index as u8;
            let takes = if self.shared.is_empty() {
                None
            } else {
                self.look(now);
                let octets = self.shared.octets();
                self.schedule.takes(path, &self.views, octets, now)
            };
            let Some(slot) = &mut self.slots[index] else {
                self.turn = (index + 1) % PATHS;
                continue;
            };
            let counter = self.counters[index];
            let pace = slot.path.capacity.pace(now);
            let full = self.shared.full(now);
            let shared = takes.map(|longer| (&mut self.shared, longer));
            let mut to = slot.settings.remote;
            let (sealed, carries, bye) = if let Some((body, at)) = slot.control(full, now) {
                to = at;
                let bye = matches!(body, Body::Bye { .. });
                (self.codec.seal(path, counter, &body, into), false, bye)
            } else if let Some((mut waiting, of_all)) =
                slot.queue.pop(pace, shared, now, &mut self.pool)
            {
                if let (Order::Lane { lane, number }, true) = (&mut waiting.order, of_all) {
                    *number = self.schedule.leaves(*lane, path, waiting.packet.len(), now);
                }
                let body = Body::Packet(waiting.order, &waiting.packet);
                let sealed = self.codec.seal(path, counter, &body, into);
                self.pool.free(waiting.packet);
                (sealed, true, false)
            } else {
                self.turn = (index + 1) % PATHS;
                continue;
            };
            self.counters[index] += 1;
            if let Ok(length) = sealed {
                slot.queue.spends(length);
                slot.path.sends(length, carries, now);
            }
            if bye {
                self.slots[index] = None;
            }
            if let Ok(length) = sealed {
                return Some(Send { path, to, length });
            }
        }
        None
    }

    /// Handles the passing of time.
    pub fn tick(&mut self, now: Micros, deliver: &mut Deliver<'_>) {
        for index in 0..PATHS {
            while let Some(slot) = &mut self.slots[index]
                && let Some(action) = slot.path.tick(now)
            {
                match action {
                    Action::Probe => {
                        slot.ask();
                        break;
                    }
                    Action::Up => self.happens(Event::Up(index as u8)),
                    Action::Down => {
                        let waiting = self.waiting(index, now);
                        self.happens(Event::Down(index as u8));
                        self.reroute(waiting, now);
                    }
                }
            }
        }
        let wait = self.settings.longest_wait;
        self.reorder.tick(wait, now, &mut self.pool, deliver);
    }

    /// Returns the time of the next [`Tunnel::tick`] or [`Tunnel::send`], without new events.
    pub fn next(&self, now: Micros) -> Option<Micros> {
        let slots = || self.slots.iter().flatten();
        let slot = slots().filter_map(|slot| slot.next(now)).min();
        let wait = self.reorder.next(self.settings.longest_wait);
        // Paths that could take shared packets, and did not, leave them to a path that will be
        // ready.
        let ready = slots().filter_map(|slot| slot.ready(now)).min();
        let shared = (!self.shared.is_empty()).then(|| ready.unwrap_or(now + 1000));
        [slot, wait, shared].into_iter().flatten().min()
    }

    /// Returns the state of all paths.
    pub fn paths(&self) -> impl Iterator<Item = Report> + '_ {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| {
            let slot = slot.as_ref()?;
            Some(Report {
                path: index as u8,
                settings: slot.settings,
                state: slot.path.state(),
                round_trip: slot.path.round_trip(),
                queue: slot.path.out.queue(),
                loss: slot.path.loss(),
                rate: slot.path.capacity.rate(),
                sent: slot.path.sent,
                received: slot.path.received,
                dropped: slot.queue.dropped(),
                mtu: slot.mtu(),
            })
        })
    }
}
