//! External networks: names in the walled garden may resolve only to their addresses.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::Prefix;
use kernel::io::Policy;
use kernel::policy::Route;
use kernel::routes::RouteKind;
use tracing::warn;

use runtime::daemon::Router;

/// Maximum age of the routes.
const FRESH: Duration = Duration::from_secs(10);
/// A route to so much of all addresses is one to outside: `0.0.0.0/1` of a tunnel, `2000::/3`.
const WIDE: u8 = 3;

/// Local networks, and devices that lead outside, from the routes.
#[derive(Default)]
pub struct ExternalNetworks {
    read: Option<Instant>,
    ways: Ways,
    /// True once a failure to read the routes was logged.
    told: bool,
}

/// Routes that lead outside, and networks that are not outside.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ways {
    out: HashSet<u32>,
    near: Vec<Prefix>,
}

impl Ways {
    fn of(routes: &[Route]) -> Self {
        let mut ways = Self::default();
        for route in routes {
            let sent = route.kind == RouteKind::Unicast;
            if route.to.length <= WIDE {
                let links = route.hops.iter().map(|hop| hop.link);
                ways.out.extend(links.filter(|_| sent));
            } else if !sent || route.hops.iter().all(|hop| hop.gateway.is_none()) {
                ways.near.push(route.to);
            }
        }
        ways
    }
}

impl ExternalNetworks {
    /// Returns true if an address is outside: not an address of this router, not in the router's
    /// own networks, and routed to the Internet.
    pub fn holds(&mut self, address: IpAddr, router: &Router) -> bool {
        if router.core.addresses().any(|own| own.address == address) {
            return false;
        }
        match self.check_routes(address) {
            Ok(outside) => outside,
            Err(error) => {
                if !std::mem::replace(&mut self.told, true) {
                    warn!(error, "cannot read routes: no name of the garden is opened");
                }
                false
            }
        }
    }

    fn check_routes(&mut self, address: IpAddr) -> Result<bool, String> {
        let mut policy = Policy::open().map_err(|error| error.to_string())?;
        if self.read.is_none_or(|read| read.elapsed() > FRESH) {
            let mut all = Vec::new();
            for ipv6 in [false, true] {
                let read = policy.routes(ipv6, |route| route.from.is_none());
                all.extend(read.map_err(|error| error.to_string())?);
            }
            self.ways = Ways::of(&all);
            self.read = Some(Instant::now());
        }
        if self.ways.near.iter().any(|near| near.contains(&address)) {
            return Ok(false);
        }
        let way = policy.way_to(address).map_err(|error| error.to_string())?;
        Ok(way.is_some_and(|link| self.ways.out.contains(&link)))
    }
}

#[cfg(test)]
mod tests {
    use kernel::policy::Hop;

    use super::*;

    #[test]
    fn a_network_that_the_router_is_in_is_near() {
        let at = |to: &str, link: u32, gateway: Option<&str>| {
            let hop = Hop {
                link,
                gateway: gateway.map(|gateway| gateway.parse().expect("an address")),
                onlink: false,
            };
            Route::new(to.parse().expect("a network"), 254, hop)
        };
        let delegated = Route::without_hop(
            "2001:db8:5::/48".parse().expect("a network"),
            254,
            RouteKind::Unreachable,
        );
        let ways = Ways::of(&[
            at("0.0.0.0/0", 2, Some("203.0.113.1")),
            at("2000::/3", 3, None),
            at("203.0.113.0/24", 2, None),
            at("2001:db8:1::/64", 4, None),
            at("198.51.100.0/24", 5, Some("203.0.113.9")),
            delegated,
        ]);
        assert_eq!(ways.out, HashSet::from([2, 3]));
        let near: Vec<_> = ways.near.iter().map(ToString::to_string).collect();
        assert_eq!(
            near,
            ["203.0.113.0/24", "2001:db8:1::/64", "2001:db8:5::/48"]
        );
    }
}
