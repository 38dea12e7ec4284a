//! Frames with an envelope that the arrangement does not use, or that is slightly wrong.

use crate::arrangement::WAN_VLAN;
use crate::encapsulation::{
    CUSTOMER, DISCOVERY, Encapsulation, PROVIDER, SESSION, header, is_control, ppp_protocol,
};
use crate::frame::Frame;
use crate::generate::Kind;
use crate::random::Random;
use crate::test_port::TestPort;
use crate::view::word;

/// PADT (RFC 2516 section 5.5) ends a session.
const TERMINATE: u8 = 0xa7;
/// Number of a session that no host has.
const NOBODYS: u16 = 0x4242;
/// TPID of older bridges, unknown to Linux.
const FORMER: u16 = 0x9100;
/// PPP protocols: link control, an unknown network protocol, AppleTalk.
const LINK_CONTROL: u16 = 0xc021;
const FOREIGN: [u16; 2] = [0x0031, 0x0029];

/// Seals a step's frame for the wire, with the mischief of this kind.
pub(super) fn seal(kind: Kind, outlet: &TestPort, frame: &[u8], random: &mut Random) -> Frame {
    let frame = outlet.address(frame);
    let proper = &outlet.arriving;
    match kind {
        Kind::Priority => priority(proper, random).seal(&frame),
        Kind::Tags => tags(proper, &frame, random),
        Kind::Session => session(proper, &frame, random),
        Kind::SessionLength => session_length(proper, &frame, random),
        _ => proper.seal(&frame),
    }
}

/// Draws random PCP and DEI bits.
fn bits(random: &mut Random) -> u16 {
    random.next_u64() as u16 & 0xf000
}

fn priority(proper: &Encapsulation, random: &mut Random) -> Encapsulation {
    let mut envelope = proper.clone();
    if envelope.tags.is_empty() {
        envelope.tags.push((CUSTOMER, 0));
    }
    for (_, tci) in &mut envelope.tags {
        *tci = *tci & 0x0fff | bits(random);
    }
    envelope
}

fn tags(proper: &Encapsulation, frame: &[u8], random: &mut Random) -> Frame {
    let mut envelope = proper.clone();
    let tags = &mut envelope.tags;
    let any = random.next_u64() as u16;
    match random.below(9) {
        0 => tags.clear(),
        1 => *tags = vec![(CUSTOMER, any)],
        2 => *tags = vec![(PROVIDER, any), (CUSTOMER, any)],
        // The right VLAN numbers with the wrong TPID.
        3 => tags.iter_mut().for_each(|(tpid, _)| {
            *tpid ^= CUSTOMER ^ PROVIDER;
        }),
        4 => tags.insert(0, (CUSTOMER, any)),
        5 => tags.push((random.pick(&[CUSTOMER, PROVIDER, FORMER]), any)),
        6 => *tags = vec![(CUSTOMER, WAN_VLAN), (CUSTOMER, 5), (CUSTOMER, 6)],
        7 => tags.insert(0, (FORMER, WAN_VLAN)),
        // Tags up to the end of the frame.
        _ => {
            let deep = Encapsulation::tagged(&[(CUSTOMER, WAN_VLAN), (CUSTOMER, any)]).seal(frame);
            return deep[..14 + random.below(9)].to_vec();
        }
    }
    envelope.seal(frame)
}

/// Joins MACs, tags and `rest`, which begins with an EtherType.
fn over_tags(proper: &Encapsulation, frame: &[u8], rest: &[u8]) -> Frame {
    let mut outer = Encapsulation::tagged(&proper.tags).seal(&frame[..12]);
    outer.extend(rest);
    outer
}

fn session(proper: &Encapsulation, frame: &[u8], random: &mut Random) -> Frame {
    let Some(session) = proper.session else {
        return proper.seal(frame);
    };
    let protocol = word(frame, 12).and_then(ppp_protocol).unwrap_or(0x21);
    let packet = &frame[14..];
    let length = packet.len() as u16 + 2;
    let with = |header: [u8; 10]| over_tags(proper, frame, &[&header, packet].concat());
    let right = header(session, length, protocol);
    let changed = |at: usize, value: u8| {
        let mut wrong = right;
        wrong[at] = value;
        wrong
    };
    match random.below(11) {
        0 => with(header(
            random.pick(&[0, NOBODYS, session + 1, 0xffff]),
            length,
            protocol,
        )),
        1 => with(changed(2, random.pick(&[0x10, 0x12, 0x21, 0x01, 0]))),
        2 => with(changed(3, random.pick(&[1, 9, TERMINATE]))),
        // IP without a session, as on a plain wire.
        3 => over_tags(proper, frame, &frame[12..]),
        // PADT of another session: with another number, or from another host with the number of
        // this session.
        4 => {
            let mut over = header(NOBODYS, 0, 0);
            over[..2].copy_from_slice(&DISCOVERY.to_be_bytes());
            over[3] = TERMINATE;
            over_tags(proper, frame, &over[..8])
        }
        5 => {
            let mut other = frame.to_vec();
            other[11] ^= 0x55;
            let over = [
                &DISCOVERY.to_be_bytes()[..],
                &[0x11, TERMINATE],
                &right[4..6],
                &[0, 0],
            ];
            over_tags(proper, &other, &over.concat())
        }
        // A packet of this session from another host.
        6 => {
            let mut other = frame.to_vec();
            other[11] ^= 0x55;
            over_tags(proper, &other, &[&right, packet].concat())
        }
        // A protocol field of one byte (RFC 1661 section 6.5).
        7 => {
            let mut short = right[..8].to_vec();
            short[6..8].copy_from_slice(&(length - 1).to_be_bytes());
            short.push(protocol as u8);
            short.extend(packet);
            over_tags(proper, frame, &short)
        }
        8 => with(header(session, length, random.pick(&FOREIGN))),
        // An echo request, which pppd answers.
        9 => {
            let echo = [9, random.next_u64() as u8, 0, 8, 0, 0, 0, 0];
            let mut bytes = header(session, 10, LINK_CONTROL).to_vec();
            bytes.extend(echo);
            debug_assert!(is_control(&bytes));
            over_tags(proper, frame, &bytes)
        }
        _ => {
            let whole = with(right);
            let least = 14 + proper.tags.len() * 4;
            whole[..least + random.below(12)].to_vec()
        }
    }
}

fn session_length(proper: &Encapsulation, frame: &[u8], random: &mut Random) -> Frame {
    let mut sealed = proper.seal(frame);
    let at = 12 + proper.tags.len() * 4;
    if word(&sealed, at) != Some(SESSION) {
        return sealed;
    }
    let right = word(&sealed, at + 6).unwrap_or(2);
    let off = random.between(1, 20) as u16;
    let says = match random.below(5) {
        0 => right.saturating_sub(off),
        1 => right + off,
        // The length matches, but covers bytes behind the packet.
        2 => {
            let more = random.bytes(usize::from(off));
            sealed.extend(more);
            right + off
        }
        // The length is right, with extra bytes behind the packet.
        3 => {
            let more = random.bytes(usize::from(off));
            sealed.extend(more);
            right
        }
        _ => random.pick(&[0, 1, 2, 3, 0xffff]),
    };
    sealed[at + 6..at + 8].copy_from_slice(&says.to_be_bytes());
    sealed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::mac;
    use crate::frame::{Body, Packet};
    use crate::generate::Side;

    /// Returns a wire with a tag and a session.
    fn outlet() -> TestPort {
        let envelope = Encapsulation {
            tags: vec![(CUSTOMER, WAN_VLAN)],
            session: Some(9),
        };
        TestPort {
            role: "server",
            device: "eth0",
            side: Side::Server,
            host: mac("server", "eth0"),
            router: mac("router", "wan0"),
            arriving: envelope.clone(),
            leaving: vec![envelope],
        }
    }

    fn all(kind: Kind) -> Vec<Frame> {
        let outlet = outlet();
        let ends = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
        let body = Body::Udp(1, 2, vec![7; 30]);
        let macs = (outlet.side.host_mac(), outlet.side.router_mac());
        let frame = Packet::new((macs.0, ends[0]), (macs.1, ends[1]), body).bytes();
        let mut random = Random::new(1);
        (0..500)
            .map(|_| seal(kind, &outlet, &frame, &mut random))
            .collect()
    }

    #[test]
    fn priorities_change_nothing_else() {
        let outlet = outlet();
        let opened: Vec<_> = all(Kind::Priority)
            .iter()
            .map(|frame| outlet.open(frame).envelope)
            .collect();
        assert!(opened.iter().all(|e| e.session == Some(9)));
        assert!(opened.iter().all(|e| e.tags[0].1 & 0xfff == WAN_VLAN));
        assert!(opened.iter().any(|e| e.tags[0].1 & 0x1000 != 0));
    }

    #[test]
    fn other_kinds_do_not_fit_the_wire() {
        let outlet = outlet();
        for kind in [Kind::Tags, Kind::Session, Kind::SessionLength] {
            let frames = all(kind);
            let right = |frame: &&Frame| {
                let arrival = outlet.open(frame);
                arrival.envelope == outlet.arriving && arrival.frame[6..12] == outlet.host
            };
            // Frames with the right length and extra bytes fit too.
            let fits = frames.iter().filter(right).count();
            assert!(fits * 3 < frames.len(), "{kind:?}: {fits}");
            assert!(frames.iter().all(|frame| frame.len() >= 14));
        }
    }

    #[test]
    fn a_session_is_never_ended() {
        for frame in all(Kind::Session) {
            let rest = &frame[16..];
            let ends = word(rest, 0) == Some(DISCOVERY) && rest.get(3) == Some(&TERMINATE);
            let ours = word(rest, 4) == Some(9) && frame[6..12] == outlet().host;
            assert!(!(ends && ours), "{frame:x?}");
        }
    }
}
