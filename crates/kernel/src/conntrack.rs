//! ctnetlink: connection tracking entries (`include/uapi/linux/netfilter/nfnetlink_conntrack.h`,
//! `net/netfilter/nf_conntrack_netlink.c`).
//!
//! Two facts of the kernel to know:
//! - An update contains the changed attributes, not all of them: see the `Option`s of
//!   [`Connection`]. Mark and helper are always included if they exist.
//! - With the sysctl `nf_conntrack_events` = 2 (the default of newer kernels), an entry that was
//!   made while no process listened never causes events, not even when it goes: seen here on 6.18
//!   for all entries older than the first listener. A dump shows such an entry; its end shows only
//!   in the next dump, or in [`Outcome::gone`](crate::io::Outcome) of a refresh. An entry that can
//!   cause events causes one with each update, also with one that changes nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::event::{Connection, ConnectionId, Event, status};
use crate::message::{
    Attribute, Attributes, DecodeError, Message, Problem, Tally, decode_datagram,
};
use crate::tuple::{Protocol, Tuple};

pub(crate) mod query;
pub(crate) mod request;

pub use query::ConnectionState;
pub use request::Refresh;

const SUBSYSTEM: u16 = 1;
const MESSAGE_NEW: u8 = 0;
const MESSAGE_GET: u8 = 1;
const MESSAGE_DELETE: u8 = 2;

const CTA_TUPLE_ORIG: u16 = 1;
const CTA_TUPLE_REPLY: u16 = 2;
const CTA_STATUS: u16 = 3;
const CTA_PROTOINFO: u16 = 4;
const CTA_HELP: u16 = 5;
const CTA_TIMEOUT: u16 = 7;
const CTA_MARK: u16 = 8;
const CTA_ID: u16 = 12;
const CTA_SEQ_ADJ_ORIG: u16 = 15;
const CTA_SEQ_ADJ_REPLY: u16 = 16;
const CTA_ZONE: u16 = 18;
const CTA_MARK_MASK: u16 = 21;
const CTA_LABELS: u16 = 22;
const CTA_SYNPROXY: u16 = 24;

const CTA_TUPLE_IP: u16 = 1;
const CTA_TUPLE_PROTO: u16 = 2;
const CTA_TUPLE_ZONE: u16 = 3;

const CTA_IP_V4_SRC: u16 = 1;
const CTA_IP_V4_DST: u16 = 2;
const CTA_IP_V6_SRC: u16 = 3;
const CTA_IP_V6_DST: u16 = 4;

const CTA_PROTO_NUM: u16 = 1;
const CTA_PROTO_SRC_PORT: u16 = 2;
const CTA_PROTO_DST_PORT: u16 = 3;

const CTA_PROTOINFO_TCP: u16 = 1;
const CTA_PROTOINFO_TCP_STATE: u16 = 1;
/// TCP_CONNTRACK_SYN_RECV to TCP_CONNTRACK_TIME_WAIT
/// (include/uapi/linux/netfilter/nf_conntrack_tcp.h): both ends have sent their options.
const HANDSHAKEN: std::ops::RangeInclusive<u8> = 2..=7;
const CTA_PROTOINFO_TCP_WSCALE_ORIGINAL: u16 = 2;
const CTA_PROTOINFO_TCP_WSCALE_REPLY: u16 = 3;
const CTA_PROTOINFO_TCP_FLAGS_ORIGINAL: u16 = 4;
const CTA_PROTOINFO_TCP_FLAGS_REPLY: u16 = 5;

// IP_CT_TCP_FLAG_* (include/uapi/linux/netfilter/nf_conntrack_tcp.h).
const TCP_WINDOW_SCALE: u8 = 0x01;
const TCP_BE_LIBERAL: u8 = 0x08;
/// The entry gets a shorter time-out with each packet.
const TCP_DATA_UNACKNOWLEDGED: u8 = 0x10;
const TCP_MAXACK_SET: u8 = 0x20;

/// Decodes a datagram of ctnetlink, an event or a part of a dump, appending to `out`. Ignores
/// changes made by the socket `own_port` (0: ignores none).
pub fn decode(datagram: &[u8], own_port: u32, out: &mut Vec<Event>) -> Tally {
    decode_datagram(datagram, own_port, out, decode_message)
}

/// Decodes one message. `None`: irrelevant (neither TCP nor UDP, a template, an expectation).
///
/// # Errors
/// Names the attribute that is cut short, missing, of a wrong length, or contradicts another.
pub fn decode_message(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    if message.kind >> 8 != SUBSYSTEM {
        return Ok(None);
    }
    let gone = match message.kind as u8 {
        MESSAGE_NEW => false,
        MESSAGE_DELETE => true,
        _ => return Ok(None),
    };
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    Ok(entry(attributes, gone)?.map(|connection| {
        if gone {
            Event::ConnectionGone(connection.id)
        } else {
            Event::Connection(connection)
        }
    }))
}

/// Reads an entry. If the entry is `gone`, only the identity is needed.
fn entry(attributes: Attributes<'_>, gone: bool) -> Result<Option<Connection>, DecodeError> {
    let mut original = None;
    let mut reply = None;
    let mut id = None;
    let mut zone = 0;
    let mut found = Found::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            CTA_TUPLE_ORIG => match tuple(&attribute, "CTA_TUPLE_ORIG")? {
                Some((tuple, own_zone)) => {
                    original = Some(tuple);
                    zone = own_zone.unwrap_or(zone);
                }
                None => return Ok(None),
            },
            CTA_TUPLE_REPLY if !gone => match tuple(&attribute, "CTA_TUPLE_REPLY")? {
                Some((tuple, _)) => reply = Some(tuple),
                None => return Ok(None),
            },
            CTA_ID => id = Some(attribute.u32_network("CTA_ID")?),
            CTA_ZONE => zone = attribute.u16_network("CTA_ZONE")?,
            _ => found.read(&attribute)?,
        }
    }
    if found
        .status
        .is_some_and(|bits| bits & status::TEMPLATE != 0)
    {
        return Ok(None);
    }
    let original = original.ok_or(DecodeError::missing("CTA_TUPLE_ORIG"))?;
    let reply = match reply {
        Some(reply) => reply,
        None if gone => original.reversed(),
        None => return Err(DecodeError::missing("CTA_TUPLE_REPLY")),
    };
    if reply.protocol != original.protocol || reply.is_ipv6() != original.is_ipv6() {
        return Err(DecodeError::new("CTA_TUPLE_REPLY", Problem::Contradiction));
    }
    let bits = found.status.unwrap_or(0);
    Ok(Some(Connection {
        id: ConnectionId {
            id: id.ok_or(DecodeError::missing("CTA_ID"))?,
            original,
            zone,
        },
        reply,
        status: found.status,
        mark: found.mark,
        timeout: found.timeout,
        tcp_state: found.tcp.state,
        window_scales: found.tcp.window_scales(),
        helper: found.helper || bits & status::HELPER != 0,
        sequence_adjusted: found.sequence_adjusted || bits & status::SEQ_ADJUST != 0,
    }))
}

/// Attributes of an entry other than its identity.
#[derive(Default)]
struct Found {
    status: Option<u32>,
    mark: u32,
    timeout: Option<u32>,
    tcp: Tcp,
    helper: bool,
    sequence_adjusted: bool,
}

impl Found {
    fn read(&mut self, attribute: &Attribute<'_>) -> Result<(), DecodeError> {
        match attribute.kind {
            CTA_STATUS => self.status = Some(attribute.u32_network("CTA_STATUS")?),
            CTA_PROTOINFO => self.tcp = Tcp::read(attribute)?,
            CTA_HELP => self.helper = true,
            CTA_TIMEOUT => self.timeout = Some(attribute.u32_network("CTA_TIMEOUT")?),
            CTA_MARK => self.mark = attribute.u32_network("CTA_MARK")?,
            CTA_SEQ_ADJ_ORIG | CTA_SEQ_ADJ_REPLY => self.sequence_adjusted = true,
            CTA_SYNPROXY => self.sequence_adjusted |= synproxied(attribute)?,
            _ => {}
        }
        Ok(())
    }
}

/// Decodes a tuple, with its zone if it has its own. `None`: neither TCP nor UDP.
fn tuple(
    attribute: &Attribute<'_>,
    part: &'static str,
) -> Result<Option<(Tuple, Option<u16>)>, DecodeError> {
    let mut addresses = None;
    let mut ports = None;
    let mut zone = None;
    for attribute in attribute.nested(part) {
        let attribute = attribute?;
        match attribute.kind {
            CTA_TUPLE_IP => addresses = Some(self::addresses(&attribute)?),
            CTA_TUPLE_PROTO => match self::ports(&attribute)? {
                Some(found) => ports = Some(found),
                None => return Ok(None),
            },
            CTA_TUPLE_ZONE => zone = Some(attribute.u16_network("CTA_TUPLE_ZONE")?),
            _ => {}
        }
    }
    let (source, destination) = addresses.ok_or(DecodeError::missing("CTA_TUPLE_IP"))?;
    let (protocol, source_port, destination_port) =
        ports.ok_or(DecodeError::missing("CTA_TUPLE_PROTO"))?;
    Ok(Some((
        Tuple {
            protocol,
            source,
            source_port,
            destination,
            destination_port,
        },
        zone,
    )))
}

fn addresses(attribute: &Attribute<'_>) -> Result<(IpAddr, IpAddr), DecodeError> {
    let mut source = None;
    let mut destination = None;
    for attribute in attribute.nested("CTA_TUPLE_IP") {
        let attribute = attribute?;
        let v4 = |part| {
            attribute
                .array::<4>(part)
                .map(|octets| IpAddr::V4(Ipv4Addr::from(octets)))
        };
        let v6 = |part| {
            attribute
                .array::<16>(part)
                .map(|octets| IpAddr::V6(Ipv6Addr::from(octets)))
        };
        match attribute.kind {
            CTA_IP_V4_SRC => source = Some(v4("CTA_IP_V4_SRC")?),
            CTA_IP_V4_DST => destination = Some(v4("CTA_IP_V4_DST")?),
            CTA_IP_V6_SRC => source = Some(v6("CTA_IP_V6_SRC")?),
            CTA_IP_V6_DST => destination = Some(v6("CTA_IP_V6_DST")?),
            _ => {}
        }
    }
    let source = source.ok_or(DecodeError::missing("CTA_IP_V4_SRC"))?;
    let destination = destination.ok_or(DecodeError::missing("CTA_IP_V4_DST"))?;
    if source.is_ipv4() != destination.is_ipv4() {
        return Err(DecodeError::new("CTA_TUPLE_IP", Problem::Contradiction));
    }
    Ok((source, destination))
}

/// Decodes protocol and ports. `None`: neither TCP nor UDP, whose attributes differ.
fn ports(attribute: &Attribute<'_>) -> Result<Option<(Protocol, u16, u16)>, DecodeError> {
    let mut protocol = None;
    let mut source = None;
    let mut destination = None;
    for attribute in attribute.nested("CTA_TUPLE_PROTO") {
        let attribute = attribute?;
        match attribute.kind {
            CTA_PROTO_NUM => {
                let [number] = attribute.array("CTA_PROTO_NUM")?;
                let Some(known) = Protocol::from_number(number) else {
                    return Ok(None);
                };
                protocol = Some(known);
            }
            CTA_PROTO_SRC_PORT => source = Some(attribute.u16_network("CTA_PROTO_SRC_PORT")?),
            CTA_PROTO_DST_PORT => destination = Some(attribute.u16_network("CTA_PROTO_DST_PORT")?),
            _ => {}
        }
    }
    Ok(Some((
        protocol.ok_or(DecodeError::missing("CTA_PROTO_NUM"))?,
        source.ok_or(DecodeError::missing("CTA_PROTO_SRC_PORT"))?,
        destination.ok_or(DecodeError::missing("CTA_PROTO_DST_PORT"))?,
    )))
}

/// TCP attributes of an entry.
#[derive(Default)]
struct Tcp {
    state: Option<u8>,
    scales: [Option<u8>; 2],
    flags: [Option<u8>; 2],
}

impl Tcp {
    fn read(attribute: &Attribute<'_>) -> Result<Self, DecodeError> {
        let mut tcp = Self::default();
        for attribute in attribute.nested("CTA_PROTOINFO") {
            let attribute = attribute?;
            if attribute.kind != CTA_PROTOINFO_TCP {
                continue;
            }
            for attribute in attribute.nested("CTA_PROTOINFO_TCP") {
                tcp.field(&attribute?)?;
            }
        }
        Ok(tcp)
    }

    fn field(&mut self, attribute: &Attribute<'_>) -> Result<(), DecodeError> {
        let octet = |part| attribute.array::<1>(part).map(|[octet]| Some(octet));
        // Two bytes: flags, and a mask that only updates need.
        let flags = |part| attribute.array::<2>(part).map(|[flags, _]| Some(flags));
        match attribute.kind {
            CTA_PROTOINFO_TCP_STATE => self.state = octet("CTA_PROTOINFO_TCP_STATE")?,
            CTA_PROTOINFO_TCP_WSCALE_ORIGINAL => {
                self.scales[0] = octet("CTA_PROTOINFO_TCP_WSCALE_ORIGINAL")?;
            }
            CTA_PROTOINFO_TCP_WSCALE_REPLY => {
                self.scales[1] = octet("CTA_PROTOINFO_TCP_WSCALE_REPLY")?;
            }
            CTA_PROTOINFO_TCP_FLAGS_ORIGINAL => {
                self.flags[0] = flags("CTA_PROTOINFO_TCP_FLAGS_ORIGINAL")?;
            }
            CTA_PROTOINFO_TCP_FLAGS_REPLY => {
                self.flags[1] = flags("CTA_PROTOINFO_TCP_FLAGS_REPLY")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Data wait to be acknowledged, in either direction.
    fn unacknowledged(&self) -> bool {
        let flags = self.flags.iter().flatten();
        flags.fold(0, |all, flags| all | flags) & TCP_DATA_UNACKNOWLEDGED != 0
    }

    /// Returns both window scales if known: after the second SYN was seen. An entry made from
    /// packets in the middle of a connection is liberal and has no scales; a liberal entry with
    /// scales was relaxed later.
    fn window_scales(&self) -> Option<[u8; 2]> {
        if !HANDSHAKEN.contains(&self.state?) {
            return None;
        }
        let flags = [self.flags[0]?, self.flags[1]?];
        let scales = [self.scales[0]?, self.scales[1]?];
        let all = |flag| flags.iter().all(|flags| flags & flag != 0);
        let strict = flags.iter().all(|flags| flags & TCP_BE_LIBERAL == 0);
        // 14 is the maximum (RFC 7323, 2.3).
        (all(TCP_WINDOW_SCALE) || strict).then(|| scales.map(|scale| scale.min(14)))
    }
}

/// Returns true if a SYN proxy is active. Entries that ctnetlink itself made (`conntrack -I`,
/// conntrackd after a fail-over) always have the attribute, with only zeros.
fn synproxied(attribute: &Attribute<'_>) -> Result<bool, DecodeError> {
    for attribute in attribute.nested("CTA_SYNPROXY") {
        if attribute?.value.iter().any(|octet| *octet != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
