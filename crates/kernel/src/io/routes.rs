//! Reading routes and rules.

use std::collections::{HashMap, HashSet};
use std::hash::RandomState;
use std::net::IpAddr;

use super::RequestError;
use super::request_socket::{End, RequestSocket};
use super::socket::Netlink;
use crate::policy;
use crate::policy::request::{dump_exceptions, dump_routes, dump_rules};
use crate::prefix::Prefix;
use crate::routes::{
    Routing, decode_exception, decode_lifetime, decode_program, decode_route, decode_rule,
};

/// Reason why routes were not read.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// More routes than the maximum.
    #[error("there are more than {0} routes")]
    TooMany(usize),
    /// The routes changed during each read.
    #[error("routes change while they are read")]
    Unsteady,
    /// The kernel does not answer as it should.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Reads the rules and at most `most` routes of a family, of the network namespace of the calling
/// thread. Does not wait; takes some 50 ms for 100,000 routes.
///
/// # Errors
/// See [`RoutesError`].
pub fn read_routes(ipv6: bool, most: usize) -> Result<Routing, RoutesError> {
    let mut routing = Routing::default();
    let mut kernel = RequestSocket::open(Netlink::Route, "routes")?;
    let question = |sequence| dump_rules(ipv6, sequence);
    let rules = kernel.ask("policy rules", question, |message| {
        routing.rules.extend(decode_rule(message)?);
        Ok(routing.rules.len() <= most)
    })?;
    let question = |sequence| dump_routes(ipv6, sequence);
    let routes = kernel.ask("routes", question, |message| {
        routing.routes.extend(decode_route(message)?);
        Ok(routing.routes.len() <= most)
    })?;
    match (rules, routes) {
        (End::Whole, End::Whole) => Ok(routing),
        (End::Enough, _) | (_, End::Enough) => Err(RoutesError::TooMany(most)),
        (End::Torn, _) | (_, End::Torn) => Err(RoutesError::Unsteady),
    }
}

/// Reads the remaining milliseconds of each IPv6 route with a lifetime, of at most `most` routes.
/// IPv4 routes have no lifetime.
///
/// # Errors
/// See [`RoutesError`].
pub fn read_lifetimes(most: usize) -> Result<Vec<u64>, RoutesError> {
    let mut found = Vec::new();
    let mut count = 0;
    let mut kernel = RequestSocket::open(Netlink::Route, "routes")?;
    let question = |sequence| dump_routes(true, sequence);
    let end = kernel.ask("routes", question, |message| {
        count += 1;
        found.extend(decode_lifetime(message)?);
        Ok(count <= most)
    })?;
    match end {
        End::Whole => Ok(found),
        End::Enough => Err(RoutesError::TooMany(most)),
        End::Torn => Err(RoutesError::Unsteady),
    }
}

/// Next hops of all routes that affect single packets: shared gateways and programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextHops {
    /// Gateways that share a destination with others, each with its device: the kernel may choose
    /// among them by whether they answer.
    pub shared: HashSet<(u32, IpAddr)>,
    /// Destinations with a program or a counter that sees each packet, see [`decode_program`].
    pub programs: Vec<Prefix>,
}

/// Reads the next hops of at most `most` routes of a family. Does not wait; takes some 50 ms for
/// 100,000 routes.
///
/// # Errors
/// See [`RoutesError`].
pub fn read_next_hops(most: usize) -> Result<NextHops, RoutesError> {
    let NextHops {
        mut shared,
        mut programs,
    } = NextHops::default();
    let mut kernel = RequestSocket::open(Netlink::Route, "routes")?;
    for ipv6 in [false, true] {
        let mut first = HashMap::new();
        let mut count = 0;
        let question = |sequence| dump_routes(ipv6, sequence);
        let end = kernel.ask("routes", question, |message| {
            count += 1;
            programs.extend(decode_program(message)?);
            let Some(route) = policy::decode_route(message)? else {
                return Ok(count <= most);
            };
            let gateways = route.hops.iter().filter_map(|hop| {
                let gateway = hop.gateway?;
                Some((hop.link, gateway))
            });
            for gateway in gateways {
                let known = *first.entry((route.table, route.to)).or_insert(gateway);
                if known != gateway {
                    shared.extend([known, gateway]);
                }
            }
            Ok(count <= most)
        })?;
        match end {
            End::Whole => {}
            End::Enough => return Err(RoutesError::TooMany(most)),
            End::Torn => return Err(RoutesError::Unsteady),
        }
    }
    programs.sort_unstable();
    programs.dedup();
    Ok(NextHops { shared, programs })
}

/// Exceptions that the kernel learned about single destinations by ICMP: path MTUs and gateways.
/// Exceptions count for forwarded packets, too, and no message reports them.
#[derive(Debug)]
pub struct Exceptions {
    kernel: RequestSocket,
    hasher: RandomState,
}

impl Exceptions {
    /// Opens the socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel cannot filter dumps (before 4.20).
    pub fn open() -> Result<Self, RequestError> {
        Ok(Self {
            kernel: RequestSocket::open_strict(Netlink::Route, "exceptions of routes")?,
            hasher: RandomState::new(),
        })
    }

    /// Returns one number for all exceptions, to compare with the number of an earlier reading.
    /// Does not wait; the kernel walks all routes for the number.
    ///
    /// # Errors
    /// The kernel's answer is malformed.
    pub fn read(&mut self) -> Result<u64, RequestError> {
        let Self { kernel, hasher } = self;
        let mut all = 0u64;
        for ipv6 in [false, true] {
            let question = |sequence| dump_exceptions(ipv6, sequence);
            kernel.ask("exceptions of routes", question, |message| {
                let one = decode_exception(message, hasher)?;
                // In no order.
                all = all.wrapping_add(one.unwrap_or(0));
                Ok(true)
            })?;
        }
        Ok(all)
    }
}
