//! Where a packet came in, and behind what: the number that a flow's proof has, taken apart for people.

/// A VLAN tag: the whole TCI (priority, DEI, VLAN id), and which kind of tag it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// IEEE 802.1ad (0x88a8) rather than 802.1Q (0x8100).
    pub service: bool,
    /// As on the wire: priority (3 bits), DEI (1), VLAN id (12).
    pub tci: u16,
}

/// Port and encapsulation of what comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CameIn {
    /// Slot of the port: device index modulo the number of slots.
    pub port: u32,
    /// VLAN tags, outermost first.
    pub tags: [Option<Tag>; 2],
    /// PPPoE session.
    pub session: Option<u16>,
}

impl CameIn {
    /// From IN_* of bpf/include/flow.h.
    pub(crate) fn decode(word: u64) -> Self {
        let tag = |kind: u64, tci: u64| match kind & 3 {
            0 => None,
            kind => Some(Tag {
                service: kind == 2,
                tci: tci as u16,
            }),
        };
        Self {
            port: (word >> 48) as u32 & 0x7ff,
            tags: [tag(word >> 62, word >> 32), tag(word >> 60, word >> 16)],
            session: (word & 1 << 59 != 0).then_some(word as u16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_bits() {
        assert_eq!(CameIn::decode(0), CameIn::default());
        let all = 2 << 62 | 1 << 60 | 1 << 59 | 0x7ff << 48 | 0x6007 << 32 | 0x2064 << 16 | 0xabcd;
        assert_eq!(
            CameIn::decode(all),
            CameIn {
                port: 0x7ff,
                tags: [
                    Some(Tag {
                        service: true,
                        tci: 0x6007
                    }),
                    Some(Tag {
                        service: false,
                        tci: 0x2064
                    })
                ],
                session: Some(0xabcd),
            }
        );
    }
}
