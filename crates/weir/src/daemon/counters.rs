//! What each device would have counted, had nothing gone by it: the kernel's own numbers, and what weir forwarded past the device. Pure.
//!
//! A driver counts what weir forwards, because that comes in and leaves through it. The devices on top (VLAN, bridge, PPP, VRF) see
//! none of it. What the kernel counts there differs by direction: coming in, octets from the IP header on; leaving, those of the
//! Ethernet header too, but of no tag (net/8021q/vlan_core.c and vlan_dev.c, net/bridge/br_input.c and br_device.c). PPP counts
//! none in either direction (drivers/net/ppp/ppp_generic.c), and a VRF counts only what comes in (drivers/net/vrf.c).

use std::collections::{BTreeMap, HashMap};

use datapath::{Encapsulation, Tag};
use kernel::Link;
use offload::stack::is_ppp;

/// Octets of an Ethernet header.
const ETHERNET: u64 = 14;

/// What a device counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came in.
    pub packets_in: u64,
    /// Octets of these, as the device counts.
    pub octets_in: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Octets of these, as the device counts.
    pub octets_out: u64,
}

/// What weir forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets; of a super-packet, its segments.
    pub packets: u64,
    /// Octets from the IP header on.
    pub octets: u64,
}

/// Reads `/proc/net/dev`: by name, what each device of this network namespace counted. Lines that are not understood are left out.
pub fn parse(text: &str) -> BTreeMap<&str, Counters> {
    text.lines()
        .filter_map(|line| {
            // A name may have a colon in it, and the first number may follow the colon at once.
            let (name, numbers) = line.rsplit_once(':')?;
            let numbers: Vec<u64> = numbers
                .split_ascii_whitespace()
                .map_while(|number| number.parse().ok())
                .collect();
            // Eight of what came in, then as many of what left; each begins with octets and packets.
            let counters = Counters {
                octets_in: *numbers.first()?,
                packets_in: *numbers.get(1)?,
                octets_out: *numbers.get(8)?,
                packets_out: *numbers.get(9)?,
            };
            Some((name.trim(), counters))
        })
        .collect()
}

/// Which devices stand on a port, for packets of each kind. To be made anew when devices change.
pub struct Paths<'a> {
    links: HashMap<u32, &'a Link>,
    /// VLAN devices by the device below, VLAN id and EtherType.
    vlans: HashMap<(u32, u16, u16), u32>,
    /// The PPP device, where there is one only: the kernel does not tell which session is whose.
    ppp: Option<u32>,
}

/// Devices on one another are no more than this; a circle would be an error of the kernel's.
const DEEPEST: usize = 16;

impl<'a> Paths<'a> {
    /// Of all devices of the network namespace.
    pub fn new(links: impl IntoIterator<Item = &'a Link>) -> Self {
        let links: HashMap<u32, &Link> = links.into_iter().map(|l| (l.index, l)).collect();
        let vlans = links
            .values()
            .filter_map(|link| {
                let vlan = link.vlan.as_ref()?;
                Some(((link.lower?, vlan.id, vlan.protocol), link.index))
            })
            .collect();
        let mut ppp = links.values().filter(|link| is_ppp(link));
        let ppp = match (ppp.next(), ppp.next()) {
            (Some(only), None) => Some(only.index),
            _ => None,
        };
        Self { links, vlans, ppp }
    }

    /// The devices on top of a port by which the kernel would have taken packets with this encapsulation, from the lowest to the one
    /// that has the address; of packets that leave, the same, the other way round. Where a bridge gives untagged frames a VLAN, the
    /// VLAN devices on it are left out.
    pub fn above(&self, port: u32, behind: &Encapsulation) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = port;
        let mut tags = behind.tags.iter().flatten().peekable();
        let master = |at: u32| self.links.get(&at).and_then(|link| link.master);
        while path.len() < DEEPEST {
            // In the kernel's order: a VLAN device takes its tag before a bridge sees the frame (__netif_receive_skb_core).
            if let Some(vlan) = tags.peek().and_then(|tag| self.vlan(at, tag)) {
                tags.next();
                at = vlan;
            } else if let Some(above) = master(at) {
                at = above;
            } else {
                break;
            }
            path.push(at);
        }
        if behind.session.is_some()
            && let Some(ppp) = self.ppp
        {
            path.push(ppp);
            path.extend(master(ppp));
        }
        path
    }

    fn vlan(&self, lower: u32, tag: &Tag) -> Option<u32> {
        let protocol = if tag.service { 0x88a8 } else { 0x8100 };
        self.vlans.get(&(lower, tag.tci & 0xfff, protocol)).copied()
    }
}

/// What went by each device that stands on ports.
#[derive(Debug, Default)]
pub struct Ledger {
    came: HashMap<u32, Passed>,
    left: HashMap<u32, Passed>,
}

impl Ledger {
    /// Weir forwarded these, from one port and encapsulation to another.
    pub fn add(
        &mut self,
        paths: &Paths<'_>,
        came: (u32, &Encapsulation),
        left: (u32, &Encapsulation),
        passed: Passed,
    ) {
        for (sums, (port, behind)) in [(&mut self.came, came), (&mut self.left, left)] {
            for device in paths.above(port, behind) {
                let sum = sums.entry(device).or_default();
                sum.packets += passed.packets;
                sum.octets += passed.octets;
            }
        }
    }

    /// A device went: one that has its index later begins anew.
    pub fn gone(&mut self, link: u32) {
        self.came.remove(&link);
        self.left.remove(&link);
    }

    /// What a device would have counted: what it did count, and what went by it. A port counts for itself.
    pub fn shown(&self, link: &Link, counted: Counters) -> Counters {
        let of = |sums: &HashMap<u32, Passed>| sums.get(&link.index).copied().unwrap_or_default();
        let came = of(&self.came);
        let left = if link.kind == "vrf" {
            Passed::default()
        } else {
            of(&self.left)
        };
        let header = if is_ppp(link) { 0 } else { ETHERNET };
        Counters {
            packets_in: counted.packets_in.wrapping_add(came.packets),
            octets_in: counted.octets_in.wrapping_add(came.octets),
            packets_out: counted.packets_out.wrapping_add(left.packets),
            octets_out: counted
                .octets_out
                .wrapping_add(left.octets)
                .wrapping_add(header.wrapping_mul(left.packets)),
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::Vlan;

    use super::*;

    fn link(index: u32, kind: &str) -> Link {
        Link {
            index,
            kind: kind.into(),
            name: format!("device{index}"),
            hardware: if kind == "ppp" { 512 } else { 1 },
            up: true,
            mac: None,
            mtu: 1500,
            master: None,
            lower: None,
            vlan: None,
            filters_vlans: false,
            settings: 0,
            port: None,
            tx_queues: 1,
            qdisc: String::new(),
            xdp_program: None,
        }
    }

    fn vlan(index: u32, lower: u32, id: u16, protocol: u16) -> Link {
        Link {
            lower: Some(lower),
            vlan: Some(Vlan { id, protocol }),
            ..link(index, "vlan")
        }
    }

    fn member(index: u32, kind: &str, master: u32) -> Link {
        Link {
            master: Some(master),
            ..link(index, kind)
        }
    }

    fn behind(tags: &[(bool, u16)], session: Option<u16>) -> Encapsulation {
        let tag = |at: usize| {
            let (service, tci) = *tags.get(at)?;
            Some(Tag { service, tci })
        };
        Encapsulation {
            tags: [tag(0), tag(1)],
            session,
        }
    }

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
 wan:0:18446744073709551615 7 0 0 0 0 0 0 42 3 0 0 0 0 0 0
broken: 1 2 3
nothing
";
        let found = parse(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found["lo"], Counters::default());
        let wan = Counters {
            octets_in: u64::MAX,
            packets_in: 7,
            octets_out: 42,
            packets_out: 3,
        };
        assert_eq!(found["wan:0"], wan);
    }

    #[test]
    fn each_encapsulation_has_its_way_up() {
        let links = [
            // A bridge with an address, and a VLAN on it; one of its ports has a VLAN device of its own.
            member(1, "", 10),
            link(10, "bridge"),
            vlan(11, 10, 20, 0x8100),
            vlan(12, 1, 30, 0x8100),
            // The FRITZ!Box: PPPoE over VLAN 7. And QinQ, in a VRF.
            link(2, ""),
            vlan(13, 2, 7, 0x8100),
            link(14, "ppp"),
            vlan(15, 2, 300, 0x88a8),
            Link {
                master: Some(17),
                ..vlan(16, 15, 8, 0x8100)
            },
            link(17, "vrf"),
        ];
        let paths = Paths::new(&links);
        for (port, tags, session, path) in [
            (1, &[][..], None, &[10][..]),
            (1, &[(false, 0x6014)], None, &[10, 11]),
            (1, &[(false, 30)], None, &[12]),
            (1, &[(false, 99)], None, &[10]),
            (2, &[], None, &[]),
            (2, &[(false, 7)], Some(5), &[13, 14]),
            (2, &[], Some(5), &[14]),
            (2, &[(true, 300), (false, 8)], None, &[15, 16, 17]),
            (2, &[(false, 300)], None, &[]),
            (9, &[], None, &[]),
        ] {
            let found = paths.above(port, &behind(tags, session));
            assert_eq!(found, path, "{port} {tags:?} {session:?}");
        }
    }

    #[test]
    fn of_two_ppp_devices_neither_is_guessed() {
        let links = [link(1, ""), link(2, "ppp"), link(3, "ppp")];
        assert!(
            Paths::new(&links)
                .above(1, &behind(&[], Some(5)))
                .is_empty()
        );
    }

    #[test]
    fn circles_end() {
        let links = [member(1, "", 2), member(2, "bridge", 1)];
        let found = Paths::new(&links).above(1, &Encapsulation::default());
        assert_eq!(found.len(), DEEPEST);
    }

    /// The figures of a router that forwarded all of it in the kernel (Linux 6.12): 100 packets of 100 octets each way.
    #[test]
    fn counts_as_the_kernel_would_have() {
        let bridge = Link {
            master: Some(17),
            ..link(10, "bridge")
        };
        let wan = Link {
            master: Some(17),
            ..vlan(13, 2, 7, 0x8100)
        };
        let links = [member(1, "", 10), bridge, link(2, ""), wan, link(17, "vrf")];
        let paths = Paths::new(&links);
        let mut ledger = Ledger::default();
        let passed = Passed {
            packets: 100,
            octets: 10_000,
        };
        let (lan, wan) = ((1, &behind(&[], None)), (2, &behind(&[(false, 7)], None)));
        ledger.add(&paths, lan, wan, passed);
        ledger.add(&paths, wan, lan, passed);
        let shown = |index: u32| {
            let link = links.iter().find(|l| l.index == index).expect("a device");
            let c = ledger.shown(link, Counters::default());
            (c.octets_in, c.packets_in, c.octets_out, c.packets_out)
        };
        for device in [10, 13] {
            assert_eq!(shown(device), (10_000, 100, 11_400, 100));
        }
        assert_eq!(shown(17), (20_000, 200, 0, 0));
        for port in [1, 2] {
            assert_eq!(shown(port), (0, 0, 0, 0), "a port counts for itself");
        }
        ledger.gone(13);
        let again = ledger.shown(&links[3], Counters::default());
        assert_eq!(again, Counters::default());
    }
}
