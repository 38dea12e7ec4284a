//! Packets by port and direction, counted by the monitor and by the device.

use answers::{Devices, Port, PortCounters};

/// Packets of a port in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortEquation {
    port: String,
    way: &'static str,
    flows: u64,
    unplaced: u64,
    other: u64,
    /// Packets by the kernel's counter of the device.
    pub device: u64,
}

impl PortEquation {
    /// Returns the equations of all ports whose device has counters.
    pub fn all(monitor: &Devices, ports: &[Port]) -> Vec<Self> {
        let mut equations = Vec::new();
        for metered in &monitor.ports {
            let port = ports.iter().find(|port| port.name == metered.name);
            let Some(total) = port.and_then(|port| port.total.as_ref()) else {
                continue;
            };
            let equation = |way, sums: &PortCounters, device| Self {
                port: metered.name.clone(),
                way,
                flows: sums.conversations.packets,
                unplaced: sums.unplaced.packets,
                other: sums.other.packets,
                device,
            };
            equations.push(equation("in", &metered.incoming, total.packets_in));
            equations.push(equation("out", &metered.outgoing, total.packets_out));
        }
        equations
    }

    /// Returns all packets that the monitor counted.
    pub fn counted(&self) -> u64 {
        self.flows + self.unplaced + self.other
    }

    /// Returns the growth since an earlier reading.
    pub fn since(&self, then: &Self) -> Self {
        Self {
            flows: self.flows.saturating_sub(then.flows),
            unplaced: self.unplaced.saturating_sub(then.unplaced),
            other: self.other.saturating_sub(then.other),
            device: self.device.saturating_sub(then.device),
            ..self.clone()
        }
    }

    /// Formats a table line: port, direction, flows, unplaced, other, their sum, the device's.
    pub fn line(&self) -> Vec<String> {
        let numbers = [
            self.flows,
            self.unplaced,
            self.other,
            self.counted(),
            self.device,
        ];
        [self.port.clone(), self.way.to_owned()]
            .into_iter()
            .chain(numbers.map(|number| number.to_string()))
            .collect()
    }
}
