//! The code that a receiver shows and a person types at the sender, and proofs of knowing it.
//!
//! Each end sends a random challenge and answers the other's by HMAC-SHA256 under the code. An
//! answer names its side, so it cannot be sent back. It covers both challenges, so it cannot be
//! replayed. An eavesdropper cannot try all 80 bits.

use std::fmt;
use std::str::FromStr;

use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};

use super::SCHEMA;

/// Crockford's alphabet, without I, L, O and U; parsing reads O as 0, and I and L as 1.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code, 5 bits each.
const LENGTH: usize = 16;
const GROUP: usize = 4;

/// A one-time code: 80 random bits, as `7K2M-0QXE-41TB-9V3H`.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; LENGTH]);

/// Random bytes for the other end's proof, new for each connection.
pub type Challenge = [u8; 16];

/// End that gives a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// End with the generator.
    Sender,
    /// End that counts.
    Receiver,
}

/// Error: the system returned no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("cannot get random numbers")]
pub struct NoRandom;

/// Returns `N` random bytes.
///
/// # Errors
/// The system returned no random bytes.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandom> {
    let mut octets = [0; N];
    SystemRandom::new()
        .fill(&mut octets)
        .map_err(|_| NoRandom)?;
    Ok(octets)
}

impl Code {
    /// Draws a new code.
    ///
    /// # Errors
    /// The system returned no random bytes.
    pub fn new() -> Result<Self, NoRandom> {
        let octets: [u8; LENGTH] = random()?;
        // 256 is a multiple of 32: all letters are equally likely.
        Ok(Self(octets.map(|octet| LETTERS[usize::from(octet % 32)])))
    }

    /// Returns the answer of `side` to the challenges of both ends.
    pub fn prove(&self, side: Side, sender: &Challenge, receiver: &Challenge) -> Vec<u8> {
        let text = told(side, sender, receiver);
        hmac::sign(&self.key(), &text).as_ref().to_vec()
    }

    /// Returns whether `proof` was made with this code, in the same time for each wrong proof.
    pub fn proves(
        &self,
        side: Side,
        sender: &Challenge,
        receiver: &Challenge,
        proof: &[u8],
    ) -> bool {
        let text = told(side, sender, receiver);
        hmac::verify(&self.key(), &text, proof).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(HMAC_SHA256, &self.0)
    }
}

fn told(side: Side, sender: &Challenge, receiver: &Challenge) -> Vec<u8> {
    let side: &[u8] = match side {
        Side::Sender => b"/sender/",
        Side::Receiver => b"/receiver/",
    };
    [SCHEMA.as_bytes(), side, sender, receiver].concat()
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.0.chunks(GROUP).enumerate() {
            let dash = if index == 0 { "" } else { "-" };
            write!(f, "{dash}{}", String::from_utf8_lossy(group))?;
        }
        Ok(())
    }
}

/// Keeps the code out of logs.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// Error: wrong length, or a character outside the alphabet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code has 16 letters and digits, as 7K2M-0QXE-41TB-9V3H")]
pub struct NoCode;

impl FromStr for Code {
    type Err = NoCode;

    fn from_str(text: &str) -> Result<Self, NoCode> {
        let letters: Option<Vec<u8>> = text
            .bytes()
            .filter(|letter| !matches!(letter, b'-' | b' ' | b'\n' | b'\r' | b'\t'))
            .take(LENGTH + 1)
            .map(|letter| match letter.to_ascii_uppercase() {
                b'O' => Some(b'0'),
                b'I' | b'L' => Some(b'1'),
                letter => LETTERS.contains(&letter).then_some(letter),
            })
            .collect();
        let letters = letters.and_then(|letters| letters.try_into().ok());
        letters.map(Self).ok_or(NoCode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_a_person_types_it() {
        let code: Code = "7K2M-0QXE-41TB-9V3H".parse().expect("a code");
        for text in [
            "7k2m0qxe41tb9v3h",
            " 7K2M OQXE-4ITB 9V3H\n",
            "7k2m-oqxe-4ltb-9v3h",
        ] {
            assert_eq!(text.parse(), Ok(code.clone()), "{text}");
        }
        assert_eq!(code.to_string(), "7K2M-0QXE-41TB-9V3H");
        assert!(!format!("{code:?}").contains("7K2M"));
        for text in [
            "",
            "7K2M-0QXE-41TB-9V3",
            "7K2M-0QXE-41TB-9V3HH",
            "7K2M-0QXE-41TB-9V3U",
            "7K2M-0QXE-41TB-9V3ä",
        ] {
            assert_eq!(text.parse::<Code>(), Err(NoCode), "{text}");
        }
        let long = "7".repeat(1 << 20);
        assert_eq!(long.parse::<Code>(), Err(NoCode));
    }

    #[test]
    fn no_two_are_alike() {
        let codes: Vec<_> = (0..100).map(|_| Code::new().expect("random")).collect();
        for (index, code) in codes.iter().enumerate() {
            assert!(!codes[..index].contains(code));
            assert_eq!(code.to_string().parse().as_ref(), Ok(code));
        }
    }

    #[test]
    fn proofs() {
        let code: Code = "7K2M-0QXE-41TB-9V3H".parse().expect("a code");
        let other: Code = "7K2M-0QXE-41TB-9V3J".parse().expect("a code");
        let (one, two) = ([1; 16], [2; 16]);
        let proof = code.prove(Side::Sender, &one, &two);
        assert!(code.proves(Side::Sender, &one, &two, &proof));
        assert!(!other.proves(Side::Sender, &one, &two, &proof));
        assert!(
            !code.proves(Side::Receiver, &one, &two, &proof),
            "sent back"
        );
        assert!(!code.proves(Side::Sender, &two, &one, &proof));
        assert!(
            !code.proves(Side::Sender, &one, &[3; 16], &proof),
            "used again"
        );
        assert!(!code.proves(Side::Sender, &one, &two, &proof[..31]));
        assert!(!code.proves(Side::Sender, &one, &two, &[]));
    }
}
