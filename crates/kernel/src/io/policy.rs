//! Policy rules and routes: reads, writes and removes them.

use std::net::IpAddr;

use nix::errno::Errno;

use super::request_socket::{RequestSocket, unless};
use super::socket::Netlink;
use super::{RequestError, RoutesError};
use crate::event::{Event, Link};
use crate::message::{DecodeError, Message};
use crate::policy::{Route, Rule, decode_route, decode_rule, request};
use crate::route::{self, Table, decode_address};
use crate::uplinks::RoutingSnapshot;

/// The rules and routes of a network namespace. Writing needs CAP_NET_ADMIN. Nothing here waits.
#[derive(Debug)]
pub struct Policy {
    kernel: RequestSocket,
}

impl Policy {
    /// Opens the socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn open() -> Result<Self, RequestError> {
        RequestSocket::open(Netlink::Route, "rules and routes").map(|kernel| Self { kernel })
    }

    /// Returns all rules of a family, by priority. Empty if the kernel lacks the family.
    ///
    /// # Errors
    /// The rules change while they are read, or the kernel does not answer as it should.
    pub fn rules(&mut self, ipv6: bool) -> Result<Vec<Rule>, RoutesError> {
        let question = |sequence| request::dump_rules(ipv6, sequence);
        self.collect("policy rules", question, decode_rule)
    }

    /// Returns all routes of a family that `wanted` accepts, of all tables. Takes some 50 ms for
    /// 100,000 routes.
    ///
    /// # Errors
    /// As for [`rules`](Self::rules).
    pub fn routes(
        &mut self,
        ipv6: bool,
        wanted: impl Fn(&Route) -> bool,
    ) -> Result<Vec<Route>, RoutesError> {
        let question = |sequence| request::dump_routes(ipv6, sequence);
        self.collect("routes", question, |message| {
            Ok(decode_route(message)?.filter(&wanted))
        })
    }

    /// Returns the index of the egress device for a packet from this machine to this address.
    /// `None`: no route.
    ///
    /// # Errors
    /// The kernel's answer is malformed.
    pub fn way_to(&mut self, address: IpAddr) -> Result<Option<u32>, RequestError> {
        let question = |sequence| request::way_to(address, sequence);
        let asked = self
            .kernel
            .ask_one("the way to an address", question, request::decode_way);
        unless(
            asked,
            &[
                Errno::ENETUNREACH,
                Errno::EHOSTUNREACH,
                Errno::EACCES,
                Errno::EINVAL,
            ],
        )
    }

    /// Adds a rule. `false`: an equal rule exists already, from any origin.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<bool, RequestError> {
        let answer = self.write("a new policy rule", |sequence| {
            request::add_rule(rule, sequence)
        });
        unless(answer, &[Errno::EEXIST]).map(|done| done.is_some())
    }

    /// Removes a rule with all of these attributes, its protocol included. `false`: no such rule.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove_rule(&mut self, rule: &Rule) -> Result<bool, RequestError> {
        let answer = self.write("removal of a policy rule", |sequence| {
            request::remove_rule(rule, sequence)
        });
        unless(answer, &[Errno::ENOENT]).map(|done| done.is_some())
    }

    /// Makes this the only rule of its family, priority and protocol: adds it if it is not there,
    /// then removes the others. Returns true if anything had to be done.
    ///
    /// # Errors
    /// The kernel refused, or the rules change while they are read.
    pub fn set_rule(&mut self, rule: &Rule) -> Result<bool, RoutesError> {
        let mut done = self.add_rule(rule)?;
        for other in self.rules(rule.ipv6)? {
            let place = |rule: &Rule| (rule.priority, rule.protocol);
            if place(&other) == place(rule) && other != *rule {
                done |= self.remove_rule(&other)?;
            }
        }
        Ok(done)
    }

    /// Makes this the route to its prefix, of its metric, in its table: adds it, or replaces
    /// another.
    ///
    /// # Errors
    /// The kernel refused: ENETUNREACH, the gateway is not there; ENETDOWN and ENODEV, the device
    /// is not.
    pub fn set_route(&mut self, route: &Route) -> Result<(), RequestError> {
        self.write("a new route", |sequence| {
            request::set_route(route, sequence)
        })
    }

    /// Removes a route. `false`: no such route, or its device went and took it along.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn remove_route(&mut self, route: &Route) -> Result<bool, RequestError> {
        let answer = self.write("removal of a route", |sequence| {
            request::remove_route(route, sequence)
        });
        unless(answer, &[Errno::ESRCH, Errno::ENODEV]).map(|done| done.is_some())
    }

    /// Removes all rules, then all routes of both families that have this protocol: with
    /// [`PROTOCOL`](crate::policy::PROTOCOL), all that weir wrote, now or before it was killed.
    /// Returns their number. A failure does not keep the rest from being removed; the first failure
    /// is returned.
    ///
    /// # Errors
    /// The kernel refused, or they change while they are read.
    pub fn clear(&mut self, protocol: u8) -> Result<usize, RoutesError> {
        let mut removed = 0;
        let mut failed = None;
        type Question = fn(bool, u32) -> Vec<u8>;
        for dump in [request::dump_rules as Question, request::dump_routes] {
            for ipv6 in [false, true] {
                let told = self.collect(
                    "rules and routes of weir",
                    |sequence| dump(ipv6, sequence),
                    |message| {
                        let own = request::protocol_of(message)? == Some(protocol);
                        Ok(own.then(|| request::remove_told(message)))
                    },
                );
                match told {
                    Ok(told) => {
                        for (kind, payload) in told {
                            let answer = self.write("removal of a rule or a route", |sequence| {
                                request::whole(kind, &payload, sequence)
                            });
                            match unless(answer, &[Errno::ENOENT, Errno::ESRCH, Errno::ENODEV]) {
                                Ok(gone) => removed += usize::from(gone.is_some()),
                                Err(error) => failed = failed.or(Some(error.into())),
                            }
                        }
                    }
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        failed.map_or(Ok(removed), Err)
    }

    /// Returns all devices.
    ///
    /// # Errors
    /// As for [`rules`](Self::rules).
    pub fn links(&mut self) -> Result<Vec<Link>, RoutesError> {
        self.collect(
            "devices",
            |sequence| route::dump(Table::Links, sequence),
            |message| {
                Ok(match route::decode_message(message)? {
                    Some(Event::Link(link)) => Some(link),
                    _ => None,
                })
            },
        )
    }

    /// Reads the data that show which devices lead out: for [`Uplinks`](crate::uplinks::Uplinks).
    /// Reads all routes, and keeps the default ones.
    ///
    /// # Errors
    /// As for [`rules`](Self::rules).
    pub fn snapshot(&mut self) -> Result<RoutingSnapshot, RoutesError> {
        let mut picture = RoutingSnapshot {
            links: self.links()?,
            addresses: self.collect(
                "addresses",
                |sequence| route::dump(Table::Addresses, sequence),
                |message| Ok(decode_address(message)?.map(|(address, _)| address)),
            )?,
            ..RoutingSnapshot::default()
        };
        for ipv6 in [false, true] {
            picture.rules.extend(self.rules(ipv6)?);
            let defaults = self.routes(ipv6, |route| route.to.length == 0)?;
            picture.defaults.extend(defaults);
        }
        Ok(picture)
    }

    fn collect<T>(
        &mut self,
        what: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<Vec<T>, RoutesError> {
        let answer = self.kernel.collect(what, question, decode);
        let found = unless(answer, &[Errno::EAFNOSUPPORT, Errno::EOPNOTSUPP])?;
        found
            .unwrap_or_else(|| Some(Vec::new()))
            .ok_or(RoutesError::Unsteady)
    }

    fn write(
        &mut self,
        what: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
    ) -> Result<(), RequestError> {
        self.kernel.order(what, question)
    }
}
