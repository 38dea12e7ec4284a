//! VLANs above a port: whether their tags are visible there, and the addresses of their devices.

use kernel::{Link, Mac};

use super::{Device, PortFacts, PortReason};
use crate::stack::Upper;

/// ETH_P_8021AD.
const SERVICE_TAG: u16 = 0x88a8;
/// Maximum number of a port's own addresses, without the first.
const VLAN_MACS: usize = 3;

/// Returns a reason if the device strips VLAN tags that must be visible: a frame of another VLAN
/// would seem untagged.
pub(super) fn hides_tags(facts: &PortFacts, uppers: &[(Upper, &Device<'_>)]) -> Option<PortReason> {
    let any = |of: &dyn Fn(&Link) -> bool| uppers.iter().any(|(_, upper)| of(upper.link));
    let tagged = any(&|link| link.vlan.is_some() || link.filters_vlans);
    let service = any(&|link| link.vlan.is_some_and(|vlan| vlan.protocol == SERVICE_TAG));
    if facts.hidden_tags.customer && tagged {
        Some(PortReason::HiddenTags)
    } else if facts.hidden_tags.service && service {
        Some(PortReason::HiddenServiceTags)
    } else {
        None
    }
}

/// Returns addresses other than `mac` of VLAN devices above a port, as many as a port has room for,
/// and the VLANs of the others. A member of a bridge is not addressed itself.
pub(super) fn vlan_macs(
    mac: Mac,
    uppers: &[(Upper, &Device<'_>)],
    in_bridge: impl Fn(&Link) -> bool,
) -> (Vec<(u16, Mac)>, Vec<u16>) {
    let (mut macs, mut left) = (Vec::new(), Vec::new());
    for (upper, device) in uppers {
        let (Some(vlan), Some(own)) = (upper.outer, device.link.mac) else {
            continue;
        };
        if own == mac || macs.contains(&(vlan, own)) || in_bridge(device.link) {
            continue;
        }
        if macs.len() < VLAN_MACS {
            macs.push((vlan, own));
        } else if !left.contains(&vlan) {
            left.push(vlan);
        }
    }
    (macs, left)
}
