//! Uplinks: devices and gateways of default routes, and the local networks. Reads the main and the
//! local routing table: rules may select others, but these list all local networks.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::io::Policy;
use kernel::policy::{Hop, LOCAL, MAIN, Route};
use kernel::routes::RouteKind;
use kernel::{Link, Prefix};
use monitor_core::{Destination, Networks, UpperDevices, is_default};
use offload_core::stack::{Stack, is_ppp};
use tracing::debug;

/// ARPHRD_ETHER, ARPHRD_LOOPBACK (include/uapi/linux/if_arp.h).
const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;
/// Kinds of devices that are not tunnels: their packets arrived by cable, by radio, or from a
/// container.
const INSIDE: [&str; 7] = ["", "bond", "bridge", "dsa", "team", "veth", "vlan"];
/// Maximum number of gateway routes read. A router with more has those of the Internet, and the
/// default routes, or those by devices, suffice.
const ROUTES: usize = 4_096;

/// Devices that default routes leave by, and the addresses that they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uplinks {
    /// Devices, by index.
    pub devices: BTreeSet<u32>,
    /// Gateways.
    pub gateways: BTreeSet<IpAddr>,
    /// Names of devices below PPPoE sessions: the kernel does not report which session belongs to
    /// which PPP device.
    pub(crate) below_ppp: BTreeSet<String>,
    /// Routes of the main table and of the one of local addresses, the best first.
    pub(crate) routes: Vec<Route>,
    /// True if a route to the Internet is missing in `routes`: a default route of another table, or
    /// routes beyond the limit.
    pub elsewhere: bool,
}

impl Uplinks {
    /// Reads the routes. `None`: the kernel does not answer just now.
    pub fn read() -> Option<Self> {
        let routes = read_routes();
        let routes = routes.inspect_err(|error| debug!(error, "cannot read routes"));
        let sessions = std::fs::read_to_string("/proc/net/pppoe").unwrap_or_default();
        let (routes, elsewhere) = routes.ok()?;
        Some(Self {
            elsewhere,
            ..Self::of(routes, &sessions)
        })
    }

    fn of(mut routes: Vec<Route>, sessions: &str) -> Self {
        routes.sort_by_key(|route| (route.table != LOCAL, route.metric));
        let mut found = Self::default();
        let leaves = |route: &&Route| leads_anywhere(route) && route.kind == RouteKind::Unicast;
        for hop in routes.iter().filter(leaves).flat_map(|route| &route.hops) {
            found.devices.insert(hop.link);
            found.gateways.extend(hop.gateway);
        }
        found.routes = routes;
        found.sessions(sessions);
        found
    }

    /// Parses `/proc/net/pppoe` (drivers/net/ppp/pppoe.c, `pppoe_seq_show`): number, address of the
    /// remote end, device.
    fn sessions(&mut self, text: &str) {
        let devices = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(2));
        self.below_ppp.extend(devices.map(str::to_owned));
    }

    /// Returns the devices that lead out, by index: those of default routes, and those below PPP.
    pub fn leads_out<'a>(&self, links: impl Iterator<Item = &'a Link> + Clone) -> BTreeSet<u32> {
        let leads = |link: &Link| self.devices.contains(&link.index);
        let over_ppp = links.clone().any(|link| leads(link) && is_ppp(link));
        let carries = |link: &Link| over_ppp && self.below_ppp.contains(&link.name);
        links
            .filter(|link| leads(link) || carries(link))
            .map(|link| link.index)
            .collect()
    }

    /// Returns the gateways in use: of several default routes, those of the least metric. The
    /// gateway of a standby gets no requests.
    pub fn gateways_in_use(&self) -> BTreeSet<IpAddr> {
        let leads = |route: &&Route| leads_anywhere(route) && route.kind == RouteKind::Unicast;
        let routes: Vec<&Route> = self.routes.iter().filter(leads).collect();
        let least = |to: Prefix| {
            let same = routes.iter().filter(|route| route.to == to);
            same.map(|route| route.metric).min()
        };
        let used = routes
            .iter()
            .filter(|route| Some(route.metric) == least(route.to));
        used.flat_map(|route| &route.hops)
            .filter_map(|hop| hop.gateway)
            .collect()
    }

    /// Returns devices without a default route below a device with a default route, by index.
    pub fn below<'a>(&self, links: impl Iterator<Item = &'a Link> + Clone) -> BTreeSet<u32> {
        let leads_out = self.leads_out(links.clone());
        let stack = Stack::of(links.clone());
        let carries = |link: u32| {
            let mut uppers = stack.uppers(link).into_iter();
            leads_out.contains(&link) || uppers.any(|upper| leads_out.contains(&upper.link))
        };
        links
            .map(|link| link.index)
            .filter(|link| !self.devices.contains(link) && carries(*link))
            .collect()
    }

    /// Returns devices that receive nothing from the Internet, by index: neither they nor any
    /// device above or below them is in `led_out`. Empty if that is uncertain: without a default
    /// route, or with one that is not examined.
    pub fn inside<'a>(
        &self,
        links: impl Iterator<Item = &'a Link> + Clone,
        led_out: &BTreeSet<u32>,
    ) -> BTreeSet<u32> {
        if self.elsewhere || self.devices.is_empty() {
            return BTreeSet::new();
        }
        let stack = Stack::of(links.clone());
        let uppers = |link: u32| stack.uppers(link).into_iter().map(|upper| upper.link);
        let on_uplinks: BTreeSet<u32> = led_out.iter().flat_map(|link| uppers(*link)).collect();
        let is_inside = |link: &Link| {
            link.hardware == ETHERNET
                && INSIDE.contains(&link.kind.as_str())
                && !led_out.contains(&link.index)
                && !on_uplinks.contains(&link.index)
                && !uppers(link.index).any(|upper| led_out.contains(&upper))
        };
        let inside = links.filter(|link| is_inside(link));
        inside.map(|link| link.index).collect()
    }

    /// Returns the networks beyond uplinks. A tunnel or a PPP device leads beyond one: its packets
    /// leave by an uplink, whichever network is at its end.
    pub fn networks<'a>(
        &self,
        links: impl Iterator<Item = &'a Link> + Clone,
        ports: impl Iterator<Item = u32>,
    ) -> Networks {
        let hardware: HashMap<u32, u16> = links
            .clone()
            .map(|link| (link.index, link.hardware))
            .collect();
        let mut networks = Networks::default();
        for route in &self.routes {
            let leads = self.leads(route, &hardware);
            // A default route that drops packets applies only if no other route exists.
            if !leads_anywhere(route) || leads == Destination::Internet {
                networks.route(route.to, leads);
            }
        }
        let bridges: BTreeSet<u32> = links
            .clone()
            .filter(|link| link.kind == "bridge")
            .map(|link| link.index)
            .collect();
        let stack = Stack::of(links);
        for port in ports {
            let uppers = stack.uppers(port).into_iter().map(|upper| upper.link);
            let all: BTreeSet<u32> = uppers.chain([port]).collect();
            let bridges = all.intersection(&bridges).copied().collect();
            networks.port(port, UpperDevices { all, bridges });
        }
        networks
    }

    fn leads(&self, route: &Route, hardware: &HashMap<u32, u16>) -> Destination {
        let Some(hop) = route.hops.first() else {
            return Destination::Inside;
        };
        let kind = hardware.get(&hop.link).copied();
        match route.kind {
            RouteKind::Local => Destination::Local,
            RouteKind::Unicast if leads_anywhere(route) => Destination::Internet,
            RouteKind::Unicast if self.devices.contains(&hop.link) => self.by_uplink(hop),
            RouteKind::Unicast if !matches!(kind, Some(ETHERNET | LOOPBACK) | None) => {
                Destination::Internet
            }
            RouteKind::Unicast if hop.gateway.is_none() && kind == Some(ETHERNET) => {
                Destination::OnLink
            }
            _ => Destination::Inside,
        }
    }

    fn by_uplink(&self, hop: &Hop) -> Destination {
        let leads_out = |gateway| self.gateways.contains(&gateway);
        match hop.gateway.is_some_and(leads_out) {
            true => Destination::Internet,
            false => Destination::UplinkNetwork(hop.link),
        }
    }
}

fn leads_anywhere(route: &Route) -> bool {
    is_default(&route.to)
}

/// Reads the routes that [`Uplinks::routes`] has. The flag is [`Uplinks::elsewhere`].
fn read_routes() -> Result<(Vec<Route>, bool), String> {
    let mut kernel = Policy::open().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    let elsewhere = Cell::new(false);
    for ipv6 in [false, true] {
        let others = Cell::new(0);
        let wanted = |route: &Route| {
            if ![MAIN, LOCAL].contains(&route.table) {
                let leads_out = leads_anywhere(route) && route.kind == RouteKind::Unicast;
                elsewhere.set(elsewhere.get() || leads_out);
                return false;
            }
            let first = route.hops.first();
            if leads_anywhere(route) || first.is_none_or(|hop| hop.gateway.is_none()) {
                return true;
            }
            others.set(others.get() + 1);
            let kept = others.get() <= ROUTES;
            elsewhere.set(elsewhere.get() || !kept);
            kept
        };
        let routes = kernel.routes(ipv6, wanted);
        all.extend(routes.map_err(|error| error.to_string())?);
    }
    Ok((all, elsewhere.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LO: u32 = 1;
    const LAN: u32 = 2;
    const WAN: u32 = 3;
    const PPP: u32 = 4;
    const TUNNEL: u32 = 5;
    const BRIDGE: u32 = 6;

    fn link(index: u32, name: &str, hardware: u16, kind: &str) -> Link {
        Link {
            index,
            name: name.to_owned(),
            hardware,
            kind: kind.to_owned(),
            ..Link::default()
        }
    }

    fn links() -> Vec<Link> {
        let mut lan = link(LAN, "lan0", 1, "");
        lan.master = Some(BRIDGE);
        vec![
            link(LO, "lo", LOOPBACK, ""),
            lan,
            link(WAN, "eth2", 1, ""),
            link(PPP, "ppp0", 512, ""),
            link(TUNNEL, "wg0", 0xfffe, "wireguard"),
            link(BRIDGE, "br-lan", 1, "bridge"),
        ]
    }

    fn route(to: &str, link: u32, gateway: Option<&str>) -> Route {
        let hop = Hop {
            link,
            gateway: gateway.map(|gateway| gateway.parse().expect("an address")),
            onlink: false,
        };
        Route::new(to.parse().expect("a prefix"), MAIN, hop)
    }

    fn crosses(uplinks: &Uplinks, far: &str) -> bool {
        let links = links();
        let networks = uplinks.networks(links.iter(), [LAN, WAN].into_iter());
        networks.crosses(LAN, far.parse().expect("an address"))
    }

    #[test]
    fn all_hops_of_default_routes_lead_out() {
        let mut several = route("0.0.0.0/0", WAN, Some("192.0.2.1"));
        several.hops.push(Hop {
            link: PPP,
            ..Hop::default()
        });
        let reject = Route::without_hop("::/0".parse().unwrap(), MAIN, RouteKind::Unreachable);
        let sessions =
            "Id       Address              Device\n0100     02:00:00:00:00:01     eth2\n";
        let routes = vec![
            reject,
            several,
            route("::/0", WAN, Some("fe80::a")),
            route("10.0.0.0/8", LAN, None),
        ];
        let uplinks = Uplinks::of(routes, sessions);
        assert_eq!(uplinks.devices, [WAN, PPP].into());
        let gateways: Vec<String> = uplinks.gateways.iter().map(ToString::to_string).collect();
        assert_eq!(gateways, ["192.0.2.1", "fe80::a"]);
        let links = links();
        assert_eq!(uplinks.leads_out(links.iter()), [WAN, PPP].into());
        // A device below PPP leads out with the PPP device alone.
        let lan = Uplinks::of(vec![route("0.0.0.0/0", BRIDGE, None)], sessions);
        assert_eq!(lan.leads_out(links.iter()), [BRIDGE].into());
    }

    #[test]
    fn the_gateway_of_a_standby_is_not_in_use() {
        let mut standby = route("0.0.0.0/0", LAN, Some("198.51.100.1"));
        standby.metric = 20;
        let mut first = route("0.0.0.0/0", WAN, Some("192.0.2.1"));
        first.metric = 10;
        let mut ipv6 = route("::/0", LAN, Some("fe80::a"));
        ipv6.metric = 1024;
        let uplinks = Uplinks::of(vec![standby.clone(), first, ipv6.clone()], "");
        assert_eq!(uplinks.gateways.len(), 3);
        let of = |uplinks: &Uplinks| {
            let gateways = uplinks.gateways_in_use();
            gateways.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of(&uplinks), ["192.0.2.1", "fe80::a"]);
        assert_eq!(
            of(&Uplinks::of(vec![standby, ipv6], "")),
            ["198.51.100.1", "fe80::a"]
        );
    }

    #[test]
    fn only_devices_apart_from_all_uplinks_are_inside() {
        let sessions =
            "Id       Address              Device\n0100     02:00:00:00:00:01     eth2\n";
        let mut links = links();
        links.push(Link {
            lower: Some(LAN),
            ..link(7, "lan0.7", 1, "vlan")
        });
        links.push(link(8, "gre1", 1, "gretap"));
        links.push(link(9, "bat0", 1, "batadv"));
        let inside = |to: &[u32], led_out: &[u32], elsewhere: bool| {
            let routes = to.iter().map(|link| route("0.0.0.0/0", *link, None));
            let uplinks = Uplinks {
                elsewhere,
                ..Uplinks::of(routes.collect(), sessions)
            };
            let mut led_out: BTreeSet<u32> = led_out.iter().copied().collect();
            led_out.extend(uplinks.leads_out(links.iter()));
            uplinks.inside(links.iter(), &led_out)
        };
        assert_eq!(inside(&[PPP], &[], false), [LAN, BRIDGE, 7].into());
        // A second uplink, and the previous uplink.
        assert_eq!(inside(&[PPP, 7], &[], false), [BRIDGE].into());
        assert_eq!(inside(&[TUNNEL], &[WAN], false), [LAN, BRIDGE, 7].into());
        // An access point: each member of its bridge may lead to the gateway.
        assert_eq!(inside(&[BRIDGE], &[], false), [WAN, 7].into());
        // Uncertain cases.
        assert_eq!(inside(&[PPP], &[], true), BTreeSet::new());
        assert_eq!(inside(&[], &[WAN], false), BTreeSet::new());
    }

    #[test]
    fn devices_below_an_uplink_are_known() {
        let sessions =
            "Id       Address              Device\n0100     02:00:00:00:00:01     eth2\n";
        let mut links = links();
        links.push(Link {
            lower: Some(WAN),
            ..link(7, "eth2.7", 1, "vlan")
        });
        let below = |to: &[u32], sessions: &str| {
            let routes = to.iter().map(|link| route("0.0.0.0/0", *link, None));
            Uplinks::of(routes.collect(), sessions).below(links.iter())
        };
        assert_eq!(below(&[PPP], sessions), [WAN].into());
        assert_eq!(below(&[7], ""), [WAN].into());
        // Each of them has a default route, and is an uplink of its own.
        assert_eq!(below(&[7, WAN], ""), BTreeSet::new());
        assert_eq!(below(&[WAN], ""), BTreeSet::new());
        assert_eq!(below(&[TUNNEL], ""), BTreeSet::new());
    }

    #[test]
    fn networks_of_the_router_are_inside() {
        let mut own = route("203.0.113.7", WAN, None);
        (own.table, own.kind) = (LOCAL, RouteKind::Local);
        let routes = vec![
            route("0.0.0.0/0", PPP, None),
            own,
            route("192.168.1.0/24", BRIDGE, None),
            // Route to another router of the LAN.
            route("10.1.0.0/16", BRIDGE, Some("192.168.1.2")),
            // Networks at the end of a tunnel, and in front of the uplink.
            route("10.2.0.0/16", TUNNEL, None),
            route("198.51.100.0/24", PPP, None),
            Route::without_hop("10.0.0.0/8".parse().unwrap(), MAIN, RouteKind::Unreachable),
        ];
        let uplinks = Uplinks::of(routes, "");
        for (far, wanted) in [
            ("192.0.2.1", true),
            ("203.0.113.7", false),
            ("192.168.1.9", false),
            ("10.1.0.1", false),
            ("10.2.0.1", true),
            ("10.3.0.1", false),
            ("198.51.100.1", true),
            // No default route of IPv6.
            ("2001:db8::1", false),
        ] {
            assert_eq!(crosses(&uplinks, far), wanted, "{far}");
        }
        assert!(!crosses(&Uplinks::default(), "192.0.2.1"));
    }

    /// A VPN, or a router without `::/0`, has the Internet in wide routes.
    #[test]
    fn wide_routes_lead_out() {
        let routes = vec![
            route("0.0.0.0/1", WAN, Some("192.0.2.1")),
            route("128.0.0.0/1", WAN, Some("192.0.2.1")),
            route("2000::/3", WAN, Some("fe80::a")),
            route("192.168.1.0/24", BRIDGE, None),
        ];
        let uplinks = Uplinks::of(routes, "");
        assert_eq!(uplinks.devices, [WAN].into());
        for (far, wanted) in [
            ("8.8.8.8", true),
            ("198.51.100.1", true),
            ("2001:db8::1", true),
            ("192.168.1.9", false),
            ("fd99::1", false),
        ] {
            assert_eq!(crosses(&uplinks, far), wanted, "{far}");
        }
    }

    /// An access point in the LAN: its default route leaves by the LAN itself.
    #[test]
    fn the_network_of_the_uplink_is_inside_for_its_own_stations() {
        let uplinks = Uplinks::of(
            vec![
                route("0.0.0.0/0", BRIDGE, Some("192.168.1.1")),
                route("192.168.1.0/24", BRIDGE, None),
                route("10.1.0.0/16", BRIDGE, Some("192.168.1.2")),
                route("10.2.0.0/16", BRIDGE, Some("192.168.1.1")),
            ],
            "",
        );
        for (far, wanted) in [
            ("192.168.1.9", false),
            ("10.1.0.1", false),
            ("10.2.0.1", true),
            ("192.0.2.1", true),
        ] {
            assert_eq!(crosses(&uplinks, far), wanted, "{far}");
        }
    }

    /// Of routes with equal prefixes, the one of the lower metric counts.
    #[test]
    fn the_lower_metric_counts() {
        let mut second = route("10.1.0.0/16", WAN, Some("192.0.2.1"));
        second.metric = 7;
        let uplinks = Uplinks::of(
            vec![
                route("0.0.0.0/0", WAN, Some("192.0.2.1")),
                second,
                route("10.1.0.0/16", BRIDGE, None),
            ],
            "",
        );
        assert!(!crosses(&uplinks, "10.1.0.1"));
    }

    #[test]
    fn nonsense_is_nothing() {
        let mut found = Uplinks::default();
        for text in ["", "\n\n", "a b c\nd", "x\n\0 00000000"] {
            found.sessions(text);
        }
        assert!(found.below_ppp.is_empty());
    }
}
