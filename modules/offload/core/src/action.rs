//! Actions that the core asks its caller to carry out.

use std::fmt;

use kernel::{ConnectionId, Mac, Source, Tuple};

use crate::ports::PortPlan;

/// Identity of one tracked connection, and of both its records in the packet path: a slab index.
///
/// After an [`Action::Install`] or [`Action::Remove`], a number is not reused before two calls of
/// [`crate::Core::tick`] have passed. A caller that applies the actions at least once between two
/// ticks therefore never sees one number for two connections at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u32);

/// Numbers from here on are of pairs of stations behind bridges, not of connections.
pub const PAIRS: u32 = 1 << 31;

/// Counters and flags that the packet path reports for one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Packets forwarded since the install.
    pub packets: u64,
    /// Bytes of IP packets forwarded since the install.
    pub bytes: u64,
    /// True if the kernel's forwarding is proven at present.
    pub proven: bool,
    /// Counter that changes each time that the kernel gets a packet of this direction, which it
    /// knows but may not forward.
    pub trials: u32,
    /// The length of the last of these, bytes of the IP packet.
    pub shown_length: u16,
}

/// Direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Direction of the first packet.
    Original,
    /// The way back.
    Reply,
}

/// Reason why all proofs end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The nftables ruleset or an element of a set changed; the new generation.
    Firewall(u32),
    /// A route, rule or next hop changed.
    Routing,
    /// A device changed in a way that matters, or is gone; its name.
    Link(String),
    /// An address of this router came or went.
    Address,
    /// More neighbours or stations changed than weir tracks individually.
    Neighbours,
    /// A station of a bridge moved or was forgotten, or may have moved.
    Stations,
    /// Events were lost.
    Overrun(Source),
    /// New settings.
    Reload,
    /// Forwarding, or whether IPsec policies or marks count, was switched on a device.
    Forwarding,
    /// A firewall that sends no notification of changes (iptables-legacy) is in use.
    Legacy,
    /// Something ended without an event: an element's time, a route's life, an hour; or a packet
    /// wrote a set.
    Expiry,
}

impl Cause {
    /// Returns the name of the cause, for counters.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Firewall(_) => "firewall",
            Self::Routing => "routing",
            Self::Link(_) => "link",
            Self::Address => "address",
            Self::Neighbours => "neighbours",
            Self::Stations => "stations",
            Self::Overrun(_) => "overrun",
            Self::Reload => "reload",
            Self::Forwarding => "forwarding",
            Self::Legacy => "legacy",
            Self::Expiry => "expiry",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Firewall(generation) => {
                write!(f, "the firewall changed (generation {generation})")
            }
            Self::Routing => f.write_str("a route, rule, next hop or IPsec policy changed"),
            Self::Link(name) => write!(f, "device {name} changed"),
            Self::Address => f.write_str("an address of this router changed"),
            Self::Neighbours => {
                f.write_str("more neighbours or stations changed than weir tracks one by one")
            }
            Self::Stations => f.write_str("a station of a bridge moved or was forgotten"),
            Self::Overrun(source) => write!(f, "events of {source} were lost"),
            Self::Reload => f.write_str("new settings"),
            Self::Forwarding => f.write_str(
                "forwarding, or a switch of IPsec or of the reverse-path filter, was switched",
            ),
            Self::Legacy => f.write_str("a firewall that reports no changes is in use"),
            Self::Expiry => f.write_str("something expired, or was written by a packet"),
        }
    }
}

/// Action for the caller. Actions are in order; those of one flow must be applied in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Both directions become known. `original` and `reply` are the tuples at ingress; the original
    /// direction leaves as `reply.reversed()`, the reply direction as `original.reversed()`.
    Install {
        /// The connection.
        flow: FlowId,
        /// Tuple of packets of the original direction at ingress.
        original: Tuple,
        /// Tuple of packets of the reply direction at ingress.
        reply: Tuple,
        /// TCP window scales, original direction's sender first: the packet path uses them to
        /// detect a FIN or RST that neither end sent. `None`: accept any.
        window_scales: Option<[u8; 2]>,
    },
    /// Frames between two stations of a bridge become known, both ways. [`Action::Remove`] and
    /// [`Action::Invalidate`] with its number are as for a connection.
    InstallPair {
        /// A number from [`PAIRS`] on.
        flow: FlowId,
        /// The first direction is to the first one.
        stations: [Mac; 2],
    },
    /// Forgets both directions at once.
    Remove {
        /// The connection.
        flow: FlowId,
    },
    /// Makes conntrack liberal about the TCP window of this connection, whose packets conntrack
    /// will no longer see. Comes before the install of a TCP flow, and again after much traffic:
    /// conntrack must not judge by an old acknowledgement.
    Relax(ConnectionId),
    /// Tells conntrack that this connection is alive. If the entry is gone (ENOENT), pass a
    /// `ConnectionGone` to the core.
    Refresh {
        /// The connection.
        id: ConnectionId,
        /// New time-out.
        seconds: u32,
        /// TCP: sets or clears the mark that data wait for an acknowledgement.
        unacknowledged: Option<bool>,
    },
    /// Queries conntrack for the remaining time of this connection, for
    /// [`crate::Core::on_query_reply`]: conntrack has just seen a packet. Comes before a refresh of
    /// the same connection.
    Query(ConnectionId),
    /// Makes conntrack report this connection to all listeners, by an update that changes nothing.
    /// Only an entry that can send events answers. If the entry is gone, pass a `ConnectionGone` to
    /// the core.
    Probe(ConnectionId),
    /// Ask conntrack for this connection, which may have changed without an event, and hand the
    /// core the answer ([`crate::Core::on_poll_reply`]). If the entry is gone, hand the core a
    /// `ConnectionGone`.
    Poll(ConnectionId),
    /// Invalidates the proofs of this flow's two directions: the next packet of each goes to the
    /// kernel.
    Invalidate {
        /// The connection.
        flow: FlowId,
    },
    /// Ends all proofs.
    InvalidateAll(Cause),
    /// The neighbour or station with this hardware address changed: invalidates the proofs over
    /// hops to the address, by any port.
    InvalidateHops {
        /// Old location: the neighbour's device, which may be above several ports, or the port of a
        /// bridge.
        link: u32,
        /// The hardware address it had.
        mac: Mac,
    },
    /// Ask the kernel for everything of this source again; the answer ends with `Event::DumpEnd`.
    Dump(Source),
    /// Attach to a device, change it, or detach.
    Port(PortPlan),
    /// `(device, number)` for all devices: devices above one another share a number of at least 1;
    /// with 0, a device may be above any. Replaces the earlier list.
    Stacks(Vec<(u32, u32)>),
}
