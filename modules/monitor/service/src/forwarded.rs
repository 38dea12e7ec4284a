//! Reports to the core the traffic that weir forwarded past the meter.

use datapath::{Encapsulation, FlowEndpoints};
use monitor_core::{BridgedTraffic, Count, Direction, ForwardedTraffic, Millis, Monitor};

use super::ports::Ports;
use super::reading::{header, key};
use runtime::daemon;

/// Counts the traffic that weir forwarded.
pub fn count(
    core: &mut Monitor,
    ports: &Ports,
    forwarded: &daemon::ForwardedFlow<'_>,
    now: Millis,
) {
    let daemon::ForwardedFlow {
        growth: traffic,
        ingress_device: into,
        egress_hop: out,
    } = *forwarded;
    let counted = Count {
        packets: traffic.packets,
        bytes: traffic.bytes,
    };
    let Some((comes, leaves)) = traffic.endpoints else {
        return;
    };
    let into = into.map(|link| (link, traffic.ingress.behind));
    let outside = into.is_none_or(|(link, _)| !ports.is_inside(link));
    let hop = out;
    let out = hop.map(|hop| (hop.link, Encapsulation::of_header(&hop.header).0));
    let link = |behind: &Encapsulation| traffic.packets * header(behind);
    match (comes, leaves) {
        (FlowEndpoints::Hosts(comes), FlowEndpoints::Hosts(leaves)) => {
            if let Some((port, behind)) = into {
                core.add_forwarded(
                    &ForwardedTraffic {
                        key: key(port, &behind, &comes, Direction::Sent),
                        direction: Direction::Sent,
                        count: counted,
                        link_bytes: link(&behind),
                        mac: None,
                        outside,
                        xdp: traffic.xdp,
                    },
                    now,
                );
            }
            if let Some((port, behind)) = out {
                let to = hop.and_then(|hop| hop.header.get(..6)?.try_into().ok());
                core.add_forwarded(
                    &ForwardedTraffic {
                        key: key(port, &behind, &leaves, Direction::Received),
                        direction: Direction::Received,
                        count: counted,
                        link_bytes: link(&behind),
                        mac: to,
                        outside,
                        xdp: traffic.xdp,
                    },
                    now,
                );
            }
        }
        (FlowEndpoints::Stations { to, from }, _) => {
            let vlan = |behind: &Encapsulation| behind.tags[0].map_or(0, |tag| tag.tci & 0xfff);
            let beyond = |side: Option<(u32, Encapsulation)>, mac| {
                let (port, vlan) = side.map_or((0, 0), |(port, of)| (port, vlan(&of)));
                core.is_beyond(port, vlan, &mac)
            };
            let sides = [
                (into, from, Direction::Sent, beyond(out, to)),
                (out, to, Direction::Received, beyond(into, from)),
            ];
            for (side, mac, way, crosses) in sides {
                let Some((port, behind)) = side else { continue };
                let bridged = BridgedTraffic {
                    port,
                    mac,
                    direction: way,
                    count: counted,
                    link_bytes: link(&behind),
                    crosses_uplink: crosses,
                };
                core.add_bridged(&bridged, now);
            }
        }
        (FlowEndpoints::Hosts(_), FlowEndpoints::Stations { .. }) => {}
    }
}
