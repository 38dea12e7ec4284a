//! Devices, addresses and neighbours: from rtnetlink events to ended proofs and port plans.

use kernel::{Address, Link, Neighbour, Qdisc, Source};

use crate::action::{Action, Cause};
use crate::core::Core;
use crate::ports::{self, PortFacts, PortPlan, PortReason};
use crate::settings::Hook;
use crate::surroundings::{NEIGHBOURS_MAX, matters};

impl Core {
    /// A device appeared or changed.
    pub(crate) fn link(&mut self, link: Link, out: &mut Vec<Action>) {
        let index = link.index;
        let changed = self
            .around
            .links
            .get(&index)
            .is_some_and(|(old, _)| matters(old, &link));
        let reused = self
            .around
            .links
            .get(&index)
            .is_some_and(|(old, _)| old.name != link.name && old.mac != link.mac);
        if reused {
            // Another device with the index of a former one, whose end was not told: nothing known of that one holds.
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
        self.replan(index, out);
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
        self.replan(qdisc.link, out);
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
            (Some(old), new) if new != Some(old) => self.bump_hops(neighbour.link, old, out),
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
            })
            .collect();
        lost.sort_unstable_by_key(|neighbour| (neighbour.link, neighbour.address));
        for neighbour in lost {
            self.neighbour(neighbour, out);
        }
    }

    /// What was found out about a device.
    pub(crate) fn learn_facts(&mut self, link: u32, facts: PortFacts, out: &mut Vec<Action>) {
        let forwarding = |facts: &PortFacts| (facts.forwarding_v4, facts.forwarding_v6);
        let old = self.around.facts.get(&link).map(forwarding);
        if old.is_some_and(|old| old != forwarding(&facts)) {
            self.bump(Cause::Forwarding, out);
        }
        self.around.facts.insert(link, facts);
        self.replan(link, out);
    }

    /// Plans all devices anew.
    pub(crate) fn replan_all(&mut self, out: &mut Vec<Action>) {
        let all: Vec<u32> = self.around.links.keys().copied().collect();
        for index in all {
            self.replan(index, out);
        }
    }

    /// Plans a device, and says so where something is to be done.
    fn replan(&mut self, index: u32, out: &mut Vec<Action>) {
        let Some((link, _)) = self.around.links.get(&index) else {
            return;
        };
        let plan = match self.around.facts.get(&index) {
            None => PortPlan::off(index, &link.name, PortReason::NotLookedAt),
            Some(facts) => {
                // A program that is ours is not somebody's.
                let known = self.around.programs.get(&index).copied();
                let own = link
                    .xdp_program
                    .is_some_and(|id| known == Some(id) || facts.own_program == Some(id));
                let mut link = link.clone();
                link.xdp_program = link.xdp_program.filter(|_| !own);
                ports::plan(&link, facts, &self.settings)
            }
        };
        let old = self.around.plans.insert(index, plan.clone());
        let off = |plan: &PortPlan| plan.hook == Hook::Off;
        match &old {
            None if off(&plan) => {}
            Some(old) if old.same_effect(&plan) => {}
            _ => {
                // A hop remembers whether XDP may send on its device; with a new proof it learns that anew.
                if old.as_ref().is_some_and(|old| !off(old)) {
                    self.bump(Cause::Link(plan.name.clone()), out);
                }
                out.push(Action::Port(plan));
            }
        }
    }
}
