//! Unmodified clients get the sum of a router's uplinks, by way of a partner: the real binary at
//! both ends, real TCP between them, in the lab of several uplinks (tests/netns/uplinks.rs says
//! what that is worth).

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

/// What no one else would have sent: bytes that go by a seed, from 1 on.
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
