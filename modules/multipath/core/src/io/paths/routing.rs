//! Rules and routes: each path's table, and which packets go by it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kernel::Prefix;
use kernel::io::{Policy, RequestError, RoutesError};
use kernel::policy::{self, Hop, Route, Rule};
use kernel::routes::RouteKind;
use kernel::uplinks::{Picture, Uplink};
use tracing::warn;

use crate::lock::LOCK_MARK;
use crate::nft::{MARK, TUNNEL_MARK};

/// Rules before these are others': mwan3 begins at 1001, the kernel's own are behind 32765.
const PRIORITY: u32 = 900;
/// Tables from here on: weir's, by the path's device.
const TABLE: u32 = 934_700_000;
/// Where what is redirected is this machine's own.
const REDIRECTED: u32 = TABLE - 1;
/// Where all leads into the tunnel.
const TUNNELED: u32 = TABLE - 2;
/// Where all is dropped, and the rules that lead there: behind those that lead to the partner.
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
    /// Devices whose clients are locked in.
    locked: Vec<String>,
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

impl Routing {
    /// In the network namespace of this thread. What a weir left that was killed is taken away.
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

    /// All that uplinks are found by.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn picture(&mut self) -> Result<Picture, RoutesError> {
        self.policy.picture()
    }

    /// What is marked for the tunnel goes by this device; `None`: as all else. Whether that is new.
    pub fn tunnel(&mut self, link: Option<u32>) -> bool {
        std::mem::replace(&mut self.tunnel, link) != link
    }

    /// What comes in by these devices leads nowhere, but where the lock's rules looked at it. Whether that is new.
    pub fn lock(&mut self, devices: &[String]) -> bool {
        let new = self.locked != devices;
        self.locked = devices.to_vec();
        new
    }

    /// Where the partner is. Whether that is new.
    pub fn lead_to(&mut self, partner: &[SocketAddr]) -> bool {
        let mut partner: Vec<_> = partner.iter().map(SocketAddr::ip).collect();
        partner.sort_unstable();
        partner.dedup();
        let new = self.partner != partner;
        self.partner = partner;
        new
    }

    /// Rules and routes as they should be, for these paths.
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
                let to = Prefix::only(*partner);
                rules.push(Rule {
                    ipv6: uplink.ipv6(),
                    priority: PRIORITY + number,
                    from: Some(Prefix::only(uplink.address)),
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

    /// The lock's table marks what comes from clients. Where somebody took it away, what has no mark
    /// is dropped until it is back.
    fn locked_in(&self, rules: &mut Vec<Rule>, routes: &mut Vec<Route>) {
        if self.locked.is_empty() {
            return;
        }
        for ipv6 in [false, true] {
            let none = match ipv6 {
                false => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                true => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let all = Prefix::around(none, 0);
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

    /// Writes what is missing, and removes what is too much: nothing where all is as it should be,
    /// as each change is an event again.
    pub fn write<'a>(&mut self, used: impl Iterator<Item = &'a Uplink>) {
        let (rules, routes) = self.wanted(used);
        if let Err(error) = self.correct(&rules, &routes) {
            warn!(%error, "rules and routes of paths are not as they should be");
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

    /// Leaves the kernel's tables as they were.
    pub fn leave(&mut self) {
        if let Err(error) = self.policy.clear(policy::PROTOCOL) {
            warn!(%error, "rules and routes are left: `ip rule show protocol 119`");
        }
    }
}

/// The same way: the kernel fills in what was not asked for.
fn same(is: &Route, wanted: &Route) -> bool {
    let hop = |route: &Route| route.hops.first().map(|hop| (hop.link, hop.gateway));
    // Of IPv6, `lo` is the hop of what leads nowhere.
    let nowhere = wanted.hops.is_empty();
    (is.to, is.table, is.kind) == (wanted.to, wanted.table, wanted.kind)
        && (nowhere || hop(is) == hop(wanted))
}
