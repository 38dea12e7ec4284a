//! Messages that the kernel sends by itself.

use std::io;

use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::event::{Event, Source};
use crate::message::Tally;
use crate::{conntrack, firewall, route};

/// NFNLGRP_CONNTRACK_NEW, UPDATE and DESTROY.
const CONNTRACK_GROUPS: u32 = group(1) | group(2) | group(3);
/// RTNLGRP_LINK, NEIGH, TC, IPV4_IFADDR, IPV4_ROUTE, IPV4_RULE, IPV6_IFADDR, IPV6_ROUTE, IPV6_RULE,
/// IPV4_NETCONF, IPV6_NETCONF and NEXTHOP.
const ROUTE_GROUPS: u32 = group(1)
    | group(3)
    | group(4)
    | group(5)
    | group(7)
    | group(8)
    | group(9)
    | group(11)
    | group(19)
    | group(24)
    | group(25)
    | group(32);
/// RTNLGRP_BRVLAN (Linux 5.6).
const BRIDGE_VLAN_GROUP: u32 = 33;
/// NFNLGRP_NFTABLES.
const FIREWALL_GROUPS: u32 = group(7);

/// XFRMNLGRP_EXPIRE, which alone reports the end of objects with a limit, SA and POLICY.
const POLICY_GROUPS: u32 = group(2) | group(3) | group(4);

const fn group(number: u32) -> u32 {
    1 << (number - 1)
}

/// Any message of XFRM means that packets that leave unencrypted may have changed.
fn policy(out: &mut Vec<Event>) -> Tally {
    if out.last() != Some(&Event::Policies) {
        out.push(Event::Policies);
    }
    Tally {
        understood: 1,
        ..Tally::default()
    }
}

/// Datagrams read by one [`Events::recv`], so that a flood leaves time for other work.
const MOST: usize = 512;
/// Datagrams read by one [`Events::recv`] that found some lost: more than the receive buffer holds.
const BACKLOG: usize = 65_536;

/// The events of one source.
#[derive(Debug)]
pub struct Events {
    source: Source,
    socket: Socket,
    own_port: u32,
    buffer: Vec<u8>,
    tally: Tally,
}

impl Events {
    /// Listens to a source, in the network namespace of the calling thread, with a receive buffer
    /// that holds a burst of some 10,000 conntrack events. The memory is only used while events
    /// wait.
    ///
    /// # Errors
    /// No permission (CAP_NET_ADMIN), or the kernel lacks the protocol.
    pub fn open(source: Source) -> io::Result<Self> {
        let receive_buffer = match source {
            Source::Conntrack => 8 << 20,
            Source::Route => 4 << 20,
            Source::Firewall | Source::Policy => 1 << 20,
        };
        Self::open_with_buffer(source, receive_buffer)
    }

    /// Like [`open`](Self::open), with a receive buffer of this many bytes.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with_buffer(source: Source, receive_buffer: usize) -> io::Result<Self> {
        let (protocol, groups) = match source {
            Source::Conntrack => (Netlink::Netfilter, CONNTRACK_GROUPS),
            Source::Route => (Netlink::Route, ROUTE_GROUPS),
            Source::Firewall => (Netlink::Netfilter, FIREWALL_GROUPS),
            Source::Policy => (Netlink::Xfrm, POLICY_GROUPS),
        };
        let socket = Socket::open(protocol, groups, receive_buffer)?;
        if source == Source::Route {
            socket.join(BRIDGE_VLAN_GROUP)?;
        }
        Ok(Self {
            source,
            socket,
            own_port: 0,
            buffer: vec![0; BUFFER],
            tally: Tally::default(),
        })
    }

    /// Ignores the effects of this port from now on: pass
    /// [`Requests::port`](super::Requests::port), as the kernel echoes each update of a connection
    /// to all listeners, and a large refresh would fill the receive buffer with its own echoes.
    ///
    /// # Errors
    /// The kernel refuses the filter. The echoes are still ignored, once read.
    pub fn ignore_port(&mut self, port: u32) -> io::Result<()> {
        self.own_port = port;
        self.socket.filter_port(port)
    }

    /// Returns the source of these events.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the counts of all messages so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Waits for events and appends those available, some hundreds at most. Lost or malformed
    /// messages give one [`Event::Overrun`] per call. May append nothing. Cancelling loses nothing.
    ///
    /// After a loss, all waiting events come before the [`Event::Overrun`]. They are older than the
    /// loss, and must not count as changes after the dump that follows; and until the queue is
    /// empty the kernel adds nothing to it, and does not report this again
    /// (net/netlink/af_netlink.c, NETLINK_S_CONGESTED): an earlier dump would miss changes
    /// meanwhile.
    ///
    /// # Errors
    /// The socket is broken; waiting again will not help.
    pub async fn recv(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
        let Self {
            source,
            socket,
            own_port,
            buffer,
            tally,
        } = self;
        let mut lost = false;
        let mut take = |received, datagram: &[u8]| {
            if !matches!(received, Received::Datagram(_)) {
                lost = true;
                return;
            }
            let new = match source {
                Source::Conntrack => conntrack::decode(datagram, *own_port, out),
                Source::Route => route::decode(datagram, out),
                Source::Firewall => firewall::decode(datagram, out),
                Source::Policy => policy(out),
            };
            lost |= new.malformed != 0;
            tally.add(new);
        };
        let mut congested = false;
        let mut result = socket
            .drain(buffer, MOST, |received, datagram| {
                take(received, datagram);
                congested |= received == Received::Lost;
                !congested
            })
            .await;
        let mut left = if congested { BACKLOG } else { 0 };
        while left > 0 && result.is_ok() {
            left -= 1;
            match socket.receive(buffer) {
                Ok(Received::Empty) => break,
                Ok(Received::Datagram(length)) => {
                    take(Received::Datagram(length), &buffer[..length])
                }
                Ok(other) => take(other, &[]),
                Err(error) => result = Err(error),
            }
        }
        if lost {
            out.push(Event::Overrun(*source));
        }
        result
    }
}
