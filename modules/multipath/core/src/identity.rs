//! Static keys (X25519, RFC 7748): who has one is this router, or this partner, whatever others have
//! read or were told.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use subtle::ConstantTimeEq;

use crate::derive;
use crate::key::Key;

/// What others know of an [`Identity`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Public(pub [u8; 32]);

/// Text that is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no public key: those have 43 characters")]
pub struct PublicError;

impl fmt::Display for Public {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for Public {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Public({self})")
    }
}

impl FromStr for Public {
    type Err = PublicError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octets = BASE64.decode(text).map_err(|_| PublicError)?;
        octets.try_into().map(Self).map_err(|_| PublicError)
    }
}

/// One's own static key.
#[derive(Clone)]
pub struct Identity {
    secret: [u8; 32],
    public: Public,
}

impl Identity {
    /// Of a router that cannot keep one of its own: whoever has its line has this as well.
    pub fn of_line(key: &Key) -> Self {
        let from = derive::of_key(key.secret());
        Self::from(derive::expand(&from, &[b"weir2 router of a line"]))
    }

    /// As it is kept.
    pub fn octets(&self) -> &[u8; 32] {
        &self.secret
    }

    /// What others may know.
    pub fn public(&self) -> Public {
        self.public
    }
}

impl From<[u8; 32]> for Identity {
    fn from(secret: [u8; 32]) -> Self {
        let x25519 = DefaultResolver.resolve_dh(&DHChoice::Curve25519);
        let mut x25519 = x25519.expect("built with X25519");
        x25519.set(&secret);
        let public = x25519.pubkey().try_into().expect("32 bytes");
        Self {
            secret,
            public: Public(public),
        }
    }
}

impl PartialEq for Identity {
    /// In a time that tells nothing of where they differ.
    fn eq(&self, other: &Self) -> bool {
        self.secret.ct_eq(&other.secret).into()
    }
}

impl Eq for Identity {}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyId;

    fn hexadecimal(text: &str) -> [u8; 32] {
        let octet = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16);
        std::array::from_fn(|at| octet(at).expect("digits"))
    }

    #[test]
    fn public_keys_are_those_of_x25519() {
        // RFC 7748, 6.1.
        let alice = Identity::from(hexadecimal(concat!(
            "77076d0a7318a57d3c16c17251b26645",
            "df4c2f87ebc0992ab177fba51db92c2a"
        )));
        let public = hexadecimal(concat!(
            "8520f0098930a754748b7ddcb43ef75a",
            "0dbf3a0d26381af4eba4a98eaa9b4e6a"
        ));
        assert_eq!(alice.public(), Public(public));
        assert!(!format!("{alice:?}").contains("7707"));
    }

    #[test]
    fn each_is_another_and_reads_as_written() {
        let one = Identity::from([5; 32]);
        assert_ne!(one, Identity::from([6; 32]));
        assert_eq!(one, Identity::from(*one.octets()));
        assert_eq!(one.public().to_string().parse(), Ok(one.public()));
        for text in ["", "AAAA", &one.public().to_string()[1..], "?"] {
            assert_eq!(text.parse::<Public>(), Err(PublicError), "{text}");
        }
        let line = |secret| Key::new(KeyId([1; 8]), [secret; 32], one.public());
        let of_line = Identity::of_line(&line(2));
        assert_eq!(of_line, Identity::of_line(&line(2)));
        assert_ne!(of_line, Identity::of_line(&line(3)));
        assert_ne!(of_line.octets(), line(2).secret());
    }
}
