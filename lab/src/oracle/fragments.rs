//! Reassembly of the fragments of a packet.

use std::collections::BTreeMap;

use net::checksum::fold;

use crate::encapsulation::Encapsulation;
use crate::frame::Frame;
use crate::test_port::CapturedFrame;
use crate::view::{View, word};

/// Reassembles complete sets of fragments, each at the position of the first one. Conntrack
/// assembles packets, and the kernel then fragments each packet again. The cuts stay if the buffers
/// have room for the outgoing header (fast path of `ip_do_fragment` and `ip6_fragment`). The choice
/// depends on the driver and on XDP; the whole packet does not. Sets with missing, doubled or
/// damaged parts stay unchanged.
pub(super) fn reassemble(frames: &mut Vec<CapturedFrame>) {
    let mut sets: BTreeMap<(Encapsulation, Frame), Vec<(usize, Piece)>> = BTreeMap::new();
    for (index, arrival) in frames.iter().enumerate() {
        if let Some(piece) = Piece::of(&arrival.frame) {
            let key = (arrival.envelope.clone(), piece.header.clone());
            sets.entry(key).or_default().push((index, piece));
        }
    }
    let mut gone = Vec::new();
    for ((_, header), mut set) in sets {
        let first = set.iter().map(|(index, _)| *index).min();
        set.sort_by_key(|(_, piece)| piece.offset);
        let mut payload = Vec::new();
        let whole = set.iter().enumerate().all(|(at, (_, piece))| {
            let fits = piece.offset == payload.len() && piece.last == (at + 1 == set.len());
            payload.extend(&piece.payload);
            fits
        });
        let Some(first) = first.filter(|_| whole) else {
            continue;
        };
        frames[first].frame = [header, payload].concat();
        gone.extend(
            set.iter()
                .map(|(index, _)| *index)
                .filter(|at| *at != first),
        );
    }
    let mut index = 0;
    frames.retain(|_| {
        index += 1;
        !gone.contains(&(index - 1))
    });
}

/// A fragment of a packet.
#[derive(Debug)]
struct Piece {
    /// Bytes before the payload, without the fields that differ between fragments.
    header: Frame,
    /// Offset of the payload in the packet, bytes.
    offset: usize,
    last: bool,
    payload: Vec<u8>,
}

impl Piece {
    /// Parses a fragment; returns `None` for whole packets and damaged fragments.
    fn of(frame: &[u8]) -> Option<Self> {
        let view = View::of(frame)?;
        // Ethernet pads short frames with zeros.
        let sound = frame[view.end..].iter().all(|byte| *byte == 0);
        let (body, field, variable) = match view.from.is_ipv4() {
            // Total length, flags and offset, checksum.
            true => (view.body, word(frame, 20)?, [16, 20, 24]),
            // Payload length, offset and flag. Two variable fields fill the array of three.
            false => (view.body + 8, word(frame, 56)?, [18, 56, 56]),
        };
        let (offset, more, flags) = match view.from.is_ipv4() {
            true => (
                usize::from(field & 0x1fff) * 8,
                field & 0x2000 != 0,
                field & 0xc000,
            ),
            false => (usize::from(field & 0xfff8), field & 1 != 0, 0),
        };
        let fragment = match view.from.is_ipv4() {
            true => view.fragment && fold(0, frame.get(14..body)?) == 0xffff,
            false => view.protocol == 44 && word(frame, 18).is_some_and(|length| length >= 8),
        };
        if !fragment || !sound {
            return None;
        }
        let mut header = frame.get(..body)?.to_vec();
        for at in variable {
            header[at..at + 2].fill(0);
        }
        let at = if view.from.is_ipv4() { 20 } else { 56 };
        header[at..at + 2].copy_from_slice(&flags.to_be_bytes());
        Some(Self {
            header,
            offset,
            last: !more,
            payload: frame.get(body..view.end)?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Body, Packet};
    use crate::gateway;

    /// Returns the fragments of a packet, cut at `first`.
    fn cut(ipv6: bool, first: usize) -> Vec<CapturedFrame> {
        let (from, to) = match ipv6 {
            false => (gateway::CLIENT, gateway::SERVER),
            true => (gateway::CLIENT6, gateway::SERVER6),
        };
        let mut packet = Packet::new(([2; 6], from), ([4; 6], to), Body::Udp(1, 2, vec![5; 90]));
        packet.id = 9;
        packet
            .fragments(first)
            .map(|frame| CapturedFrame {
                envelope: Encapsulation::default(),
                frame,
            })
            .to_vec()
    }

    fn assembled(mut frames: Vec<CapturedFrame>) -> Vec<CapturedFrame> {
        reassemble(&mut frames);
        frames
    }

    #[test]
    fn where_it_was_cut_does_not_matter() {
        for ipv6 in [false, true] {
            let one = assembled(cut(ipv6, 8));
            assert_eq!(one.len(), 1);
            assert_eq!(one, assembled(cut(ipv6, 64)));
        }
    }

    #[test]
    fn what_is_in_it_does() {
        for ipv6 in [false, true] {
            let right = assembled(cut(ipv6, 16));
            let mut other = cut(ipv6, 16);
            let last = other[1].frame.len() - 1;
            other[1].frame[last] ^= 1;
            assert_ne!(right, assembled(other));
            // A part is missing or doubled.
            let mut missing = cut(ipv6, 16);
            missing.truncate(1);
            assert_eq!(assembled(missing.clone()), missing);
            let mut doubled = cut(ipv6, 16);
            doubled.push(doubled[0].clone());
            assert_eq!(assembled(doubled.clone()), doubled);
            // A part has another hop count.
            let mut hops = cut(ipv6, 16);
            let at = if ipv6 { 21 } else { 22 };
            hops[0].frame[at] -= 1;
            assert_eq!(assembled(hops).len(), 2);
        }
    }
}
