//! Vouchers: their terms and their use so far.

use std::collections::BTreeMap;

use kernel::Mac;
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::code::{Code, FormerCode};
use crate::keys::{PublicKey, SecretKey};
use crate::signed_voucher::{KBIT, SignedVoucher, Terms};

/// A voucher. Times of day are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voucher {
    /// Names it, in lists and commands: 16 hexadecimal digits.
    pub id: String,
    /// Code that the owner types.
    pub code: Code,
    /// The code that another portal sold it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerCode>,
    /// Name of the voucher: its buyer or its purpose.
    pub name: String,
    /// Seconds that it is good for, from when it is first used; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// Devices that may use it at once.
    pub devices: u32,
    /// Latest time of the first use, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Time of creation.
    pub created: u64,
    /// Time of the first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activated: Option<u64>,
    /// Time of the revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
    /// Used time when the voucher was written, in milliseconds.
    #[serde(default)]
    pub used: Millis,
    /// Bytes that it is good for, both ways together; `None`: as many as its time allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Used bytes when the voucher was written.
    #[serde(default)]
    pub moved: u64,
    /// Bits a second that each device may send, and get; `None`: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// True if the time passes only while a device is online.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub online: bool,
    /// Whence it is.
    #[serde(default, skip_serializing_if = "Origin::is_sold")]
    pub origin: Origin,
    /// Devices that use it, the last that came last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Time of the first admission by this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<u64>,
    /// Time when the voucher ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<u64>,
    /// Signed form of the selling node; `None`: this node sold the voucher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedVoucher>,
    /// Notes of other nodes about the voucher.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<PublicKey, RemoteNote>,
    /// Use beyond the terms of the voucher, if a node found any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub double: Option<VoucherDoubleUse>,
}

/// Whence a voucher is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Sold voucher: a buyer has its code.
    #[default]
    Sold,
    /// Free access for one device for a while. Forgotten when the time is over, or weir ends.
    Free,
    /// Access of one device by an account, whose name the voucher has. Deleted on expiry.
    Account,
}

impl Origin {
    /// Returns true if the voucher was sold, so that a buyer has its code.
    pub fn is_sold(&self) -> bool {
        *self == Self::Sold
    }
}

/// A device that uses a voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Hardware address of the device.
    #[serde(with = "mac")]
    pub mac: Mac,
    /// Start of the use.
    pub since: u64,
    /// Number of its browser, if that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
}

/// State of a voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not used yet.
    Available,
    /// In use.
    Active,
    /// The time is over, or the voucher was not used in time.
    Expired,
    /// The voucher was revoked.
    Revoked,
}

/// A note of another node, with the parts that are often needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteNote {
    /// The line, without its end.
    pub line: String,
    /// Bytes that the node forwarded.
    pub moved: u64,
    /// Seconds between writing and receiving the note, as far as both clocks are right.
    pub late: i64,
}

/// Use of a voucher beyond its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoucherDoubleUse {
    /// Kind of use.
    pub how: DoubleUseKind,
    /// The two nodes that let devices in.
    pub nodes: [PublicKey; 2],
}

/// Kinds of double use of a voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubleUseKind {
    /// A node admitted a device after the voucher's time was over at the other.
    Again,
    /// Both nodes together admitted more devices than allowed.
    Together,
}

impl User {
    /// Creates a user with address and time alone.
    pub fn new(mac: Mac, since: u64) -> Self {
        Self {
            mac,
            since,
            token: None,
        }
    }
}

impl Voucher {
    /// Creates an unused voucher for one device, without an end.
    pub fn new(id: String, code: Code, created: u64) -> Self {
        Self {
            id,
            code,
            former: None,
            name: String::new(),
            duration: None,
            devices: 1,
            until: None,
            created,
            activated: None,
            revoked: None,
            used: 0,
            bytes: None,
            moved: 0,
            rate: None,
            online: false,
            origin: Origin::Sold,
            users: Vec::new(),
            here: None,
            over: None,
            signed: None,
            elsewhere: BTreeMap::new(),
            double: None,
        }
    }

    /// Creates the voucher from a signed form; `created`: first use of the form at this node.
    pub fn of(signed: SignedVoucher, created: u64) -> Self {
        let some = |number: u64| (number != 0).then_some(number);
        let terms = signed.terms();
        Self {
            duration: some(terms.duration.into()),
            devices: terms.devices.into(),
            until: some(terms.until.into()),
            bytes: some(terms.bytes),
            rate: some(terms.kbit.into()).map(|rate| rate * KBIT),
            online: terms.online,
            signed: Some(signed),
            ..Self::new(signed.id(), terms.code, created)
        }
    }

    /// Returns the signed form of a voucher sold here; `None`: its terms do not fit.
    pub fn sign(&self, key: &SecretKey) -> Option<SignedVoucher> {
        let terms = Terms {
            id: u64::from_str_radix(&self.id, 16).ok()?,
            code: self.code,
            duration: u32::try_from(self.duration.unwrap_or(0)).ok()?,
            devices: u16::try_from(self.devices).ok()?,
            until: u32::try_from(self.until.unwrap_or(0)).ok()?,
            bytes: self.bytes.unwrap_or(0),
            kbit: u32::try_from(self.rate.unwrap_or(0).div_ceil(KBIT)).ok()?,
            online: self.online,
        };
        Some(SignedVoucher::of(&terms, key))
    }

    /// Returns the state at a time of day. `used`: used time in milliseconds.
    pub fn state(&self, used: Millis, wall: u64) -> State {
        if self.revoked.is_some() {
            return State::Revoked;
        }
        match self.activated {
            Some(_) if self.left(used) == Some(0) || self.bytes_left() == Some(0) => State::Expired,
            Some(_) => State::Active,
            // A voucher with devices is used in time, though another may be used first.
            None if self.until.is_some_and(|until| until <= wall) && self.users.is_empty() => {
                State::Expired
            }
            None => State::Available,
        }
    }

    /// Returns the remaining bytes; `None`: no limit.
    pub fn bytes_left(&self) -> Option<u64> {
        let elsewhere = self.elsewhere.values().map(|heard| heard.moved);
        let moved = elsewhere.fold(self.moved, u64::saturating_add);
        Some(self.bytes?.saturating_sub(moved))
    }

    /// Returns the remaining time in milliseconds; `None`: no limit.
    pub fn left(&self, used: Millis) -> Option<Millis> {
        let all = self.duration?.saturating_mul(1000);
        Some(all.saturating_sub(used))
    }
}

/// A hardware address, as text.
mod mac {
    use kernel::Mac;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(mac: &Mac, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&net::mac::text(mac))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mac, D::Error> {
        let text = String::deserialize(deserializer)?;
        net::mac::parse(&text).ok_or_else(|| D::Error::custom("not a hardware address"))
    }
}
