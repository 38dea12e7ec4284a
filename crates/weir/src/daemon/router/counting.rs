//! What went through: the flows' counters, a piece at a time, and the devices that they count for.

use std::time::Instant;

use datapath::TIMERS;
use offload::FlowId;
use tracing::warn;

use super::Router;

/// Flows whose counters are read at one go, in about a millisecond.
const COUNTS: usize = 2_048;

impl Router {
    /// Begins to add up what went through; due every second, as the shared counters are narrow.
    pub fn count(&mut self) {
        // Those that a second was not enough for come first.
        if !self.counting() {
            self.uncounted = self.counted();
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.hops(self.path.hops());
            monitor.look(self.core.links());
            monitor.read();
            monitor.turn(&self.core);
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
        if let Some(monitor) = &mut self.monitor {
            monitor.read();
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
        self.time();
    }

    /// Tells the monitor how long TCP waited that weir forwards, and times the connections that are the busiest now. What is only compared with
    /// what the kernel does, the meter times.
    fn time(&mut self) {
        let Self {
            account,
            monitor,
            path,
            ..
        } = self;
        let Some(monitor) = monitor else { return };
        if path.options().shadow {
            return;
        }
        let Some(chosen) = monitor.choose_timed() else {
            return;
        };
        let mut waits = Vec::new();
        path.waits(Instant::now(), |wait| waits.push(wait));
        for wait in waits {
            if !monitor.knows_hop(wait.hop) {
                monitor.hops(path.hops());
            }
            monitor.waited(&wait, |slot| account.port_of(slot));
        }
        for flow in chosen {
            match path.time(flow) {
                Ok(_) if path.timed() < TIMERS as usize => {}
                Ok(_) => break,
                Err(error) => {
                    warn!(%error, "what is forwarded is not timed");
                    break;
                }
            }
        }
    }

    /// Tells the monitor what was forwarded.
    fn share(&mut self) {
        let Self {
            core,
            account,
            monitor,
            path,
            ..
        } = self;
        let Some(monitor) = monitor else { return };
        // A port has its sums from the first packet on, also before the first second is over.
        monitor.look(core.links());
        for growth in account.take_shared() {
            // Learned since they were last looked at.
            if !monitor.knows_hop(growth.hop) {
                monitor.hops(path.hops());
            }
            monitor.grew(&growth, |slot| account.port_of(slot));
        }
    }

    /// Whether some flows are still to be counted.
    pub fn counting(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// Counts some flows: few enough that a change of rules does not wait long, as reading all of a hundred thousand would make it.
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
