//! What comes from the other end.

use std::net::SocketAddr;

use super::Tunnel;
use super::body::{Body, Hello, Micros, Order};
use super::datagram::DatagramError;
use super::path::Action;
use super::proof::Proof;
use super::reorder::{self, Deliver};
use super::report::Event;
use super::settings::{PathSettings, Role};
use super::slot::Slot;

impl Tunnel {
    /// A datagram came. It is opened in its place; packets that can be given on now are.
    ///
    /// # Errors
    /// What is wrong with it: then nothing was changed.
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

    /// The partner heard the router by a path: whether from where it is. Where it would be now, it
    /// is asked to show it.
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

    /// `from`: where it came from, and whether the other end is known to be there.
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
                    // Of a router, to where it came from: it may have moved, and not shown it yet.
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
            // Seen to before, or nothing that this end is told.
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

    /// The partner learns of a path.
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
        // It is told again.
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
}
