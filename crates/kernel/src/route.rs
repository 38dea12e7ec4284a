//! rtnetlink: devices, addresses, neighbours, bridges' stations and ports, qdiscs, filters, and
//! that some routing changed (`include/uapi/linux/rtnetlink.h`, `if_link.h`, `if_addr.h`,
//! `if_bridge.h`, `neighbour.h`). Byte order is the machine's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::event::{Address, Event, Mac, Neighbour};
use crate::message::{Attribute, DecodeError, Message, Tally, decode_datagram, u16_at, u32_at};
use crate::prefix::Prefix;
use crate::rtnetlink::{
    AF_BRIDGE, AF_INET, AF_INET6, AF_UNSPEC, IFA_ADDRESS, IFA_FLAGS, IFA_LOCAL, NDA_DST,
    NDA_LLADDR, RTM_DELADDR, RTM_DELLINK, RTM_DELNEIGH, RTM_DELNETCONF, RTM_DELNEXTHOP,
    RTM_DELQDISC, RTM_DELROUTE, RTM_DELRULE, RTM_DELTFILTER, RTM_DELVLAN, RTM_F_CLONED,
    RTM_GETADDR, RTM_GETLINK, RTM_GETNEIGH, RTM_GETQDISC, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH,
    RTM_NEWNETCONF, RTM_NEWNEXTHOP, RTM_NEWNEXTHOPBUCKET, RTM_NEWQDISC, RTM_NEWROUTE, RTM_NEWRULE,
    RTM_NEWTFILTER, RTM_NEWVLAN,
};

pub mod attach;
mod bridge;
pub mod filter;
mod link;
pub mod qdisc;
pub mod vlans;

const IFA_F_SECONDARY: u32 = 0x01;
const IFA_F_OPTIMISTIC: u32 = 0x04;
const IFA_F_DADFAILED: u32 = 0x08;
const IFA_F_DEPRECATED: u32 = 0x20;
const IFA_F_TENTATIVE: u32 = 0x40;

const NETCONFA_IFINDEX: u16 = 1;

/// `NTF_PROXY`: an address this router answers for, not a neighbour.
const NTF_PROXY: u8 = 0x08;
/// The address was not confirmed for long, nor used.
const NUD_STALE: u16 = 0x04;
/// NUD_REACHABLE, STALE, DELAY, PROBE, NOARP and PERMANENT: the kernel sends to the address it has.
const NUD_USABLE: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;

/// A table of rtnetlink that can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Devices.
    Links,
    /// Addresses of both families.
    Addresses,
    /// Neighbours of both families.
    Neighbours,
    /// Stations that bridges know, with their ports.
    Stations,
    /// Qdiscs.
    Qdiscs,
}

/// Decodes a datagram of rtnetlink, an event or a part of a dump, appending to `out`.
/// [`Event::Routing`]s in a row become one.
pub fn decode(datagram: &[u8], out: &mut Vec<Event>) -> Tally {
    decode_datagram(datagram, 0, out, decode_message)
}

/// Decodes one message. `None`: irrelevant (cached routes, classes, proxied neighbours).
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_message(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    match message.kind {
        RTM_NEWLINK => link::link(message),
        RTM_DELLINK => link::gone(message),
        RTM_NEWADDR | RTM_DELADDR => address(message),
        RTM_NEWROUTE | RTM_DELROUTE => route(message),
        RTM_NEWRULE | RTM_DELRULE | RTM_NEWNEXTHOP | RTM_DELNEXTHOP | RTM_NEWNEXTHOPBUCKET => {
            Ok(Some(Event::Routing))
        }
        RTM_NEWNETCONF | RTM_DELNETCONF => netconf(message),
        RTM_NEWNEIGH => neighbour(message, true),
        RTM_DELNEIGH => neighbour(message, false),
        RTM_NEWVLAN | RTM_DELVLAN => bridge::vlan(message),
        RTM_NEWTFILTER | RTM_DELTFILTER => filter::changed(message),
        RTM_NEWQDISC => qdisc::changed(message, true),
        RTM_DELQDISC => qdisc::changed(message, false),
        _ => Ok(None),
    }
}

fn address(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    Ok(decode_address(message)?.map(|(found, present)| {
        let LinkAddress { link, address, .. } = found;
        Event::Address(Address { link, address }, present)
    }))
}

/// An address of a device, with the properties that make it a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkAddress {
    /// Device it is on.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
    /// Bits of the network that it is in; of point-to-point devices, all of them.
    pub length: u8,
    /// RT_SCOPE_*: 0 is global.
    pub scope: u8,
    /// IFA_F_*.
    pub flags: u32,
}

impl LinkAddress {
    /// The network that it is in.
    pub fn prefix(&self) -> Prefix {
        Prefix::truncated(self.address, self.length)
    }

    /// Returns true if the address is valid beyond this link.
    pub fn is_global(&self) -> bool {
        self.scope == 0
    }

    /// Returns true if the address is settled: neither tentative, failed nor deprecated.
    pub fn is_settled(&self) -> bool {
        let tried = self.flags & IFA_F_TENTATIVE != 0 && self.flags & IFA_F_OPTIMISTIC == 0;
        !tried && self.flags & (IFA_F_DADFAILED | IFA_F_DEPRECATED) == 0
    }

    /// Returns true for a temporary address of IPv6, or a secondary one of IPv4.
    pub fn is_temporary(&self) -> bool {
        self.flags & IFA_F_SECONDARY != 0
    }
}

/// Decodes an address of a device, and true if it was added, false if it was removed. `None`:
/// another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_address(message: &Message<'_>) -> Result<Option<(LinkAddress, bool)>, DecodeError> {
    let present = match message.kind {
        RTM_NEWADDR => true,
        RTM_DELADDR => false,
        _ => return Ok(None),
    };
    let (fixed, attributes) = message.split::<8>("ifaddrmsg")?;
    let [family, length, flags, scope, ..] = *fixed;
    let mut local = None;
    let mut other = None;
    let mut flags = u32::from(flags);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            // On point-to-point devices IFA_ADDRESS is the peer's.
            IFA_LOCAL => local = ip(&attribute, family, "IFA_LOCAL")?,
            IFA_ADDRESS => other = ip(&attribute, family, "IFA_ADDRESS")?,
            IFA_FLAGS => flags = attribute.u32_native("IFA_FLAGS")?,
            _ => {}
        }
    }
    let whole = match family {
        AF_INET => 32,
        AF_INET6 => 128,
        _ => return Ok(None),
    };
    let address = local.or(other).ok_or(DecodeError::missing("IFA_ADDRESS"))?;
    let peer = other.is_some_and(|other| other != address);
    let found = LinkAddress {
        link: u32_at(fixed, 4),
        address,
        length: if peer { whole } else { length.min(whole) },
        scope,
        flags,
    };
    Ok(Some((found, present)))
}

fn route(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    let (fixed, _) = message.split::<12>("rtmsg")?;
    Ok((u32_at(fixed, 8) & RTM_F_CLONED == 0).then_some(Event::Routing))
}

/// Forwarding was switched, or reverse-path filtering (`include/uapi/linux/netconf.h`).
fn netconf(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    // A family, and what aligns the attributes after it.
    let (_, attributes) = message.split::<4>("netconfmsg")?;
    let index = attributes.first(NETCONFA_IFINDEX)?;
    let index = index.ok_or(DecodeError::missing("NETCONFA_IFINDEX"))?;
    // NETCONFA_IFINDEX_ALL and _DEFAULT are below 0.
    let index = i32::from_ne_bytes(index.array("NETCONFA_IFINDEX")?);
    Ok(Some(Event::Forwarding(u32::try_from(index).unwrap_or(0))))
}

fn neighbour(message: &Message<'_>, present: bool) -> Result<Option<Event>, DecodeError> {
    let (fixed, attributes) = message.split::<12>("ndmsg")?;
    let (family, state, flags) = (fixed[0], u16_at(fixed, 8), fixed[10]);
    if family == AF_BRIDGE {
        return bridge::station(fixed, attributes, present);
    }
    if !matches!(family, AF_INET | AF_INET6) || flags & NTF_PROXY != 0 {
        return Ok(None);
    }
    let mut address = None;
    let mut mac = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NDA_DST => address = ip(&attribute, family, "NDA_DST")?,
            NDA_LLADDR => mac = Mac::try_from(attribute.value).ok(),
            _ => {}
        }
    }
    let usable = present && state & NUD_USABLE != 0;
    Ok(Some(Event::Neighbour(Neighbour {
        link: u32_at(fixed, 4),
        address: address.ok_or(DecodeError::missing("NDA_DST"))?,
        mac: mac.filter(|_| usable),
        stale: usable && state & NUD_STALE != 0,
    })))
}

/// Decodes an address of `family`; `None` for families other than IP.
fn ip(
    attribute: &Attribute<'_>,
    family: u8,
    part: &'static str,
) -> Result<Option<IpAddr>, DecodeError> {
    match family {
        AF_INET => Ok(Some(Ipv4Addr::from(attribute.array::<4>(part)?).into())),
        AF_INET6 => Ok(Some(Ipv6Addr::from(attribute.array::<16>(part)?).into())),
        _ => Ok(None),
    }
}

/// Requests all of one table.
pub(crate) fn dump(table: Table, sequence: u32) -> Vec<u8> {
    // Each has its full header, all zero: kernels with strict checks accept nothing else.
    let (kind, header) = match table {
        Table::Links => (RTM_GETLINK, 16),
        Table::Addresses => (RTM_GETADDR, 8),
        Table::Neighbours => (RTM_GETNEIGH, 12),
        // Of just this length: the kernel takes any other for that of a link (net/core/rtnetlink.c,
        // valid_fdb_dump_legacy).
        Table::Stations => (RTM_GETNEIGH, 12),
        Table::Qdiscs => (RTM_GETQDISC, 20),
    };
    Encoder::single(kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        let mut fixed = [AF_UNSPEC; 20];
        if table == Table::Stations {
            fixed[0] = AF_BRIDGE;
        }
        e.fixed(&fixed[..header]);
        if table == Table::Links {
            link::leave_out_statistics(e);
        }
    })
}

#[cfg(test)]
mod tests;
