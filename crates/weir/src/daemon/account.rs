//! What went through: summed over flows that live and flows that ended, and by port.

use std::collections::HashMap;

use datapath::{Datapath, Reading};

/// Packets in and out of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCount {
    /// Came in here and were forwarded by weir.
    pub packets_in: u64,
    /// Left here, forwarded by weir.
    pub packets_out: u64,
}

/// Sums that only grow.
#[derive(Debug, Default)]
pub struct Account {
    /// Packets forwarded at XDP since the start.
    pub xdp_packets: u64,
    /// Packets forwarded at TC.
    pub tc_packets: u64,
    /// Octets of their IP packets.
    pub octets: u64,
    seen: HashMap<u32, [Reading; 2]>,
    ports_in: HashMap<u32, u64>,
    ports_out: HashMap<u32, u64>,
}

impl Account {
    /// Takes in what a flow forwarded since it was last read.
    pub fn read(&mut self, path: &mut Datapath, flow: u32) {
        let Some(now) = path.read(flow) else { return };
        let before = self.seen.insert(flow, now).unwrap_or_default();
        let grown = [0, 1].map(|i| now[i].packets.saturating_sub(before[i].packets));
        if grown == [0, 0] {
            return;
        }
        let directions = path.inspect(flow);
        for i in 0..2 {
            // By where the flow is forwarded now: a flow hardly ever changes its hook.
            let xdp = directions.as_ref().is_some_and(|d| d[i].xdp);
            *(if xdp {
                &mut self.xdp_packets
            } else {
                &mut self.tc_packets
            }) += grown[i];
            self.octets += now[i].octets.saturating_sub(before[i].octets);
            if let Some(directions) = &directions {
                *self.ports_in.entry(directions[i].came_in.port).or_default() += grown[i];
                *self.ports_out.entry(directions[i].hop_link).or_default() += grown[i];
            }
        }
    }

    /// A flow ends: its last packets.
    pub fn close(&mut self, path: &mut Datapath, flow: u32) {
        self.read(path, flow);
        self.seen.remove(&flow);
    }

    /// What one device saw. `slot` is its place among the ports.
    pub fn port(&self, slot: u32, link: u32) -> PortCount {
        PortCount {
            packets_in: self.ports_in.get(&slot).copied().unwrap_or_default(),
            packets_out: self.ports_out.get(&link).copied().unwrap_or_default(),
        }
    }
}
