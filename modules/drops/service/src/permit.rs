//! Permits of learned drops: a sender of packets that netfilter drops must not be able to cause
//! drops of others' packets with the same tuple.

use std::collections::HashSet;
use std::net::IpAddr;

use datapath::Datapath;
use kernel::{Event, Protocol, Source, Tuple};
use offload_core::Core;

/// DHCP servers and clients (RFC 2131, RFC 8415): they read from packet sockets, which see more
/// than netfilter lets through.
const DHCP: [u16; 4] = [67, 68, 546, 547];

/// Tuples that may be dropped early.
#[derive(Debug, Default)]
pub struct Permits {
    given: HashSet<Tuple>,
    stale: bool,
}

impl Permits {
    /// Handles an event that may end a permit.
    pub fn heard(&mut self, event: &Event) {
        if self.given.is_empty() {
            return;
        }
        self.stale |= match event {
            Event::Connection(connection) => [connection.id.original, connection.reply]
                .iter()
                .any(|tuple| self.given.contains(tuple)),
            Event::Address(..) | Event::Overrun(Source::Conntrack) => true,
            _ => false,
        };
    }

    /// Returns true if an event ended a permit.
    pub fn are_stale(&self) -> bool {
        self.stale
    }

    /// Gives or withdraws the permit of each learned drop.
    pub fn renew(&mut self, core: &Core, path: &mut Datapath) {
        self.stale = false;
        self.given.clear();
        let own: HashSet<IpAddr> = core.addresses().map(|own| own.address).collect();
        path.drops.permit(|tuple| {
            let may = may_be_dropped(tuple, core, &own);
            if may {
                self.given.insert(*tuple);
            }
            may
        });
    }
}

/// Returns false for tuples that conntrack knows, in either direction: some of their packets are
/// accepted, despite recent drops. Also false for the router's own addresses, where accepted
/// packets may be rare and leave no connection, and for packets read past netfilter.
fn may_be_dropped(tuple: &Tuple, core: &Core, own: &HashSet<IpAddr>) -> bool {
    let dhcp = tuple.protocol == Protocol::Udp && DHCP.contains(&tuple.destination_port);
    core.knows_all() && !dhcp && !own.contains(&tuple.destination) && core.find(tuple).is_empty()
}
