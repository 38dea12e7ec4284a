//! May this connection be made known to the packet path? What can be said by looking at it alone.

use std::net::IpAddr;

use kernel::{Protocol, Tuple, status};

use crate::decline::Decline;
use crate::flow::{ENDING, Flow, TCP_ESTABLISHED};
use crate::settings::Settings;

/// The first reason against a connection, or none. `ours`: whether an address is this router's;
/// `concerned`: whether a rule may look at each packet; `slowed`: whether weir has the rate of an
/// address limited; `programmed`: whether a program on a route to an address sees each packet.
///
/// Reasons that last come before those that pass, so that what is shown is what would have to
/// change.
pub(crate) fn judge(
    flow: &Flow,
    settings: &Settings,
    ours: impl Fn(&IpAddr) -> bool,
    concerned: impl Fn(&Flow) -> bool,
    slowed: impl Fn(&IpAddr) -> bool,
    programmed: impl Fn(&IpAddr) -> bool,
) -> Result<(), Decline> {
    let original = &flow.id.original;
    let reply = &flow.reply;
    let refuse = |condition: bool, reason: Decline| if condition { Err(reason) } else { Ok(()) };

    let enabled = match original.protocol {
        Protocol::Tcp => settings.tcp,
        Protocol::Udp => settings.udp,
    };
    refuse(!enabled, Decline::ProtocolOff)?;
    refuse(settings.no_events, Decline::NoEvents)?;
    let bits = flow.status.ok_or(Decline::StatusUnknown)?;
    refuse(bits & status::DYING != 0, Decline::Dying)?;
    refuse(
        bits & status::CONFIRMED == 0 || bits & status::TEMPLATE != 0,
        Decline::NotConfirmed,
    )?;
    refuse(bits & status::NAT_CLASH != 0, Decline::Clash)?;
    refuse(flow.helper || bits & status::HELPER != 0, Decline::Helper)?;
    refuse(
        flow.sequence_adjusted || bits & status::SEQ_ADJUST != 0,
        Decline::SequenceAdjusted,
    )?;
    refuse(
        bits & (status::OFFLOAD | status::HW_OFFLOAD) != 0,
        Decline::Flowtable,
    )?;
    refuse(
        settings.opt_out.is_some_and(|mark| mark.matches(flow.mark)),
        Decline::OptedOut,
    )?;

    refuse(!belong_together(original, reply), Decline::Malformed)?;
    let addresses = [
        &original.source,
        &original.destination,
        &reply.source,
        &reply.destination,
    ];
    refuse(addresses.into_iter().any(special), Decline::SpecialAddress)?;
    refuse(
        original.source == original.destination || reply.source == reply.destination,
        Decline::SelfTalk,
    )?;
    // Where the original direction's packets go after translation is where the answers come from.
    // So this also finds what a `redirect` rule turned to this router, and lets pass what came to
    // one of our addresses and was translated onwards.
    refuse(ours(&reply.source), Decline::LocalIn)?;
    refuse(ours(&original.source), Decline::LocalOut)?;
    refuse(addresses.into_iter().any(slowed), Decline::RateLimited)?;
    refuse(concerned(flow), Decline::EachPacket)?;
    // By the addresses that routes are looked up by, both ways.
    refuse(
        programmed(&reply.source) || programmed(&original.source),
        Decline::RouteProgram,
    )?;
    if let Some(reason) = flow.refusal {
        return Err(reason);
    }

    match original.protocol {
        Protocol::Tcp => match flow.tcp_state {
            Some(TCP_ESTABLISHED) => Ok(()),
            Some(state) if ENDING.contains(&state) => Err(Decline::Ended),
            _ => Err(Decline::NotEstablished),
        },
        Protocol::Udp => refuse(bits & status::SEEN_REPLY == 0, Decline::NoReply),
    }
}

/// One protocol and one address family all through.
fn belong_together(original: &Tuple, reply: &Tuple) -> bool {
    let six = original.source.is_ipv6();
    original.protocol == reply.protocol
        && [original.destination, reply.source, reply.destination]
            .iter()
            .all(|address| address.is_ipv6() == six)
}

/// Addresses that no router forwards, or not like others.
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
