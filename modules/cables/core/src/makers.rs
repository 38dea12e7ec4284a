//! Makers of outdoor radios: by hardware address, which is weak evidence, as they make switches and
//! routers too, and by the names of their radios, which is strong evidence.
//!
//! The list has all addresses that IEEE assigned to these makers in large blocks (MA-L), as of
//! Debian's ieee-data 20220827.1: a missing address costs a word in the evidence. Names are the
//! makers' own, from their shops.

use detect::Mac;

/// Makers of radios for outdoors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Ubiquiti: airMAX, airFiber, LTU.
    Ubiquiti,
    /// MikroTik.
    MikroTik,
    /// Cambium: ePMP, PTP, PMP.
    Cambium,
    /// Mimosa.
    Mimosa,
    /// Siklu.
    Siklu,
}

impl Maker {
    /// Returns the maker's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ubiquiti => "Ubiquiti",
            Self::MikroTik => "MikroTik",
            Self::Cambium => "Cambium",
            Self::Mimosa => "Mimosa",
            Self::Siklu => "Siklu",
        }
    }

    /// Returns the maker of a hardware address, which need not be a radio.
    pub fn of(mac: &Mac) -> Option<Self> {
        let begin = u32::from_be_bytes([0, mac[0], mac[1], mac[2]]);
        let given = |(_, given): &&(Self, &[u32])| given.binary_search(&begin).is_ok();
        PREFIXES.iter().find(given).map(|(maker, _)| *maker)
    }

    /// Returns the maker of a radio named in a text: whole words, so `sprocket` is not a Rocket.
    pub fn radio(text: &str) -> Option<Self> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).find_map(|word| {
            let word = word.to_ascii_lowercase();
            let named = |&&(name, _): &&(&str, Self)| {
                // A form and a number behind it are part of the name: LBE5AC, SXTsq5nD.
                word.strip_prefix(name).is_some_and(|rest| {
                    let digit = rest.find(|letter: char| letter.is_ascii_digit());
                    let form = &rest[..digit.unwrap_or(rest.len())];
                    form.is_empty() || FORMS.contains(&form)
                })
            };
            NAMES.iter().find(named).map(|(_, maker)| *maker)
        })
    }
}

/// Suffixes of product names: MikroTik's and Ubiquiti's forms.
const FORMS: [&str; 9] = ["sq", "sqg", "g", "m", "ac", "r", "hp", "xl", "lr"];

/// The first three bytes of hardware addresses, in order.
const PREFIXES: [(Maker, &[u32]); 5] = [
    (
        Maker::Ubiquiti,
        &[
            0x00156d, 0x002722, 0x0418d6, 0x18e829, 0x245a4c, 0x24a43c, 0x44d9e7, 0x602232,
            0x687251, 0x68d79a, 0x70a741, 0x7483c2, 0x74acb9, 0x784558, 0x788a20, 0x802aa8,
            0x942a6f, 0xac8ba9, 0xb4fbe4, 0xd021f9, 0xdc9fdb, 0xe063da, 0xe43883, 0xf09fc2,
            0xf492bf, 0xf4e2c6, 0xfcecda,
        ],
    ),
    (
        Maker::MikroTik,
        &[
            0x000c42, 0x085531, 0x18fd74, 0x2cc81b, 0x488f5a, 0x4c5e0c, 0x64d154, 0x6c3b6b,
            0x744d28, 0xb869f4, 0xc4ad34, 0xcc2de0, 0xd4ca6d, 0xdc2c6e, 0xe48d8c,
        ],
    ),
    (
        Maker::Cambium,
        &[
            0x000456, 0x30cbc7, 0x58c17a, 0xb4a25c, 0xbca993, 0xbce67c, 0xfc1165,
        ],
    ),
    (Maker::Mimosa, &[0x20b5c6]),
    (Maker::Siklu, &[0x0024a4]),
];

/// In small letters. The model's short form comes first in Ubiquiti's LLDP, MikroTik's board in
/// MNDP.
const NAMES: [(&str, Maker); 30] = [
    ("litebeam", Maker::Ubiquiti),
    ("lbe", Maker::Ubiquiti),
    ("nanostation", Maker::Ubiquiti),
    ("nanobeam", Maker::Ubiquiti),
    ("nbe", Maker::Ubiquiti),
    ("nanobridge", Maker::Ubiquiti),
    ("powerbeam", Maker::Ubiquiti),
    ("pbe", Maker::Ubiquiti),
    ("rocket", Maker::Ubiquiti),
    ("isostation", Maker::Ubiquiti),
    ("prismstation", Maker::Ubiquiti),
    ("airgrid", Maker::Ubiquiti),
    ("airfiber", Maker::Ubiquiti),
    ("airmax", Maker::Ubiquiti),
    ("gigabeam", Maker::Ubiquiti),
    ("sxt", Maker::MikroTik),
    ("lhg", Maker::MikroTik),
    ("lhgg", Maker::MikroTik),
    ("dynadish", Maker::MikroTik),
    ("qrt", Maker::MikroTik),
    ("netmetal", Maker::MikroTik),
    ("basebox", Maker::MikroTik),
    ("rbsxt", Maker::MikroTik),
    ("rblhg", Maker::MikroTik),
    ("epmp", Maker::Cambium),
    ("ptp550", Maker::Cambium),
    ("ptp650", Maker::Cambium),
    ("ptp670", Maker::Cambium),
    ("mimosa", Maker::Mimosa),
    ("siklu", Maker::Siklu),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_order_and_found() {
        for (maker, prefixes) in PREFIXES {
            assert!(prefixes.is_sorted_by(|a, b| a < b), "{maker:?}");
            for prefix in prefixes {
                let [_, a, b, c] = prefix.to_be_bytes();
                assert_eq!(Maker::of(&[a, b, c, 1, 2, 3]), Some(maker), "{prefix:06x}");
            }
        }
        assert_eq!(Maker::of(&[0x04, 0x18, 0xd7, 1, 2, 3]), None);
        assert_eq!(Maker::of(&[2, 0, 0, 0, 0, 1]), None);
    }
}
