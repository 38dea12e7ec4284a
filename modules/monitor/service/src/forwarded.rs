//! Reports to the core the traffic that weir forwarded past the meter.

use datapath::{Encapsulation, Who};
use monitor_core::{Bridged, Count, Forwarded, Millis, Monitor, Way};

use super::ports::Ports;
use super::reading::{header, key};
use runtime::daemon;

/// Counts what weir forwarded.
pub fn count(core: &mut Monitor, ports: &Ports, forwarded: &daemon::Forwarded<'_>, now: Millis) {
    let daemon::Forwarded { growth, into, out } = *forwarded;
    let counted = Count {
        packets: growth.packets,
        octets: growth.octets,
    };
    let Some((comes, leaves)) = growth.whose else {
        return;
    };
    let into = into.map(|link| (link, growth.came_in.behind));
    let outside = into.is_none_or(|(link, _)| !ports.is_inside(link));
    let hop = out;
    let out = hop.map(|hop| (hop.link, Encapsulation::of_header(&hop.header).0));
    let link = |behind: &Encapsulation| growth.packets * header(behind);
    match (comes, leaves) {
        (Who::Hosts(comes), Who::Hosts(leaves)) => {
            if let Some((port, behind)) = into {
                core.forwarded(
                    &Forwarded {
                        key: key(port, &behind, &comes, Way::Sent),
                        way: Way::Sent,
                        count: counted,
                        link: link(&behind),
                        mac: None,
                        outside,
                        xdp: growth.xdp,
                    },
                    now,
                );
            }
            if let Some((port, behind)) = out {
                let to = hop.and_then(|hop| hop.header.get(..6)?.try_into().ok());
                core.forwarded(
                    &Forwarded {
                        key: key(port, &behind, &leaves, Way::Received),
                        way: Way::Received,
                        count: counted,
                        link: link(&behind),
                        mac: to,
                        outside,
                        xdp: growth.xdp,
                    },
                    now,
                );
            }
        }
        (Who::Stations { to, from }, _) => {
            let vlan = |behind: &Encapsulation| behind.tags[0].map_or(0, |tag| tag.tci & 0xfff);
            let beyond = |side: Option<(u32, Encapsulation)>, mac| {
                let (port, vlan) = side.map_or((0, 0), |(port, of)| (port, vlan(&of)));
                core.is_beyond(port, vlan, &mac)
            };
            let sides = [
                (into, from, Way::Sent, beyond(out, to)),
                (out, to, Way::Received, beyond(into, from)),
            ];
            for (side, mac, way, crosses) in sides {
                let Some((port, behind)) = side else { continue };
                let bridged = Bridged {
                    port,
                    mac,
                    way,
                    count: counted,
                    link: link(&behind),
                    crosses,
                };
                core.bridged(&bridged, now);
            }
        }
        (Who::Hosts(_), Who::Stations { .. }) => {}
    }
}
