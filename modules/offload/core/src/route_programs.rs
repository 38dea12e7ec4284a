//! Routes with a program that sees each packet, which packets that weir forwards would pass by.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use kernel::Prefix;

/// Destinations of such routes, of any table: only the kernel decides which table a packet uses.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct RoutePrograms {
    all: HashSet<Prefix>,
    lengths: BTreeSet<(bool, u8)>,
}

impl RoutePrograms {
    pub(crate) fn new(routes: &[Prefix]) -> Self {
        Self {
            all: routes.iter().copied().collect(),
            lengths: (routes.iter())
                .map(|to| (to.address.is_ipv6(), to.length))
                .collect(),
        }
    }

    /// Returns true if a packet to this address may take such a route.
    pub(crate) fn concern(&self, address: &IpAddr) -> bool {
        let own = |&&(ipv6, _): &&(bool, u8)| ipv6 == address.is_ipv6();
        let mut lengths = self.lengths.iter().filter(own);
        lengths.any(|(_, length)| self.all.contains(&Prefix::truncated(*address, *length)))
    }
}
