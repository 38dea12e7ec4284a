//! The first bytes of a stream, from segments in any order.

/// Maximum stored bytes of a stream. A ClientHello with a post-quantum key share has some 1,800.
pub const LIMIT: usize = 4096;
/// Gaps may be as many. Chromium sends a ClientHello in some ten pieces, in random order.
const MOST_PIECES: usize = 64;

/// Pieces of a stream's first [`LIMIT`] bytes.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    octets: Vec<u8>,
    /// Ranges of `octets` received so far, as `start..end`: sorted and disjoint.
    have: Vec<(usize, usize)>,
}

impl Reassembly {
    /// Adds a piece that begins at `offset`. Data beyond the limit is dropped; a later piece wins.
    pub fn put(&mut self, offset: usize, piece: &[u8]) {
        let end = offset.saturating_add(piece.len()).min(LIMIT);
        if offset >= end {
            return;
        }
        // The pieces that it touches become one with it.
        let from = self.have.partition_point(|&(_, until)| until < offset);
        let to = self.have.partition_point(|&(start, _)| start <= end);
        if from == to && self.have.len() == MOST_PIECES {
            return;
        }
        let mut whole = (offset, end);
        for &(start, until) in &self.have[from..to] {
            whole = (whole.0.min(start), whole.1.max(until));
        }
        self.have.splice(from..to, [whole]);
        if self.octets.len() < end {
            self.octets.resize(end, 0);
        }
        self.octets[offset..end].copy_from_slice(&piece[..end - offset]);
    }

    /// Makes room for `octets` before the first byte, where an earlier piece belongs. Data beyond
    /// the limit is lost.
    pub fn shift(&mut self, octets: usize) {
        let old = std::mem::take(self);
        for (start, end) in old.have {
            self.put(start.saturating_add(octets), &old.octets[start..end]);
        }
    }

    /// Returns the data from the beginning up to the first gap.
    pub fn beginning(&self) -> &[u8] {
        match self.have.first() {
            Some(&(0, end)) => &self.octets[..end],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_in_any_order() {
        let mut gather = Reassembly::default();
        gather.put(4, b"ef");
        gather.put(8, b"ij");
        assert_eq!(gather.beginning(), b"");
        gather.put(0, b"abcd");
        assert_eq!(gather.beginning(), b"abcdef");
        gather.put(5, b"fghi");
        assert_eq!(gather.beginning(), b"abcdefghij");
        gather.put(3, b"");
        assert_eq!(gather.have, [(0, 10)]);
    }

    #[test]
    fn room_before() {
        let mut gather = Reassembly::default();
        gather.put(0, b"cd");
        gather.shift(2);
        assert_eq!(gather.beginning(), b"");
        gather.put(0, b"ab");
        assert_eq!(gather.beginning(), b"abcd");
        gather.shift(usize::MAX);
        assert_eq!(gather.beginning(), b"");
    }

    #[test]
    fn is_bounded() {
        let mut gather = Reassembly::default();
        for at in (0..2 * LIMIT).rev().step_by(2) {
            gather.put(at, b"x");
        }
        assert_eq!(gather.have.len(), MOST_PIECES);
        assert!(gather.octets.len() <= LIMIT);
        gather.put(usize::MAX, b"xy");
        gather.put(0, &[b'y'; 2 * LIMIT]);
        assert_eq!(gather.beginning(), [b'y'; LIMIT]);
    }

    proptest! {
        /// Behaves like a plain array of bytes that may be missing.
        #[test]
        fn as_an_array(pieces in prop::collection::vec((0_usize..60, prop::collection::vec(1_u8.., 0..20)), 0..12)) {
            let mut gather = Reassembly::default();
            let mut model = [0_u8; 100];
            for (offset, piece) in &pieces {
                gather.put(*offset, piece);
                model[*offset..offset + piece.len()].copy_from_slice(piece);
            }
            let end = model.iter().position(|&octet| octet == 0).expect("the rest is missing");
            prop_assert_eq!(gather.beginning(), &model[..end]);
        }
    }
}
