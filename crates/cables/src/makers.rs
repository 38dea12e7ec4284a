//! Makers of radios for outdoors: by hardware address, which is weak, as they make switches and
//! routers too, and by the names of their radios, which is strong.
//!
//! Addresses are a few of those that IEEE gave these makers (MA-L), none checked against its list: one
//! that is wrong or missing costs a word in the evidence. Names are the makers' own, from their shops.

use detect::Mac;

/// Who makes radios for outdoors.
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
    /// The maker's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ubiquiti => "Ubiquiti",
            Self::MikroTik => "MikroTik",
            Self::Cambium => "Cambium",
            Self::Mimosa => "Mimosa",
            Self::Siklu => "Siklu",
        }
    }

    /// Whose a hardware address is. That it is a radio does not follow.
    pub fn of(mac: &Mac) -> Option<Self> {
        let begin = [mac[0], mac[1], mac[2]];
        let found = PREFIXES.iter().find(|(prefix, _)| *prefix == begin);
        found.map(|(_, maker)| *maker)
    }

    /// Whose radio a text names: whole words only, so that `sprocket` is no Rocket.
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

/// What stands behind a name without being one: MikroTik's and Ubiquiti's forms.
const FORMS: [&str; 9] = ["sq", "sqg", "g", "m", "ac", "r", "hp", "xl", "lr"];

const PREFIXES: [([u8; 3], Maker); 21] = [
    ([0x00, 0x15, 0x6d], Maker::Ubiquiti),
    ([0x00, 0x27, 0x22], Maker::Ubiquiti),
    ([0x04, 0x18, 0xd6], Maker::Ubiquiti),
    ([0x24, 0xa4, 0x3c], Maker::Ubiquiti),
    ([0x44, 0xd9, 0xe7], Maker::Ubiquiti),
    ([0x68, 0x72, 0x51], Maker::Ubiquiti),
    ([0x78, 0x8a, 0x20], Maker::Ubiquiti),
    ([0x80, 0x2a, 0xa8], Maker::Ubiquiti),
    ([0xb4, 0xfb, 0xe4], Maker::Ubiquiti),
    ([0xdc, 0x9f, 0xdb], Maker::Ubiquiti),
    ([0xf0, 0x9f, 0xc2], Maker::Ubiquiti),
    ([0xfc, 0xec, 0xda], Maker::Ubiquiti),
    ([0x00, 0x0c, 0x42], Maker::MikroTik),
    ([0x4c, 0x5e, 0x0c], Maker::MikroTik),
    ([0x64, 0xd1, 0x54], Maker::MikroTik),
    ([0x6c, 0x3b, 0x6b], Maker::MikroTik),
    ([0xd4, 0xca, 0x6d], Maker::MikroTik),
    ([0xe4, 0x8d, 0x8c], Maker::MikroTik),
    ([0x00, 0x04, 0x56], Maker::Cambium),
    ([0x58, 0xc1, 0x7a], Maker::Cambium),
    ([0x20, 0xb5, 0xc6], Maker::Mimosa),
];

/// In small letters. The model's short form first stands in LLDP of Ubiquiti's, MikroTik's board
/// in MNDP.
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
