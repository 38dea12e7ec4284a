//! All tracked connections: a slab, and an index by the tuples of both directions.
//!
//! The index holds only hashes; the chain of connections whose tuples share a hash runs through the
//! slab. That is 16 bytes instead of 48 per direction, and one structure finds the connections of a
//! tuple and of an id.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use kernel::{ConnectionId, Tuple};

use crate::action::{Direction, FlowId};
use crate::flow::Flow;

/// End of a chain.
const END: u32 = u32::MAX;

/// The keys are hashes already, of a hasher with a secret.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = self.0.rotate_left(8) ^ u64::from(*octet);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

struct Slot {
    flow: Option<Flow>,
    /// Next link of the chain of each direction: slot × 2 + direction.
    next: [u32; 2],
    /// Tick of the last install or remove of this number; 0 for never.
    touched: u64,
}

/// A flood fills the table, on a router of 128 MB, too.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Slot>() <= 256);

/// The connections.
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Left numbers that may still be under way to the packet path, in the order of `touched`.
    resting: VecDeque<u32>,
    heads: HashMap<u64, u32, BuildHasherDefault<Ready>>,
    secret: RandomState,
    tick: u64,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            resting: Default::default(),
            heads: HashMap::default(),
            secret: RandomState::new(),
            tick: 1,
        }
    }

    /// Numbers ever used: every [`FlowId`] is below.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, id: FlowId) -> Option<&Flow> {
        self.slots.get(id.0 as usize)?.flow.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.slots.get_mut(id.0 as usize)?.flow.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(index, slot)| Some((FlowId(index), slot.flow.as_ref()?)))
    }

    /// Puts a connection in; `None` when as many numbers as `limit` are in use or resting.
    pub(crate) fn insert(&mut self, flow: Flow, limit: usize) -> Option<FlowId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < limit.min((END / 2) as usize) => {
                self.slots.push(Slot {
                    flow: None,
                    next: [END; 2],
                    touched: 0,
                });
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        self.slots[index as usize].flow = Some(flow);
        self.link(index);
        Some(FlowId(index))
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        self.get(id)?;
        self.unlink(id.0);
        let slot = &mut self.slots[id.0 as usize];
        let flow = slot.flow.take();
        if rests(slot.touched, self.tick) {
            self.resting.push_back(id.0);
        } else {
            self.free.push(id.0);
        }
        flow
    }

    /// Changes the reply tuple.
    pub(crate) fn set_reply(&mut self, id: FlowId, reply: Tuple) {
        if self.get(id).is_none() {
            return;
        }
        self.unlink(id.0);
        if let Some(flow) = self.get_mut(id) {
            flow.reply = reply;
        }
        self.link(id.0);
    }

    /// Records an install or remove of this number.
    pub(crate) fn touch(&mut self, id: FlowId) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.touched = self.tick;
        }
    }

    /// Returns true if an install or remove of this number may still be under way.
    pub(crate) fn pending(&self, id: FlowId) -> bool {
        self.slots
            .get(id.0 as usize)
            .is_some_and(|slot| rests(slot.touched, self.tick))
    }

    /// Handles a tick: numbers that rested long enough are free again.
    pub(crate) fn turn(&mut self) {
        self.tick += 1;
        // A number touched long before it was left is never here, so the order of leaving is close
        // enough to that of touching.
        while let Some(&index) = self.resting.front() {
            if rests(self.slots[index as usize].touched, self.tick) {
                break;
            }
            self.resting.pop_front();
            self.free.push(index);
        }
    }

    /// Returns all connections with this tuple, in either direction.
    pub(crate) fn ends<'a>(
        &'a self,
        tuple: &'a Tuple,
    ) -> impl Iterator<Item = (FlowId, Direction)> + 'a {
        let mut end = self
            .heads
            .get(&self.secret.hash_one(tuple))
            .copied()
            .unwrap_or(END);
        std::iter::from_fn(move || {
            while end != END {
                let here = end;
                let slot = &self.slots[(here / 2) as usize];
                end = slot.next[(here % 2) as usize];
                let Some(flow) = &slot.flow else { continue };
                let (own, direction) = if here % 2 == 0 {
                    (&flow.id.original, Direction::Original)
                } else {
                    (&flow.reply, Direction::Reply)
                };
                if own == tuple {
                    return Some((FlowId(here / 2), direction));
                }
            }
            None
        })
    }

    /// Returns the connection with exactly this id.
    pub(crate) fn find(&self, id: &ConnectionId) -> Option<FlowId> {
        self.ends(&id.original)
            .find(|(flow, direction)| {
                *direction == Direction::Original && self.get(*flow).is_some_and(|f| f.id == *id)
            })
            .map(|(flow, _)| flow)
    }

    /// Returns all others that have one of this connection's tuples, in either direction.
    pub(crate) fn sharers(&self, id: FlowId) -> Vec<FlowId> {
        let Some(flow) = self.get(id) else {
            return Vec::new();
        };
        let mut found: Vec<FlowId> = self
            .ends(&flow.id.original)
            .chain(self.ends(&flow.reply))
            .map(|(other, _)| other)
            .filter(|other| *other != id)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns true if another connection has one of this connection's tuples.
    pub(crate) fn shared(&self, id: FlowId) -> bool {
        self.get(id).is_some_and(|flow| {
            self.ends(&flow.id.original)
                .chain(self.ends(&flow.reply))
                .any(|(other, _)| other != id)
        })
    }

    fn hashes(&self, index: u32) -> Option<[u64; 2]> {
        let flow = self.slots[index as usize].flow.as_ref()?;
        Some([
            self.secret.hash_one(flow.id.original),
            self.secret.hash_one(flow.reply),
        ])
    }

    fn link(&mut self, index: u32) {
        let Some(hashes) = self.hashes(index) else {
            return;
        };
        for (direction, hash) in (0u32..).zip(hashes) {
            let head = self.heads.entry(hash).or_insert(END);
            self.slots[index as usize].next[direction as usize] = *head;
            *head = index * 2 + direction;
        }
    }

    fn unlink(&mut self, index: u32) {
        let Some(hashes) = self.hashes(index) else {
            return;
        };
        for (direction, hash) in (0u32..).zip(hashes) {
            let end = index * 2 + direction;
            let after = std::mem::replace(
                &mut self.slots[index as usize].next[direction as usize],
                END,
            );
            let Some(head) = self.heads.get_mut(&hash) else {
                continue;
            };
            if *head == end {
                if after == END {
                    self.heads.remove(&hash);
                } else {
                    *head = after;
                }
                continue;
            }
            let mut at = *head;
            while at != END {
                let next = &mut self.slots[(at / 2) as usize].next[(at % 2) as usize];
                if *next == end {
                    *next = after;
                    break;
                }
                at = *next;
            }
        }
    }
}

/// Returns true for a number that may not be reused yet: during the tick of its last change, and
/// during the next one.
fn rests(touched: u64, tick: u64) -> bool {
    touched != 0 && touched + 1 >= tick
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use kernel::{Connection, Protocol};

    use super::*;

    fn flow(zone: u16) -> Flow {
        let original = Tuple {
            protocol: Protocol::Udp,
            source: [10, 0, 0, 1].into(),
            source_port: 1,
            destination: [10, 0, 0, 2].into(),
            destination_port: 2,
        };
        let connection = Connection {
            id: ConnectionId {
                id: zone.into(),
                original,
                zone,
            },
            reply: original.reversed(),
            status: None,
            mark: 0,
            timeout: None,
            tcp_state: None,
            window_scales: None,
            helper: false,
            sequence_adjusted: false,
        };
        Flow::new(&connection, 0, 0)
    }

    #[test]
    fn a_chain_stays_whole_whoever_leaves_it() {
        for first in 0..4u16 {
            for second in (0..4).filter(|second| *second != first) {
                let mut table = Table::new();
                let ids: Vec<FlowId> = (0..4)
                    .filter_map(|zone| table.insert(flow(zone), 9))
                    .collect();
                let mut left: HashSet<u16> = (0..4).collect();
                for gone in [first, second] {
                    table.remove(ids[gone as usize]);
                    left.remove(&gone);
                    for tuple in [flow(0).id.original, flow(0).reply] {
                        let found: Vec<FlowId> = table.ends(&tuple).map(|(id, _)| id).collect();
                        assert_eq!(found.len(), left.len());
                        assert!(left.iter().all(|zone| found.contains(&ids[*zone as usize])));
                    }
                }
                for zone in 0..4 {
                    assert_eq!(table.find(&flow(zone).id).is_some(), left.contains(&zone));
                }
            }
        }
    }

    #[test]
    fn the_index_is_empty_when_the_table_is() {
        let mut table = Table::new();
        let ids: Vec<FlowId> = (0..4)
            .filter_map(|zone| table.insert(flow(zone), 4))
            .collect();
        assert!(table.insert(flow(9), 4).is_none(), "no number left");
        ids.into_iter()
            .for_each(|id| assert!(table.remove(id).is_some() && table.remove(id).is_none()));
        assert!(table.heads.is_empty());
        assert_eq!(table.len(), 4);
    }
}
