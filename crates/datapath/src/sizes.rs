//! Sizes of the packet path's tables.

use crate::headers;

/// Maximum number of port slots.
const PORTS_MAX: u32 = 1 << headers::PORT_SLOT_BITS;

/// Sizes of the tables. All numbers are rounded up to powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// IPv4 records: two for each connection.
    pub flows4: u32,
    /// IPv6 records.
    pub flows6: u32,
    /// Port slots: device indices must differ modulo this.
    pub ports: u32,
}

impl Sizes {
    /// Returns sizes for this many connections of each family, and for these devices.
    pub fn new(connections4: u32, connections6: u32, links: &[u32]) -> Self {
        // Buckets of four fill unevenly: at half load less than 1 in 1000 finds neither of its
        // buckets free.
        let records = |n: u32| n.clamp(4, 1 << 22).saturating_mul(4).next_power_of_two();
        Self {
            flows4: records(connections4),
            flows6: records(connections6),
            ports: port_slots(links),
        }
    }

    pub(crate) fn buckets4(&self) -> u32 {
        self.flows4 / 4
    }

    pub(crate) fn buckets6(&self) -> u32 {
        self.flows6 / 4
    }

    /// Returns the slot of a device among the ports.
    pub(crate) fn slot(&self, link: u32) -> u32 {
        link & (self.ports - 1)
    }

    pub(crate) fn trials(&self) -> u32 {
        self.flows4 + self.flows6
    }

    /// Memory the kernel sets aside for the tables, bytes.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.flows4) * (64 + 48 + 2) + u64::from(self.flows6) * (128 + 48 + 2)
    }
}

/// Returns a number of slots in which these devices do not collide.
pub(crate) fn port_slots(links: &[u32]) -> u32 {
    let mut slots = 64;
    while slots < PORTS_MAX && collide(links, slots) {
        slots *= 2;
    }
    slots
}

fn collide(links: &[u32], slots: u32) -> bool {
    let mut taken = vec![false; slots as usize];
    links
        .iter()
        .any(|link| std::mem::replace(&mut taken[(link & (slots - 1)) as usize], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_slots_grow_until_devices_differ() {
        assert_eq!(Sizes::new(100, 100, &[1, 2, 3]).ports, 64);
        assert_eq!(Sizes::new(100, 100, &[1, 65]).ports, 128);
        assert_eq!(Sizes::new(100, 100, &[1, 1 + 1024]).ports, 2048);
        assert_eq!(Sizes::new(100, 100, &[1, 1 + 4096]).ports, PORTS_MAX);
    }

    #[test]
    fn tables_are_powers_of_two() {
        let sizes = Sizes::new(1000, 3, &[]);
        assert_eq!((sizes.flows4, sizes.flows6), (4096, 16));
    }
}
