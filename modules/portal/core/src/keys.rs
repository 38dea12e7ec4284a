//! Keys of the nodes that sell vouchers and let guests in: Ed25519 (RFC 8032).

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

/// Bytes of a public key, and of a secret key's seed.
pub const KEY: usize = 32;
/// Bytes of a signature.
pub const SIGNATURE: usize = 64;

/// Public key of a node, which verifies the node's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey(pub [u8; KEY]);

/// Not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid key: it must have 44 characters, as `weir portal key` prints it")]
pub struct InvalidKey;

impl PublicKey {
    /// Returns four bytes that identify a key among a few others.
    pub fn hint(&self) -> [u8; 4] {
        let digest = digest(&SHA256, &self.0);
        std::array::from_fn(|place| digest.as_ref()[place])
    }

    /// Returns true if the owner of the key signed these bytes for this purpose.
    pub fn signed(&self, purpose: Purpose, octets: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(&purpose.message(octets), signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let octets = BASE64.decode(text).map_err(|_| InvalidKey)?;
        octets.try_into().map(Self).map_err(|_| InvalidKey)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// Purpose of a signature: the signature of a voucher is not valid for a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A voucher's terms.
    Voucher,
    /// Note of a node about a voucher.
    Note,
}

impl Purpose {
    fn message(self, octets: &[u8]) -> Vec<u8> {
        let purpose: &[u8] = match self {
            Self::Voucher => b"weir voucher 1\n",
            Self::Note => b"weir note 1\n",
        };
        [purpose, octets].concat()
    }
}

/// A node's own key.
pub struct SecretKey(Ed25519KeyPair);

impl SecretKey {
    /// Creates a key from 32 random bytes.
    ///
    /// # Errors
    /// The bytes are not a valid seed; in practice every seed is valid.
    pub fn new(seed: &[u8; KEY]) -> Result<Self, InvalidKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(Self).map_err(|_| InvalidKey)
    }

    /// Returns the public key, which other nodes need.
    pub fn public(&self) -> PublicKey {
        let mut key = [0; KEY];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(key)
    }

    /// Signs.
    pub fn sign(&self, purpose: Purpose, octets: &[u8]) -> [u8; SIGNATURE] {
        let mut signature = [0; SIGNATURE];
        signature.copy_from_slice(self.0.sign(&purpose.message(octets)).as_ref());
        signature
    }
}

/// A node whose notes count here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedNode {
    /// Public key of the node.
    pub key: PublicKey,
    /// Local name of the node; may be empty.
    pub name: String,
}

impl fmt::Display for TrustedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.name)
    }
}

impl FromStr for TrustedNode {
    type Err = InvalidKey;

    /// Parses a key, a space and the name of its node.
    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let (key, name) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        Ok(Self {
            key: key.parse()?,
            name: name.trim().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1: the key.
    #[test]
    fn keys_are_those_of_the_standard() {
        let seed = [
            0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec,
            0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03,
            0x1c, 0xae, 0x7f, 0x60,
        ];
        let public = SecretKey::new(&seed).expect("a key").public();
        assert_eq!(
            public.to_string(),
            "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
        );
        assert_eq!(public.to_string().parse(), Ok(public));
        for wrong in [
            "",
            "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "????",
            "AAAA",
        ] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(InvalidKey), "{wrong}");
        }
    }

    #[test]
    fn a_signature_holds_for_one_purpose_one_text_one_key() {
        let (one, two) = (SecretKey::new(&[1; KEY]), SecretKey::new(&[2; KEY]));
        let (one, two) = (one.expect("a key"), two.expect("a key"));
        let signature = one.sign(Purpose::Voucher, b"text");
        let holds = |key: &SecretKey, purpose, text| key.public().signed(purpose, text, &signature);
        assert!(holds(&one, Purpose::Voucher, b"text"));
        assert!(!holds(&one, Purpose::Note, b"text"));
        assert!(!holds(&one, Purpose::Voucher, b"texts"));
        assert!(!holds(&two, Purpose::Voucher, b"text"));
    }

    #[test]
    fn a_trusted_node_has_a_key_and_a_name() {
        let key = SecretKey::new(&[1; KEY]).expect("a key").public();
        let read: TrustedNode = format!("{key} the roof").parse().expect("trusted");
        assert_eq!((read.key, read.name.as_str()), (key, "the roof"));
        let unnamed: TrustedNode = key.to_string().parse().expect("trusted");
        assert_eq!(unnamed.name, "");
    }
}
