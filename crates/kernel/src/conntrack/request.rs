//! Requests of weir to ctnetlink. An update of an entry is a `IPCTNL_MSG_CT_NEW` without
//! `NLM_F_CREATE`: it fails with `ENOENT` when the entry is gone and never makes one.

use super::*;
use crate::encode::{Encoder, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};

/// A request to keep an entry alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// The entry.
    pub id: ConnectionId,
    /// Seconds until it times out, from now.
    pub timeout: u32,
    /// Status bits to set ([`status::ASSURED`]), together with all present bits: the kernel refuses
    /// (`EBUSY`) to clear some. `None` leaves them unchanged.
    pub status: Option<u32>,
    /// TCP: whether data wait to be acknowledged, regardless of conntrack's view. Windows stay
    /// unchecked.
    pub unacknowledged: Option<bool>,
}

/// Requests all entries of both families.
pub(crate) fn dump(sequence: u32) -> Vec<u8> {
    Encoder::single(
        kind(MESSAGE_GET),
        NLM_F_REQUEST | NLM_F_DUMP,
        sequence,
        |e| e.fixed(&[0; 4]),
    )
}

/// Requests to stop the checks of windows for this TCP connection, in either direction, as the
/// kernel no longer sees them move. Nor must the kernel compare an RST with the last
/// acknowledgement seen, which may be from 2 GiB ago (nf_conntrack_proto_tcp.c, "invalid rst"):
/// this clears the record of that acknowledgement, until the kernel sees another one in its window.
pub(crate) fn relax(encoder: &mut Encoder, sequence: u32, id: &ConnectionId) {
    change(encoder, sequence, id, |e| {
        put_flags(e, TCP_BE_LIBERAL, TCP_BE_LIBERAL | TCP_MAXACK_SET);
    });
}

/// Flags of TCP in both directions, and which of them are to change.
fn put_flags(encoder: &mut Encoder, flags: u8, mask: u8) {
    encoder.nested(CTA_PROTOINFO, |e| {
        e.nested(CTA_PROTOINFO_TCP, |e| {
            for direction in [
                CTA_PROTOINFO_TCP_FLAGS_ORIGINAL,
                CTA_PROTOINFO_TCP_FLAGS_REPLY,
            ] {
                e.attribute(direction, &[flags, mask]);
            }
        });
    });
}

/// Requests one entry.
pub(crate) fn look(encoder: &mut Encoder, sequence: u32, id: &ConnectionId) {
    about(encoder, MESSAGE_GET, sequence, id, |_| {});
}

/// Updates an entry without a change, so that the kernel reports the entry to all listeners.
pub(crate) fn probe(encoder: &mut Encoder, sequence: u32, id: &ConnectionId) {
    change(encoder, sequence, id, |_| {});
}

/// Requests a new time-out.
pub(crate) fn refresh(encoder: &mut Encoder, sequence: u32, refresh: &Refresh) {
    change(encoder, sequence, &refresh.id, |e| {
        e.attribute(CTA_TIMEOUT, &refresh.timeout.to_be_bytes());
        if let Some(bits) = refresh.status {
            e.attribute(CTA_STATUS, &bits.to_be_bytes());
        }
        if let Some(waits) = refresh.unacknowledged {
            let mark = if waits { TCP_DATA_UNACKNOWLEDGED } else { 0 };
            let mask = TCP_BE_LIBERAL | TCP_DATA_UNACKNOWLEDGED;
            put_flags(e, TCP_BE_LIBERAL | mark, mask);
        }
    });
}

/// Requests the removal of all entries, of both families, with this mark in these bits; and an
/// answer.
pub(crate) fn forget(sequence: u32, mark: u32, mask: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_ACK;
    Encoder::single(kind(MESSAGE_DELETE), flags, sequence, |e| {
        e.fixed(&[0; 4]);
        e.attribute(CTA_MARK, &mark.to_be_bytes());
        e.attribute(CTA_MARK_MASK, &mask.to_be_bytes());
    })
}

/// Requests the removal of one entry.
pub(crate) fn end(encoder: &mut Encoder, sequence: u32, id: &ConnectionId) {
    about(encoder, MESSAGE_DELETE, sequence, id, |_| {});
}

fn kind(message: u8) -> u16 {
    SUBSYSTEM << 8 | u16::from(message)
}

/// An update of an entry. CTA_ID is sent although kernels up to 6.18 do not compare it in updates:
/// one that does spares a successor.
fn change(
    encoder: &mut Encoder,
    sequence: u32,
    id: &ConnectionId,
    what: impl FnOnce(&mut Encoder),
) {
    about(encoder, MESSAGE_NEW, sequence, id, what);
}

/// A request that concerns one entry.
fn about(
    encoder: &mut Encoder,
    message: u8,
    sequence: u32,
    id: &ConnectionId,
    what: impl FnOnce(&mut Encoder),
) {
    // AF_INET and AF_INET6.
    let family = if id.original.is_ipv6() { 10 } else { 2 };
    encoder.message(kind(message), NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[family, 0, 0, 0]);
        e.nested(CTA_TUPLE_ORIG, |e| put_tuple(e, &id.original));
        if id.zone != 0 {
            e.attribute(CTA_ZONE, &id.zone.to_be_bytes());
        }
        e.attribute(CTA_ID, &id.id.to_be_bytes());
        what(e);
    });
}

fn put_tuple(encoder: &mut Encoder, tuple: &Tuple) {
    encoder.nested(CTA_TUPLE_IP, |e| match (tuple.source, tuple.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            e.attribute(CTA_IP_V4_SRC, &source.octets());
            e.attribute(CTA_IP_V4_DST, &destination.octets());
        }
        // Both are IPv6: `Tuple` promises one family. A mixed one is written as mapped addresses,
        // which match no entry.
        (source, destination) => {
            e.attribute(CTA_IP_V6_SRC, &mapped(source).octets());
            e.attribute(CTA_IP_V6_DST, &mapped(destination).octets());
        }
    });
    encoder.nested(CTA_TUPLE_PROTO, |e| {
        e.attribute(CTA_PROTO_NUM, &[tuple.protocol.number()]);
        e.attribute(CTA_PROTO_SRC_PORT, &tuple.source_port.to_be_bytes());
        e.attribute(CTA_PROTO_DST_PORT, &tuple.destination_port.to_be_bytes());
    });
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
