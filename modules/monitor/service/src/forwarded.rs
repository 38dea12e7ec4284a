//! What weir forwarded past the meter, told to the core.

use datapath::{Encapsulation, Who};
use monitor_core::{Bridged, Count, Forwarded, Way};

use super::keeper::Keeper;
use super::reading::{header, key};
use runtime::daemon;

impl Keeper {
    /// Takes in what weir forwarded.
    pub fn forwarded(&mut self, forwarded: &daemon::Forwarded<'_>) {
        let daemon::Forwarded { growth, into, out } = *forwarded;
        let now = self.now();
        let counted = Count {
            packets: growth.packets,
            octets: growth.octets,
        };
        let Some((comes, leaves)) = growth.whose else {
            return;
        };
        self.busy(growth, into);
        let into = into.map(|link| (link, growth.came_in.behind));
        let outside = into.is_none_or(|(link, _)| !self.inside.contains(&link));
        let hop = out;
        let out = hop.map(|hop| (hop.link, Encapsulation::of_header(&hop.header).0));
        let link = |behind: &Encapsulation| growth.packets * header(behind);
        match (comes, leaves) {
            (Who::Hosts(comes), Who::Hosts(leaves)) => {
                if let Some((port, behind)) = into {
                    self.core.forwarded(
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
                    self.core.forwarded(
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
                    self.core.is_beyond(port, vlan, &mac)
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
                    self.core.bridged(&bridged, now);
                }
            }
            (Who::Hosts(_), Who::Stations { .. }) => {}
        }
    }
}
