//! Values of fields, in the order of a template.

use std::net::IpAddr;

use super::element::*;
use super::record::{FlowRecord, Icmp, NatEvent};
use super::template::{Template, View};

/// Maximum length of exported names, in bytes. Below 255, so that one byte holds the length.
pub const NAME_LIMIT: usize = 64;

/// Writes a flow's record, one field after the other, as `template` has them.
pub(super) fn flow(out: &mut Vec<u8>, template: &Template, view: View, flow: &FlowRecord<'_>) {
    let back = view == View::Received;
    // The reverse direction swaps source and destination.
    let (source, destination) = swap(back, flow.source, flow.destination);
    let (source_port, destination_port) = swap(back, flow.source_port, flow.destination_port);
    let (ingress, egress) = swap(back, flow.ingress_port, flow.egress_port);
    let (way, other) = swap(back, flow.sent, flow.received);
    let ipv6 = flow.source.is_ipv6();
    let icmp = flow.icmp.unwrap_or(Icmp { kind: 0, code: 0 });
    let (icmp, other_icmp) = swap(back, icmp, icmp.answer(ipv6));
    let translation = flow.translation;
    let tcp = flow.tcp.unwrap_or_default();
    let (again, other_again) = swap(back, tcp.retransmits[0], tcp.retransmits[1]);
    for field in &template.fields {
        let way = if field.is_reversed() { other } else { way };
        // Both directions share the elements.
        let plain = match field.is_reversed() {
            true => Element {
                enterprise: 0,
                ..*field
            },
            false => *field,
        };
        match plain {
            FLOW_START_MILLISECONDS => number(out, flow.start.min(flow.end)),
            FLOW_END_MILLISECONDS => number(out, flow.end),
            SOURCE_IPV4_ADDRESS | SOURCE_IPV6_ADDRESS => address(out, Some(source), *field),
            DESTINATION_IPV4_ADDRESS | DESTINATION_IPV6_ADDRESS => {
                address(out, Some(destination), *field);
            }
            PROTOCOL_IDENTIFIER => out.push(flow.protocol),
            SOURCE_TRANSPORT_PORT => out.extend(source_port.to_be_bytes()),
            DESTINATION_TRANSPORT_PORT => out.extend(destination_port.to_be_bytes()),
            ICMP_TYPE_CODE_IPV4 | ICMP_TYPE_CODE_IPV6 => {
                let icmp = if field.is_reversed() {
                    other_icmp
                } else {
                    icmp
                };
                out.extend([icmp.kind, icmp.code]);
            }
            TCP_CONTROL_BITS => out.extend(way.tcp_flags.to_be_bytes()),
            IP_CLASS_OF_SERVICE => out.push(way.tos),
            INGRESS_INTERFACE => out.extend(ingress.to_be_bytes()),
            EGRESS_INTERFACE => out.extend(egress.to_be_bytes()),
            VLAN_ID | POST_VLAN_ID => out.extend(flow.vlan.to_be_bytes()),
            SOURCE_MAC_ADDRESS | POST_DESTINATION_MAC_ADDRESS => out.extend(flow.mac),
            // 0 is ingress, 1 egress: received packets are counted where they leave by the
            // station's port.
            FLOW_DIRECTION => out.push(u8::from(back)),
            OCTET_DELTA_COUNT => number(out, way.octets),
            PACKET_DELTA_COUNT => number(out, way.packets),
            FLOW_END_REASON => out.push(flow.reason as u8),
            EXTERNAL_ADDRESS_REALM => text(out, if flow.internet { "internet" } else { "lan" }),
            BIFLOW_DIRECTION => out.push(flow.initiator as u8),
            POST_NAT_SOURCE_IPV4_ADDRESS | POST_NAT_SOURCE_IPV6_ADDRESS => {
                address(out, translation.map(|t| t.source), *field);
            }
            POST_NAT_DESTINATION_IPV4_ADDRESS | POST_NAT_DESTINATION_IPV6_ADDRESS => {
                address(out, translation.map(|t| t.destination), *field);
            }
            POST_NAPT_SOURCE_TRANSPORT_PORT => {
                out.extend(translation.map_or(0, |t| t.source_port).to_be_bytes());
            }
            POST_NAPT_DESTINATION_TRANSPORT_PORT => {
                out.extend(translation.map_or(0, |t| t.destination_port).to_be_bytes());
            }
            APPLICATION_NAME => text(out, flow.application.unwrap_or_default()),
            FLOW_SERVER_NAME => text(out, flow.remote_name.unwrap_or_default()),
            RETRANSMITTED_IN_PKTS => out.extend(again.to_be_bytes()),
            RETRANSMITTED_OUT_PKTS => out.extend(other_again.to_be_bytes()),
            // The station counts as the client, even if the remote end began.
            CLIENT_NW_LATENCY_MS => out.extend(half(tcp.near).to_be_bytes()),
            SERVER_NW_LATENCY_MS => out.extend(half(tcp.far).to_be_bytes()),
            _ => out.extend(std::iter::repeat_n(0, usize::from(field.length))),
        }
    }
}

/// Writes the record of a translation that began or ended.
pub(super) fn nat_event(out: &mut Vec<u8>, event: &NatEvent) {
    number(out, event.time);
    out.push(event.kind as u8);
    out.extend(event.source.0.octets());
    out.extend(event.translated_source.0.octets());
    out.push(event.protocol);
    out.extend(event.source.1.to_be_bytes());
    out.extend(event.translated_source.1.to_be_bytes());
    out.extend(event.destination.0.octets());
    out.extend(event.translated_destination.0.octets());
    out.extend(event.destination.1.to_be_bytes());
    out.extend(event.translated_destination.1.to_be_bytes());
    // 1 is the private side, 2 the public one (IANA natOriginatingAddressRealm).
    out.push(1 + u8::from(event.from_outside));
}

/// Writes an option: its scope, then numbers of 64 bits.
pub(super) fn option(out: &mut Vec<u8>, scope: u32, values: &[u64]) {
    out.extend(scope.to_be_bytes());
    for value in values {
        number(out, *value);
    }
}

/// Returns true if a name contains anything but control characters.
pub(super) fn is_printable(text: &str) -> bool {
    text.chars().any(|c| !c.is_control())
}

/// Writes a name with its length before it: without control characters, and cut between characters.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    out.push(0);
    for character in text.chars().filter(|c| !c.is_control()) {
        if out.len() + character.len_utf8() > start + 1 + NAME_LIMIT {
            break;
        }
        out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out[start] = (out.len() - start - 1) as u8;
}

/// Returns half of a round trip in milliseconds, rounded up: 0 means not measured.
fn half(micros: Option<u32>) -> u32 {
    micros.map_or(0, |micros| micros.max(1).div_ceil(2_000))
}

fn number(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_be_bytes());
}

/// Writes an address. An address of another family than the field's is written as zeroes: the
/// record's length is always the template's.
fn address(out: &mut Vec<u8>, address: Option<IpAddr>, field: Element) {
    match (address, field.length) {
        (Some(IpAddr::V4(address)), 4) => out.extend(address.octets()),
        (Some(IpAddr::V6(address)), 16) => out.extend(address.octets()),
        (_, length) => out.extend(std::iter::repeat_n(0, usize::from(length))),
    }
}

fn swap<T>(back: bool, one: T, other: T) -> (T, T) {
    if back { (other, one) } else { (one, other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters_and_lose_what_controls_terminals() {
        let mut out = Vec::new();
        text(&mut out, "a\x1b[31m\u{9b}b\n");
        assert_eq!(out, b"\x06a[31mb");
        out.clear();
        text(&mut out, &"é".repeat(40));
        assert_eq!((out[0], out.len()), (64, 65));
        out.clear();
        text(&mut out, &format!("x{}", "é".repeat(40)));
        assert_eq!((out[0], out.len()), (63, 64));
    }
}
