//! Pairs of stations behind bridges between which weir may forward, and for how long.
//!
//! The packet path reports pairs between which a bridge passed frames. A pair becomes known only if
//! the bridge itself knows both stations, in the same VLAN, behind different ports: then its frames
//! are forwarded, not flooded, and none are delivered up to this machine. Weir forgets a pair when
//! this condition fails, or when the pair exchanges no frames.

use std::collections::{BTreeSet, HashMap};

use kernel::Mac;

use crate::action::{Action, FlowId, PAIRS, Reading};
use crate::network::Network;
use crate::output::Output;
use crate::settings::Settings;
use crate::sweep::Sweep;
use crate::time::Millis;

/// Time without forwarded frames after which weir forgets a pair. The packet path reports the pair
/// again at its next frames.
const IDLE: Millis = 60_000;
/// Like [`IDLE`], if the table is full.
const IDLE_WHEN_FULL: Millis = 5_000;
/// Interval of visits to a pair.
const VISIT: Millis = 2_000;

/// Two stations that exchange frames through a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Addresses of the stations; the first direction is to the first one.
    pub stations: [Mac; 2],
    /// Ports of the bridge behind which they are.
    pub ports: [u32; 2],
    /// Time when the pair became known.
    pub since: Millis,
    /// Time of the last forwarded frame, or of the time when the pair became known.
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

/// Sorts the addresses, so that both directions yield one key.
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

    /// Returns the pair that is idle longest, if long enough; a pair of `port`, if only that port
    /// is full.
    fn idle(&self, now: Millis, port: Option<u32>) -> Option<usize> {
        let of_port = |pair: &Pair| port.is_none_or(|port| pair.ports.contains(&port));
        let all = self.slots.iter().enumerate();
        all.filter_map(|(slot, pair)| Some((slot, pair.as_ref().filter(|pair| of_port(pair))?)))
            .filter(|(_, pair)| now.saturating_sub(pair.used) >= IDLE_WHEN_FULL)
            .min_by_key(|(_, pair)| pair.used)
            .map(|(slot, _)| slot)
    }

    /// Takes pairs, as `[to, from]`, between which the packet path saw a bridge pass frames. Pairs
    /// that may not be installed are skipped: the packet path repeats its report while they
    /// exchange frames.
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

    /// Makes room for one more pair between these ports, replacing an idle pair if necessary;
    /// returns true on success. One port can have at most half of all room: a client that forges
    /// addresses there uses only the room of its own port.
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

    /// Forgets pairs with a moved station: the next frames go through the kernel, and the packet
    /// path reports them again.
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

    /// Does the part of a tick for pairs.
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

    /// Handles a packet path without room for a pair.
    pub(crate) fn refused(&mut self, flow: FlowId, out: &mut Output) {
        out.statistics.refusals += 1;
        self.remove((flow.0 & !PAIRS) as usize);
    }

    /// Returns the known pairs, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &Pair)> {
        let all = self.slots.iter().enumerate();
        all.filter_map(|(slot, pair)| Some((FlowId(PAIRS | slot as u32), pair.as_ref()?)))
    }
}

/// Returns the ports of a bridge with these two stations, if the bridge passes frames between them.
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
