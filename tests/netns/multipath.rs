//! Unmodified clients get the sum of a router's uplinks through a partner. The real binary runs at
//! both ends, with real TCP between them. tests/netns/uplinks.rs describes the limits of the lab of
//! several uplinks.

mod addresses;
mod aggregation;
mod clients;
mod cuts;
mod dhcp;
mod duplicate_networks;
mod encryption;
mod experiment;
mod field_faults;
mod firewall_refusals;
mod forged;
mod forwarding;
mod hints;
mod impostors;
mod keys;
mod least_privilege;
mod lock;
mod machine;
mod partner_loss;
mod programs;
mod raw_frames;
mod rules;
mod slow_paths;
mod standby;
mod stripped_options;
mod tcp_semantics;
mod tenants;
mod tunnel;
mod unauthenticated_messages;
mod unauthorized_clients;
mod with_fastpath;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const PORT: u16 = 5000;
const SECOND: Duration = Duration::from_secs(1);
const MBIT: f64 = 1e6;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns bytes that depend on the seed, from 1 on, and that no other sender uses.
fn octets(seed: u64, number: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..number).map(|_| next()).collect()
}

fn at(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PORT)
}
