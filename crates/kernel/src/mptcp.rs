//! The generic netlink family `mptcp_pm` (`include/uapi/linux/mptcp_pm.h`): the endpoints from
//! which the kernel makes subflows by itself, and the limits of their number. Endpoints belong to a
//! network namespace, and apply to all MPTCP connections in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message};

const VERSION: u8 = 1;
const CMD_ADD_ADDR: u8 = 1;
const CMD_DEL_ADDR: u8 = 2;
const CMD_GET_ADDR: u8 = 3;
const CMD_SET_LIMITS: u8 = 5;
const CMD_GET_LIMITS: u8 = 6;
const CMD_SET_FLAGS: u8 = 7;

const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;

const ADDR_ATTR_FAMILY: u16 = 1;
const ADDR_ATTR_ID: u16 = 2;
const ADDR_ATTR_ADDR4: u16 = 3;
const ADDR_ATTR_ADDR6: u16 = 4;
const ADDR_ATTR_PORT: u16 = 5;
const ADDR_ATTR_FLAGS: u16 = 6;
const ADDR_ATTR_IF_IDX: u16 = 7;

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// An address of this machine that the kernel may use for subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Number in the namespace, 1 to 255. When adding an endpoint, 0 leaves the choice open.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// Port announced to the peer with a signalled address; the kernel then listens there.
    pub port: Option<u16>,
    /// Index of the device that its subflows are bound to.
    pub link: Option<u32>,
    /// Uses of the endpoint.
    pub flags: EndpointFlags,
}

/// Uses of an endpoint (`MPTCP_PM_ADDR_FLAG_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EndpointFlags {
    /// True if the kernel announces the address to the peer, which may make a subflow to it.
    pub signal: bool,
    /// A subflow is made from it once a connection is established.
    pub subflow: bool,
    /// True if its subflows carry data only while no other can.
    pub backup: bool,
    /// True if the kernel makes a subflow from it to each address that the peer announced.
    pub fullmesh: bool,
    /// The kernel made it by itself, for a subflow from an address that was no endpoint.
    pub implicit: bool,
}

impl EndpointFlags {
    fn bits(self) -> u32 {
        [
            self.signal,
            self.subflow,
            self.backup,
            self.fullmesh,
            self.implicit,
        ]
        .into_iter()
        .enumerate()
        .fold(0, |bits, (at, set)| bits | u32::from(set) << at)
    }

    fn from_bits(bits: u32) -> Self {
        let set = |at: u32| bits >> at & 1 != 0;
        Self {
            signal: set(0),
            subflow: set(1),
            backup: set(2),
            fullmesh: set(3),
            implicit: set(4),
        }
    }
}

/// Limits of the kernel's own subflows for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Subflows in addition to the first: up to 8.
    pub subflows: u32,
    /// Addresses announced by the peer to which it makes subflows: up to 8.
    pub accepted: u32,
}

/// Decodes an endpoint of a dump of `family`. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_endpoint(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<Endpoint>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_GET_ADDR)? else {
        return Ok(None);
    };
    let told = attributes.first(ATTR_ADDR)?;
    endpoint(&told.ok_or(DecodeError::missing("MPTCP_PM_ATTR_ADDR"))?).map(Some)
}

fn endpoint(told: &Attribute<'_>) -> Result<Endpoint, DecodeError> {
    let mut address: Option<IpAddr> = None;
    let mut found = Endpoint {
        id: 0,
        address: Ipv4Addr::UNSPECIFIED.into(),
        port: None,
        link: None,
        flags: EndpointFlags::default(),
    };
    for attribute in told.nested("MPTCP_PM_ATTR_ADDR") {
        let attribute = attribute?;
        match attribute.kind {
            ADDR_ATTR_ID => [found.id] = attribute.array("MPTCP_PM_ADDR_ATTR_ID")?,
            ADDR_ATTR_ADDR4 => {
                let octets = attribute.array::<4>("MPTCP_PM_ADDR_ATTR_ADDR4")?;
                address = Some(Ipv4Addr::from(octets).into());
            }
            ADDR_ATTR_ADDR6 => {
                let octets = attribute.array::<16>("MPTCP_PM_ADDR_ATTR_ADDR6")?;
                address = Some(Ipv6Addr::from(octets).into());
            }
            ADDR_ATTR_PORT => {
                // In the machine's own order, unlike ports elsewhere.
                let port = u16::from_ne_bytes(attribute.array("MPTCP_PM_ADDR_ATTR_PORT")?);
                found.port = Some(port).filter(|port| *port != 0);
            }
            ADDR_ATTR_FLAGS => {
                let bits = attribute.u32_native("MPTCP_PM_ADDR_ATTR_FLAGS")?;
                found.flags = EndpointFlags::from_bits(bits);
            }
            ADDR_ATTR_IF_IDX => {
                let link = attribute.u32_native("MPTCP_PM_ADDR_ATTR_IF_IDX")?;
                found.link = Some(link).filter(|link| *link != 0);
            }
            _ => {}
        }
    }
    found.address = address.ok_or(DecodeError::missing("MPTCP_PM_ADDR_ATTR_ADDR4"))?;
    Ok(found)
}

/// Decodes the limits. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_limits(message: &Message<'_>, family: u16) -> Result<Option<Limits>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_GET_LIMITS)? else {
        return Ok(None);
    };
    let mut subflows = None;
    let mut accepted = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_SUBFLOWS => subflows = Some(attribute.u32_native("MPTCP_PM_ATTR_SUBFLOWS")?),
            ATTR_RCV_ADD_ADDRS => {
                accepted = Some(attribute.u32_native("MPTCP_PM_ATTR_RCV_ADD_ADDRS")?);
            }
            _ => {}
        }
    }
    Ok(Some(Limits {
        subflows: subflows.ok_or(DecodeError::missing("MPTCP_PM_ATTR_SUBFLOWS"))?,
        accepted: accepted.ok_or(DecodeError::missing("MPTCP_PM_ATTR_RCV_ADD_ADDRS"))?,
    }))
}

/// The next number after `last` that no endpoint has.
pub(crate) fn next_id(last: u8, there: &[Endpoint]) -> u8 {
    let after = (1..=u8::MAX).map(|step| last.wrapping_add(step));
    after
        .filter(|id| *id != 0)
        .find(|id| there.iter().all(|endpoint| endpoint.id != *id))
        .unwrap_or(0)
}

/// Requests all endpoints.
pub(crate) fn dump_endpoints(family: u16, sequence: u32) -> Vec<u8> {
    request(family, CMD_GET_ADDR, NLM_F_DUMP, sequence, |_| {})
}

/// Requests the limits.
pub(crate) fn get_limits(family: u16, sequence: u32) -> Vec<u8> {
    request(family, CMD_GET_LIMITS, 0, sequence, |_| {})
}

/// Sets the limits.
pub(crate) fn set_limits(family: u16, limits: Limits, sequence: u32) -> Vec<u8> {
    request(family, CMD_SET_LIMITS, NLM_F_ACK, sequence, |e| {
        e.attribute(ATTR_RCV_ADD_ADDRS, &limits.accepted.to_ne_bytes());
        e.attribute(ATTR_SUBFLOWS, &limits.subflows.to_ne_bytes());
    })
}

/// Adds an endpoint.
pub(crate) fn add(family: u16, endpoint: &Endpoint, sequence: u32) -> Vec<u8> {
    about(family, CMD_ADD_ADDR, endpoint, sequence)
}

/// Sets `backup` and `fullmesh` of the endpoint that has this address and port, both to the values
/// here.
pub(crate) fn set_flags(family: u16, endpoint: &Endpoint, sequence: u32) -> Vec<u8> {
    about(family, CMD_SET_FLAGS, endpoint, sequence)
}

/// Removes the endpoint of this number, with any address. With 0: no endpoint, but each first
/// subflow from this address.
pub(crate) fn remove(family: u16, id: u8, address: IpAddr, sequence: u32) -> Vec<u8> {
    request(family, CMD_DEL_ADDR, NLM_F_ACK, sequence, |e| {
        e.nested(ATTR_ADDR, |e| {
            self::address(e, address);
            e.attribute(ADDR_ATTR_ID, &[id]);
        });
    })
}

fn about(family: u16, command: u8, endpoint: &Endpoint, sequence: u32) -> Vec<u8> {
    request(family, command, NLM_F_ACK, sequence, |e| {
        e.nested(ATTR_ADDR, |e| {
            address(e, endpoint.address);
            if endpoint.id != 0 {
                e.attribute(ADDR_ATTR_ID, &[endpoint.id]);
            }
            if let Some(port) = endpoint.port {
                e.attribute(ADDR_ATTR_PORT, &port.to_ne_bytes());
            }
            if let Some(link) = endpoint.link {
                e.attribute(ADDR_ATTR_IF_IDX, &link.to_ne_bytes());
            }
            e.attribute(ADDR_ATTR_FLAGS, &endpoint.flags.bits().to_ne_bytes());
        });
    })
}

fn address(encoder: &mut Encoder, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            encoder.attribute(ADDR_ATTR_FAMILY, &AF_INET.to_ne_bytes());
            encoder.attribute(ADDR_ATTR_ADDR4, &address.octets());
        }
        IpAddr::V6(address) => {
            encoder.attribute(ADDR_ATTR_FAMILY, &AF_INET6.to_ne_bytes());
            encoder.attribute(ADDR_ATTR_ADDR6, &address.octets());
        }
    }
}

fn request(
    family: u16,
    command: u8,
    flags: u16,
    sequence: u32,
    body: impl FnOnce(&mut Encoder),
) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | flags, sequence, |e| {
        e.fixed(&[command, VERSION, 0, 0]);
        body(e);
    })
}

#[cfg(test)]
mod tests;
