//! Ways to reach the Internet.

use crate::place::Place;
use crate::told;

/// How to reach the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internet {
    /// An address by DHCP; IPv6 by DHCPv6 beside it.
    Dhcp,
    /// An address that a person has to enter.
    Static,
    /// A session with name and password.
    Pppoe,
    /// IPv6 alone; IPv4 by way of it, or not at all.
    Ipv6Only,
    /// Nothing was found.
    None,
}

/// Names of services of all who terminate PPPoE, without repetition.
pub fn services(place: &Place) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (_, heard) in &place.concentrators {
        for name in told::named(heard) {
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
    }
    all
}
