//! Decides whether the packet path may know a connection, from the connection alone.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use kernel::{Prefix, Protocol, Tuple, status};

use crate::decline::DeclineReason;
use crate::flow::{ENDING, Flow, TCP_ESTABLISHED};
use crate::route_programs::RoutePrograms;
use crate::ruleset::{PerPacketRule, Subject};
use crate::settings::Settings;

/// Maximum number of comparisons of connections with rules for the cost of each rule.
const MOST_COMPARED: usize = 1_000_000;

/// State of the router that keeps connections with the kernel.
#[derive(Default)]
pub(crate) struct Eligibility {
    /// Own address → on how many devices.
    own: HashMap<IpAddr, u32>,
    /// Per-packet rules, as last read.
    concerns: Vec<PerPacketRule>,
    /// Addresses whose rate weir limits.
    slowed: HashSet<IpAddr>,
    /// Routes with a program that sees each packet.
    programs: RoutePrograms,
}

impl Eligibility {
    /// Records this address on one more device of the router.
    pub(crate) fn add_own(&mut self, address: IpAddr) {
        *self.own.entry(address).or_default() += 1;
    }

    /// Records this address on one device less.
    pub(crate) fn remove_own(&mut self, address: IpAddr) {
        if let Some(count) = self.own.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.own.remove(&address);
            }
        }
    }

    /// Sets the per-packet rules. Returns true if they changed.
    pub(crate) fn set_concerns(&mut self, concerns: Vec<PerPacketRule>) -> bool {
        let changed = concerns != self.concerns;
        self.concerns = concerns;
        changed
    }

    /// Sets the addresses whose rate weir limits. Returns true if they changed.
    pub(crate) fn set_slowed(&mut self, addresses: &HashSet<IpAddr>) -> bool {
        let changed = *addresses != self.slowed;
        if changed {
            self.slowed.clone_from(addresses);
        }
        changed
    }

    /// Sets the routes with a program. Returns true if that changed anything.
    pub(crate) fn set_programs(&mut self, routes: &[Prefix]) -> bool {
        let programs = RoutePrograms::new(routes);
        let changed = programs != self.programs;
        self.programs = programs;
        changed
    }

    /// Returns the per-packet rules, as last read.
    pub(crate) fn concerns(&self) -> &[PerPacketRule] {
        &self.concerns
    }

    /// Returns the first rule that may see each packet of a connection, if such rules are
    /// respected.
    pub(crate) fn concern(&self, flow: &Flow, settings: &Settings) -> Option<&PerPacketRule> {
        let subject = subject(flow);
        let mut rules = self.concerns.iter().filter(|_| settings.each_packet);
        rules.find(|rule| rule.touches(&subject))
    }

    /// Returns the number of connections that each rule leaves to the kernel, of `left` for all
    /// rules.
    pub(crate) fn costs<'a>(
        &self,
        flows: impl Iterator<Item = &'a Flow>,
        left: usize,
    ) -> Vec<usize> {
        let mut costs = vec![0; self.concerns.len()];
        // A sample of every n-th connection replaces a very long list.
        let step = 1 + left * self.concerns.len() / MOST_COMPARED;
        for flow in flows.step_by(step) {
            let subject = subject(flow);
            for (cost, rule) in costs.iter_mut().zip(&self.concerns) {
                *cost += if rule.touches(&subject) { step } else { 0 };
            }
        }
        costs
    }

    /// Returns the first reason against a connection, if any.
    ///
    /// Lasting reasons come before passing ones, so that the user sees the reason that would have
    /// to change.
    pub(crate) fn judge(&self, flow: &Flow, settings: &Settings) -> Result<(), DeclineReason> {
        let original = &flow.id.original;
        let reply = &flow.reply;
        let refuse =
            |condition: bool, reason: DeclineReason| if condition { Err(reason) } else { Ok(()) };

        let enabled = match original.protocol {
            Protocol::Tcp => settings.tcp,
            Protocol::Udp => settings.udp,
        };
        refuse(!enabled, DeclineReason::ProtocolOff)?;
        refuse(settings.no_events, DeclineReason::NoEvents)?;
        let bits = flow.status.ok_or(DeclineReason::StatusUnknown)?;
        refuse(bits & status::DYING != 0, DeclineReason::Dying)?;
        refuse(
            bits & status::CONFIRMED == 0 || bits & status::TEMPLATE != 0,
            DeclineReason::NotConfirmed,
        )?;
        refuse(bits & status::NAT_CLASH != 0, DeclineReason::Clash)?;
        refuse(
            flow.helper || bits & status::HELPER != 0,
            DeclineReason::Helper,
        )?;
        refuse(
            flow.sequence_adjusted || bits & status::SEQ_ADJUST != 0,
            DeclineReason::SequenceAdjusted,
        )?;
        refuse(
            bits & (status::OFFLOAD | status::HW_OFFLOAD) != 0,
            DeclineReason::Flowtable,
        )?;
        refuse(
            settings.opt_out.is_some_and(|mark| mark.matches(flow.mark)),
            DeclineReason::OptedOut,
        )?;

        refuse(!belong_together(original, reply), DeclineReason::Malformed)?;
        let addresses = [
            &original.source,
            &original.destination,
            &reply.source,
            &reply.destination,
        ];
        refuse(
            addresses.into_iter().any(special),
            DeclineReason::SpecialAddress,
        )?;
        refuse(
            original.source == original.destination || reply.source == reply.destination,
            DeclineReason::SameEndpoints,
        )?;
        // Answers come from the address to which the original direction's packets go after
        // translation. So this check also finds connections that a `redirect` rule directed to this
        // router, and accepts those to a local address that were translated onwards.
        refuse(self.own.contains_key(&reply.source), DeclineReason::LocalIn)?;
        refuse(
            self.own.contains_key(&original.source),
            DeclineReason::LocalOut,
        )?;
        refuse(
            addresses
                .into_iter()
                .any(|address| self.slowed.contains(address)),
            DeclineReason::RateLimited,
        )?;
        refuse(
            self.concern(flow, settings).is_some(),
            DeclineReason::EachPacket,
        )?;
        // Checks the addresses of the route look-ups, in both directions.
        refuse(
            self.programs.concern(&reply.source) || self.programs.concern(&original.source),
            DeclineReason::RouteProgram,
        )?;
        if let Some(reason) = flow.refusal {
            return Err(reason);
        }

        match original.protocol {
            Protocol::Tcp => match flow.tcp_state {
                Some(TCP_ESTABLISHED) => Ok(()),
                Some(state) if ENDING.contains(&state) => Err(DeclineReason::Ended),
                _ => Err(DeclineReason::NotEstablished),
            },
            Protocol::Udp => refuse(bits & status::SEEN_REPLY == 0, DeclineReason::NoReply),
        }
    }
}

/// Describes a connection to the rules.
fn subject(flow: &Flow) -> Subject<'_> {
    Subject {
        original: &flow.id.original,
        reply: &flow.reply,
        mark: flow.mark,
    }
}

/// Returns true if protocol and address family are the same in both tuples.
fn belong_together(original: &Tuple, reply: &Tuple) -> bool {
    let six = original.source.is_ipv6();
    original.protocol == reply.protocol
        && [original.destination, reply.source, reply.destination]
            .iter()
            .all(|address| address.is_ipv6() == six)
}

/// Returns true for addresses that no router forwards, or that routers forward in a special way.
fn special(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            // 0.0.0.0/8 is "this network" (RFC 1122, 3.2.1.3).
            v4.octets()[0] == 0
                || v4.is_loopback()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.is_link_local()
        }
        IpAddr::V6(v6) => {
            v6.is_unspecified()
                || v6.is_loopback()
                || v6.is_multicast()
                || v6.is_unicast_link_local()
                || v6.to_ipv4_mapped().is_some()
        }
    }
}
