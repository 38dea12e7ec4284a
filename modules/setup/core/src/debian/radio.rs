//! Radios, their networks, and how a network is kept.

use super::channel::{Band, Generation};
use super::reader::Reader;
use super::value;

/// A radio, and what is on it.
#[derive(Debug)]
pub struct Radio {
    /// Its section.
    pub name: String,
    /// As the kernel names them.
    pub phy: String,
    pub device: String,
    pub mac: String,
    pub band: Band,
    /// None: the driver's choice.
    pub channel: Option<u64>,
    pub generation: Generation,
    /// MHz
    pub width: u64,
    pub country: Option<String>,
    pub points: Vec<Point>,
    pub others: Vec<Other>,
}

/// An access point (`mode ap`).
#[derive(Debug)]
pub struct Point {
    pub device: String,
    pub bridge: Option<String>,
    /// The lines of hostapd.conf that are its own.
    pub text: String,
}

/// A mesh, or a station of another's access point.
#[derive(Debug)]
pub struct Other {
    pub device: String,
    pub mesh: bool,
    /// What is in wpa_supplicant's file.
    pub text: String,
}

/// How who may join is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    None,
    Psk2,
    PskMixed,
    Sae,
    SaeMixed,
    Owe,
}

impl Encryption {
    /// Whether stations show that they know a password.
    pub fn keyed(self) -> bool {
        !matches!(self, Self::None | Self::Owe)
    }
}

/// The name of a network, as it is in a file: as text where that is safe, else in hexadecimal.
pub struct Name {
    pub octets: Vec<u8>,
    /// Whether it is plain text.
    pub plain: bool,
}

impl Name {
    /// `option ssid`, `option mesh_id`
    pub fn read(reader: &Reader<'_>, option: &str) -> Option<Self> {
        let values = reader.octets(option);
        let good = |octets: &&&[u8]| (1..=32).contains(&octets.len());
        let Some(octets) = values.first().filter(good).filter(|_| values.len() == 1) else {
            reader.fault(option, "1 to 32 octets");
            return None;
        };
        let plain = |c: &u8| c.is_ascii_alphanumeric() || b" _-.".contains(c);
        let ends = |c: Option<&u8>| c.is_some_and(|c| *c != b' ');
        Some(Self {
            octets: octets.to_vec(),
            plain: octets.iter().all(plain) && ends(octets.first()) && ends(octets.last()),
        })
    }

    pub fn hexadecimal(&self) -> String {
        net::hex::text(&self.octets)
    }

    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.octets)
    }
}

/// `option encryption`. A cipher behind it (`psk2+ccmp`) may be the one that is used.
pub fn encryption(reader: &Reader<'_>) -> Encryption {
    let read = |text: &str| {
        let (kind, cipher) = text.split_once('+').unwrap_or((text, "ccmp"));
        let encryption = match kind {
            "none" => Encryption::None,
            "psk2" => Encryption::Psk2,
            "psk-mixed" => Encryption::PskMixed,
            "sae" => Encryption::Sae,
            "sae-mixed" => Encryption::SaeMixed,
            "owe" => Encryption::Owe,
            _ => return None,
        };
        matches!(cipher, "ccmp" | "aes").then_some(encryption)
    };
    let expected = "one of: none psk2 psk-mixed sae sae-mixed owe";
    reader.one("encryption", read, expected).unwrap_or_else(|| {
        if !reader.has("encryption") {
            // Nothing said would be a network open to all.
            reader.fault("encryption", expected);
        }
        Encryption::None
    })
}

/// `option key`: a passphrase, or where that may be (IEEE 802.11, annex J.4) the key itself.
pub fn key(reader: &Reader<'_>, encryption: Encryption) -> Option<String> {
    if !encryption.keyed() {
        reader.ignore(&["key"]);
        return None;
    }
    let raw = matches!(encryption, Encryption::Psk2 | Encryption::PskMixed);
    let read = |text: &str| {
        if text.len() == 64 {
            return value::hexadecimal(text, 64).filter(|_| raw);
        }
        let good = (8..=63).contains(&text.len()) && value::printable(text);
        good.then(|| text.to_owned())
    };
    let expected = match raw {
        true => "8 to 63 printable characters of ASCII, or 64 hexadecimal digits",
        false => "8 to 63 printable characters of ASCII",
    };
    let key = reader.one("key", read, expected);
    if key.is_none() && !reader.has("key") {
        reader.fault("key", expected);
    }
    key
}
