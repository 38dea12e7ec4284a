//! The shared secret of a network, and the key of a node.

use ring::hmac;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};

/// The shortest secret, bytes.
pub const SHORTEST: usize = 16;

/// A secret that is too short to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret of {0} bytes is too short: use at least {SHORTEST}")]
pub struct TooShort(pub usize);

/// The secret of a network, as the two keys that are derived from it. It is never printed.
#[derive(Clone)]
pub struct Secret {
    shared: [u8; 32],
    tags: hmac::Key,
}

impl Secret {
    /// Derives the secret from a configured text.
    ///
    /// # Errors
    /// The text has fewer than 16 bytes.
    pub fn new(octets: &[u8]) -> Result<Self, TooShort> {
        if octets.len() < SHORTEST {
            return Err(TooShort(octets.len()));
        }
        let secret = hmac::Key::new(hmac::HMAC_SHA256, octets);
        let derived = |label: &[u8]| key(&hmac::sign(&secret, label));
        Ok(Self {
            shared: derived(b"weir peering handshake"),
            tags: hmac::Key::new(hmac::HMAC_SHA256, &derived(b"weir peering tag")),
        })
    }

    /// Returns the key for handshakes.
    pub(super) fn shared(&self) -> &[u8; 32] {
        &self.shared
    }

    /// Returns a tag over these parts, all of fixed length except the last one.
    pub(super) fn tag<const N: usize>(&self, parts: &[&[u8]]) -> [u8; N] {
        let mut context = hmac::Context::with_key(&self.tags);
        parts.iter().for_each(|part| context.update(part));
        let full = key(&context.sign());
        std::array::from_fn(|at| full[at])
    }

    /// Returns true if a tag is valid for these parts, in constant time.
    pub(super) fn proves<const N: usize>(&self, tag: &[u8; N], parts: &[&[u8]]) -> bool {
        let expected = self.tag::<N>(parts);
        expected
            .iter()
            .zip(tag)
            .fold(0, |all, (a, b)| all | (a ^ b))
            == 0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn key(tag: &hmac::Tag) -> [u8; 32] {
    let octets = tag.as_ref();
    std::array::from_fn(|at| octets.get(at).copied().unwrap_or_default())
}

/// A node's own key pair (X25519, RFC 7748): the same at all its radios, and after each start. The
/// secret part is never printed.
#[derive(Clone)]
pub struct NodeKey {
    secret: [u8; 32],
    public: [u8; 32],
}

impl NodeKey {
    /// Makes the key from 32 random bytes.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let mut public = [0; 32];
        // The `use-curve25519` feature compiles this curve in.
        if let Some(mut curve) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            curve.set(&seed);
            public.copy_from_slice(curve.pubkey());
        }
        Self {
            secret: seed,
            public,
        }
    }

    /// Returns the public key.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

impl std::fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NodeKey(..)")
    }
}

/// Returns the name of the device for a peer: identical for one node at one device, 15 bytes.
pub(super) fn device_name(device: &str, public: &[u8; 32]) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    context.update(device.as_bytes());
    context.update(&[0]);
    context.update(public);
    let digest = context.finish();
    format!("peer-{}", net::hex::text(&digest.as_ref()[..5]))
}
