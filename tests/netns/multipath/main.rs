//! Unmodified clients get the sum of a router's uplinks, by way of a partner: the real binary at both ends, real TCP between them, in the lab of
//! several uplinks (tests/netns/uplinks.rs says what that is worth).

mod cuts;
mod dhcp;
mod door;
mod guard;
mod hints;
mod experiment;
mod impostors;
mod manners;
mod programs;
mod sealed;
mod strangers;
mod stripped;
mod sum;
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

fn at(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PORT)
}
