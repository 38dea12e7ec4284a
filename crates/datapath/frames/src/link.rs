//! Link-layer headers beyond plain Ethernet, from the standards (IEEE 802.1Q, 802.1ad, RFC 2516),
//! for tests: putting them on, and what the model makes of them. Shares nothing with the packet
//! path.

use datapath::Encapsulation;

pub const VLAN: u16 = 0x8100;
pub const SERVICE: u16 = 0x88a8;
pub const PPPOE: u16 = 0x8864;

/// Link-layer headers of a frame between its addresses and IP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// EtherType and TCI, outermost first.
    pub tags: Vec<(u16, u16)>,
    /// PPPoE session.
    pub session: Option<u16>,
}

impl Behind {
    pub fn tags(tags: &[(u16, u16)]) -> Self {
        Self {
            tags: tags.to_vec(),
            session: None,
        }
    }

    pub fn session(self, session: u16) -> Self {
        Self {
            session: Some(session),
            ..self
        }
    }

    /// Bytes more than plain Ethernet.
    pub fn octets(&self) -> usize {
        self.tags.len() * 4 + if self.session.is_some() { 8 } else { 0 }
    }

    /// Returns a plain frame behind the headers. The PPPoE length follows the IP header's length.
    pub fn put_on(&self, frame: &[u8]) -> Vec<u8> {
        let ipv6 = frame[12..14] == [0x86, 0xdd];
        let length = match ipv6 {
            true => 40 + word(frame, 18),
            false => word(frame, 16),
        };
        let mut out = frame[..12].to_vec();
        for (kind, tci) in &self.tags {
            out.extend(kind.to_be_bytes());
            out.extend(tci.to_be_bytes());
        }
        match self.session {
            Some(session) => {
                for field in [PPPOE, 0x1100, session, length.wrapping_add(2)] {
                    out.extend(field.to_be_bytes());
                }
                out.extend(if ipv6 { [0x00, 0x57] } else { [0x00, 0x21] });
            }
            None => out.extend(&frame[12..14]),
        }
        out.extend(&frame[14..]);
        out
    }

    /// Headers of the incoming packets of a proven flow.
    pub fn of(came_in: &Encapsulation) -> Self {
        let tags = came_in.tags.iter().flatten();
        Self {
            tags: tags
                .map(|tag| (if tag.service { SERVICE } else { VLAN }, tag.tci))
                .collect(),
            session: came_in.session,
        }
    }

    /// Splits a frame into its headers and the plain frame. `None`: a frame that may not be
    /// forwarded, or a PPPoE length that differs from that of IP.
    pub fn take_off(frame: &[u8]) -> Option<(Self, Vec<u8>)> {
        let mut found = Self::default();
        let mut at = 12;
        let at_word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        while matches!(at_word(at)?, VLAN | SERVICE) {
            found.tags.push((at_word(at)?, at_word(at + 2)?));
            at += 4;
        }
        if found.tags.len() > 2 {
            return None;
        }
        let mut kind = at_word(at)?;
        let mut said = None;
        if kind == PPPOE {
            if at_word(at + 2)? != 0x1100 {
                return None;
            }
            found.session = Some(at_word(at + 4)?);
            said = Some(at_word(at + 6)?);
            kind = match at_word(at + 8)? {
                0x0021 => 0x0800,
                0x0057 => 0x86dd,
                _ => return None,
            };
            at += 8;
        }
        let mut plain = frame[..12].to_vec();
        plain.extend(kind.to_be_bytes());
        plain.extend(frame.get(at + 2..)?);
        if let Some(said) = said {
            let length = match kind {
                0x86dd => usize::from(at_word(at + 6)?) + 40,
                _ => usize::from(at_word(at + 4)?),
            };
            if usize::from(said) != length + 2 {
                return None;
            }
        }
        Some((found, plain))
    }
}

fn word(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}
