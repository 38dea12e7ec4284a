//! Records to export: flows, translations, and interfaces.

use std::net::{IpAddr, Ipv4Addr};

/// Traffic of a flow in one direction since the last export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Bytes of IP packets, headers included (octetDeltaCount).
    pub octets: u64,
    /// IP packets, as on the wire.
    pub packets: u64,
    /// Flags of TCP seen, each bit as in bytes 12 and 13 of its header (RFC 7125); 0 for other
    /// protocols.
    pub tcp_flags: u16,
    /// Type of service or traffic class of the first packet (ipClassOfService).
    pub tos: u8,
}

impl FlowCounters {
    /// Returns true if nothing passed in this direction.
    pub fn is_empty(&self) -> bool {
        self.octets == 0 && self.packets == 0
    }
}

/// Type and code of an ICMP or ICMPv6 message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
}

impl Icmp {
    /// Returns the type that answers this message (RFC 792, RFC 950, RFC 4443); the message itself
    /// if it is not a request.
    pub fn answer(self, ipv6: bool) -> Self {
        let kind = match (ipv6, self.kind) {
            (false, 8) => 0,
            (false, 0) => 8,
            (false, 13) => 14,
            (false, 14) => 13,
            (false, 17) => 18,
            (false, 18) => 17,
            (true, 128) => 129,
            (true, 129) => 128,
            (_, other) => other,
        };
        Self { kind, ..self }
    }
}

/// Addresses and ports of the station's packets behind the router's translation (RFC 8158).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Source address as it leaves.
    pub source: IpAddr,
    /// Destination address as it leaves.
    pub destination: IpAddr,
    /// Source port as it leaves; 0 where the protocol has none.
    pub source_port: u16,
    /// Destination port as it leaves.
    pub destination_port: u16,
}

/// Measurements of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Segments retransmitted since the last export: by the station, and to the station.
    pub retransmits: [u32; 2],
    /// Round trip between router and station, microseconds, as last measured.
    pub near: Option<u32>,
    /// Latency between router and remote end.
    pub far: Option<u32>,
}

/// Reason of the export (flowEndReason, IANA).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EndReason {
    /// No packet arrived during the idle timeout.
    Idle = 1,
    /// The flow continues; the export was due.
    #[default]
    Active = 2,
    /// The end was seen, as TCP's FIN.
    EndDetected = 3,
    /// weir stops, or had to give up the flow.
    Forced = 4,
    /// The record was needed for another flow.
    LackOfResources = 5,
}

/// Initiator of a conversation (biflowDirection, RFC 5103).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Initiator {
    /// Unknown: weir started after the flow.
    #[default]
    Unknown = 0,
    /// The station.
    Station = 1,
    /// The remote end.
    Remote = 2,
}

/// A flow, in both directions, seen from the station behind one of the router's ports: *source* is
/// the station. Both addresses are of one family; a record with mixed families is counted and left
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord<'a> {
    /// Address of the station.
    pub source: IpAddr,
    /// Address of the remote end.
    pub destination: IpAddr,
    /// Port of the station; 0 where the protocol has none.
    pub source_port: u16,
    /// Port of the remote end.
    pub destination_port: u16,
    /// Number of the protocol (6 is TCP).
    pub protocol: u8,
    /// ICMP message that the station sends; ports are left out then.
    pub icmp: Option<Icmp>,
    /// ifIndex of the station's port.
    pub ingress_port: u32,
    /// ifIndex of the device on the other side; 0 where unknown.
    pub egress_port: u32,
    /// VLAN at the station's port; 0 for none.
    pub vlan: u16,
    /// Hardware address of the station.
    pub mac: [u8; 6],
    /// Traffic from the station.
    pub sent: FlowCounters,
    /// Traffic to the station.
    pub received: FlowCounters,
    /// Time of the first of these packets, in milliseconds since 1970.
    pub start: u64,
    /// Time of the last of these packets.
    pub end: u64,
    /// Internet traffic: externalAddressRealm is `internet`, otherwise `lan` (RFC 8158).
    pub internet: bool,
    /// Reason of the export.
    pub reason: EndReason,
    /// Initiator of the flow.
    pub initiator: Initiator,
    /// Translation of the station's packets; left out for another address family (NAT64).
    pub translation: Option<Translation>,
    /// Application of the flow: `web`, `dns`, … Control characters are removed, and text longer
    /// than [`NAME_LIMIT`](super::NAME_LIMIT) bytes is cut.
    pub application: Option<&'a str>,
    /// Name of the remote end, limited like the application.
    pub remote_name: Option<&'a str>,
    /// Measurements of TCP, if there are any.
    pub tcp: Option<Tcp>,
}

/// Kind of event: a translation began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NatEventKind {
    /// NAT44 session created (IANA natEvent 4).
    Create = 4,
    /// NAT44 session deleted (5).
    Delete = 5,
}

/// Begin or end of a translation of IPv4. IANA has no such event for IPv6 to IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatEvent {
    /// Begin or end.
    pub kind: NatEventKind,
    /// Time of the event, in milliseconds since 1970.
    pub time: u64,
    /// Number of the protocol.
    pub protocol: u8,
    /// Source of the connection's first packet, and its port.
    pub source: (Ipv4Addr, u16),
    /// Destination of it.
    pub destination: (Ipv4Addr, u16),
    /// Source as it leaves.
    pub translated_source: (Ipv4Addr, u16),
    /// Destination as it leaves.
    pub translated_destination: (Ipv4Addr, u16),
    /// True if the connection came from outside, as to a forwarded port
    /// (natOriginatingAddressRealm).
    pub from_outside: bool,
}
