//! Devices, addresses and neighbours: from rtnetlink events to ended proofs and port plans.

use kernel::{Address, Bridging, Link, Neighbour, Qdisc, Source};

use crate::action::{Action, Cause};
use crate::core::Core;
use crate::ports::{self, Device, Plans, PortFacts, PortPlan, PortReason};
use crate::settings::Hook;
use crate::surroundings::{NEIGHBOURS_MAX, matters};

impl Core {
    /// A device appeared or changed.
    pub(crate) fn link(&mut self, link: Link, out: &mut Vec<Action>) {
        let index = link.index;
        let old = self.around.links.get(&index).map(|(old, _)| old);
        let changed = old.is_some_and(|old| matters(old, &link));
        let reused = old.is_some_and(|old| old.name != link.name && old.mac != link.mac);
        self.around.unplanned |= old != Some(&link);
        if reused {
            // Another device with the index of a former one, whose end was not told: nothing known
            // of that one holds.
            self.forget_link(index, out);
        }
        if self
            .around
            .plans
            .get(&index)
            .is_some_and(|plan| plan.hook == Hook::Xdp)
            && let Some(program) = link.xdp_program
        {
            self.around.programs.insert(index, program);
        }
        let name = link.name.clone();
        self.around
            .links
            .insert(index, (link, self.routes.generation));
        if changed {
            self.bump(Cause::Link(name), out);
        }
    }

    /// How a device bridges was told.
    pub(crate) fn bridging(&mut self, told: &Bridging, out: &mut Vec<Action>) {
        let Some((link, _)) = self.around.links.get_mut(&told.link) else {
            return;
        };
        let mut changed = told.port.is_some() && link.port != told.port;
        if changed {
            link.port = told.port;
        }
        if let Some(proxies) = told.proxies.filter(|proxies| link.proxies != *proxies) {
            link.proxies = proxies;
            self.around.unplanned = true;
            changed = true;
        }
        if let Some(locked) = told.locked.filter(|locked| link.locked != *locked) {
            link.locked = locked;
            self.around.unplanned = true;
            changed = true;
        }
        if let Some(vlans) = told.vlans {
            changed |= self.around.vlans.insert(told.link, vlans) != Some(vlans);
        }
        if changed {
            let name = link.name.clone();
            self.bump(Cause::Link(name), out);
        }
    }

    /// A VLAN of a bridge or of its port changed.
    pub(crate) fn bridge_vlan(&mut self, index: u32, out: &mut Vec<Action>) {
        if self.around.links.contains_key(&index) {
            self.bump(Cause::Link(self.around.name(index)), out);
        }
    }

    /// A device is gone.
    pub(crate) fn link_gone(&mut self, index: u32, out: &mut Vec<Action>) {
        if !self.around.links.contains_key(&index) {
            return;
        }
        let name = self.around.name(index);
        self.forget_link(index, out);
        self.bump(Cause::Link(name), out);
    }

    /// Drops all that hangs on a device.
    fn forget_link(&mut self, index: u32, out: &mut Vec<Action>) {
        self.around.links.remove(&index);
        self.around.facts.remove(&index);
        self.around.programs.remove(&index);
        self.around.vlans.remove(&index);
        self.around.stations.forget(index);
        self.around.unplanned = true;
        self.around.neighbours.retain(|(link, _), _| *link != index);
        let addresses: Vec<Address> = self
            .around
            .addresses
            .keys()
            .filter(|address| address.link == index)
            .copied()
            .collect();
        for address in &addresses {
            self.address_gone(address, out);
        }
        if let Some(plan) = self.around.plans.remove(&index)
            && plan.hook != Hook::Off
        {
            out.push(Action::Port(PortPlan::off(
                index,
                &plan.name,
                PortReason::Gone,
            )));
        }
    }

    /// The qdisc at the root of a device.
    pub(crate) fn qdisc(&mut self, qdisc: Qdisc, out: &mut Vec<Action>) {
        let Some((link, _)) = self.around.links.get_mut(&qdisc.link) else {
            return;
        };
        if link.qdisc == qdisc.kind {
            return;
        }
        let unknown = qdisc.kind.is_empty();
        link.qdisc = qdisc.kind;
        let name = link.name.clone();
        self.bump(Cause::Link(name), out);
        self.around.unplanned = true;
        if unknown {
            // One was deleted, and the kernel does not say which default took its place.
            self.dump(Source::Route, out);
        }
    }

    /// An address of this router appeared.
    pub(crate) fn address(&mut self, address: Address, out: &mut Vec<Action>) {
        let generation = self.routes.generation;
        if self.around.add_address(address, generation) {
            self.bump(Cause::Address, out);
            self.settle_at(&address.address, out);
        }
    }

    /// An address of this router went.
    pub(crate) fn address_gone(&mut self, address: &Address, out: &mut Vec<Action>) {
        if self.around.remove_address(address) {
            self.bump(Cause::Address, out);
            self.settle_at(&address.address, out);
        }
    }

    /// What is known of a neighbour's hardware address.
    pub(crate) fn neighbour(&mut self, neighbour: Neighbour, out: &mut Vec<Action>) {
        let key = (neighbour.link, neighbour.address);
        let known = self.around.neighbours.get(&key).map(|(mac, _)| *mac);
        match (known, neighbour.mac) {
            (None, _) if self.around.neighbours.len() >= NEIGHBOURS_MAX => {
                // It may be one that could not be remembered, with another hardware address then.
                return self.bump(Cause::Neighbours, out);
            }
            (Some(old), new) if new != Some(old) => self.bump_hops(neighbour.link, old),
            // Packets that go past the kernel do not have it ask whether the neighbour is still
            // there: the next ones are to.
            (Some(old), _) if neighbour.stale => self.bump_hops(neighbour.link, old),
            _ => {}
        }
        match neighbour.mac {
            Some(mac) => {
                self.around
                    .neighbours
                    .insert(key, (mac, self.routes.generation));
            }
            None => {
                self.around.neighbours.remove(&key);
            }
        }
    }

    /// The dump is complete: what neither it nor an event since its start told is gone.
    pub(crate) fn sweep_surroundings(&mut self, out: &mut Vec<Action>) {
        let generation = self.routes.generation;
        let links: Vec<u32> = self
            .around
            .links
            .iter()
            .filter(|(_, (_, seen))| *seen != generation)
            .map(|(index, _)| *index)
            .collect();
        for index in links {
            self.link_gone(index, out);
        }
        let addresses: Vec<Address> = self
            .around
            .addresses
            .iter()
            .filter(|(_, seen)| **seen != generation)
            .map(|(a, _)| *a)
            .collect();
        for address in &addresses {
            self.address_gone(address, out);
        }
        let mut lost: Vec<_> = self
            .around
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
        for (link, mac) in self.around.stations.sweep(generation) {
            self.bump_hops(link, mac);
        }
    }

    /// What was found out about a device.
    pub(crate) fn learn_facts(&mut self, link: u32, facts: PortFacts, out: &mut Vec<Action>) {
        let forwarding = |facts: &PortFacts| (facts.forwarding_v4, facts.forwarding_v6);
        let old = self.around.facts.get(&link);
        // Looked at once a second; most often there is nothing new.
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
            self.bump(Cause::Forwarding, out);
        }
        if other_hops {
            self.bump(Cause::Routing, out);
        }
        self.around.facts.insert(link, facts);
        self.around.unplanned = true;
    }

    /// Plans all devices anew, and says so where something is to be done.
    pub(crate) fn replan(&mut self, out: &mut Vec<Action>) {
        self.around.shortest_ageing = self.shortest_ageing();
        let around = &self.around;
        let devices: Vec<Device<'_>> = around
            .links
            .values()
            .map(|(link, _)| Device {
                link,
                facts: around.facts.get(&link.index),
                // A program that is ours is not somebody's.
                own_xdp: link.xdp_program.is_some()
                    && around.programs.get(&link.index).copied() == link.xdp_program,
            })
            .collect();
        let Plans { ports, stacks } = ports::plans(&devices, &self.settings);
        if stacks != self.around.stacks {
            self.around.stacks.clone_from(&stacks);
            out.push(Action::Stacks(stacks));
        }
        let off = |plan: &PortPlan| plan.hook == Hook::Off;
        for plan in ports {
            let old = self.around.plans.insert(plan.link, plan.clone());
            match &old {
                None if off(&plan) => continue,
                Some(old) if old.same_effect(&plan) => continue,
                // A hop remembers whether XDP may send on its device; with a new proof it learns
                // that anew.
                Some(old) if !off(old) => self.bump(Cause::Link(plan.name.clone()), out),
                _ => {}
            }
            out.push(Action::Port(plan));
        }
    }
}
