//! Information elements: the meaning of each field of a record. Numbers and lengths are IANA's
//! (ipfix registry).

/// Enterprise number of reverse elements (RFC 5103, section 6.1): the same numbers as IANA's, of
/// the other way of a biflow.
pub const REVERSE: u32 = 29305;
/// Enterprise number of ntop's elements
/// (<https://www.ntop.org/guides/nprobe/flow_information_elements.html>): IANA has no equivalents,
/// and several collectors know these.
pub const NTOP: u32 = 35632;
/// Length of a field that says its own length (RFC 7011, section 7).
pub const VARIABLE: u16 = 65535;

/// A field of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Number at the enterprise.
    pub number: u16,
    /// Bytes, or [`VARIABLE`].
    pub length: u16,
    /// Owner of the number: [`REVERSE`], [`NTOP`], or 0 for IANA.
    pub enterprise: u32,
}

impl Element {
    const fn new(number: u16, length: u16) -> Self {
        Self {
            number,
            length,
            enterprise: 0,
        }
    }

    /// Creates an element of ntop's.
    const fn ntop(number: u16, length: u16) -> Self {
        Self {
            enterprise: NTOP,
            ..Self::new(number, length)
        }
    }

    /// Returns the element for the reverse direction of a biflow.
    pub const fn reversed(self) -> Self {
        Self {
            enterprise: REVERSE,
            ..self
        }
    }

    /// Returns true for the reverse direction of a biflow (RFC 5103).
    pub const fn is_reversed(self) -> bool {
        self.enterprise == REVERSE
    }

    /// Returns the length of its specifier in a template, in bytes.
    pub const fn specifier_length(self) -> usize {
        if self.enterprise == 0 { 4 } else { 8 }
    }
}

macro_rules! elements {
    ($($name:ident $number:literal $length:expr;)*) => {
        $(#[doc = concat!("IANA's element ", stringify!($number), ".")]
        pub const $name: Element = Element::new($number, $length);)*
    };
}

elements! {
    OCTET_DELTA_COUNT 1 8;
    PACKET_DELTA_COUNT 2 8;
    PROTOCOL_IDENTIFIER 4 1;
    IP_CLASS_OF_SERVICE 5 1;
    TCP_CONTROL_BITS 6 2;
    SOURCE_TRANSPORT_PORT 7 2;
    SOURCE_IPV4_ADDRESS 8 4;
    INGRESS_INTERFACE 10 4;
    DESTINATION_TRANSPORT_PORT 11 2;
    DESTINATION_IPV4_ADDRESS 12 4;
    EGRESS_INTERFACE 14 4;
    SOURCE_IPV6_ADDRESS 27 16;
    DESTINATION_IPV6_ADDRESS 28 16;
    ICMP_TYPE_CODE_IPV4 32 2;
    EXPORTED_OCTET_TOTAL_COUNT 40 8;
    EXPORTED_MESSAGE_TOTAL_COUNT 41 8;
    EXPORTED_FLOW_RECORD_TOTAL_COUNT 42 8;
    SOURCE_MAC_ADDRESS 56 6;
    POST_DESTINATION_MAC_ADDRESS 57 6;
    VLAN_ID 58 2;
    POST_VLAN_ID 59 2;
    FLOW_DIRECTION 61 1;
    INTERFACE_NAME 82 VARIABLE;
    APPLICATION_NAME 96 VARIABLE;
    FLOW_END_REASON 136 1;
    ICMP_TYPE_CODE_IPV6 139 2;
    EXPORTING_PROCESS_ID 144 4;
    OBSERVATION_DOMAIN_ID 149 4;
    FLOW_START_MILLISECONDS 152 8;
    FLOW_END_MILLISECONDS 153 8;
    IGNORED_PACKET_TOTAL_COUNT 164 8;
    IGNORED_OCTET_TOTAL_COUNT 165 8;
    NOT_SENT_FLOW_TOTAL_COUNT 166 8;
    NOT_SENT_PACKET_TOTAL_COUNT 167 8;
    NOT_SENT_OCTET_TOTAL_COUNT 168 8;
    POST_NAT_SOURCE_IPV4_ADDRESS 225 4;
    POST_NAT_DESTINATION_IPV4_ADDRESS 226 4;
    POST_NAPT_SOURCE_TRANSPORT_PORT 227 2;
    POST_NAPT_DESTINATION_TRANSPORT_PORT 228 2;
    NAT_ORIGINATING_ADDRESS_REALM 229 1;
    NAT_EVENT 230 1;
    BIFLOW_DIRECTION 239 1;
    POST_NAT_SOURCE_IPV6_ADDRESS 281 16;
    POST_NAT_DESTINATION_IPV6_ADDRESS 282 16;
    OBSERVATION_TIME_MILLISECONDS 323 8;
    EXTERNAL_ADDRESS_REALM 465 VARIABLE;
}

/// TCP segments that the flow's source retransmitted, or that arrived out of order.
pub const RETRANSMITTED_IN_PKTS: Element = Element::ntop(109, 4);
/// Retransmitted packets towards the destination.
pub const RETRANSMITTED_OUT_PKTS: Element = Element::ntop(110, 4);
/// Name of the remote end.
pub const FLOW_SERVER_NAME: Element = Element::ntop(122, VARIABLE);
/// Half a round trip between probe and client, milliseconds.
pub const CLIENT_NW_LATENCY_MS: Element = Element::ntop(123, 4);
/// Network latency between probe and server.
pub const SERVER_NW_LATENCY_MS: Element = Element::ntop(124, 4);
