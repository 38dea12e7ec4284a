//! What went through: the flows' counters, a piece at a time, and the devices that they count for.

use datapath::Hop;
use offload_core::FlowId;

use super::{Forwarded, Router};
use crate::daemon::module::Event;

/// Flows whose counters are read at one go, in about a millisecond.
const COUNTS: usize = 2_048;

impl Router {
    /// Begins to add up what went through; due every second, as the shared counters are narrow.
    pub fn count(&mut self) {
        // Those that a second was not enough for come first.
        if !self.counting() {
            self.uncounted = self.counted();
        }
        self.hops.clear();
        for module in self.modules.clone().iter() {
            module.on_event(Event::Second, self);
        }
        if !self.counting() {
            self.settle();
        }
        if self.path.options().shadow {
            self.tell_differences();
        }
    }

    /// Counts all flows at once: what is counted by is about to change.
    pub fn count_all(&mut self) {
        self.uncounted = self.counted();
        while self.counting() {
            self.count_some();
        }
        self.settle();
        for module in self.modules.clone().iter() {
            module.on_event(Event::Count, self);
        }
    }

    /// All that the packet path counts: flows, and pairs of stations.
    fn counted(&self) -> Vec<u32> {
        let installed = self.core.flows().filter(|(_, flow)| flow.installed());
        let pairs = self.core.pairs().map(|(pair, _)| pair.0);
        installed.map(|(flow, _)| flow.0).chain(pairs).collect()
    }

    /// Brings what was counted to the devices that it went by.
    fn settle(&mut self) {
        let Self {
            core,
            path,
            account,
            surroundings,
            ..
        } = self;
        if account.is_stale() {
            let filtering = core.links().any(|link| link.filters_vlans);
            let taggings = if filtering {
                surroundings.taggings()
            } else {
                Vec::new()
            };
            account.devices(core.links(), taggings);
        }
        account.settle(path);
        self.share();
        for module in self.modules.clone().iter() {
            module.on_event(Event::Counted, self);
        }
    }

    /// Tells modules what was forwarded.
    fn share(&mut self) {
        let grown = self.account.take_shared();
        if grown
            .iter()
            .any(|growth| !self.hops.contains_key(&growth.hop))
        {
            self.learn_hops();
        }
        // Modules get the router beside this.
        let hops = std::mem::take(&mut self.hops);
        let whole = |growth| Forwarded {
            growth,
            into: self.account.port_of(growth.came_in.port),
            out: hops.get(&growth.hop),
        };
        let all: Vec<_> = grown.iter().map(whole).collect();
        for module in self.modules.clone().iter().filter(|_| !all.is_empty()) {
            module.on_event(Event::Forwarded(&all), self);
        }
        self.hops = hops;
    }

    /// A hop, by its number.
    pub fn hop(&mut self, hop: u32) -> Option<&Hop> {
        if !self.hops.contains_key(&hop) {
            self.learn_hops();
        }
        self.hops.get(&hop)
    }

    fn learn_hops(&mut self) {
        let hops = self.path.hops().into_iter();
        self.hops = hops.map(|hop| (hop.index, hop)).collect();
    }

    /// Whether some flows are still to be counted.
    pub fn counting(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// Counts some flows: few enough that a change of rules does not wait long, as reading all of a
    /// hundred thousand would make it.
    pub fn count_some(&mut self) {
        let rest = self.uncounted.len().saturating_sub(COUNTS);
        for flow in self.uncounted.drain(rest..) {
            // One that was removed meanwhile was counted then.
            let octets = self.account.read(&mut self.path, flow);
            self.core.grew(FlowId(flow), octets);
        }
        self.share();
        if !self.counting() {
            self.settle();
        }
    }
}
