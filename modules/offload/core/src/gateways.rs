//! Gateways that share a destination, and do not answer: when one does again, the kernel may go
//! back to it with the next packet (`fib_multipath_use_neigh`; several default routers).

use std::collections::HashSet;
use std::net::IpAddr;

use kernel::Neighbour;

/// Maximum number of silent gateways that are remembered.
const MOST: usize = 1_024;

/// Gateways that share a destination, and the silent ones among them.
#[derive(Debug, Default)]
pub struct Gateways {
    shared: HashSet<(u32, IpAddr)>,
    silent: HashSet<(u32, IpAddr)>,
}

impl Gateways {
    /// Handles newly read routes: these gateways share a destination with others, each with its
    /// device.
    pub fn shared(&mut self, shared: HashSet<(u32, IpAddr)>) {
        self.silent.retain(|gateway| shared.contains(gateway));
        self.shared = shared;
    }

    /// Takes a change of a neighbour. Returns true if a silent gateway answers again.
    pub fn on_neighbour(&mut self, neighbour: &Neighbour) -> bool {
        let gateway = (neighbour.link, neighbour.address);
        if neighbour.mac.is_some() {
            return self.silent.remove(&gateway);
        }
        if self.silent.len() < MOST && self.shared.contains(&gateway) {
            self.silent.insert(gateway);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_answers_again_is_told_and_a_station_is_not() {
        let at = |address: &str| (3, address.parse().expect("an address"));
        let [first, second, station] = ["192.0.2.1", "fe80::1", "192.0.2.9"].map(at);
        let say = |gateways: &mut Gateways, (link, address), mac| {
            gateways.on_neighbour(&Neighbour {
                link,
                address,
                mac,
                stale: false,
            })
        };
        let (known, mac) = (&mut Gateways::default(), Some([2; 6]));
        known.shared(HashSet::from([first, second]));
        assert!(!say(known, first, mac), "it was not silent");
        for gateway in [first, second] {
            assert!(!say(known, gateway, None));
            assert!(say(known, gateway, mac));
            assert!(!say(known, gateway, mac), "once");
        }
        assert!(!say(known, station, None) && !say(known, station, mac));
        assert!(!say(known, (4, first.1), None) && !say(known, (4, first.1), mac));

        // A gateway that no longer shares a destination.
        say(known, first, None);
        known.shared(HashSet::from([second]));
        assert!(!say(known, first, mac));
    }
}
