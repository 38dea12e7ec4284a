//! The header of each packet: 18 bytes, which is what the shortest frame of Ethernet leaves beside
//! IPv4 and UDP.
//!
//! ```text
//! 0      2              6          8             12                18
//! | magic | run, random | flow, kind | sequence | time, ns, 48 bits |
//! ```
//!
//! The run is known only to the two that have proven to know the code. The time is that of the
//! sender's clock, and is only ever read by the sender.

/// Bytes.
pub const HEADER: usize = 18;
const MAGIC: [u8; 2] = *b"wB";
/// Of the field that it shares with the kind.
const FLOW_BITS: u16 = 12;
const TIME_BITS: u64 = 48;

/// What a packet is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be counted.
    Counted,
    /// To be counted, and to be answered.
    Marked,
    /// The first of a flow: to be answered, so that those between see both directions.
    First,
    /// Before it counts.
    Warm,
    /// The answer to one of the others.
    Answer,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Counted,
        Self::Marked,
        Self::First,
        Self::Warm,
        Self::Answer,
    ];

    /// Whether it is one of those whose number was announced.
    pub fn counts(self) -> bool {
        matches!(self, Self::Counted | Self::Marked)
    }

    /// Whether the receiver answers it.
    pub fn is_answered(self) -> bool {
        matches!(self, Self::Marked | Self::First)
    }
}

/// What is in front of a packet's padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Of the trial.
    pub run: u32,
    /// Which flow, below 4096.
    pub flow: u16,
    /// What for.
    pub kind: Kind,
    /// Of the flow, from 0.
    pub sequence: u32,
    /// When it was sent, nanoseconds, 48 bits.
    pub time: u64,
}

impl Header {
    /// As it is on the wire.
    pub fn write(&self) -> [u8; HEADER] {
        let kind = Kind::ALL.iter().position(|kind| *kind == self.kind);
        let flow = self.flow & ((1 << FLOW_BITS) - 1) | (kind.unwrap_or(0) as u16) << FLOW_BITS;
        let mut octets = [0; HEADER];
        octets[..2].copy_from_slice(&MAGIC);
        octets[2..6].copy_from_slice(&self.run.to_be_bytes());
        octets[6..8].copy_from_slice(&flow.to_be_bytes());
        octets[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        octets[12..].copy_from_slice(&self.time.to_be_bytes()[2..]);
        octets
    }

    /// Of a packet from anyone. `None`: it is not one of ours.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; HEADER] = octets.first_chunk()?;
        let [m0, m1, r0, r1, r2, r3, f0, f1, s0, s1, s2, s3, time @ ..] = *octets;
        let flow = u16::from_be_bytes([f0, f1]);
        let kind = *Kind::ALL.get(usize::from(flow >> FLOW_BITS))?;
        let [t0, t1, t2, t3, t4, t5] = time;
        ([m0, m1] == MAGIC).then_some(Self {
            run: u32::from_be_bytes([r0, r1, r2, r3]),
            flow: flow & ((1 << FLOW_BITS) - 1),
            kind,
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            time: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
        })
    }

    /// Nanoseconds from when it was sent to `now`, of the same clock.
    pub fn age(&self, now: u64) -> u64 {
        now.wrapping_sub(self.time) & ((1 << TIME_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: Kind) -> Header {
        Header {
            run: 0xdead_beef,
            flow: 4095,
            kind,
            sequence: u32::MAX - 1,
            time: 0xffff_1234_5678,
        }
    }

    #[test]
    fn is_read_as_it_was_written() {
        for kind in Kind::ALL {
            let octets = header(kind).write();
            assert_eq!(Header::read(&octets), Some(header(kind)));
            assert_eq!(
                Header::read(&[&octets[..], &[0; 9]].concat()),
                Some(header(kind))
            );
            assert_eq!(Header::read(&octets[..17]), None);
        }
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let octets = header(Kind::Counted).write();
        for place in [0, 1] {
            let mut other = octets;
            other[place] ^= 1;
            assert_eq!(Header::read(&other), None);
        }
        let mut other = octets;
        other[6] = 0xff;
        assert_eq!(Header::read(&other), None, "a kind that there is not");
        assert_eq!(Header::read(&[]), None);
    }

    #[test]
    fn times_go_round() {
        let one = header(Kind::Answer);
        assert_eq!(one.age(0xffff_1234_5679), 1);
        assert_eq!(one.age(0x1_0000_1234_5678), 1 << 32, "48 bits");
    }
}
