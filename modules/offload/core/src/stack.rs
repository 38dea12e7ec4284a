//! Stacks of devices: VLAN devices, bridges and VRFs above their lower devices.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernel::Link;

/// Kinds of devices (IFLA_INFO_KIND) whose IFLA_LINK names the device below, and which accept its
/// frames unchanged. The empty kind is hardware: with a device below, the port of a switch (DSA,
/// before 6.0). Excluded are veth and netkit, whose IFLA_LINK is the other end, and tunnels and
/// macsec, whose packets are not those of the frames below.
const ON_LOWER: [&str; 7] = ["", "dsa", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"];

/// Bit in the number of a device: packets may have entered there over PPP, whose port the kernel
/// does not report.
pub const OVER_PPP: u32 = 1 << 31;

/// ARPHRD_PPP.
const PPP: u16 = 512;

/// Returns true for a PPP device, below which the kernel reports no other device.
pub fn is_ppp(link: &Link) -> bool {
    link.hardware == PPP || link.kind == "ppp"
}

/// An upper device, as seen from its lower device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Index of the device.
    pub link: u32,
    /// VLAN id of the outermost tag that its frames have at the device below; `None`: they have
    /// none.
    pub outer: Option<u16>,
}

/// Returns true for a port of a switch, on the switch's conduit.
pub fn is_switch_port(link: &Link) -> bool {
    link.lower.is_some_and(|lower| lower != link.index) && matches!(link.kind.as_str(), "" | "dsa")
}

/// Relations of upper and lower devices in a network namespace.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// Device → those right above it, by index.
    above: BTreeMap<u32, Vec<u32>>,
    /// Device → those right below it.
    below: BTreeMap<u32, Vec<u32>>,
    /// VLAN device → its id.
    vlans: BTreeMap<u32, u16>,
    all: BTreeSet<u32>,
    ppp: BTreeSet<u32>,
}

impl Stack {
    /// Builds the stack of all devices, in any order. Missing lower devices (perhaps in another
    /// namespace) do not count.
    pub fn of<'a>(links: impl IntoIterator<Item = &'a Link>) -> Self {
        Self::with_apart(links, |_| false)
    }

    /// Like [`Self::of`], but devices with `apart` have no lower device: ports of a switch whose
    /// conduit weir leaves alone.
    pub fn with_apart<'a>(
        links: impl IntoIterator<Item = &'a Link>,
        apart: impl Fn(&Link) -> bool,
    ) -> Self {
        let links: BTreeMap<u32, &Link> = links.into_iter().map(|l| (l.index, l)).collect();
        let mut stack = Self::default();
        for (index, link) in &links {
            stack.all.insert(*index);
            stack.vlans.extend(link.vlan.map(|vlan| (*index, vlan.id)));
            if is_ppp(link) {
                stack.ppp.insert(*index);
            }
            let lower = link
                .lower
                .filter(|_| ON_LOWER.contains(&link.kind.as_str()) && !apart(link));
            if let Some(lower) = lower.filter(|lower| links.contains_key(lower) && lower != index) {
                stack.put(*index, lower);
            }
            if let Some(master) = link.master.filter(|m| links.contains_key(m) && m != index) {
                stack.put(master, *index);
            }
        }
        stack
    }

    fn put(&mut self, upper: u32, lower: u32) {
        self.above.entry(lower).or_default().push(upper);
        self.below.entry(upper).or_default().push(lower);
    }

    /// Returns all upper devices, also indirect ones; the nearest first.
    pub fn uppers(&self, link: u32) -> Vec<Upper> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([link]);
        let mut todo = VecDeque::from([(link, None)]);
        while let Some((lower, outer)) = todo.pop_front() {
            for upper in self.above.get(&lower).into_iter().flatten().copied() {
                if seen.insert(upper) {
                    let outer = outer.or_else(|| self.vlans.get(&upper).copied());
                    found.push(Upper { link: upper, outer });
                    todo.push_back((upper, outer));
                }
            }
        }
        found
    }

    /// Returns the lowest devices below this one, by index. Empty for a lowest device itself.
    pub fn lowest(&self, link: u32) -> Vec<u32> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::from([link]);
        let mut todo = vec![link];
        while let Some(upper) = todo.pop() {
            for lower in self.below.get(&upper).into_iter().flatten().copied() {
                if seen.insert(lower) {
                    if self.stands(lower) {
                        todo.push(lower);
                    } else {
                        found.insert(lower);
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// Returns true if the device has a lower device.
    pub fn stands(&self, link: u32) -> bool {
        self.below.contains_key(&link)
    }

    /// Returns a number for each device, by index: devices above one another, or above the same
    /// device, share the lowest index among them. With [`OVER_PPP`]: PPP devices, which have no
    /// other number, and their upper devices.
    pub fn numbers(&self) -> Vec<(u32, u32)> {
        let mut numbers = BTreeMap::new();
        for first in &self.all {
            let mut todo = vec![*first];
            while let Some(link) = todo.pop() {
                // From the lowest index upwards: the first assigned number is the lowest.
                if self.ppp.contains(&link) || numbers.contains_key(&link) {
                    continue;
                }
                numbers.insert(link, *first);
                for next in [self.above.get(&link), self.below.get(&link)] {
                    todo.extend(next.into_iter().flatten());
                }
            }
        }
        for ppp in &self.ppp {
            numbers.insert(*ppp, 0);
        }
        for over in self.over_ppp() {
            if let Some(number) = numbers.get_mut(&over) {
                *number |= OVER_PPP;
            }
        }
        numbers.into_iter().collect()
    }

    /// Returns PPP devices and their upper devices.
    pub(crate) fn over_ppp(&self) -> BTreeSet<u32> {
        let uppers = self.ppp.iter().flat_map(|ppp| self.uppers(*ppp));
        let mut all: BTreeSet<u32> = uppers.map(|upper| upper.link).collect();
        all.extend(&self.ppp);
        all
    }
}
