//! Arbitrary frames: an ordinary frame, edited by a few random bytes. Any bytes yield a frame.

use super::Connection;
use super::connection::{LAN, SIDES, WAN, links};
use super::edit::*;
use super::model::Hook;

/// Longer frames arrive in several buffers at XDP; the model supports one.
const LONGEST: usize = 3400;

/// Hook at which a test injects a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Injects an incoming frame at a hook.
    In(Hook),
    /// Leaves, past the witness.
    Out,
}

/// A frame, and where it is put.
#[derive(Clone, Debug)]
pub struct Mangled {
    pub place: Place,
    pub link: u32,
    pub octets: Vec<u8>,
}

/// Reads choices, 0 when there are no more.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn octet(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }
}

/// Returns the frame that `choices` describe, for one of these connections.
pub fn mangled(choices: &[u8], connections: &[Connection]) -> Mangled {
    let mut choices = Choices(choices.iter());
    let (what, which) = (choices.octet(), choices.octet());
    let place = match what % 8 {
        0..3 => Place::In(Hook::Xdp),
        3..6 => Place::In(Hook::Tc),
        _ => Place::Out,
    };
    let side = SIDES[usize::from(which & 1)];
    let connection = &connections[usize::from(which >> 1) % connections.len()];
    let (link_in, link_out) = links(side);
    let frame = connection
        .frame(side)
        .payload(usize::from(choices.octet()) % 160);
    let (mut link, mut octets) = match place {
        Place::In(_) => (link_in, frame.bytes()),
        Place::Out => (link_out, connection.sent(side, &frame).bytes()),
    };
    if what & 0x80 != 0 {
        // Random bytes alone, behind an ordinary Ethernet header.
        octets.truncate(14);
        octets.extend(choices.0.by_ref());
    }
    if what & 0x78 == 0x78 {
        link = LAN + WAN - link;
    }
    while choices.0.len() > 0 {
        edit(&mut octets, &mut choices);
    }
    octets.truncate(LONGEST);
    if octets.len() < 14 {
        octets.resize(14, 0);
    }
    Mangled {
        place,
        link,
        octets,
    }
}

/// Returns true if every edit below has room in the frame.
fn whole(frame: &[u8]) -> bool {
    frame.len() >= 14 + 40 + 20
}

fn edit(frame: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let kind = choices.octet();
    let (at, value) = (usize::from(choices.octet()), choices.octet());
    match kind % 20 {
        0 if at < frame.len() => frame[at] = value,
        1 if at < frame.len() => frame[at] ^= 1 << (value % 8),
        2 => frame.truncate(at),
        3 => frame.resize(frame.len() + at, value),
        4 => frame.resize(frame.len() + usize::from(value) * 16, 0x55),
        _ if !whole(frame) => {}
        5 => ttl(frame, value),
        6 => tos(frame, value),
        7 => length(frame, choices.word()),
        8 => length(frame, (at as u16) % 200),
        9 => {
            let header = if is_ipv6(frame) { 54 } else { 14 };
            let right = (frame.len() - header) as u16;
            length(frame, right);
            let at = l4(frame) + 4;
            if !is_tcp(frame) {
                let right = (frame.len() - at + 4) as u16;
                put16(frame, at, right);
            }
        }
        10 if !is_ipv6(frame) => options(frame, value % 11),
        10 => extension(frame, [0, 43, 44, 51, 59, 60, 135, 6, 17, 58][at % 10]),
        11 if !is_ipv6(frame) => fragment(frame, choices.word()),
        12 => flags(frame, value),
        13 => data_offset(frame, value % 16),
        14 => {
            let at = l4_check_at(frame);
            put16(frame, at, choices.word());
        }
        15 => udp_length(frame, u16::from(value)),
        16 => tag(frame, [0x8100, 0x88a8, 0x8864][at % 3], u16::from(value)),
        17 => frame[..6].copy_from_slice(&[value, at as u8, 0, 0, 0, 1]),
        18 => protocol(frame, value),
        _ => mend(frame),
    }
}
