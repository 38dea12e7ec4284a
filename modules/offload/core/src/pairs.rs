//! Pairs of stations behind bridges: which may be forwarded between, and for how long they are
//! remembered.
//!
//! The packet path tells of pairs that a bridge passed frames on between. One becomes known only if
//! the bridge itself knows both stations, in the same VLAN, behind different ports: then its frames
//! are forwarded, not flooded, and nothing is delivered up to this machine. It is forgotten when
//! that is no longer so, or when nothing of it moves.

use std::collections::{BTreeSet, HashMap};

use kernel::Mac;

use crate::action::{Action, FlowId, PAIRS, Reading};
use crate::network::Network;
use crate::output::Output;
use crate::settings::Settings;
use crate::sweep::Sweep;
use crate::time::Millis;

/// A pair of which nothing was forwarded for so long is forgotten. The packet path tells of it
/// again when it talks.
const IDLE: Millis = 60_000;
/// Where there is no room, for so long.
const IDLE_WHEN_FULL: Millis = 5_000;
/// Each pair is looked at once in this time.
const VISIT: Millis = 2_000;

/// Two stations that talk through a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Their addresses; the first direction is to the first one.
    pub stations: [Mac; 2],
    /// Ports of the bridge behind which they are.
    pub ports: [u32; 2],
    /// When it became known.
    pub since: Millis,
    /// When frames were last seen to have been forwarded, or it became known.
    used: Millis,
    /// Counters then.
    moved: [u64; 2],
}

/// All known pairs.
#[derive(Default)]
pub(crate) struct Pairs {
    slots: Vec<Option<Pair>>,
    free: Vec<u32>,
    by_stations: HashMap<[Mac; 2], u32>,
    /// Port → in how many pairs it is.
    at_port: HashMap<u32, usize>,
    visits: Sweep,
    reproofs: Sweep,
}

/// The same for both directions.
fn sorted([one, other]: [Mac; 2]) -> [Mac; 2] {
    [one.min(other), one.max(other)]
}

impl Pairs {
    fn insert(&mut self, pair: Pair) -> FlowId {
        for port in pair.ports {
            *self.at_port.entry(port).or_default() += 1;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.by_stations.insert(sorted(pair.stations), slot);
        self.slots[slot as usize] = Some(pair);
        FlowId(PAIRS | slot)
    }

    fn remove(&mut self, slot: usize) -> Option<FlowId> {
        let pair = self.slots.get_mut(slot)?.take()?;
        self.by_stations.remove(&sorted(pair.stations));
        for port in pair.ports {
            if let Some(count) = self.at_port.get_mut(&port) {
                *count -= 1;
                if *count == 0 {
                    self.at_port.remove(&port);
                }
            }
        }
        self.free.push(slot as u32);
        Some(FlowId(PAIRS | slot as u32))
    }

    /// The one of which nothing moved for longest, if that is long enough; of one port, where only
    /// that is full.
    fn idle(&self, now: Millis, port: Option<u32>) -> Option<usize> {
        let of_port = |pair: &Pair| port.is_none_or(|port| pair.ports.contains(&port));
        let all = self.slots.iter().enumerate();
        all.filter_map(|(slot, pair)| Some((slot, pair.as_ref().filter(|pair| of_port(pair))?)))
            .filter(|(_, pair)| now.saturating_sub(pair.used) >= IDLE_WHEN_FULL)
            .min_by_key(|(_, pair)| pair.used)
            .map(|(slot, _)| slot)
    }

    /// Pairs, as `[to, from]`, that the packet path saw a bridge pass frames on between. What is
    /// not to be known is passed over: it is told again, as long as it talks.
    pub(crate) fn seen(
        &mut self,
        seen: &[[Mac; 2]],
        network: &Network,
        settings: &Settings,
        out: &mut Output,
    ) {
        if seen.is_empty() || !settings.bridge {
            return;
        }
        let (places, bridging) = (network.stations(), network.bridging_ports());
        for stations in seen {
            if self.by_stations.contains_key(&sorted(*stations)) {
                continue;
            }
            let Some(ports) = apart(&places, &bridging, *stations) else {
                continue;
            };
            if !self.make_room(ports, settings.max_pairs, out) {
                continue;
            }
            let flow = self.insert(Pair {
                stations: *stations,
                ports,
                since: out.now(),
                used: out.now(),
                moved: [0; 2],
            });
            out.push(Action::InstallPair {
                flow,
                stations: *stations,
            });
        }
    }

    /// Whether there is room for one more pair between these ports, if need be in the place of one
    /// that is idle. One port can have half of all at most: whoever makes up addresses there takes
    /// the room of his own port only.
    fn make_room(&mut self, ports: [u32; 2], most: usize, out: &mut Output) -> bool {
        for (full, port) in [
            (self.by_stations.len() >= most, None),
            (self.share_taken(ports[0], most), Some(ports[0])),
            (self.share_taken(ports[1], most), Some(ports[1])),
        ] {
            if !full {
                continue;
            }
            let Some(slot) = self.idle(out.now(), port) else {
                return false;
            };
            self.forget(slot, out);
        }
        self.by_stations.len() < most
    }

    fn share_taken(&self, port: u32, most: usize) -> bool {
        let taken = self.at_port.get(&port).copied().unwrap_or(0);
        taken >= most.div_ceil(2)
    }

    fn forget(&mut self, slot: usize, out: &mut Output) {
        if let Some(flow) = self.remove(slot) {
            out.push(Action::Remove { flow });
        }
    }

    /// Forgets the pairs whose stations are no longer where they were: the next frames go through
    /// the kernel, and tell of them anew.
    pub(crate) fn check(&mut self, network: &Network, settings: &Settings, out: &mut Output) {
        if self.by_stations.is_empty() {
            return;
        }
        let (places, bridging) = (network.stations(), network.bridging_ports());
        let gone = |pair: &Pair| {
            !settings.bridge || apart(&places, &bridging, pair.stations) != Some(pair.ports)
        };
        let slots: Vec<usize> = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, pair)| pair.as_ref().is_some_and(gone))
            .map(|(slot, _)| slot)
            .collect();
        for slot in slots {
            self.forget(slot, out);
        }
    }

    /// The part of a tick that is about pairs.
    pub(crate) fn upkeep(
        &mut self,
        reprove: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        let (now, length) = (out.now(), self.slots.len());
        for slot in self.visits.share(length, VISIT, now) {
            let Some(pair) = self.slots[slot].as_mut() else {
                continue;
            };
            let moved = read(FlowId(PAIRS | slot as u32)).map(|reading| reading.packets);
            if moved != pair.moved {
                pair.moved = moved;
                pair.used = now;
            } else if now.saturating_sub(pair.used) >= IDLE {
                self.forget(slot, out);
            }
        }
        if reprove == 0 {
            return;
        }
        for slot in self.reproofs.share(length, reprove, now) {
            let flow = FlowId(PAIRS | slot as u32);
            if self.slots[slot].is_some() && read(flow).iter().any(|way| way.proven) {
                out.prove(flow);
            }
        }
    }

    /// The packet path had no room for a pair.
    pub(crate) fn refused(&mut self, flow: FlowId, out: &mut Output) {
        out.statistics.refusals += 1;
        self.remove((flow.0 & !PAIRS) as usize);
    }

    /// The pairs known, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &Pair)> {
        let all = self.slots.iter().enumerate();
        all.filter_map(|(slot, pair)| Some((FlowId(PAIRS | slot as u32), pair.as_ref()?)))
    }
}

/// The ports of a bridge that two stations are behind, where a bridge passes frames on between
/// them.
fn apart(
    places: &HashMap<Mac, Vec<(u32, u16, u32)>>,
    bridging: &BTreeSet<u32>,
    [one, other]: [Mac; 2],
) -> Option<[u32; 2]> {
    let (ones, others) = (places.get(&one)?, places.get(&other)?);
    for (bridge, vlan, port) in ones.iter().filter(|place| bridging.contains(&place.2)) {
        let at = others
            .iter()
            .find(|place| (place.0, place.1) == (*bridge, *vlan) && bridging.contains(&place.2));
        if let Some((_, _, to)) = at.filter(|place| place.2 != *port) {
            return Some([*port, *to]);
        }
    }
    None
}
