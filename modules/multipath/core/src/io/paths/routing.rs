//! Rules and routes: each path's table, and the packets that use it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kernel::Prefix;
use kernel::io::{Policy, RequestError, RoutesError};
use kernel::policy::{self, Hop, Route, Rule};
use kernel::routes::RouteKind;
use kernel::uplinks::{RoutingSnapshot, Uplink};
use tracing::warn;

use crate::lock::LOCK_MARK;
use crate::nft::{MARK, TUNNEL_MARK};

/// Priority of the first rule; mwan3's begin at 1001, and the kernel's own are behind 32765.
const PRIORITY: u32 = 900;
/// First of weir's tables, one per path's device.
const TABLE: u32 = 934_700_000;
/// Table that delivers redirected packets to this machine.
const REDIRECTED: u32 = TABLE - 1;
/// Table that routes all packets into the tunnel.
const TUNNELED: u32 = TABLE - 2;
/// Table that drops all packets, and the priority of its rules: behind those of the partner.
const LOCKED: u32 = TABLE - 3;
const LOCKED_PRIORITY: u32 = PRIORITY + 90;
/// `lo`.
const LOOPBACK: u32 = 1;

/// The kernel's rules and routes of paths.
pub struct Routing {
    policy: Policy,
    partner: Vec<IpAddr>,
    /// Index of the tunnel's device, while packets go by it.
    tunnel: Option<u32>,
    /// Devices with locked clients.
    locked: Vec<String>,
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

impl Routing {
    /// Opens the tables of this thread's network namespace, without remains of a killed weir.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn open() -> io::Result<Self> {
        let mut policy = Policy::open().map_err(failed)?;
        policy.clear(policy::PROTOCOL).map_err(failed)?;
        Ok(Self {
            policy,
            partner: Vec::new(),
            tunnel: None,
            locked: Vec::new(),
        })
    }

    /// Reads all that uplinks are found by.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn picture(&mut self) -> Result<RoutingSnapshot, RoutesError> {
        self.policy.snapshot()
    }

    /// Sets the tunnel's device for marked packets; `None`: no tunnel. Returns true if that is new.
    pub fn tunnel(&mut self, link: Option<u32>) -> bool {
        std::mem::replace(&mut self.tunnel, link) != link
    }

    /// Sets the devices whose packets are dropped unless the lock marked them. Returns true if new.
    pub fn lock(&mut self, devices: &[String]) -> bool {
        let new = self.locked != devices;
        self.locked = devices.to_vec();
        new
    }

    /// Sets the partner's addresses. Returns true if they are new.
    pub fn lead_to(&mut self, partner: &[SocketAddr]) -> bool {
        let mut partner: Vec<_> = partner.iter().map(SocketAddr::ip).collect();
        partner.sort_unstable();
        partner.dedup();
        let new = self.partner != partner;
        self.partner = partner;
        new
    }

    /// Returns the rules and routes that these paths need.
    fn wanted<'a>(&self, used: impl Iterator<Item = &'a Uplink>) -> (Vec<Rule>, Vec<Route>) {
        let (mut rules, mut routes) = (Vec::new(), Vec::new());
        for ipv6 in [false, true] {
            let all = match ipv6 {
                false => "0.0.0.0/0".parse(),
                true => "::/0".parse(),
            };
            let Ok(all) = all else { continue };
            rules.push(Rule {
                ipv6,
                priority: PRIORITY,
                mark: Some((MARK, MARK)),
                table: REDIRECTED,
                ..Rule::default()
            });
            let mut local = Route::without_hop(all, REDIRECTED, RouteKind::Local);
            local.hops.push(Hop {
                link: LOOPBACK,
                ..Hop::default()
            });
            routes.push(local);
            if let Some(link) = self.tunnel {
                rules.push(Rule {
                    ipv6,
                    priority: PRIORITY,
                    mark: Some((TUNNEL_MARK, TUNNEL_MARK)),
                    table: TUNNELED,
                    ..Rule::default()
                });
                let hop = Hop {
                    link,
                    ..Hop::default()
                };
                routes.push(Route::new(all, TUNNELED, hop));
            }
        }
        self.locked_in(&mut rules, &mut routes);
        for (number, uplink) in (1..).zip(used) {
            let table = TABLE + uplink.link;
            for partner in self.partner.iter().filter(|p| p.is_ipv6() == uplink.ipv6()) {
                let to = Prefix::host(*partner);
                rules.push(Rule {
                    ipv6: uplink.ipv6(),
                    priority: PRIORITY + number,
                    from: Some(Prefix::host(uplink.address)),
                    to: Some(to),
                    table,
                    ..Rule::default()
                });
                let hop = Hop {
                    link: uplink.link,
                    gateway: uplink.gateway,
                    // A gateway beyond the device's own network is one all the same.
                    onlink: uplink.gateway.is_some(),
                };
                routes.push(Route::new(to, table, hop));
            }
        }
        (rules, routes)
    }

    /// Drops clients' packets without a mark. The lock's table marks them; if another program
    /// removes that table, nothing passes until it is back.
    fn locked_in(&self, rules: &mut Vec<Rule>, routes: &mut Vec<Route>) {
        if self.locked.is_empty() {
            return;
        }
        for ipv6 in [false, true] {
            let none = match ipv6 {
                false => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                true => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let all = Prefix::truncated(none, 0);
            routes.push(Route::without_hop(all, LOCKED, RouteKind::Blackhole));
            rules.extend(self.locked.iter().map(|device| Rule {
                ipv6,
                priority: LOCKED_PRIORITY,
                mark: Some((0, LOCK_MARK)),
                iif: Some(device.clone()),
                table: LOCKED,
                ..Rule::default()
            }));
        }
    }

    /// Adds missing rules and routes, and removes surplus ones; writes nothing if all is correct,
    /// as each change is an event again.
    pub fn write<'a>(&mut self, used: impl Iterator<Item = &'a Uplink>) {
        let (rules, routes) = self.wanted(used);
        if let Err(error) = self.correct(&rules, &routes) {
            warn!(%error, "cannot correct the rules and routes of paths");
        }
    }

    fn correct(&mut self, rules: &[Rule], routes: &[Route]) -> io::Result<()> {
        let own = |route: &Route| route.protocol == policy::PROTOCOL;
        let (mut are_rules, mut are_routes) = (Vec::new(), Vec::new());
        for ipv6 in [false, true] {
            let found = self.policy.rules(ipv6).map_err(failed)?;
            are_rules.extend(found.into_iter().filter(|r| r.protocol == policy::PROTOCOL));
            are_routes.extend(self.policy.routes(ipv6, own).map_err(failed)?);
        }
        let mut first = Ok(());
        let mut note = |result: Result<(), RequestError>| {
            if let Err(error) = result
                && first.is_ok()
            {
                first = Err(failed(error));
            }
        };
        for route in routes {
            if !are_routes.iter().any(|is| same(is, route)) {
                note(self.policy.set_route(route));
            }
        }
        for rule in rules.iter().filter(|rule| !are_rules.contains(rule)) {
            note(self.policy.add_rule(rule).map(drop));
        }
        for rule in are_rules.iter().filter(|rule| !rules.contains(rule)) {
            note(self.policy.remove_rule(rule).map(drop));
        }
        for route in &are_routes {
            if !routes.iter().any(|wanted| same(route, wanted)) {
                note(self.policy.remove_route(route).map(drop));
            }
        }
        first
    }

    /// Restores the kernel's tables.
    pub fn leave(&mut self) {
        if let Err(error) = self.policy.clear(policy::PROTOCOL) {
            warn!(%error, "cannot remove rules and routes: see `ip rule show protocol 119`");
        }
    }
}

/// Returns true if two routes are equal, but for attributes that the kernel filled in.
fn same(is: &Route, wanted: &Route) -> bool {
    let hop = |route: &Route| route.hops.first().map(|hop| (hop.link, hop.gateway));
    // In IPv6, a route without a next hop has `lo` as its hop.
    let nowhere = wanted.hops.is_empty();
    (is.to, is.table, is.kind) == (wanted.to, wanted.table, wanted.kind)
        && (nowhere || hop(is) == hop(wanted))
}
