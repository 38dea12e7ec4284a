//! Encapsulation between the wire and IP, decoded for display and counters: from the word in a
//! flow's proof, and from a hop's header.

use std::fmt;

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// IEEE 802.1ad (0x88a8) rather than 802.1Q (0x8100).
    pub service: bool,
    /// Tag as on the wire: priority (3 bits), DEI (1), VLAN id (12).
    pub tci: u16,
}

/// A switch's tag, VLAN tags and PPPoE; all empty for plain Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encapsulation {
    /// Port of a DSA switch, by the number in its tag.
    pub switch_port: Option<u16>,
    /// VLAN tags, outermost first.
    pub tags: [Option<Tag>; 2],
    /// PPPoE session.
    pub session: Option<u16>,
}

/// Origin of packets: port and encapsulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ingress {
    /// Slot of the port: device index modulo the number of slots.
    pub port: u32,
    /// Encapsulation of the packets.
    pub behind: Encapsulation,
}

impl Ingress {
    /// Decodes IN_* of bpf/include/flow.h.
    pub(crate) fn decode(word: u64) -> Self {
        let tag = |kind: u64, tci: u64| match kind & 3 {
            kind @ 1..=2 => Some(Tag {
                service: kind == 2,
                tci: tci as u16,
            }),
            _ => None,
        };
        let (outer, inner) = (tag(word >> 62, word >> 32), tag(word >> 60, word >> 16));
        // A switch's tag takes the position of the outer VLAN tag.
        let switched = word >> 62 == 3;
        Self {
            port: (word >> 48) as u32 & 0x7ff,
            behind: Encapsulation {
                switch_port: switched.then_some((word >> 32) as u16),
                tags: if switched {
                    [inner, None]
                } else {
                    [outer, inner]
                },
                session: (word & 1 << 59 != 0).then_some(word as u16),
            },
        }
    }

    /// Returns the origin without the priorities of the tags, which identifies the network.
    #[must_use]
    pub fn without_priorities(self) -> Self {
        Self {
            behind: self.behind.without_priorities(),
            ..self
        }
    }
}

impl Encapsulation {
    /// Decodes a link-layer header that ends where IP begins, and the EtherType behind it (0x0800,
    /// 0x86dd; PPP's protocol numbers as these). Unknown headers are left out.
    pub fn of_header(header: &[u8]) -> (Self, u16) {
        let word = |at: usize| match header.get(at..at + 2) {
            Some(octets) => u16::from_be_bytes([octets[0], octets[1]]),
            None => 0,
        };
        let mut found = Self::default();
        let mut at = 12;
        for tag in &mut found.tags {
            let kind = word(at);
            if !matches!(kind, 0x8100 | 0x88a8) {
                break;
            }
            *tag = Some(Tag {
                service: kind == 0x88a8,
                tci: word(at + 2),
            });
            at += 4;
        }
        if word(at) != 0x8864 {
            return (found, word(at));
        }
        found.session = Some(word(at + 4));
        let kind = match word(at + 8) {
            0x0021 => 0x0800,
            0x0057 => 0x86dd,
            other => other,
        };
        (found, kind)
    }

    /// Returns the encapsulation without the priorities of the tags, which identifies the network.
    #[must_use]
    pub fn without_priorities(self) -> Self {
        let network = |tag: Tag| Tag {
            tci: tag.tci & 0xfff,
            ..tag
        };
        Self {
            tags: self.tags.map(|tag| tag.map(network)),
            ..self
        }
    }

    /// Returns true for plain Ethernet.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.service {
            f.write_str("service ")?;
        }
        write!(f, "VLAN {}", self.tci & 0xfff)?;
        if self.tci >> 13 != 0 {
            write!(f, " priority {}", self.tci >> 13)?;
        }
        if self.tci & 0x1000 != 0 {
            f.write_str(" drop-eligible")?;
        }
        Ok(())
    }
}

/// `VLAN 7 priority 3, PPPoE session 12`; nothing for plain Ethernet.
impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.switch_port.map(|port| format!("switch port {port}")));
        parts.extend(self.tags.iter().flatten().map(Tag::to_string));
        parts.extend(
            self.session
                .map(|session| format!("PPPoE session {session}")),
        );
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_bits() {
        assert_eq!(Ingress::decode(0), Ingress::default());
        let all = 2 << 62 | 1 << 60 | 1 << 59 | 0x7ff << 48 | 0x6007 << 32 | 0x3064 << 16 | 0xabcd;
        let found = Ingress::decode(all);
        assert_eq!(found.port, 0x7ff);
        assert_eq!(
            found.behind.to_string(),
            "service VLAN 7 priority 3, VLAN 100 priority 1 drop-eligible, PPPoE session 43981"
        );
    }

    #[test]
    fn a_switchs_tag_is_no_vlan() {
        let switched = 3 << 62 | 1 << 60 | 3 << 48 | 2 << 32 | 0x6014 << 16;
        let found = Ingress::decode(switched);
        assert_eq!(
            found.behind.to_string(),
            "switch port 2, VLAN 20 priority 3"
        );
        let network = found.without_priorities();
        assert_eq!(network.behind.to_string(), "switch port 2, VLAN 20");
        assert_eq!(network.port, 3);
    }

    #[test]
    fn headers_are_read() {
        let of = |text: &str| {
            let octets: Vec<u8> = (0..text.len() / 2)
                .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal"))
                .collect();
            let (found, kind) = Encapsulation::of_header(&octets);
            (found.to_string(), kind)
        };
        let macs = "020000000004020000000003";
        assert_eq!(of(&format!("{macs}0800")), (String::new(), 0x0800));
        assert_eq!(
            of(&format!("{macs}8100600788641100000c00000021")),
            ("VLAN 7 priority 3, PPPoE session 12".into(), 0x0800)
        );
        assert_eq!(
            of(&format!("{macs}88a8012c8100006486dd")),
            ("service VLAN 300, VLAN 100".into(), 0x86dd)
        );
        for short in [
            "",
            macs,
            "02",
            &format!("{macs}8100"),
            &format!("{macs}88641100"),
        ] {
            of(short);
        }
    }
}
