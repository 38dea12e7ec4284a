//! Sums of recent messages, so that no message circulates again after a restart.

/// Bytes of a sum.
pub const SUM: usize = 16;
/// First bytes of the file.
const MAGIC: &[u8; 8] = b"weirsum1";
/// Largest number of sums that are read.
const MOST: usize = 65_536;

/// Writes a file: magic, CRC-32 of the following bytes (4), sums, the oldest first.
pub fn write(sums: impl Iterator<Item = [u8; SUM]>) -> Vec<u8> {
    let sums: Vec<u8> = sums.flatten().collect();
    let check = crc32fast::hash(&sums).to_be_bytes();
    [&MAGIC[..], &check, &sums].concat()
}

/// Returns the sums in a file; `None`: not such a file.
pub fn read(all: &[u8]) -> Option<Vec<[u8; SUM]>> {
    let (check, sums) = all.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
    let (sums, rest) = sums.as_chunks::<SUM>();
    let whole = rest.is_empty() && crc32fast::hash(sums.as_flattened()).to_be_bytes() == *check;
    (whole && sums.len() <= MOST).then(|| sums.to_vec())
}
