//! Ends of connections on the other side of the router: from conntrack, or from recent events about
//! connections that ended before their packets were counted.

use std::collections::{HashMap, VecDeque};

use kernel::{Endpoints, Event, Protocol, Tuple};
use monitor_core::Millis;

/// Ways of connections that are remembered, at most: two of each.
const ROOM: usize = 16_384;
/// Time for which an event is kept: packets are counted within a second.
const REMEMBERED: Millis = 5_000;

/// Connections of recent conntrack events.
#[derive(Debug, Default)]
pub struct RecentConnections {
    lately: HashMap<Endpoints, Endpoints>,
    order: VecDeque<(Millis, Endpoints)>,
}

impl RecentConnections {
    /// Handles an event of the kernel.
    pub fn on_event(&mut self, event: &Event, now: Millis) {
        let Event::Connection(connection) = event else {
            return;
        };
        let (original, reply) = (&connection.id.original, &connection.reply);
        self.put(original.into(), Endpoints::from(reply).reversed(), now);
        self.put(reply.into(), Endpoints::from(original).reversed(), now);
    }

    fn put(&mut self, comes: Endpoints, leaves: Endpoints, now: Millis) {
        if self.lately.insert(comes, leaves).is_some() {
            return;
        }
        self.order.push_back((now, comes));
        let over = |(since, _): &mut (Millis, Endpoints)| now.saturating_sub(*since) > REMEMBERED;
        while let Some((_, oldest)) = match self.order.len() > ROOM {
            true => self.order.pop_front(),
            false => self.order.pop_front_if(over),
        } {
            self.lately.remove(&oldest);
        }
    }

    /// Returns the egress endpoints of packets with these endpoints.
    pub fn egress_endpoints(
        &self,
        comes: &Endpoints,
        connections: &offload_core::Core,
    ) -> Option<Endpoints> {
        known(comes, connections).or_else(|| self.lately.get(comes).copied())
    }
}

/// Looks up the endpoints in conntrack.
fn known(comes: &Endpoints, connections: &offload_core::Core) -> Option<Endpoints> {
    let comes = Tuple {
        protocol: Protocol::from_number(comes.protocol)?,
        source: comes.station,
        source_port: comes.station_port,
        destination: comes.remote,
        destination_port: comes.remote_port,
    };
    let id = *connections.find(&comes).first()?;
    let flow = connections.flow(id)?;
    let other = match flow.original() == comes {
        true => flow.reply,
        false => flow.original(),
    };
    Some((&other.reversed()).into())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn ends(port: u16) -> Endpoints {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Endpoints {
            protocol: 6,
            station: address,
            station_port: port,
            remote: address,
            remote_port: 80,
        }
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut crossings = RecentConnections::default();
        for number in 0..ROOM as u16 + 1 {
            for _ in 0..2 {
                crossings.put(ends(number), ends(number).reversed(), 1);
            }
        }
        let known =
            |crossings: &RecentConnections, number| crossings.lately.contains_key(&ends(number));
        assert!(!known(&crossings, 0) && known(&crossings, 1));
        assert_eq!(
            (crossings.lately.len(), crossings.order.len()),
            (ROOM, ROOM)
        );
        crossings.put(ends(0), ends(1), REMEMBERED + 2);
        assert!(known(&crossings, 0) && !known(&crossings, 1));
        assert_eq!((crossings.lately.len(), crossings.order.len()), (1, 1));
    }
}
