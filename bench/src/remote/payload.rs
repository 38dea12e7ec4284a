//! Header of each packet: 18 bytes, all that the shortest Ethernet frame leaves beside IPv4 and
//! UDP.
//!
//! ```text
//! 0      2              6          8             12                18
//! | magic | run, random | flow, kind | sequence | time, ns, 48 bits |
//! ```
//!
//! Only the two ends that proved to know the code know the run. The time is of the sender's clock,
//! and only the sender reads it.

/// Bytes of the header.
pub const HEADER: usize = 18;
const MAGIC: [u8; 2] = *b"wB";
/// Bits of the flow, which shares its field with the kind.
const FLOW_BITS: u16 = 12;
const TIME_BITS: u64 = 48;

/// Purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counted.
    Counted,
    /// Counted, and answered.
    Marked,
    /// First of a flow: answered, so that routers between see both directions.
    First,
    /// Warm-up: not counted.
    Warm,
    /// Answer to a packet of another kind.
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

    /// Returns whether the receiver counts the packet.
    pub fn counts(self) -> bool {
        matches!(self, Self::Counted | Self::Marked)
    }

    /// Returns whether the receiver answers the packet.
    pub fn is_answered(self) -> bool {
        matches!(self, Self::Marked | Self::First)
    }
}

/// Header in front of a packet's padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the trial.
    pub run: u32,
    /// Flow, below 4096.
    pub flow: u16,
    /// Purpose of the packet.
    pub kind: Kind,
    /// Sequence number in the flow, from 0.
    pub sequence: u32,
    /// Sending time in nanoseconds, 48 bits.
    pub time: u64,
}

impl Header {
    /// Encodes the header.
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

    /// Decodes a received packet, or returns `None` for a foreign one.
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

    /// Returns the nanoseconds from sending to `now`, of the same clock.
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
