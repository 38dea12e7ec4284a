//! Headers between the MAC addresses and the IP header on a wire: VLAN tags and PPPoE.

use crate::frame::Frame;
use crate::view::word;

/// TPID of a customer's tag (IEEE 802.1Q).
pub const CUSTOMER: u16 = 0x8100;
/// TPID of a provider's tag (IEEE 802.1ad).
pub const PROVIDER: u16 = 0x88a8;
/// EtherType of PPPoE's discovery (RFC 2516).
pub const DISCOVERY: u16 = 0x8863;
/// EtherType of a PPPoE session.
pub const SESSION: u16 = 0x8864;
/// Version 1, type 1, code 0: the start of every session frame.
pub const DATA: [u8; 2] = [0x11, 0];
/// EtherType of an IP packet, and the PPP protocol (RFC 1332, RFC 5072).
const PROTOCOLS: [(u16, u16); 2] = [(0x0800, 0x0021), (0x86dd, 0x0057)];
/// Least length of an Ethernet frame without its checksum (IEEE 802.3).
const SHORTEST: usize = 60;

/// Tags and session of a frame; empty on a plain wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Encapsulation {
    /// VLAN tags, outermost first: TPID and TCI.
    pub tags: Vec<(u16, u16)>,
    /// PPPoE session.
    pub session: Option<u16>,
}

impl Encapsulation {
    /// Returns an envelope with these tags and no session.
    pub fn tagged(tags: &[(u16, u16)]) -> Self {
        Self {
            tags: tags.to_vec(),
            session: None,
        }
    }

    /// Returns the frame as on a wire with this encapsulation. Existing tags follow the
    /// encapsulation's tags. A session holds only IP, so other frames get only the tags. Truncated
    /// frames and frames with wrong lengths are sealed as far as their bytes go.
    pub fn seal(&self, frame: &[u8]) -> Frame {
        let (macs, rest) = frame.split_at(frame.len().min(12));
        let mut sealed = macs.to_vec();
        for (tpid, tci) in &self.tags {
            sealed.extend(tpid.to_be_bytes());
            sealed.extend(tci.to_be_bytes());
        }
        let own = tags_of(rest).len() * 4;
        sealed.extend(&rest[..own]);
        let rest = &rest[own..];
        let protocol = word(rest, 0).and_then(ppp_protocol);
        match self.session.zip(protocol) {
            Some((session, protocol)) => {
                let length = claimed(rest) + 2;
                sealed.extend(header(session, length as u16, protocol));
                sealed.extend(&rest[2..]);
            }
            None => sealed.extend(rest),
        }
        sealed
    }

    /// Removes tags and session. Frames unlike a router's stay unchanged: a session with another
    /// code, or with a length other than that of its IP packet.
    pub fn open(frame: &[u8]) -> (Self, Frame) {
        let (macs, rest) = frame.split_at(frame.len().min(12));
        let tags = tags_of(rest);
        let rest = &rest[tags.len() * 4..];
        let inside = session_of(rest);
        let envelope = Self {
            tags,
            session: inside.as_ref().map(|(session, _)| *session),
        };
        let rest = match inside {
            Some((_, inside)) => {
                let header = frame.len() - rest.len() + 8;
                without_padding(inside, header)
            }
            None => rest.to_vec(),
        };
        (envelope, [macs, &rest].concat())
    }
}

/// Returns the header of a session frame, from the EtherType to the PPP protocol.
pub fn header(session: u16, length: u16, protocol: u16) -> [u8; 10] {
    let [a, b] = SESSION.to_be_bytes();
    let [c, d] = session.to_be_bytes();
    let [e, f] = length.to_be_bytes();
    let [g, h] = protocol.to_be_bytes();
    [a, b, DATA[0], DATA[1], c, d, e, f, g, h]
}

/// Returns the PPP protocol of an EtherType.
pub fn ppp_protocol(ethertype: u16) -> Option<u16> {
    PROTOCOLS
        .iter()
        .find(|(kind, _)| *kind == ethertype)
        .map(|(_, protocol)| *protocol)
}

/// Returns true for discovery, and for PPP's own protocols in a session (RFC 1661 section 2: 0x8000
/// and above). `rest` begins with the EtherType.
pub fn is_control(rest: &[u8]) -> bool {
    match word(rest, 0) {
        Some(DISCOVERY) => true,
        Some(SESSION) => word(rest, 8).is_some_and(|protocol| protocol >= 0x8000),
        _ => false,
    }
}

/// Returns all complete tags at the front.
fn tags_of(rest: &[u8]) -> Vec<(u16, u16)> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some((tpid, tci)) = word(rest, at).zip(word(rest, at + 2)) {
        if !matches!(tpid, CUSTOMER | PROVIDER) || rest.len() < at + 6 {
            break;
        }
        tags.push((tpid, tci));
        at += 4;
    }
    tags
}

/// Returns the length of an IP packet by its header, at most the bytes present. `rest` begins with
/// the EtherType.
fn claimed(rest: &[u8]) -> usize {
    let there = rest.len() - 2;
    let says = match word(rest, 0) {
        Some(0x0800) => word(rest, 4).map(usize::from),
        _ => word(rest, 6).map(|length| usize::from(length) + 40),
    };
    says.filter(|says| *says <= there).unwrap_or(there)
}

/// Returns the session and its content, from the EtherType to the end of the frame.
fn session_of(rest: &[u8]) -> Option<(u16, Vec<u8>)> {
    if word(rest, 0)? != SESSION || rest.get(2..4)? != DATA {
        return None;
    }
    let (session, length) = (word(rest, 4)?, usize::from(word(rest, 6)?));
    let protocol = word(rest, 8)?;
    let (ethertype, _) = PROTOCOLS.iter().find(|(_, known)| *known == protocol)?;
    let mut inside = ethertype.to_be_bytes().to_vec();
    inside.extend(&rest[10..]);
    (length == claimed(&inside) + 2 && rest.len() >= 8 + length).then_some((session, inside))
}

/// Removes the zeros that pad the frame to Ethernet's least length. `before` is the number of bytes
/// before the content of `inside`, EtherType included.
fn without_padding(mut inside: Vec<u8>, before: usize) -> Vec<u8> {
    let end = claimed(&inside) + 2;
    let padding = &inside[end..];
    if before + inside.len() <= SHORTEST && padding.iter().all(|byte| *byte == 0) {
        inside.truncate(end);
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Body, Packet};

    fn packet() -> Packet {
        let ends = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
        let body = Body::Udp(1, 2, vec![7; 5]);
        Packet::new(([2; 6], ends[0]), ([4; 6], ends[1]), body)
    }

    fn envelopes() -> [Encapsulation; 4] {
        let over = |tags: &[(u16, u16)]| Encapsulation {
            tags: tags.to_vec(),
            session: Some(0x1234),
        };
        [
            Encapsulation::default(),
            Encapsulation::tagged(&[(PROVIDER, 7), (CUSTOMER, 0x6064)]),
            over(&[]),
            over(&[(CUSTOMER, 7)]),
        ]
    }

    #[test]
    fn what_was_sealed_can_be_opened() {
        for envelope in envelopes() {
            let frame = packet().bytes();
            assert_eq!(
                Encapsulation::open(&envelope.seal(&frame)),
                (envelope.clone(), frame.clone())
            );
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_standards() {
        let [.., envelope] = envelopes();
        let frame = packet().bytes();
        let sealed = envelope.seal(&frame);
        // 20 + 8 + 5 bytes of IP, and 2 bytes of PPP.
        let expected = [
            0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0x12, 0x34, 0, 35, 0, 0x21,
        ];
        assert_eq!(sealed[12..26], expected);
        assert_eq!(sealed[26..], frame[14..]);
    }

    #[test]
    fn padding_is_not_part_of_the_packet_and_a_trailer_is_shown() {
        let [.., envelope] = envelopes();
        let frame = packet().bytes();
        let mut padded = envelope.seal(&frame);
        padded.resize(60, 0);
        assert_eq!(Encapsulation::open(&padded).1, frame);
        *padded.last_mut().expect("a byte") = 1;
        assert_ne!(Encapsulation::open(&padded).1, frame);
    }

    #[test]
    fn a_session_that_lies_stays_closed() {
        let [_, _, envelope, _] = envelopes();
        let sealed = envelope.seal(&packet().bytes());
        for (at, value) in [(14, 0x21), (15, 0xa7), (19, 36), (19, 34), (21, 0x23)] {
            let mut wrong = sealed.clone();
            wrong[at] = value;
            assert_eq!(
                Encapsulation::open(&wrong),
                (Encapsulation::default(), wrong.clone())
            );
        }
    }

    #[test]
    fn nothing_is_too_short() {
        for envelope in envelopes() {
            let sealed = envelope.seal(&packet().bytes());
            for length in 0..sealed.len() {
                let (found, rest) = Encapsulation::open(&sealed[..length]);
                found.seal(&rest);
                envelope.seal(&sealed[..length]);
            }
        }
    }
}
