//! Keys: the partner has a master key, each router one of its own that is derived from it.

use std::fmt;
use std::str::FromStr;

use subtle::ConstantTimeEq;

use crate::derive::{self, NoRandom};
use crate::identity::{Identity, Public};

/// Names a router's key. It is sent in the clear, and says nothing of the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 8]);

/// Text that is no key's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no key's id: those have 16 hexadecimal digits")]
pub struct KeyIdError(String);

impl KeyId {
    /// A random one: among a million there are two alike in one case of 37 million.
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
        let digits = text.len() == 16 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        match u64::from_str_radix(text, 16) {
            Ok(number) if digits => Ok(Self(number.to_be_bytes())),
            _ => Err(KeyIdError(text.to_owned())),
        }
    }
}

/// What a router is given: a secret that lets it come, and by which it knows its partner.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    secret: [u8; 32],
    partner: Public,
}

impl Key {
    /// A key of 32 bytes that nobody can guess, for this partner.
    pub fn new(id: KeyId, secret: [u8; 32], partner: Public) -> Self {
        Self {
            id,
            secret,
            partner,
        }
    }

    /// Its name.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Who the partner is.
    pub fn partner(&self) -> Public {
        self.partner
    }
}

impl PartialEq for Key {
    /// In a time that tells nothing of where they differ.
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

/// Salt of what is derived of a master key.
const MASTER: &[u8] = b"weir2 master";

/// Of which a partner derives its own static key and the keys of all its routers, so that it has to
/// keep one secret only.
#[derive(Clone)]
pub struct Master {
    octets: [u8; 32],
    identity: Identity,
}

impl Master {
    /// Bytes of a master key, as in its file.
    pub const LENGTH: usize = 32;

    /// As it is kept.
    pub fn octets(&self) -> &[u8; Self::LENGTH] {
        &self.octets
    }

    /// Who the partner is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The key that has this id.
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
            Key::new(one, [7; 32], Public([0; 32])),
            Key::new(other, [7; 32], Public([0; 32])),
            "the id counts too"
        );
        assert_ne!(KeyId::generate(), KeyId::generate());
    }

    #[test]
    fn no_secret_is_shown() {
        let master = Master::from([0xab; 32]);
        let partner = Public([0; 32]);
        let key = Key::new(KeyId([0, 1, 2, 3, 4, 5, 6, 0xff]), [0xab; 32], partner);
        assert_eq!(
            format!("{master:?} {key:?}"),
            "Master Key(00010203040506ff)"
        );
    }

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
