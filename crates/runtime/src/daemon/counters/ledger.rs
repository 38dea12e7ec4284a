//! Sums of forwarded traffic by device: at ports, and past the devices stacked on them. Pure.

use std::collections::HashMap;

use answers::Traffic;
use datapath::Encapsulation;

use super::paths::{Missing, Paths, Side};

/// Maximum number of sessions whose PPP device is unknown; beyond that, their packets count as
/// unattributed for good.
const MOST_WAITING: usize = 1024;

/// Traffic that weir forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardedTraffic {
    /// Packets; of a super-packet, its segments.
    pub packets: u64,
    /// Bytes from the IP header on.
    pub bytes: u64,
}

impl ForwardedTraffic {
    /// Adds more.
    pub fn add(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

/// Sums of a device, each as the device counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    /// Forwarded here: the device counted it.
    through: Traffic,
    /// Forwarded below it: the device did not see it.
    past: Traffic,
    /// Packets at a port whose upper device will never be known.
    lost: u64,
}

/// Traffic that went through ports and past the devices stacked on them.
#[derive(Debug, Default)]
pub struct Ledger {
    sums: HashMap<u32, Sums>,
    /// Packets of sessions whose PPP device is not known yet, by port and headers; in, and out.
    waiting: HashMap<(u32, Encapsulation), [ForwardedTraffic; 2]>,
}

impl Ledger {
    /// Adds packets that weir forwarded, in or out by a port and behind these headers.
    pub fn add(
        &mut self,
        paths: &Paths,
        side: Side,
        port: u32,
        behind: &Encapsulation,
        passed: ForwardedTraffic,
    ) {
        let path = paths.of(port, behind, side);
        for (index, step) in path.steps.iter().enumerate() {
            let sums = self.sums.entry(step.link).or_default();
            let traffic = if index == 0 {
                &mut sums.through
            } else {
                &mut sums.past
            };
            credit(traffic, side, step.octets, passed);
        }
        let key = (port, *behind);
        let room = self.waiting.len() < MOST_WAITING || self.waiting.contains_key(&key);
        match path.missing {
            None => {}
            Some(Missing::Session) if room => {
                self.waiting.entry(key).or_default()[side as usize].add(passed);
            }
            Some(_) => self.sums.entry(port).or_default().lost += passed.packets,
        }
    }

    /// Returns true if packets wait until the PPP device of their session is known.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Retries those that wait.
    pub fn retry(&mut self, paths: &Paths) {
        let sums = &mut self.sums;
        self.waiting.retain(|(port, behind), passed| {
            for side in [Side::In, Side::Out] {
                let path = paths.of(*port, behind, side);
                if path.missing.is_some() {
                    return true;
                }
                // Devices below were counted on arrival.
                let above = path
                    .steps
                    .iter()
                    .skip_while(|step| !paths.is_ppp(step.link));
                for step in above {
                    let past = &mut sums.entry(step.link).or_default().past;
                    credit(past, side, step.octets, passed[side as usize]);
                }
            }
            false
        });
    }

    /// Forgets a device: a later device with its index begins at zero.
    pub fn gone(&mut self, link: u32) {
        self.sums.remove(&link);
        self.waiting.retain(|(port, _), _| *port != link);
    }

    /// Keeps only these devices: the kernel may not have reported the removal of another.
    pub fn keep(&mut self, paths: &Paths) {
        self.sums.retain(|link, _| paths.has(*link));
        self.waiting.retain(|(port, _), _| paths.has(*port));
    }

    /// Traffic of a device that weir forwarded, as the device counts.
    pub fn forwarded(&self, link: u32) -> Traffic {
        let sums = self.sums.get(&link).copied().unwrap_or_default();
        sum(sums.through, sums.past)
    }

    /// Total of a device: the traffic it counted, plus the traffic that bypassed it.
    pub fn total(&self, link: u32, counted: Traffic) -> Traffic {
        let sums = self.sums.get(&link).copied().unwrap_or_default();
        sum(counted, sums.past)
    }

    /// Returns the packets forwarded at a port whose upper device is unknown.
    pub fn unattributed(&self, port: u32) -> u64 {
        let waiting = self.waiting.iter().filter(|((at, _), _)| *at == port);
        let waiting: u64 = waiting
            .map(|(_, [came, left])| came.packets + left.packets)
            .sum();
        self.sums.get(&port).map_or(0, |sums| sums.lost) + waiting
    }
}

fn credit(to: &mut Traffic, side: Side, octets: u64, passed: ForwardedTraffic) {
    let all = passed.bytes + octets * passed.packets;
    match side {
        Side::In => {
            to.packets_in += passed.packets;
            to.bytes_in += all;
        }
        Side::Out => {
            to.packets_out += passed.packets;
            to.bytes_out += all;
        }
    }
}

/// The kernel's counters are taken as they are: a driver may begin anywhere.
fn sum(a: Traffic, b: Traffic) -> Traffic {
    Traffic {
        packets_in: a.packets_in.wrapping_add(b.packets_in),
        bytes_in: a.bytes_in.wrapping_add(b.bytes_in),
        packets_out: a.packets_out.wrapping_add(b.packets_out),
        bytes_out: a.bytes_out.wrapping_add(b.bytes_out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::tests::{behind, link, member, vlan};
    use super::*;

    const PASSED: ForwardedTraffic = ForwardedTraffic {
        packets: 100,
        bytes: 10_000,
    };

    fn traffic(packets_in: u64, bytes_in: u64, packets_out: u64, bytes_out: u64) -> Traffic {
        Traffic {
            packets_in,
            bytes_in,
            packets_out,
            bytes_out,
        }
    }

    /// A bridge and a VLAN in a VRF, 100 packets of 100 bytes each way.
    #[test]
    fn counts_as_the_kernel_would_have() {
        let wan = kernel::Link {
            master: Some(17),
            ..vlan(13, 2, 7, 0x8100)
        };
        let links = [
            member(1, "", 10),
            member(10, "bridge", 17),
            link(2, ""),
            wan,
            link(17, "vrf"),
        ];
        let paths = Paths::new(&links, []);
        let mut ledger = Ledger::default();
        let plain = behind(&[], None);
        let tagged = behind(&[(false, 7)], None);
        for (port, behind) in [(1, &plain), (2, &tagged)] {
            ledger.add(&paths, Side::In, port, behind, PASSED);
            ledger.add(&paths, Side::Out, port, behind, PASSED);
        }
        let counted = traffic(1, 60, 2, 120);
        for device in [10, 13] {
            let total = ledger.total(device, counted);
            assert_eq!(total, traffic(101, 10_060, 102, 11_520));
            let forwarded = ledger.forwarded(device);
            assert_eq!(forwarded, traffic(100, 10_000, 100, 11_400));
        }
        assert_eq!(ledger.forwarded(17), traffic(200, 20_000, 0, 0));
        // A port counts for itself.
        assert_eq!(ledger.total(1, counted), counted);
        assert_eq!(ledger.forwarded(1), traffic(100, 11_400, 100, 11_400));
        assert_eq!(ledger.forwarded(2), traffic(100, 11_800, 100, 11_800));
        ledger.gone(13);
        assert_eq!(ledger.total(13, counted), counted);
        // The kernel did not report the end of the VRF.
        ledger.keep(&Paths::new(&links[..4], []));
        assert_eq!(ledger.forwarded(17), Traffic::default());
        assert_eq!(ledger.forwarded(10).packets_in, 100);
    }

    #[test]
    fn packets_of_an_unknown_session_wait() {
        let links = [
            link(2, ""),
            vlan(13, 2, 7, 0x8100),
            link(14, "ppp"),
            link(15, "ppp"),
        ];
        let mut paths = Paths::new(&links, []);
        let mut ledger = Ledger::default();
        let session = behind(&[(false, 7)], Some(5));
        for side in [Side::In, Side::Out] {
            ledger.add(&paths, side, 2, &session, PASSED);
        }
        ledger.retry(&paths);
        assert!(ledger.waits());
        assert_eq!(ledger.unattributed(2), 200);
        // Below the session, all devices are known.
        assert_eq!(ledger.forwarded(13), traffic(100, 10_800, 100, 12_200));
        paths.learn([((2, session), 15)]);
        ledger.retry(&paths);
        assert!(!ledger.waits());
        assert_eq!((ledger.unattributed(2), ledger.unattributed(3)), (0, 0));
        assert_eq!(ledger.forwarded(15), traffic(100, 10_000, 100, 10_000));
        assert_eq!(ledger.forwarded(14), Traffic::default());
        assert_eq!(ledger.forwarded(13), traffic(100, 10_800, 100, 12_200));
    }

    #[test]
    fn what_waits_is_bounded() {
        let links = [link(2, ""), link(14, "ppp"), link(15, "ppp")];
        let paths = Paths::new(&links, []);
        let mut ledger = Ledger::default();
        for session in 0..3000 {
            ledger.add(&paths, Side::In, 2, &behind(&[], Some(session)), PASSED);
        }
        assert_eq!(ledger.waiting.len(), MOST_WAITING);
        assert_eq!(ledger.unattributed(2), 300_000, "none is forgotten");
        ledger.gone(2);
        assert_eq!(ledger.unattributed(2), 0);
        assert!(!ledger.waits());
    }
}
