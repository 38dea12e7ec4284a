//! What weir forwarded past the meter, told to the core.

use datapath::{Encapsulation, Who};
use monitor::{Count, Forwarded, Way};

use super::keeper::Keeper;
use super::reading::{header, key};
use crate::daemon;

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
                            xdp: growth.xdp,
                        },
                        now,
                    );
                }
            }
            (Who::Stations { to, from }, _) => {
                if let Some((port, behind)) = into {
                    self.core
                        .bridged(port, from, Way::Sent, counted, link(&behind), now);
                }
                if let Some((port, behind)) = out {
                    self.core
                        .bridged(port, to, Way::Received, counted, link(&behind), now);
                }
            }
            (Who::Hosts(_), Who::Stations { .. }) => {}
        }
    }
}
