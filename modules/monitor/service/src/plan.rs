//! Selects the devices for counting: those where frames enter and leave, not their upper devices,
//! so that nothing counts twice.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kernel::Link;
use offload_core::stack::Stack;

use super::uplinks::Uplinks;

/// ARPHRD_ETHER, ARPHRD_NONE, ARPHRD_RAWIP (include/uapi/linux/if_arp.h).
const ETHERNET: u16 = 1;
const NONE: u16 = 0xfffe;
const RAW_IP: u16 = 519;

/// Kinds of devices whose packets enter and leave by other devices.
const UPPER: [&str; 13] = [
    "bond", "bridge", "dummy", "ifb", "ipvlan", "ipvtap", "macsec", "macvlan", "macvtap", "team",
    "vlan", "vrf", "vti",
];

/// A device at which is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPort {
    /// Name.
    pub name: String,
    /// The device has no Ethernet header.
    pub raw: bool,
    /// A default route leaves here.
    pub uplink: bool,
    /// VLANs by which a default route leaves, if others of the port stay inside; 0 for no tag.
    pub vlans: BTreeSet<u16>,
}

/// Returns the devices to count at, by index.
pub fn metered<'a>(
    links: impl Iterator<Item = &'a Link> + Clone,
    uplinks: &Uplinks,
) -> BTreeMap<u32, PlannedPort> {
    // Frames at a conduit belong to a switch: its user ports are devices of their own.
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
    let leads_out = uplinks.leads_out(links.clone());
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
        let (uplink, vlans) = outside(link.index, &stack, &bridges, &leads_out);
        found.insert(
            link.index,
            PlannedPort {
                name: link.name.clone(),
                raw,
                uplink,
                vlans,
            },
        );
    }
    found
}

/// Returns true if a port leads out; and the VLANs that do, if others stay inside, as at a card
/// with a switch behind it.
fn outside(
    port: u32,
    stack: &Stack,
    bridges: &HashSet<u32>,
    leads_out: &BTreeSet<u32>,
) -> (bool, BTreeSet<u16>) {
    let uppers = stack.uppers(port);
    // The gateway's hardware address shows which member of a bridge leads out.
    let on_bridges: HashSet<u32> = uppers
        .iter()
        .filter(|upper| bridges.contains(&upper.link))
        .flat_map(|bridge| {
            let on = stack.uppers(bridge.link).into_iter();
            on.map(|upper| upper.link).chain([bridge.link])
        })
        .collect();
    let all = uppers.iter().map(|upper| (upper.link, upper.outer));
    let vlans: BTreeSet<u16> = all
        .clone()
        .chain([(port, None)])
        .filter(|(link, _)| leads_out.contains(link) && !on_bridges.contains(link))
        .map(|(_, vlan)| vlan.unwrap_or(0))
        .collect();
    let stays = |vlan: u16| !vlans.contains(&vlan);
    let mixed = all.filter_map(|(_, vlan)| vlan).any(stays);
    match mixed {
        true => (false, vlans),
        false => (!vlans.is_empty(), BTreeSet::new()),
    }
}

#[cfg(test)]
mod tests {
    use kernel::Vlan;

    use super::*;

    const PORT: u32 = 1;
    const BRIDGE: u32 = 9;

    fn links(vlans: &[(u32, u16, Option<u32>)]) -> Vec<Link> {
        let device = |index: u32, kind: &str| Link {
            index,
            name: format!("dev{index}"),
            hardware: ETHERNET,
            kind: kind.to_owned(),
            ..Link::default()
        };
        let mut all = vec![device(PORT, ""), device(BRIDGE, "bridge")];
        all.extend(vlans.iter().map(|(index, id, master)| Link {
            lower: Some(PORT),
            master: *master,
            vlan: Some(Vlan {
                id: *id,
                ..Vlan::default()
            }),
            ..device(*index, "vlan")
        }));
        all
    }

    fn of(vlans: &[(u32, u16, Option<u32>)], leads_out: u32) -> (bool, Vec<u16>) {
        let links = links(vlans);
        let uplinks = Uplinks {
            devices: [leads_out].into(),
            ..Uplinks::default()
        };
        let port = metered(links.iter(), &uplinks)
            .remove(&PORT)
            .expect("a port");
        (port.uplink, port.vlans.into_iter().collect())
    }

    /// A card with a switch behind it: the LAN in one VLAN, the uplink in another.
    #[test]
    fn a_port_leads_out_by_one_of_its_vlans() {
        let lan = (2, 1, Some(BRIDGE));
        assert_eq!(of(&[lan, (3, 2, None)], 3), (false, vec![2]));
        assert_eq!(of(&[lan], PORT), (false, vec![0]));
        // The whole port leads out.
        assert_eq!(of(&[(3, 7, None)], 3), (true, vec![]));
        assert_eq!(of(&[], PORT), (true, vec![]));
        assert_eq!(of(&[lan], BRIDGE), (false, vec![]));
    }

    /// A bridge with VLANs has the uplink in one of its own.
    #[test]
    fn members_of_a_bridge_do_not_all_lead_out() {
        let mut links = links(&[]);
        links[0].master = Some(BRIDGE);
        links.push(Link {
            index: 10,
            hardware: ETHERNET,
            kind: "vlan".to_owned(),
            lower: Some(BRIDGE),
            vlan: Some(Vlan {
                id: 20,
                ..Vlan::default()
            }),
            ..Link::default()
        });
        let uplinks = Uplinks {
            devices: [10].into(),
            ..Uplinks::default()
        };
        let port = metered(links.iter(), &uplinks)
            .remove(&PORT)
            .expect("a port");
        assert!(!port.uplink && port.vlans.is_empty(), "{port:?}");
    }
}
