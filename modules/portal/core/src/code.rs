//! Voucher codes: 40 bits, typed as eight letters and digits that cannot be confused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// No 0 and O, no 1 and I.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Letters and digits of a code.
pub const LENGTH: usize = 8;
/// Maximum length of a typed code in bytes, including spaces between its letters.
const LONGEST: usize = 64;

/// A voucher's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code([u8; LENGTH]);

/// The text is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCode {
    /// The number of letters and digits is wrong.
    #[error("a code must have {LENGTH} letters and digits")]
    Length,
    /// A character that no code contains.
    #[error("invalid character {0:?} in a code")]
    Character(char),
}

impl Code {
    /// Creates the code of 40 random bits.
    pub fn new(random: [u8; 5]) -> Self {
        let bits = random
            .iter()
            .fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet));
        Self(std::array::from_fn(|place| {
            let shift = 5 * (LENGTH - 1 - place);
            ALPHABET[(bits >> shift) as usize & 31]
        }))
    }

    /// Returns the 40 bits of the code.
    pub fn octets(&self) -> [u8; 5] {
        let digit = |letter: &u8| ALPHABET.iter().position(|one| one == letter).unwrap_or(0);
        let bits = self
            .0
            .iter()
            .fold(0, |bits, letter| bits << 5 | digit(letter) as u64);
        let octets = bits.to_be_bytes();
        std::array::from_fn(|place| octets[3 + place])
    }

    /// Returns the letters without the dash.
    pub fn letters(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Code {
    /// Writes the code in two halves: `K7QM-3XWD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = self.letters().split_at(LENGTH / 2);
        write!(f, "{left}-{right}")
    }
}

impl FromStr for Code {
    type Err = InvalidCode;

    /// Accepts small letters, spaces and dashes.
    fn from_str(text: &str) -> Result<Self, InvalidCode> {
        if text.len() > LONGEST {
            return Err(InvalidCode::Length);
        }
        let mut code = [0; LENGTH];
        let mut length = 0;
        for character in text.chars().filter(|c| !is_skipped(*c)) {
            let octet = u8::try_from(character.to_ascii_uppercase())
                .ok()
                .filter(|octet| ALPHABET.contains(octet))
                .ok_or(InvalidCode::Character(character))?;
            *code.get_mut(length).ok_or(InvalidCode::Length)? = octet;
            length += 1;
        }
        match length {
            LENGTH => Ok(Self(code)),
            _ => Err(InvalidCode::Length),
        }
    }
}

/// Code of an imported voucher from an earlier portal: letters and digits of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FormerCode(String);

/// Length of an earlier portal's code, in letters and digits.
const FORMER: std::ops::RangeInclusive<usize> = 4..=16;

impl FromStr for FormerCode {
    type Err = InvalidCode;

    /// Accepts small letters, spaces and dashes here, too.
    fn from_str(text: &str) -> Result<Self, InvalidCode> {
        if text.len() > LONGEST {
            return Err(InvalidCode::Length);
        }
        let letters = text.chars().filter(|c| !is_skipped(*c));
        let code: String = letters.map(|c| c.to_ascii_uppercase()).collect();
        match code.chars().find(|c| !c.is_ascii_alphanumeric()) {
            Some(other) => Err(InvalidCode::Character(other)),
            None if !FORMER.contains(&code.len()) => Err(InvalidCode::Length),
            None => Ok(Self(code)),
        }
    }
}

impl fmt::Display for FormerCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for FormerCode {
    type Error = InvalidCode;

    fn try_from(text: String) -> Result<Self, InvalidCode> {
        text.parse()
    }
}

impl From<FormerCode> for String {
    fn from(code: FormerCode) -> Self {
        code.0
    }
}

/// Returns true for characters that a typed code may contain but that are ignored.
pub(crate) fn is_skipped(character: char) -> bool {
    character.is_whitespace() || matches!(character, '-' | '\u{2010}'..='\u{2015}')
}

impl TryFrom<String> for Code {
    type Error = InvalidCode;

    fn try_from(text: String) -> Result<Self, InvalidCode> {
        text.parse()
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_bit_counts() {
        assert_eq!(Code::new([0; 5]).to_string(), "2222-2222");
        assert_eq!(Code::new([255; 5]).to_string(), "ZZZZ-ZZZZ");
        let mut all: Vec<Code> = (0..40)
            .map(|bit| Code::new((1_u64 << bit).to_be_bytes()[3..].try_into().expect("five")))
            .collect();
        all.dedup();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn what_people_type_is_understood() {
        let code: Code = "K7QM-3XWD".parse().expect("a code");
        for typed in [
            "k7qm3xwd",
            " K7 QM 3X WD ",
            "K7QM\u{2013}3XWD",
            "k-7-q-m-3-x-w-d",
        ] {
            assert_eq!(typed.parse(), Ok(code), "{typed}");
        }
        for (typed, why) in [
            ("", InvalidCode::Length),
            ("K7QM-3XW", InvalidCode::Length),
            ("K7QM-3XWDD", InvalidCode::Length),
            ("K7QM-3XW0", InvalidCode::Character('0')),
            ("K7QM-3XWÄ", InvalidCode::Character('Ä')),
            (&"K".repeat(1000), InvalidCode::Length),
        ] {
            assert_eq!(typed.parse::<Code>(), Err(why), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(random: [u8; 5]) {
            let code = Code::new(random);
            prop_assert_eq!(code.to_string().parse(), Ok(code));
            prop_assert_eq!(code.octets(), random);
        }

        #[test]
        fn nothing_panics(text in ".*") {
            let _ = text.parse::<Code>();
        }
    }
}
