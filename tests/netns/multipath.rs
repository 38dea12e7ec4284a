//! Unmodified clients get the sum of a router's uplinks through a partner. The real binary runs at
//! both ends, with real TCP between them. tests/netns/uplinks.rs says how far to trust the lab of
//! several uplinks.

mod addresses;
mod beside;
mod clients;
mod cuts;
mod dhcp;
mod door;
mod experiment;
mod forged;
mod forwarding;
mod guard;
mod hints;
mod holds;
mod impostors;
mod keys;
mod least;
mod lock;
mod lost;
mod machine;
mod manners;
mod programs;
mod refused;
mod rules;
mod sealed;
mod standby;
mod strangers;
mod stripped;
mod sum;
mod tenants;
mod tunnel;
mod twins;
mod weather;

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
