//! Keys of routers, and public keys.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use subtle::ConstantTimeEq;

use crate::derive::{self, NoRandom};

/// Id of a router's key. It is sent in the clear, and reveals nothing of the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 8]);

/// Text that is not a valid id of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid key id {0:?}: it must have 16 hexadecimal digits")]
pub struct KeyIdError(String);

impl KeyId {
    /// Generates a random id: among a million there are two alike in one case of 37 million.
    pub fn generate() -> Result<Self, NoRandom> {
        derive::random().map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyId({self})")
    }
}

impl FromStr for KeyId {
    type Err = KeyIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octets = net::hex::parse(text).and_then(|octets| octets.try_into().ok());
        octets.map(Self).ok_or_else(|| KeyIdError(text.to_owned()))
    }
}

/// A public static key of a partner or of a router.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// Text that is not a valid public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a public key: it must have 43 characters")]
pub struct PublicError;

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Public({self})")
    }
}

impl FromStr for PublicKey {
    type Err = PublicError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octets = BASE64.decode(text).map_err(|_| PublicError)?;
        octets.try_into().map(Self).map_err(|_| PublicError)
    }
}

/// Credentials of a router: a secret that admits it, and its partner's public key.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    secret: [u8; 32],
    partner: PublicKey,
}

impl Key {
    /// Creates a key of 32 unpredictable bytes, for this partner.
    pub fn new(id: KeyId, secret: [u8; 32], partner: PublicKey) -> Self {
        Self {
            id,
            secret,
            partner,
        }
    }

    /// Returns the id of the key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the secret.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Returns the partner's public key.
    pub fn partner(&self) -> PublicKey {
        self.partner
    }
}

impl PartialEq for Key {
    /// Compares in constant time, which reveals nothing of where the keys differ.
    fn eq(&self, other: &Self) -> bool {
        let secret = self.secret.ct_eq(&other.secret);
        let partner = self.partner.0.ct_eq(&other.partner.0);
        (self.id.0.ct_eq(&other.id.0) & secret & partner).into()
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_and_read() {
        let id = KeyId([0, 1, 2, 3, 4, 5, 6, 0xff]);
        assert_eq!(id.to_string(), "00010203040506ff");
        assert_eq!("00010203040506FF".parse(), Ok(id));
        for text in [
            "",
            "0001",
            "+0010203040506ff",
            "00010203040506fg",
            "00010203040506ff0",
        ] {
            assert!(text.parse::<KeyId>().is_err(), "{text}");
        }
    }
}
