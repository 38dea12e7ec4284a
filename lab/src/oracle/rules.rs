//! Permitted differences between two correct routers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use net::checksum::{checksum, fold};

use crate::frame::Frame;
use crate::gateway;
use crate::generate::{Flow, Side, Translation};
use crate::test_port::CapturedFrame;
use crate::view::View;

use super::fragments::reassemble;

/// A permitted difference. Each one is checked and counted, and does not cause a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difference {
    /// A packet of a known flow has a wrong TCP or UDP checksum. The packet is invalid for
    /// conntrack, so the kernel sends the packet untranslated or drops it. The router under test
    /// forwards the packet translated, with an equally wrong checksum.
    BadChecksumForwarded,
}

/// TTL of the router's own packets. The workload has no packet that leaves the router with this
/// TTL.
const OWN_TTL: u8 = 64;

/// Least length of an Ethernet frame without its checksum (IEEE 802.3).
const SHORTEST: usize = 60;

/// Removes fields outside the router's choice or free to the router. Short frames are padded with
/// zeros, as by every Ethernet device except veth. The IPv4 identification and the verified header
/// checksum are zeroed in the router's own packets: ICMP and TCP from a router address with the
/// router's own TTL.
pub(super) fn normal(frame: &[u8]) -> Frame {
    let mut frame = filled(frame);
    let own = [gateway::ROUTER_LAN, gateway::ROUTER_WAN, gateway::SECOND.0];
    let Some(view) = View::of(&frame) else {
        return frame;
    };
    let made = own.contains(&view.from) && view.ttl == OWN_TTL && matches!(view.protocol, 1 | 6);
    let right = frame
        .get(14..view.body)
        .is_some_and(|header| fold(0, header) == 0xffff);
    if made && right {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    }
    frame
}

/// Key of ordered comparison: addresses, protocol and ports. Fragments have no ports; other
/// protocols than IP have no key.
pub(super) type Key = Option<(IpAddr, IpAddr, u8, Option<(u16, u16)>)>;

/// Groups the frames of one end by flow, in order.
pub(super) fn by_flow(frames: &[CapturedFrame]) -> BTreeMap<Key, Vec<CapturedFrame>> {
    let mut flows: BTreeMap<Key, Vec<CapturedFrame>> = BTreeMap::new();
    for CapturedFrame { envelope, frame } in frames {
        let flow = View::of(frame).map(|view| (view.from, view.to, view.protocol, view.ports));
        flows.entry(flow).or_default().push(CapturedFrame {
            envelope: envelope.clone(),
            frame: normal(frame),
        });
    }
    for frames in flows.values_mut() {
        renumber_fragments(frames.iter_mut().map(|arrival| &mut arrival.frame));
        reassemble(frames);
    }
    flows
}

/// Numbers IPv6 identifications in order of appearance. Conntrack assembles IPv6 packets, and the
/// kernel fragments each packet with a new identification (`ip6_fragment`). The value is free; the
/// grouping of fragments is not.
fn renumber_fragments<'a>(frames: impl Iterator<Item = &'a mut Frame>) {
    let mut known = Vec::new();
    for frame in frames {
        // The fragment header comes first; the identification is its second half (RFC 8200 section
        // 4.5).
        let fragment =
            View::of(frame).is_some_and(|view| view.from.is_ipv6() && view.protocol == 44);
        let Some(id) = frame.get_mut(58..62).filter(|_| fragment) else {
            continue;
        };
        let number = known
            .iter()
            .position(|other| *other == id)
            .unwrap_or(known.len());
        if number == known.len() {
            known.push(id.to_vec());
        }
        id.copy_from_slice(&(number as u32).to_be_bytes());
    }
}

/// Returns true if conntrack rejects the layer 4 checksum.
pub(super) fn checksum_wrong(frame: &[u8]) -> bool {
    View::of(frame)
        .and_then(|view| view.residue(frame))
        .is_some_and(|residue| !matches!(residue, 0 | 0xffff))
}

/// Pads a frame to the least length.
pub(super) fn filled(frame: &[u8]) -> Frame {
    let mut frame = frame.to_vec();
    if frame.len() < SHORTEST {
        frame.resize(SHORTEST, 0);
    }
    frame
}

/// Returns the frame after plain forwarding: TTL lowered, new MACs, no trailer.
pub(super) fn forwarded(frame: &[u8], side: Side) -> Option<Frame> {
    let view = View::of(frame)?;
    let out = side.other();
    let mut frame = frame.get(..view.end)?.to_vec();
    frame[..6].copy_from_slice(&out.host_mac());
    frame[6..12].copy_from_slice(&out.router_mac());
    if view.from.is_ipv6() {
        frame[21] = view.ttl.checked_sub(1)?;
    } else {
        frame[22] = view.ttl.checked_sub(1)?;
        finish_header(&mut frame, view.body);
    }
    Some(frame)
}

/// A socket's address and port.
pub(super) type Socket = (IpAddr, u16);

/// Both sockets of a flow, as each end sees them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The client's socket in the client's view and in the server's view.
    pub client: [Socket; 2],
    /// The server's socket in the client's view and in the server's view.
    pub server: [Socket; 2],
}

impl Ends {
    pub(super) fn of(flow: &Flow, translation: Translation) -> Self {
        Self {
            client: [
                (flow.client(), flow.client_port),
                (translation.address, translation.port),
            ],
            server: [flow.reached(), flow.server()].map(|address| (address, flow.server_port)),
        }
    }
}

/// Returns the frame after forwarding with translation. The layer 4 checksum field stays unchanged:
/// [`same_but_checksum`] checks the field.
pub(super) fn translated(frame: &[u8], side: Side, ends: &Ends) -> Option<Frame> {
    let mut out = forwarded(frame, side)?;
    let view = View::of(&out)?;
    view.ports?;
    let (from, to) = match side {
        Side::Client => (ends.client[1], ends.server[1]),
        Side::Server => (ends.server[0], ends.client[0]),
    };
    for (index, (address, port)) in [from, to].into_iter().enumerate() {
        match address {
            IpAddr::V4(address) => {
                let at = 26 + 4 * index;
                out[at..at + 4].copy_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                let at = 22 + 16 * index;
                out[at..at + 16].copy_from_slice(&address.octets());
            }
        }
        let at = view.body + 2 * index;
        out[at..at + 2].copy_from_slice(&port.to_be_bytes());
    }
    if view.from.is_ipv4() {
        finish_header(&mut out, view.body);
    }
    Some(out)
}

/// Returns true if `out` equals `expected` except for the layer 4 checksum, and this checksum is
/// exactly as wrong as in `sent`. The sums over pseudo-header, data and checksum are then equal, as
/// an incremental update (RFC 1624) keeps them.
pub(super) fn same_but_checksum(sent: &[u8], expected: &[u8], out: &[u8]) -> bool {
    let views = View::of(sent).zip(View::of(out));
    let Some((at, (sent_view, out_view))) =
        views.and_then(|views| Some((views.1.checksum_at()?, views)))
    else {
        return false;
    };
    let blank = |frame: &[u8]| {
        let mut frame = filled(frame);
        if let Some(field) = frame.get_mut(at..at + 2) {
            field.fill(0);
        }
        frame
    };
    blank(expected) == blank(out)
        && checksum_wrong(out)
        && sent_view.residue(sent) == out_view.residue(out)
}

fn finish_header(frame: &mut [u8], end: usize) {
    frame[24..26].fill(0);
    let sum = checksum(0, &frame[14..end]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Body, Checksum, Packet};
    use crate::view::{pseudo_header, word};

    fn sent() -> Packet {
        let body = Body::Udp(20_000, 2_000, b"payload".to_vec());
        Packet::new(
            (Side::Client.host_mac(), gateway::CLIENT),
            (Side::Client.router_mac(), gateway::SERVER),
            body,
        )
    }

    /// Builds the outgoing frame from the model instead of by changing bytes.
    fn out(checksum: Checksum) -> Frame {
        let mut packet = sent();
        packet.from_mac = Side::Server.router_mac();
        packet.to_mac = Side::Server.host_mac();
        packet.from = gateway::ROUTER_WAN;
        packet.ttl -= 1;
        packet.body = Body::Udp(4_000, 2_000, b"payload".to_vec());
        packet.lies.checksum = checksum;
        packet.bytes()
    }

    #[test]
    fn accepts_a_translation_that_keeps_the_checksum_wrong() {
        let mut packet = sent();
        packet.lies.checksum = Checksum::Wrong(0x0010);
        let frame = packet.bytes();
        let ends = Ends {
            client: [(gateway::CLIENT, 20_000), (gateway::ROUTER_WAN, 4_000)],
            server: [(gateway::SERVER, 2_000); 2],
        };
        let expected = translated(&frame, Side::Client, &ends).expect("UDP");
        // An incremental update adds the change of the other bytes to the field.
        let wrong = word(&frame, 40).expect("a checksum");
        let right = word(&sent().bytes(), 40).expect("a checksum");
        let error = (u32::from(wrong) + u32::from(!right)) % 0xffff;
        let fixed = word(&out(Checksum::Right), 40).expect("a checksum");
        let field = (u32::from(fixed) + error) % 0xffff;
        let mut kept = out(Checksum::Right);
        kept[40..42].copy_from_slice(&(field as u16).to_be_bytes());
        assert!(checksum_wrong(&frame) && same_but_checksum(&frame, &expected, &kept));
        // A router that repairs the checksum hides a broken packet. A different wrong checksum
        // fails too.
        assert!(!same_but_checksum(&frame, &expected, &out(Checksum::Right)));
        assert!(!same_but_checksum(
            &frame,
            &expected,
            &out(Checksum::Wrong(0x4242))
        ));
        kept[45] ^= 1;
        assert!(!same_but_checksum(&frame, &expected, &kept));
    }

    #[test]
    fn only_the_routers_own_packets_lose_their_identification() {
        let mut packet = sent();
        packet.id = 77;
        packet.from = gateway::ROUTER_WAN;
        packet.body = Body::Icmp(11, 0, 0, vec![0; 28]);
        assert_eq!(word(&normal(&packet.bytes()), 18), Some(0));
        packet.ttl = 63;
        assert_eq!(word(&normal(&packet.bytes()), 18), Some(77));
        packet.ttl = 64;
        packet.lies.ip_checksum = 1;
        assert_eq!(word(&normal(&packet.bytes()), 18), Some(77));
    }

    #[test]
    fn fragments_may_have_any_identification_but_must_share_it() {
        let pair = |ids: [u16; 2]| {
            let mut packet = sent();
            packet.from = gateway::CLIENT6;
            packet.to = gateway::SERVER6;
            let mut halves = [0, 1].map(|half| {
                packet.id = ids[half];
                packet.fragments(8)[half].clone()
            });
            renumber_fragments(halves.iter_mut());
            halves
        };
        assert_eq!(pair([5, 5]), pair([9, 9]));
        assert_ne!(pair([5, 5]), pair([5, 9]));
    }

    #[test]
    fn the_pseudo_header_is_part_of_the_residue() {
        let frame = sent().bytes();
        let sum = pseudo_header(gateway::CLIENT, gateway::SERVER, 17, 15);
        assert_eq!(fold(sum, &frame[34..]), 0xffff);
    }
}
