//! Selects forwarded connections to be timed, and reports the times to the monitor.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use datapath::{Encapsulation, FlowEndpoints, Hop, RoundTrip, TIMERS, TrafficDelta};
use kernel::Protocol;
use monitor_core::{Direction, Monitor, RttSample};
use tracing::warn;

use super::clock::Clock;
use super::ports::Ports;
use super::reading::key;
use runtime::daemon::Router;

/// Interval of the selection, less the inaccuracy of the clock.
const EVERY: Duration = Duration::from_millis(900);
/// Packets per second in one direction from which timing is worthwhile: rarer packets are timed
/// when they go through the kernel.
const FEWEST: u64 = 2;

/// Traffic since the last selection.
#[derive(Debug, Default)]
pub struct BusiestFlows {
    /// Host and bytes of each flow.
    flows: HashMap<u32, (IpAddr, u64)>,
    chosen: Option<Instant>,
}

impl BusiestFlows {
    /// Adds traffic of a connection of this host.
    fn add(&mut self, flow: u32, host: IpAddr, octets: u64) {
        self.flows.entry(flow).or_insert((host, 0)).1 += octets;
    }

    /// Returns the busiest connections, the busiest of each host first; starts the next selection.
    /// `None`: too early.
    fn choose(&mut self, now: Instant) -> Option<Vec<u32>> {
        if self
            .chosen
            .is_some_and(|last| now.duration_since(last) < EVERY)
        {
            return None;
        }
        self.chosen = Some(now);
        let mut all: Vec<_> = self.flows.drain().collect();
        all.sort_unstable_by_key(|(flow, (_, octets))| (std::cmp::Reverse(*octets), *flow));
        let mut hosts = HashSet::new();
        let (first, rest): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(_, (host, _))| hosts.insert(*host));
        Some(
            first
                .into_iter()
                .chain(rest)
                .map(|(flow, _)| flow)
                .collect(),
        )
    }

    /// Adds forwarded traffic of a connection, which may be worth timing.
    pub fn forwarded(&mut self, growth: &TrafficDelta, into: Option<u32>, ports: &Ports) {
        let (Some(flow), Some((FlowEndpoints::Hosts(comes), FlowEndpoints::Hosts(leaves)))) =
            (growth.flow, &growth.endpoints)
        else {
            return;
        };
        if comes.protocol != Protocol::Tcp || growth.packets < FEWEST {
            return;
        }
        let leads_out = into.and_then(|link| ports.get(link));
        let host = if leads_out.is_some_and(|port| port.uplink) {
            leaves.destination
        } else {
            comes.source
        };
        self.add(flow, host, growth.bytes);
    }

    /// Adds waiting times of forwarded TCP, and selects the busiest connections to be timed now.
    /// Times that are only compared with the kernel's come from the meter.
    pub fn time(&mut self, router: &mut Router, core: &mut Monitor, clock: Clock) {
        if router.path.options().shadow {
            return;
        }
        let Some(chosen) = self.choose(Instant::now()) else {
            return;
        };
        let mut waits = Vec::new();
        router
            .path
            .take_round_trips(Instant::now(), |wait| waits.push(wait));
        for wait in waits {
            let into = router.account.port_of(wait.ingress.port);
            waited(&wait, into, router.hop(wait.hop), core, clock);
        }
        for flow in chosen {
            match router.path.time(flow) {
                Ok(_) if router.path.timed() < TIMERS as usize => {}
                Ok(_) => break,
                Err(error) => {
                    warn!(%error, "cannot time forwarded connections");
                    break;
                }
            }
        }
    }
}

/// Adds a waiting time of a forwarded connection: `into` is its ingress port, `out` its way out.
fn waited(
    wait: &RoundTrip,
    into: Option<u32>,
    out: Option<&Hop>,
    core: &mut Monitor,
    clock: Clock,
) {
    let Some((FlowEndpoints::Hosts(comes), FlowEndpoints::Hosts(leaves))) = wait.endpoints else {
        return;
    };
    let into = into
        .map(|link| key(link, &wait.ingress.behind, &comes, Direction::Sent))
        .map(|key| (key, Direction::Sent));
    let out = out.map(|hop| {
        let behind = Encapsulation::of_header(&hop.header).0;
        let key = key(hop.link, &behind, &leaves, Direction::Received);
        (key, Direction::Received)
    });
    let now = clock.now();
    for (key, way) in into.into_iter().chain(out) {
        let micros = wait.micros;
        core.add_rtt(
            &RttSample {
                key,
                direction: way,
                micros,
            },
            now,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_of_each_host_comes_first() {
        let [one, other]: [IpAddr; 2] = [[192, 168, 1, 2], [192, 168, 1, 3]].map(Into::into);
        let mut busy = BusiestFlows::default();
        for (flow, host, octets) in [
            (1, one, 500),
            (2, one, 900),
            (3, other, 10),
            (4, other, 20),
            (1, one, 500),
        ] {
            busy.add(flow, host, octets);
        }
        let now = Instant::now();
        assert_eq!(busy.choose(now), Some(vec![1, 4, 2, 3]));
        busy.add(5, one, 1);
        assert_eq!(busy.choose(now), None);
        assert_eq!(busy.choose(now + EVERY), Some(vec![5]));
        assert_eq!(busy.choose(now + 2 * EVERY), Some(vec![]));
    }
}
