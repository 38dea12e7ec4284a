//! What was sold, and what became of it.

use kernel::Mac;
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::code::Code;

/// A voucher. Times of day are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voucher {
    /// Names it, in lists and commands: 16 hexadecimal digits.
    pub id: String,
    /// What its owner types.
    pub code: Code,
    /// What it is called: whom it was sold to, or what for.
    pub name: String,
    /// Seconds that it is good for, from when it is first used; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// Devices that may use it at once.
    pub devices: u32,
    /// It can be used for the first time until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// When it was made.
    pub created: u64,
    /// When it was used first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activated: Option<u64>,
    /// When it was called back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalidated: Option<u64>,
    /// How much of its time was gone when this was written, milliseconds.
    #[serde(default)]
    pub used: Millis,
    /// Bytes that it is good for, both ways together; `None`: as many as its time allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many of them were gone when this was written.
    #[serde(default)]
    pub moved: u64,
    /// Nobody sold it: it lets one device in for a while, and is forgotten after that.
    #[serde(skip)]
    pub free: bool,
    /// Devices that use it, the last that came last.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "macs")]
    pub users: Vec<Mac>,
}

/// What a voucher is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nobody used it yet.
    Available,
    /// Somebody uses it.
    Active,
    /// Its time is over, or nobody used it in time.
    Expired,
    /// It was called back.
    Invalidated,
}

impl Voucher {
    /// Its state at a time of day. `used`: milliseconds of its time that are gone.
    pub fn state(&self, used: Millis, wall: u64) -> State {
        if self.invalidated.is_some() {
            return State::Invalidated;
        }
        match self.activated {
            Some(_) if self.left(used) == Some(0) || self.bytes_left() == Some(0) => State::Expired,
            Some(_) => State::Active,
            None if self.until.is_some_and(|until| until <= wall) => State::Expired,
            None => State::Available,
        }
    }

    /// What is left of its bytes; `None`: they have no end.
    pub fn bytes_left(&self) -> Option<u64> {
        Some(self.bytes?.saturating_sub(self.moved))
    }

    /// What is left of its time, milliseconds; `None`: it has no end.
    pub fn left(&self, used: Millis) -> Option<Millis> {
        let all = self.duration?.saturating_mul(1000);
        Some(all.saturating_sub(used))
    }
}

/// Hardware addresses, as text.
mod macs {
    use kernel::Mac;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(macs: &[Mac], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(macs.iter().map(super::mac_text))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Mac>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let read = |text: String| {
            super::mac_of(&text).ok_or_else(|| D::Error::custom("not a hardware address"))
        };
        texts.into_iter().map(read).collect()
    }
}

/// A hardware address as everybody writes it.
pub fn mac_text(mac: &Mac) -> String {
    let octets: Vec<_> = mac.iter().map(|octet| format!("{octet:02x}")).collect();
    octets.join(":")
}

/// The hardware address that a text is, in either case, with colons or dashes.
pub fn mac_of(text: &str) -> Option<Mac> {
    let mut mac = Mac::default();
    let mut parts = text.split([':', '-']);
    for octet in &mut mac {
        let digits = |part: &&str| part.len() == 2 && part.bytes().all(|o| o.is_ascii_hexdigit());
        let part = parts.next().filter(digits)?;
        *octet = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}
