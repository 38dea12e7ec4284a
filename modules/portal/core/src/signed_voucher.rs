//! Signed voucher that any node can verify alone: its terms, signed by the issuing node. 105 bytes;
//! as text, 168 letters and digits of codes. Numbers are big-endian.
//!
//! | bytes | |
//! |---|---|
//! | 0 | 1, the version |
//! | 1–8 | the voucher's id |
//! | 9–13 | its code |
//! | 14–17 | seconds that it is good for; 0: for ever |
//! | 18–19 | devices that may use it at once |
//! | 20–23 | it can be used for the first time until then, seconds since 1970; 0: at any time |
//! | 24–31 | bytes that it is good for; 0: as many as its time allows |
//! | 32–35 | kbit a second that each device may send, and get; 0: as many as there are |
//! | 36 | 1: its time goes by only while one of its devices is on-line; else 0 |
//! | 37–40 | the first four of the SHA-256 of the key that signed it |
//! | 41–104 | signature of bytes 0–40 |

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::code::{self, Code, FormerCode, InvalidCode};
use crate::keys::{PublicKey, Purpose, SIGNATURE, SecretKey};

const VERSION: u8 = 1;
/// Bytes that are signed.
const TERMS: usize = 41;
/// Bits.
pub(crate) const KBIT: u64 = 1000;
const OCTETS: usize = TERMS + SIGNATURE;
/// Bytes that one code makes of its letters.
const GROUP: usize = 5;
/// Letters of the whole.
pub const LETTERS: usize = OCTETS / GROUP * code::LENGTH;
/// Maximum length of a text in bytes.
const LONGEST: usize = 4 * LETTERS;

/// A signed voucher, not yet verified: see [`SignedVoucher::signer`].
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignedVoucher([u8; OCTETS]);

/// Terms of a voucher, as they are signed; 0: no end.
pub(crate) struct Terms {
    pub id: u64,
    pub code: Code,
    pub duration: u32,
    pub devices: u16,
    pub until: u32,
    pub bytes: u64,
    pub kbit: u32,
    pub online: bool,
}

/// The text is not a signed voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid signed voucher: it must have {LETTERS} letters and digits, and valid terms")]
pub struct InvalidSignedVoucher;

impl SignedVoucher {
    /// Signs these terms.
    pub(crate) fn of(terms: &Terms, key: &SecretKey) -> Self {
        let mut octets = [0; OCTETS];
        let mut rest = &mut octets[..];
        put(&mut rest, &[VERSION]);
        put(&mut rest, &terms.id.to_be_bytes());
        put(&mut rest, &terms.code.octets());
        put(&mut rest, &terms.duration.to_be_bytes());
        put(&mut rest, &terms.devices.to_be_bytes());
        put(&mut rest, &terms.until.to_be_bytes());
        put(&mut rest, &terms.bytes.to_be_bytes());
        put(&mut rest, &terms.kbit.to_be_bytes());
        put(&mut rest, &[u8::from(terms.online)]);
        put(&mut rest, &key.public().hint());
        let signature = key.sign(Purpose::Voucher, &octets[..TERMS]);
        octets[TERMS..].copy_from_slice(&signature);
        Self(octets)
    }

    fn part<const N: usize>(&self, from: usize) -> [u8; N] {
        std::array::from_fn(|place| self.0[from + place])
    }

    /// Returns the id of the voucher.
    pub fn id(&self) -> String {
        format!("{:016x}", self.number())
    }

    /// Returns the id of the voucher, as a number.
    pub fn number(&self) -> u64 {
        u64::from_be_bytes(self.part(1))
    }

    /// Returns the hint of the signer's key.
    pub fn hint(&self) -> [u8; 4] {
        self.part(37)
    }

    /// Returns the signer among these nodes.
    pub fn signer<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a PublicKey>,
    ) -> Option<&'a PublicKey> {
        let (terms, signature) = self.0.split_at(TERMS);
        let hint = self.hint();
        keys.into_iter()
            .filter(|key| key.hint() == hint)
            .find(|key| key.signed(Purpose::Voucher, terms, signature))
    }

    /// Returns the terms.
    pub(crate) fn terms(&self) -> Terms {
        Terms {
            id: self.number(),
            code: Code::new(self.part(9)),
            duration: u32::from_be_bytes(self.part(14)),
            devices: u16::from_be_bytes(self.part(18)),
            until: u32::from_be_bytes(self.part(20)),
            bytes: u64::from_be_bytes(self.part(24)),
            kbit: u32::from_be_bytes(self.part(32)),
            online: self.0[36] == 1,
        }
    }
}

/// Code or signed voucher that a guest presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The code of a voucher.
    Code(Code),
    /// A signed voucher.
    Signed(SignedVoucher),
    /// The code of a voucher that another portal sold.
    Former(FormerCode),
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Signed(signed) => signed.fmt(f),
            Self::Former(former) => former.fmt(f),
        }
    }
}

impl FromStr for Ticket {
    type Err = InvalidCode;

    fn from_str(text: &str) -> Result<Self, InvalidCode> {
        let signed = text.parse().map(Self::Signed);
        let own = signed.or_else(|_| text.parse().map(Self::Code));
        // For invalid text, the error is that of weir's own codes.
        own.or_else(|none| text.parse().map(Self::Former).map_err(|_| none))
    }
}

fn put(rest: &mut &mut [u8], octets: &[u8]) {
    let (here, after) = std::mem::take(rest).split_at_mut(octets.len());
    here.copy_from_slice(octets);
    *rest = after;
}

impl fmt::Display for SignedVoucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (groups, _) = self.0.as_chunks::<GROUP>();
        groups
            .iter()
            .try_for_each(|group| f.write_str(Code::new(*group).letters()))
    }
}

impl fmt::Debug for SignedVoucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signed({})", self.id())
    }
}

impl FromStr for SignedVoucher {
    type Err = InvalidSignedVoucher;

    /// Accepts small letters, spaces and dashes, as in codes.
    fn from_str(text: &str) -> Result<Self, InvalidSignedVoucher> {
        if text.len() > LONGEST {
            return Err(InvalidSignedVoucher);
        }
        let letters: Vec<char> = text.chars().filter(|c| !code::is_skipped(*c)).collect();
        if letters.len() != LETTERS {
            return Err(InvalidSignedVoucher);
        }
        let mut octets = [0; OCTETS];
        let (groups, _) = octets.as_chunks_mut::<GROUP>();
        for (group, letters) in groups.iter_mut().zip(letters.chunks(code::LENGTH)) {
            let letters: String = letters.iter().collect();
            let code: Code = letters.parse().map_err(|_| InvalidSignedVoucher)?;
            *group = code.octets();
        }
        let signed = Self(octets);
        let makes_sense =
            octets[0] == VERSION && octets[36] <= 1 && u16::from_be_bytes(signed.part(18)) > 0;
        makes_sense.then_some(signed).ok_or(InvalidSignedVoucher)
    }
}

impl TryFrom<String> for SignedVoucher {
    type Error = InvalidSignedVoucher;

    fn try_from(text: String) -> Result<Self, InvalidSignedVoucher> {
        text.parse()
    }
}

impl From<SignedVoucher> for String {
    fn from(signed: SignedVoucher) -> Self {
        signed.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::voucher::Voucher;

    fn key(number: u8) -> SecretKey {
        SecretKey::new(&[number; 32]).expect("a key")
    }

    fn voucher() -> Voucher {
        Voucher {
            duration: Some(3600),
            devices: 3,
            until: Some(1_800_000_000),
            bytes: Some(1 << 33),
            rate: Some(2_000_000),
            online: true,
            ..Voucher::new("00112233445566ff".to_owned(), Code::new([7; 5]), 5)
        }
    }

    #[test]
    fn a_signed_voucher_says_what_was_sold() {
        let signed = voucher().sign(&key(1)).expect("signed");
        let text = signed.to_string();
        assert_eq!(text.len(), LETTERS);
        let read: SignedVoucher = text.to_lowercase().parse().expect("read");
        let expected = Voucher {
            signed: Some(signed),
            ..voucher()
        };
        assert_eq!(Voucher::of(read, 5), expected);
        let (one, two) = (key(1).public(), key(2).public());
        assert_eq!(read.signer([&two, &one]), Some(&one));
        assert_eq!(read.signer([&two]), None);
    }

    #[test]
    fn nothing_of_it_can_be_changed() {
        let signed = voucher().sign(&key(1)).expect("signed");
        let public = key(1).public();
        for bit in 0..OCTETS * 8 {
            let mut other = signed;
            other.0[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(other.signer([&public]), None, "bit {bit}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_signed() {
        let long = Voucher {
            duration: Some(1 << 32),
            ..voucher()
        };
        assert_eq!(long.sign(&key(1)), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9A-Za-z -]{0,400}") {
            let _ = text.parse::<SignedVoucher>();
        }
    }
}
