//! Sizes of the meter's tables, and properties of the processor that its programs use.

use crate::load;
use crate::sizes::port_slots;

/// Sizes of the tables. Numbers of records are rounded up to powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterSizes {
    /// IPv4 records, 64 bytes each.
    pub records4: u32,
    /// IPv6 records, 128 bytes each.
    pub records6: u32,
    /// Places for stations, 64 bytes each.
    pub stations: u32,
    /// Slots for ports, as chosen for the packet path.
    pub ports: u32,
}

impl MeterSizes {
    /// Makes room for this many IPv4 records, half as many for IPv6, and a quarter for stations;
    /// chooses slots in which these devices do not collide.
    pub fn new(records: u32, links: &[u32]) -> Self {
        let records4 = records.clamp(64, 1 << 22).next_power_of_two();
        Self {
            records4,
            records6: (records4 / 2).max(64),
            stations: (records4 / 4).clamp(64, 8192),
            ports: port_slots(links),
        }
    }

    /// Memory that the kernel sets aside, bytes, where TCP is timed.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.records4) * 64
            + u64::from(self.records6) * 128
            + u64::from(self.stations) * 64
            + u64::from(self.ports) * (192 + 8)
            + u64::from(self.records4 + self.records6) * 48
    }
}

/// Properties of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The processor reads words at any address: headers are read where they lie.
    pub unaligned: bool,
    /// The processor may read memory in another order than the program does.
    pub weak_order: bool,
}

impl Default for Processor {
    /// Properties of this processor.
    fn default() -> Self {
        Self {
            unaligned: load::UNALIGNED,
            weak_order: load::WEAK_ORDER,
        }
    }
}
