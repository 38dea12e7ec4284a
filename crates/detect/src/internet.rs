//! Ways to reach the Internet.

use crate::describe;
use crate::vlan_observations::VlanObservations;

/// Kind of Internet access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internet {
    /// Address by DHCP; IPv6 by DHCPv6 as well.
    Dhcp,
    /// Address that a person has to enter.
    Static,
    /// Session with name and password.
    Pppoe,
    /// Only IPv6; IPv4 through it, or not at all.
    Ipv6Only,
    /// Nothing was found.
    None,
}

/// Returns the service names of all PPPoE concentrators, without repetition.
pub fn services(place: &VlanObservations) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (_, heard) in &place.concentrators {
        for name in describe::named(heard) {
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
    }
    all
}
