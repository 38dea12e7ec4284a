//! At which devices is counted: at those where frames come in and leave, not at what stands on
//! them, so that nothing is counted twice.

use std::collections::{BTreeMap, HashSet};

use kernel::Link;
use offload::stack::Stack;

use super::uplinks::Uplinks;

/// ARPHRD_ETHER, ARPHRD_NONE, ARPHRD_RAWIP (include/uapi/linux/if_arp.h).
const ETHERNET: u16 = 1;
const NONE: u16 = 0xfffe;
const RAW_IP: u16 = 519;

/// Kinds of devices whose packets come in and leave by others.
const UPPER: [&str; 13] = [
    "bond", "bridge", "dummy", "ifb", "ipvlan", "ipvtap", "macsec", "macvlan", "macvtap", "team",
    "vlan", "vrf", "vti",
];

/// A device at which is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metered {
    /// Name.
    pub name: String,
    /// It has no Ethernet header.
    pub raw: bool,
    /// A default route leaves here.
    pub uplink: bool,
}

/// Of all devices, those at which is counted, by index.
pub fn metered<'a>(
    links: impl Iterator<Item = &'a Link> + Clone,
    uplinks: &Uplinks,
) -> BTreeMap<u32, Metered> {
    // What comes in at a conduit is a switch's affair: its user ports are devices of their own.
    let conduits: HashSet<u32> = links
        .clone()
        .filter(|link| link.kind == "dsa")
        .filter_map(|link| link.lower)
        .collect();
    let stack = Stack::of(links.clone());
    let bridges: HashSet<u32> = links
        .clone()
        .filter(|link| link.kind == "bridge")
        .map(|link| link.index)
        .collect();
    let leads_out: HashSet<u32> = links
        .clone()
        .filter(|link| uplinks.devices.contains(&link.name))
        .map(|link| link.index)
        .collect();
    let mut found = BTreeMap::new();
    for link in links {
        let raw = match link.hardware {
            ETHERNET => false,
            // A modem; tunnels have a kind, and their packets leave by other devices.
            NONE | RAW_IP if link.kind.is_empty() || link.kind == "wwan" => true,
            _ => continue,
        };
        if UPPER.contains(&link.kind.as_str()) || conduits.contains(&link.index) {
            continue;
        }
        // Of the members of a bridge one leads out: which, its gateway's hardware address tells.
        let uplink = leads_out.contains(&link.index)
            || uplinks.below_ppp.contains(&link.name)
            || stack
                .uppers(link.index)
                .iter()
                .any(|upper| leads_out.contains(&upper.link) && !bridges.contains(&upper.link));
        found.insert(
            link.index,
            Metered {
                name: link.name.clone(),
                raw,
                uplink,
            },
        );
    }
    found
}
