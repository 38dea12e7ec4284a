//! Manufacturer of a device: IEEE assigns the first 24, 28 or 36 bits of a hardware address.
//!
//! The list is part of the program, in 0.4 MB, and is never unpacked as a whole: a look-up reads
//! two or three groups of rows, and unpacks one block of names. `examples/vendors.rs` builds it.

use kernel::Mac;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// IEEE's list as of June 2025: MA-L, MA-M and MA-S, by way of systemd's `20-OUI.hwdb`.
static IEEE: &[u8] = include_bytes!("vendor/ieee.bin");

/// Bits of a hardware address that the maker has, the most first: MA-S, MA-M, MA-L.
pub const LENGTHS: [u32; 3] = [36, 28, 24];
/// Rows of a group. Where a group begins is listed.
pub const GROUP: usize = 256;
/// Names of a block, which are packed together.
pub const BLOCK: usize = 256;
/// Longest block, unpacked, bytes.
pub const LONGEST_BLOCK: usize = BLOCK * (LONGEST_NAME + 1);
/// Longest name, bytes of UTF-8.
pub const LONGEST_NAME: usize = 40;

/// Returns true if the device or its user chose the hardware address, not the manufacturer (IEEE
/// 802, *locally administered*). Phones choose one for each network.
pub const fn is_locally_administered(mac: &Mac) -> bool {
    mac[0] & 0b10 != 0
}

/// Returns the manufacturer. `None`: locally administered, not a station, or not in the list.
pub fn of(mac: &Mac) -> Option<String> {
    Table::new(IEEE)?.vendor(mac)
}

/// The list, packed. All numbers are little-endian:
///
/// | bytes | content |
/// |---|---|
/// | 4 × 3 | groups of each of [`LENGTHS`] |
/// | 4 | blocks of names |
/// | 12 each | of each group: its first row's prefix, and where its rows begin |
/// | 4 each | where blocks begin; and the end of the last block |
///
/// Offsets count from the end of this table. A row is the distance of its prefix to that of the
/// row before (7 bits a byte, the lowest first), and the number of its name, in 2 bytes. A block is
/// names, each followed by a line feed, packed by DEFLATE (RFC 1951).
struct Table<'a> {
    groups: [&'a [u8]; 3],
    blocks: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Table<'a> {
    fn new(octets: &'a [u8]) -> Option<Self> {
        let (counts, mut octets) = octets.split_at_checked(16)?;
        let mut groups = [&octets[..0]; 3];
        for (index, group) in groups.iter_mut().enumerate() {
            let many = number(counts, index)?;
            (*group, octets) = octets.split_at_checked(many.checked_mul(12)?)?;
        }
        let (blocks, rest) = octets.split_at_checked((number(counts, 3)? + 1) * 4)?;
        Some(Self {
            groups,
            blocks,
            rest,
        })
    }

    fn vendor(&self, mac: &Mac) -> Option<String> {
        if mac[0] & 0b11 != 0 {
            return None;
        }
        let whole = mac
            .iter()
            .fold(0, |sum, octet| sum << 8 | u64::from(*octet));
        let mut lengths = LENGTHS.into_iter().zip(self.groups);
        let index =
            lengths.find_map(|(length, groups)| self.row(groups, whole >> (48 - length)))?;
        self.name(index).filter(|name| !name.is_empty())
    }

    /// Returns the number of the name of a prefix.
    fn row(&self, groups: &[u8], prefix: u64) -> Option<usize> {
        let first = |index: usize| {
            let octets = groups.get(index * 12..)?.first_chunk()?;
            Some(u64::from_le_bytes(*octets))
        };
        // The last group that begins at the prefix, or before.
        let (mut low, mut high) = (0, groups.len() / 12);
        while low < high {
            let middle = low.midpoint(high);
            match first(middle)? <= prefix {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let group = low.checked_sub(1)?;
        let begins = number(groups.get(group * 12 + 8..)?, 0)?;
        let mut rows = self.rest.get(begins..)?;
        let mut at = first(group)?;
        for row in 0..GROUP {
            let step = varint(&mut rows)?;
            // The group contains the prefix of its first row.
            at += if row == 0 { 0 } else { step };
            let (name, rest) = rows.split_first_chunk()?;
            rows = rest;
            match at.cmp(&prefix) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(u16::from_le_bytes(*name).into()),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }

    fn name(&self, index: usize) -> Option<String> {
        let block = index / BLOCK;
        let (begin, end) = (number(self.blocks, block)?, number(self.blocks, block + 1)?);
        let packed = self.rest.get(begin..end)?;
        let names = decompress_to_vec_with_limit(packed, LONGEST_BLOCK).ok()?;
        let names = std::str::from_utf8(&names).ok()?;
        names.lines().nth(index % BLOCK).map(str::to_owned)
    }
}

/// Returns a number of a list.
fn number(list: &[u8], index: usize) -> Option<usize> {
    let octets = list.get(index.checked_mul(4)?..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*octets)).ok()
}

fn varint(octets: &mut &[u8]) -> Option<u64> {
    let mut all = 0;
    for shift in (0..42).step_by(7) {
        let (octet, rest) = octets.split_first()?;
        *octets = rest;
        all |= u64::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some(all);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn makers_are_known_by_their_addresses() {
        for (mac, vendor) in [
            // MA-L: the first, one in the middle, one of many.
            ([0, 0, 0, 1, 2, 3], Some("Xerox")),
            ([0xb8, 0x27, 0xeb, 1, 2, 3], Some("Raspberry Pi Foundation")),
            ([0xf0, 0x18, 0x98, 1, 2, 3], Some("Apple")),
            // MA-M and MA-S, in blocks of which IEEE has the whole.
            ([0x00, 0x55, 0xda, 0x01, 2, 3], Some("Shinko Technos")),
            (
                [0x00, 0x1b, 0xc5, 0x00, 0x02, 3],
                Some("Converging Systems"),
            ),
            ([0x00, 0x1b, 0xc5, 0xff, 0xf2, 3], None),
            // Unassigned, locally administered, multicast, empty.
            ([0x00, 0xff, 0xff, 1, 2, 3], None),
            ([0x02, 0, 0, 1, 2, 3], None),
            ([0x01, 0, 0x5e, 1, 2, 3], None),
            ([0xff; 6], None),
        ] {
            assert_eq!(of(&mac).as_deref(), vendor, "{mac:02x?}");
        }
        assert!(
            is_locally_administered(&[0xda, 0xa1, 0x19, 0, 0, 1])
                && !is_locally_administered(&[0xb8, 0x27, 0xeb, 0, 0, 1])
        );
    }

    /// Each block unpacks, and each row's name is there.
    #[test]
    fn the_list_is_whole() {
        let table = Table::new(IEEE).expect("a table");
        let blocks = table.blocks.len() / 4 - 1;
        let mut names = 0;
        for block in 0..blocks {
            let mut own = 0;
            while let Some(name) = table.name(block * BLOCK + own).filter(|_| own < BLOCK) {
                assert!(name.len() <= LONGEST_NAME, "{name}");
                assert_eq!(
                    crate::names::text::device(name.as_bytes()).unwrap_or_default(),
                    name,
                    "printable"
                );
                own += 1;
            }
            names += own;
            assert!(own == BLOCK || block == blocks - 1, "block {block}: {own}");
        }
        assert!(names > 25_000, "{names}");
        let [small, medium, large] = table.groups.map(|groups| groups.len() / 12 * GROUP);
        assert!(small > 6_000 && medium > 5_000 && large > 36_000);
    }

    proptest! {
        /// The test covers any bytes in the list's place.
        #[test]
        fn a_damaged_list_tells_nothing_and_does_no_harm(
            cut in 0_usize..600, at in 0_usize..4_000, octet: u8, mac: [u8; 6]
        ) {
            let mut octets = IEEE[..IEEE.len() - cut * 600].to_vec();
            octets[at] = octet;
            let _ = Table::new(&octets).and_then(|table| table.vendor(&mac));
        }
    }
}
