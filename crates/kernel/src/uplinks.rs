//! Uplinks: devices by which this machine reaches the rest of the world. An uplink has an address
//! to send from and a default route, in the main table or in one that a policy rule leads to
//! (mwan3, systemd-networkd). Rules and routes that weir wrote do not count.

use std::net::IpAddr;

use crate::event::{Event, Link, Source};
use crate::policy::RouteKind;
use crate::policy::{Hop, MAIN, PROTOCOL, Route, Rule};
use crate::prefix::Prefix;
use crate::route::LinkAddress;

/// ARPHRD_LOOPBACK.
const LOOPBACK: u16 = 772;

/// A device by which the rest of the world is reached, in one family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uplink {
    /// Index of the device.
    pub link: u32,
    /// Name of the device.
    pub name: String,
    /// The address to send from.
    pub address: IpAddr,
    /// The network that this address is in; of a point-to-point device the address alone.
    pub prefix: Prefix,
    /// The next router. `None`: the link has only one other end (PPP).
    pub gateway: Option<IpAddr>,
    /// Metric of the default route: the lowest is used first.
    pub metric: u32,
    /// The table that the default route is in.
    pub table: u32,
}

impl Uplink {
    /// Returns true for an IPv6 uplink.
    pub fn ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    /// Returns the key of the uplink, which stays while other properties change.
    fn key(&self) -> (u32, bool) {
        (self.link, self.ipv6())
    }
}

/// Kernel's data about devices that lead out: read by [`crate::io::Policy::picture`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingSnapshot {
    /// All devices.
    pub links: Vec<Link>,
    /// All addresses, each device's in the kernel's order.
    pub addresses: Vec<LinkAddress>,
    /// All rules of both families.
    pub rules: Vec<Rule>,
    /// All routes to anywhere, of both families and all tables.
    pub defaults: Vec<Route>,
}

impl RoutingSnapshot {
    /// Returns the uplinks, best first: those of the main table before the others, then by metric.
    /// At most one per device and family.
    pub fn uplinks(&self) -> Vec<Uplink> {
        let mut found: Vec<Uplink> = Vec::new();
        for route in &self.defaults {
            if self.counts(route) {
                found.extend(route.hops.iter().filter_map(|hop| self.uplink(route, hop)));
            }
        }
        found.sort_by_key(|uplink| {
            let order = (uplink.table != MAIN, uplink.metric);
            (order, uplink.link, uplink.ipv6(), uplink.table)
        });
        let mut seen = Vec::new();
        found.retain(|uplink| {
            let new = !seen.contains(&uplink.key());
            seen.push(uplink.key());
            new
        });
        found
    }

    /// Returns true for a default route that is not weir's, in a table that rules look up.
    fn counts(&self, route: &Route) -> bool {
        let ipv6 = route.to.address.is_ipv6();
        route.kind == RouteKind::Unicast
            && route.to.length == 0
            && route.protocol != PROTOCOL
            && (route.table == MAIN
                || self.rules.iter().any(|rule| {
                    (rule.ipv6, rule.table) == (ipv6, route.table) && rule.protocol != PROTOCOL
                }))
    }

    fn uplink(&self, route: &Route, hop: &Hop) -> Option<Uplink> {
        let link = self.links.iter().find(|link| link.index == hop.link)?;
        if !link.up || link.hardware == LOOPBACK {
            return None;
        }
        let (address, prefix) = self.source(route, hop)?;
        Some(Uplink {
            link: link.index,
            name: link.name.clone(),
            address,
            prefix,
            gateway: hop.gateway,
            metric: route.metric,
            table: route.table,
        })
    }

    /// The address to send from, and its network.
    fn source(&self, route: &Route, hop: &Hop) -> Option<(IpAddr, Prefix)> {
        if let Some(source) = route.source {
            // The source address may be another device's.
            let held = self.addresses.iter().find(|held| held.address == source);
            let alone = if source.is_ipv6() { 128 } else { 32 };
            let length = held.map_or(alone, |held| held.length);
            return Some((source, Prefix::truncated(source, length)));
        }
        let held = self
            .addresses
            .iter()
            .filter(|held| held.link == hop.link)
            .filter(|held| held.address.is_ipv6() == route.to.address.is_ipv6())
            .filter(|held| route.from.is_none_or(|from| from.contains(&held.address)))
            .filter(|held| held.is_global() && held.is_settled())
            .min_by_key(|held| {
                let near = hop
                    .gateway
                    .is_some_and(|gateway| held.prefix().contains(&gateway));
                (!near, held.is_temporary(), unique_local(held.address))
            })?;
        Some((held.address, held.prefix()))
    }
}

/// Returns true for fc00::/7 (RFC 4193): global for the kernel, but the rest of the world does not
/// answer such addresses.
fn unique_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.octets()[0] & 0xfe == 0xfc,
    }
}

/// Change of the uplinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The uplink cannot be used any longer.
    Removed(Uplink),
    /// The uplink has another address, gateway, metric, table or name.
    Changed {
        /// Former state.
        before: Uplink,
        /// Present state.
        now: Uplink,
    },
    /// The uplink can be used now.
    Added(Uplink),
}

/// The uplinks, as they change.
#[derive(Clone, Debug, Default)]
pub struct Uplinks {
    now: Vec<Uplink>,
    twins: Vec<Uplink>,
}

impl Uplinks {
    /// Returns the uplinks, best first.
    pub fn now(&self) -> &[Uplink] {
        &self.now
    }

    /// Uplinks that share the address of a better one, as if two modems hand out equal addresses:
    /// rules by source address and MPTCP's endpoints cannot distinguish them. They are not among
    /// [`now`](Self::now) until the better one fails.
    pub fn twins(&self) -> &[Uplink] {
        &self.twins
    }

    /// Takes an event, and appends the certain changes: the uplinks of a device that went down are
    /// gone, regardless of their routes. Returns true if a new [`RoutingSnapshot`] is needed.
    /// Events come in batches: take one snapshot after each batch.
    pub fn event(&mut self, event: &Event, out: &mut Vec<Change>) -> bool {
        match event {
            Event::Link(link) if !link.up => self.remove(link.index, out),
            Event::LinkGone(index) => self.remove(*index, out),
            // IPv4 keeps routes without a carrier, and sends no event about them when the carrier
            // is back.
            Event::Link(link) => !self
                .now
                .iter()
                .chain(&self.twins)
                .any(|uplink| uplink.link == link.index && uplink.name == link.name),
            Event::Address(..)
            | Event::Routing
            | Event::DumpEnd(Source::Route)
            | Event::Overrun(Source::Route) => true,
            _ => false,
        }
    }

    /// Takes a new picture. Returns the changes: first removed uplinks, then changed ones, then
    /// added ones.
    pub fn update(&mut self, picture: &RoutingSnapshot) -> Vec<Change> {
        let (mut new, mut twins) = (Vec::<Uplink>::new(), Vec::new());
        for uplink in picture.uplinks() {
            let other = new.iter().any(|better| better.address == uplink.address);
            if other { &mut twins } else { &mut new }.push(uplink);
        }
        let find = |list: &[Uplink], key| list.iter().find(|uplink| uplink.key() == key).cloned();
        let mut changes = Vec::new();
        for before in &self.now {
            if find(&new, before.key()).is_none() {
                changes.push(Change::Removed(before.clone()));
            }
        }
        let mut added = Vec::new();
        for now in &new {
            match find(&self.now, now.key()) {
                None => added.push(Change::Added(now.clone())),
                Some(before) if before != *now => changes.push(Change::Changed {
                    before,
                    now: now.clone(),
                }),
                Some(_) => {}
            }
        }
        changes.extend(added);
        (self.now, self.twins) = (new, twins);
        changes
    }

    /// Removes the uplinks of a device. Returns true if a new snapshot is needed: a duplicate of a
    /// removed uplink can be used now, or is gone itself.
    fn remove(&mut self, link: u32, out: &mut Vec<Change>) -> bool {
        let gone = self.now.extract_if(.., |uplink| uplink.link == link);
        out.extend(gone.map(Change::Removed));
        !self.twins.is_empty()
    }
}

#[cfg(test)]
mod tests;
