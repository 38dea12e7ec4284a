//! Devices, addresses and neighbours: from rtnetlink events to ended proofs and port plans.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::{Address, Bridging, Fdb, Link, Mac, Neighbour, Qdisc, Source};

use crate::action::{Action, Cause};
use crate::dump::Dump;
use crate::output::Output;
use crate::ports::{self, Device, Plans, PortFacts, PortPlan, PortReason};
use crate::settings::{Hook, Settings};
use crate::stations::{CHANGES_MAX, Stations};
use crate::time::Millis;

/// Maximum number of neighbours. The kernel's default limit is 1024 per family; on a router with a
/// higher limit than this, each change of a further neighbour ends all proofs.
const NEIGHBOURS_MAX: usize = 16_384;

/// Number of packets per flow that weir shows a bridge within the time after which the bridge
/// forgets a silent station.
const SHOWN: Millis = 3;
/// Shortest time between two proofs of a flow, however soon bridges forget.
const REPROVE_MIN: Millis = 500;

/// Devices, addresses, neighbours, stations and plans. Numbers next to values are the generation of
/// the dump by which each was last seen.
#[derive(Default)]
pub(crate) struct Network {
    dump: Dump,
    links: BTreeMap<u32, (Link, u32)>,
    addresses: HashMap<Address, u32>,
    neighbours: HashMap<(u32, IpAddr), (Mac, u32)>,
    facts: HashMap<u32, PortFacts>,
    plans: BTreeMap<u32, PortPlan>,
    /// Last reported relations of upper and lower devices.
    stacks: Vec<(u32, u32)>,
    /// True if the input of the plans changed since they were made.
    unplanned: bool,
    /// Port of a bridge, or bridge → hash of its VLANs.
    vlans: HashMap<u32, u64>,
    stations: Stations,
    /// Shortest time after which a bridge forgets a station.
    shortest_ageing: Option<Millis>,
    /// Hardware addresses whose proofs are to end, with their old location. One more than
    /// [`CHANGES_MAX`] means too many to track individually.
    changed: BTreeSet<(u32, Mac)>,
    /// Ids of XDP programs that were seen on a device while one was planned there: weir's own.
    programs: HashMap<u32, u32>,
}

impl Network {
    /// Returns the known devices, by index, from this one on.
    pub(crate) fn links_from(&self, link: u32) -> impl Iterator<Item = &Link> + Clone {
        self.links.range(link..).map(|(_, (link, _))| link)
    }

    /// Returns a device.
    pub(crate) fn link_of(&self, link: u32) -> Option<&Link> {
        self.links.get(&link).map(|(link, _)| link)
    }

    /// Facts about a device that do not come from events.
    pub(crate) fn facts(&self, link: u32) -> Option<&PortFacts> {
        self.facts.get(&link)
    }

    /// Returns the plans of all devices, by index.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &PortPlan> {
        self.plans.values()
    }

    /// Returns the addresses of this router, in no order.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.addresses.keys().copied()
    }

    /// Returns the neighbours with a known hardware address, in no order.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = Neighbour> {
        let all = self.neighbours.iter();
        all.map(|(&(link, address), &(mac, _))| Neighbour {
            link,
            address,
            mac: Some(mac),
            stale: false,
        })
    }

    /// Asks for a dump.
    pub(crate) fn ask(&mut self, out: &mut Output) {
        if self.dump.ask(out.now()) {
            self.stations.ask();
            out.push(Action::Dump(Source::Route));
        }
    }

    /// Asks again for a dump that did not end.
    pub(crate) fn ask_again(&mut self, out: &mut Output) {
        if self.dump.give_up(out.now()) {
            self.ask(out);
        }
    }

    /// Handles the end of a dump. Returns true if weir removed entries that the dump did not show.
    pub(crate) fn dump_end(&mut self, out: &mut Output) -> bool {
        if !self.dump.end() {
            return false;
        }
        let partial = self.dump.is_partial();
        if partial {
            self.ask(out);
        }
        !partial
    }

    /// Returns true if another device has the index of an earlier one, whose end was not reported:
    /// all facts about the earlier device are void.
    pub(crate) fn is_reused(&self, link: &Link) -> bool {
        self.link_of(link.index)
            .is_some_and(|old| replaces(old, link))
    }

    /// Returns the device's name, for messages.
    fn name(&self, link: u32) -> String {
        self.link_of(link)
            .map_or_else(|| link.to_string(), |link| link.name.clone())
    }

    /// Returns the stations by hardware address: bridge, VLAN, port.
    pub(crate) fn stations(&self) -> HashMap<Mac, Vec<(u32, u16, u32)>> {
        self.stations.places()
    }

    /// Returns the members of bridges between which weir forwards frames.
    pub(crate) fn bridging_ports(&self) -> BTreeSet<u32> {
        let plans = self.plans.values().filter(|plan| plan.bridges);
        plans.map(|plan| plan.link).collect()
    }

    /// Marks all devices for replanning.
    pub(crate) fn set_unplanned(&mut self) {
        self.unplanned = true;
    }

    /// Ends a batch: plans devices again if something changed, and ends the proofs over neighbours
    /// and stations that moved. Returns true if anything changed.
    pub(crate) fn flush(&mut self, settings: &Settings, out: &mut Output) -> bool {
        let moved = self.flush_stations(out);
        let unplanned = std::mem::take(&mut self.unplanned);
        if unplanned {
            self.replan(settings, out);
        }
        moved || unplanned
    }

    /// Handles a new or changed device.
    pub(crate) fn link(&mut self, link: Link, out: &mut Output) {
        let index = link.index;
        let old = self.links.get(&index).map(|(old, _)| old);
        let changed = old.is_some_and(|old| matters(old, &link));
        let reused = old.is_some_and(|old| replaces(old, &link));
        self.unplanned |= old != Some(&link);
        if reused {
            self.forget_link(index, out);
        }
        if self
            .plans
            .get(&index)
            .is_some_and(|plan| plan.hook == Hook::Xdp)
            && let Some(program) = link.xdp_program
        {
            self.programs.insert(index, program);
        }
        let name = link.name.clone();
        self.links.insert(index, (link, self.dump.generation()));
        if changed {
            out.bump(Cause::Link(name));
        }
    }

    /// Takes a device's bridge settings.
    pub(crate) fn bridging(&mut self, told: &Bridging, out: &mut Output) {
        let Some((link, _)) = self.links.get_mut(&told.link) else {
            return;
        };
        let mut changed = told.port.is_some() && link.port != told.port;
        if changed {
            link.port = told.port;
        }
        if let Some(proxies) = told.proxies.filter(|proxies| link.proxies != *proxies) {
            link.proxies = proxies;
            self.unplanned = true;
            changed = true;
        }
        if let Some(locked) = told.locked.filter(|locked| link.locked != *locked) {
            link.locked = locked;
            self.unplanned = true;
            changed = true;
        }
        if let Some(vlans) = told.vlans {
            changed |= self.vlans.insert(told.link, vlans) != Some(vlans);
        }
        if changed {
            let name = link.name.clone();
            out.bump(Cause::Link(name));
        }
    }

    /// Handles a changed VLAN of a bridge or of its port.
    pub(crate) fn bridge_vlan(&mut self, index: u32, out: &mut Output) {
        if self.links.contains_key(&index) {
            out.bump(Cause::Link(self.name(index)));
        }
    }

    /// Handles the removal of a known device, after the removal of its addresses.
    pub(crate) fn link_gone(&mut self, index: u32, out: &mut Output) {
        let name = self.name(index);
        self.forget_link(index, out);
        out.bump(Cause::Link(name));
    }

    /// Drops all that hangs on a device.
    fn forget_link(&mut self, index: u32, out: &mut Output) {
        self.links.remove(&index);
        self.facts.remove(&index);
        self.programs.remove(&index);
        self.vlans.remove(&index);
        self.stations.forget(index);
        self.unplanned = true;
        self.neighbours.retain(|(link, _), _| *link != index);
        if let Some(plan) = self.plans.remove(&index)
            && plan.hook != Hook::Off
        {
            out.push(Action::Port(PortPlan::off(
                index,
                &plan.name,
                PortReason::Gone,
            )));
        }
    }

    /// Sets the qdisc at the root of a device.
    pub(crate) fn qdisc(&mut self, qdisc: Qdisc, out: &mut Output) {
        let Some((link, _)) = self.links.get_mut(&qdisc.link) else {
            return;
        };
        if link.qdisc == qdisc.kind {
            return;
        }
        let unknown = qdisc.kind.is_empty();
        link.qdisc = qdisc.kind;
        let name = link.name.clone();
        out.bump(Cause::Link(name));
        self.unplanned = true;
        if unknown {
            // An address was deleted, and the kernel does not say which default took its place.
            self.ask(out);
        }
    }

    /// Adds an address of this router. Returns true if it is new on its device.
    pub(crate) fn add_address(&mut self, address: Address, out: &mut Output) -> bool {
        let new = (self.addresses)
            .insert(address, self.dump.generation())
            .is_none();
        if new {
            out.bump(Cause::Address);
        }
        new
    }

    /// Removes an address of this router. Returns true if it was known on its device.
    pub(crate) fn remove_address(&mut self, address: &Address, out: &mut Output) -> bool {
        let known = self.addresses.remove(address).is_some();
        if known {
            out.bump(Cause::Address);
        }
        known
    }

    /// Takes a change of a neighbour's hardware address.
    pub(crate) fn neighbour(&mut self, neighbour: Neighbour, out: &mut Output) {
        let key = (neighbour.link, neighbour.address);
        let known = self.neighbours.get(&key).map(|(mac, _)| *mac);
        match (known, neighbour.mac) {
            (None, _) if self.neighbours.len() >= NEIGHBOURS_MAX => {
                // The neighbour may be one that did not fit, with another hardware address then.
                return out.bump(Cause::Neighbours);
            }
            (Some(old), new) if new != Some(old) => self.bump_hops(neighbour.link, old),
            // Packets that go past the kernel do not have it ask whether the neighbour is still
            // there: the next ones are to.
            (Some(old), _) if neighbour.stale => self.bump_hops(neighbour.link, old),
            _ => {}
        }
        match neighbour.mac {
            Some(mac) => {
                self.neighbours.insert(key, (mac, self.dump.generation()));
            }
            None => {
                self.neighbours.remove(&key);
            }
        }
    }

    /// Returns devices that neither the last dump nor an event since its start reported.
    pub(crate) fn lost_links(&self) -> Vec<u32> {
        let generation = self.dump.generation();
        let links = self.links.iter();
        let lost = links.filter(|(_, (_, seen))| *seen != generation);
        lost.map(|(index, _)| *index).collect()
    }

    /// Returns addresses that neither the last dump nor an event since its start reported.
    pub(crate) fn lost_addresses(&self) -> Vec<Address> {
        let generation = self.dump.generation();
        let addresses = self.addresses.iter();
        let lost = addresses.filter(|(_, seen)| **seen != generation);
        lost.map(|(address, _)| *address).collect()
    }

    /// Neighbours and stations that neither the last dump nor an event since its start reported
    /// are gone.
    pub(crate) fn sweep_neighbours(&mut self, out: &mut Output) {
        let generation = self.dump.generation();
        let mut lost: Vec<_> = self
            .neighbours
            .iter()
            .filter(|(_, (_, seen))| *seen != generation)
            .map(|((link, address), _)| Neighbour {
                link: *link,
                address: *address,
                mac: None,
                stale: false,
            })
            .collect();
        lost.sort_unstable_by_key(|neighbour| (neighbour.link, neighbour.address));
        for neighbour in lost {
            self.neighbour(neighbour, out);
        }
        for (link, mac) in self.stations.sweep(generation) {
            self.bump_hops(link, mac);
        }
    }

    /// Takes facts about a device.
    pub(crate) fn learn_facts(&mut self, link: u32, facts: PortFacts, out: &mut Output) {
        let forwarding = |facts: &PortFacts| (facts.forwarding_v4, facts.forwarding_v6);
        let old = self.facts.get(&link);
        // Checked once a second; most often nothing changed.
        if old == Some(&facts) {
            return;
        }
        let switched = old.is_some_and(|old| {
            // Tables of the old ebtables come with their modules.
            let quietly = old.switches.is_some() && old.switches != facts.switches
                || old.bridge_filters != facts.bridge_filters;
            quietly || forwarding(old) != forwarding(&facts)
        });
        let other_hops =
            old.is_some_and(|old| old.multipath.is_some() && old.multipath != facts.multipath);
        if switched {
            out.bump(Cause::Forwarding);
        }
        if other_hops {
            out.bump(Cause::Routing);
        }
        self.facts.insert(link, facts);
        self.unplanned = true;
    }

    /// Plans all devices again, and emits the changes.
    fn replan(&mut self, settings: &Settings, out: &mut Output) {
        self.shortest_ageing = self.shortest_ageing();
        let devices: Vec<Device<'_>> = self
            .links
            .values()
            .map(|(link, _)| Device {
                link,
                facts: self.facts.get(&link.index),
                // Weir's own program is not a foreign one.
                own_xdp: link.xdp_program.is_some()
                    && self.programs.get(&link.index).copied() == link.xdp_program,
            })
            .collect();
        let Plans { ports, stacks } = ports::plans(&devices, settings);
        if stacks != self.stacks {
            self.stacks.clone_from(&stacks);
            out.push(Action::Stacks(stacks));
        }
        let off = |plan: &PortPlan| plan.hook == Hook::Off;
        for plan in ports {
            let old = self.plans.insert(plan.link, plan.clone());
            match &old {
                None if off(&plan) => continue,
                Some(old) if old.same_effect(&plan) => continue,
                // A hop remembers whether XDP may send on its device; a new proof refreshes that.
                Some(old) if !off(old) => out.bump(Cause::Link(plan.name.clone())),
                _ => {}
            }
            out.push(Action::Port(plan));
        }
    }

    /// Handles a bridge that learned, moved or forgot a station.
    pub(crate) fn station(&mut self, fdb: &Fdb) {
        if let Some(link) = self.stations.tell(fdb, self.dump.generation()) {
            self.bump_hops(link, fdb.mac);
        }
    }

    /// Ends the proofs over one neighbour, with the other changes of this batch.
    fn bump_hops(&mut self, link: u32, mac: Mac) {
        if self.changed.len() <= CHANGES_MAX {
            self.changed.insert((link, mac));
        }
    }

    /// Ends the proofs over all that changed in this batch. Returns true if anything did.
    pub(crate) fn flush_stations(&mut self, out: &mut Output) -> bool {
        let changed = std::mem::take(&mut self.changed);
        let due = self.stations.due(out.now());
        if due || changed.len() > CHANGES_MAX {
            out.bump(match due {
                true => Cause::Stations,
                false => Cause::Neighbours,
            });
            return true;
        }
        let any = !changed.is_empty();
        for (link, mac) in changed {
            out.bump_hops(link, mac);
        }
        any
    }

    /// Returns the time in which each flow has to go through the kernel once more, by the settings;
    /// 0: never. At most a fraction of the shortest ageing time of a bridge, which would otherwise
    /// forget a station and flood the frames to it.
    pub(crate) fn reprove(&self, wish: Millis) -> Millis {
        match self.shortest_ageing {
            Some(ageing) if wish > 0 => wish.min((ageing / SHOWN).max(REPROVE_MIN)),
            _ => wish,
        }
    }

    /// Returns the shortest time after which any bridge forgets a station.
    fn shortest_ageing(&self) -> Option<Millis> {
        let links = self.links.values();
        let ageing = links.filter_map(|(link, _)| Some(Millis::from(link.bridge?.ageing) * 10));
        ageing.filter(|ageing| *ageing > 0).min()
    }
}

/// Returns true if another device has the index now.
fn replaces(old: &Link, new: &Link) -> bool {
    old.name != new.name && old.mac != new.mac
}

/// Returns true if the difference between two states of a device can change how a packet is
/// forwarded through it.
fn matters(old: &Link, new: &Link) -> bool {
    let look = |link: &Link| {
        let own = (link.up, link.mac, link.mtu, link.master, link.group);
        (own, link.vlan, link.settings, link.port)
    };
    look(old) != look(new) || old.name != new.name || old.qdisc != new.qdisc
}
