//! Cuts a pcapng stream between blocks, so that a file that ends early ends with a whole block.

/// Type, length, and the length again: the smallest block.
const SHORTEST: usize = 12;
/// Longest block that weir writes, with room to spare.
const LONGEST: usize = 64 * 1024;

/// The data are not a pcapng block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("weir sent invalid pcapng: a block of {0} bytes")]
pub struct InvalidBlock(usize);

/// Bytes of an incomplete block.
#[derive(Debug, Default)]
pub struct BlockSplitter {
    begun: Vec<u8>,
}

impl BlockSplitter {
    /// Takes bytes as they arrive; returns all blocks that are complete now.
    ///
    /// # Errors
    /// A block has an invalid length.
    pub fn take(&mut self, octets: &[u8]) -> Result<Vec<u8>, InvalidBlock> {
        self.begun.extend_from_slice(octets);
        let mut end = 0;
        while let Some(head) = self.begun.get(end..end + 8) {
            let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
            if !(SHORTEST..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
                return Err(InvalidBlock(length));
            }
            if end + length > self.begun.len() {
                break;
            }
            end += length;
        }
        let rest = self.begun.split_off(end);
        Ok(std::mem::replace(&mut self.begun, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pcapng::{self, Origin, Statistics};
    use super::*;

    fn stream() -> Vec<u8> {
        let mut out = Vec::new();
        pcapng::section(&mut out, &Origin::default());
        for interface in 0..3 {
            let statistics = Statistics {
                interface,
                start: 1,
                end: 2,
                delivered: 3,
                comment: Some("so"),
            };
            pcapng::statistics(&mut out, &statistics);
        }
        out
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for length in [0u32, 11, 13, 1 << 20, u32::MAX] {
            let octets = [6u32.to_le_bytes(), length.to_le_bytes()].concat();
            let refused = BlockSplitter::default().take(&octets);
            assert_eq!(refused, Err(InvalidBlock(length as usize)));
        }
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_blocks(sizes in proptest::collection::vec(1..90usize, 0..40)) {
            let whole = stream();
            let (mut blocks, mut out, mut at) = (BlockSplitter::default(), Vec::new(), 0);
            for size in sizes {
                let end = (at + size).min(whole.len());
                let cut = blocks.take(&whole[at..end]).expect("blocks");
                out.extend(cut);
                at = end;
                // The output always ends between blocks.
                prop_assert!(out.is_empty() || BlockSplitter::default().take(&out).expect("blocks").len() == out.len());
            }
            out.extend(blocks.take(&whole[at..]).expect("blocks"));
            prop_assert_eq!(out, whole);
        }

        #[test]
        fn never_panics(octets: Vec<u8>) {
            let _ = BlockSplitter::default().take(&octets);
        }
    }
}
