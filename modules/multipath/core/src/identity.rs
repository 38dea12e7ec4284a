//! Static keys (X25519, RFC 7748). A static key identifies a router or a partner, whatever others
//! have read. A partner derives its own key, and the keys of all its routers, from a master key.

use std::fmt;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use subtle::ConstantTimeEq;

use crate::derive;
use crate::key::{Key, KeyId, PublicKey};

/// Static key of this router or partner.
#[derive(Clone)]
pub struct Identity {
    secret: [u8; 32],
    public: PublicKey,
}

impl Identity {
    /// Derives the key of a router that cannot store one: the owner of the line has it as well.
    pub fn of_line(key: &Key) -> Self {
        let from = derive::of_key(key.secret());
        Self::from(derive::expand(&from, &[b"weir2 router of a line"]))
    }

    /// Returns the secret, as it is stored.
    pub fn octets(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
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
            public: PublicKey(public),
        }
    }
}

impl PartialEq for Identity {
    /// Compares in constant time, which reveals nothing of where the keys differ.
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

/// Salt of keys that are derived from a master key.
const MASTER: &[u8] = b"weir2 master";

/// Master key. A partner derives its own static key and the keys of all its routers from it, so
/// that it has to keep one secret only.
#[derive(Clone)]
pub struct Master {
    octets: [u8; 32],
    identity: Identity,
}

impl Master {
    /// Bytes of a master key, as in its file.
    pub const LENGTH: usize = 32;

    /// Returns the bytes, as they are stored.
    pub fn octets(&self) -> &[u8; Self::LENGTH] {
        &self.octets
    }

    /// Returns the partner's static key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Derives the key with this id.
    pub fn key(&self, id: KeyId) -> Key {
        let from = derive::extract(MASTER, &self.octets);
        let secret = derive::expand(&from, &[b"weir2 key", &id.0]);
        Key::new(id, secret, self.identity.public())
    }
}

impl From<[u8; Self::LENGTH]> for Master {
    fn from(octets: [u8; Self::LENGTH]) -> Self {
        let from = derive::extract(MASTER, &octets);
        let identity = derive::expand(&from, &[b"weir2 partner"]);
        Self {
            octets,
            identity: Identity::from(identity),
        }
    }
}

impl fmt::Debug for Master {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Master")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PublicError;

    fn hexadecimal(text: &str) -> [u8; 32] {
        let octets = net::hex::parse(text).expect("digits");
        octets.try_into().expect("32 octets")
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
        assert_eq!(alice.public(), PublicKey(public));
        assert!(!format!("{alice:?}").contains("7707"));
    }

    #[test]
    fn each_is_another_and_reads_as_written() {
        let one = Identity::from([5; 32]);
        assert_ne!(one, Identity::from([6; 32]));
        assert_eq!(one, Identity::from(*one.octets()));
        assert_eq!(one.public().to_string().parse(), Ok(one.public()));
        for text in ["", "AAAA", &one.public().to_string()[1..], "?"] {
            assert_eq!(text.parse::<PublicKey>(), Err(PublicError), "{text}");
        }
        let line = |secret| Key::new(KeyId([1; 8]), [secret; 32], one.public());
        let of_line = Identity::of_line(&line(2));
        assert_eq!(of_line, Identity::of_line(&line(2)));
        assert_ne!(of_line, Identity::of_line(&line(3)));
        assert_ne!(of_line.octets(), line(2).secret());
    }

    #[test]
    fn each_id_has_a_key_of_its_own() {
        let master = Master::from([1; 32]);
        let (one, other) = (KeyId([1; 8]), KeyId([2; 8]));
        assert_eq!(
            master.key(one),
            Master::from(*master.octets()).key(one),
            "again"
        );
        assert_ne!(master.key(one).secret(), master.key(other).secret());
        assert_ne!(master.key(one).secret(), master.octets());
        let others = Master::from([2; 32]);
        assert_ne!(others.key(one), master.key(one));
        assert_ne!(others.identity(), master.identity());
        assert_eq!(master.key(one).partner(), master.identity().public());
        assert_ne!(
            Key::new(one, [7; 32], PublicKey([0; 32])),
            Key::new(other, [7; 32], PublicKey([0; 32])),
            "the id counts too"
        );
        assert_ne!(KeyId::generate(), KeyId::generate());
    }

    #[test]
    fn no_secret_is_shown() {
        let master = Master::from([0xab; 32]);
        let partner = PublicKey([0; 32]);
        let key = Key::new(KeyId([0, 1, 2, 3, 4, 5, 6, 0xff]), [0xab; 32], partner);
        assert_eq!(
            format!("{master:?} {key:?}"),
            "Master Key(00010203040506ff)"
        );
    }
}
