//! Radios, their networks, and their encryption.

use super::channel::{Band, Generation};
use super::reader::Reader;
use super::value;

/// A radio with its networks.
#[derive(Debug)]
pub struct Radio {
    /// Section of the radio.
    pub name: String,
    /// Names of the kernel.
    pub phy: String,
    pub device: String,
    pub mac: String,
    pub band: Band,
    /// `None`: the driver's choice.
    pub channel: Option<u64>,
    pub generation: Generation,
    /// MHz
    pub width: u64,
    pub country: Option<String>,
    pub points: Vec<Point>,
    pub others: Vec<Supplicant>,
}

/// An access point (`mode ap`).
#[derive(Debug)]
pub struct Point {
    pub device: String,
    pub bridge: Option<String>,
    /// The access point's own lines of hostapd.conf.
    pub text: String,
}

/// A mesh, or a station of another's access point.
#[derive(Debug)]
pub struct Supplicant {
    pub device: String,
    pub mesh: bool,
    /// Content of wpa_supplicant's file.
    pub text: String,
}

/// Authentication of stations.
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
    /// Returns true if stations need a password.
    pub fn keyed(self) -> bool {
        !matches!(self, Self::None | Self::Owe)
    }
}

/// Name of a network in a file: as text if that is safe, otherwise in hexadecimal.
pub struct Name {
    pub octets: Vec<u8>,
    /// True if the name is safe as text.
    pub plain: bool,
}

impl Name {
    /// Reads `option ssid` or `option mesh_id`.
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

/// Reads `option encryption`. A cipher behind it (`psk2+ccmp`) must be the supported one.
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
            // By default the network would be open to all.
            reader.fault("encryption", expected);
        }
        Encryption::None
    })
}

/// Reads `option key`: a passphrase, or where permitted (IEEE 802.11, annex J.4) the key itself.
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
