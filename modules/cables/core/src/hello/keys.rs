//! Keys of hellos: the mesh's, that all its nodes have, and a node's own.

use std::fmt;
use std::sync::Arc;

use ring::hmac::{self, HMAC_SHA256};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::wire::{NETWORK, NODE, PROOF, SIGNATURE};

/// Bytes of the shortest secret.
pub const SHORTEST_SECRET: usize = 16;

/// Prefix of a signed hello: separates the signature from all others of the key.
const SIGNED: &[u8] = b"weir hello 1\n";

/// Reason why a key is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidKey {
    /// A secret of fewer than 16 bytes.
    Short,
    /// Ed25519 rejects the seed; in practice it accepts all seeds.
    Seed,
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "the secret of a mesh needs at least 16 bytes",
            Self::Seed => "invalid seed of a key",
        })
    }
}

impl std::error::Error for InvalidKey {}

/// Key of the mesh. Only derived keys are stored, not the secret itself.
#[derive(Clone)]
pub struct MeshKey {
    network: [u8; NETWORK],
    vxlan: u32,
    proof: hmac::Key,
}

impl MeshKey {
    /// Derives the key from the mesh's shared secret. The secret must be random: a receiver of a
    /// hello can try passwords offline without limit.
    ///
    /// # Errors
    /// The secret is shorter than 16 bytes.
    pub fn from_secret(secret: &[u8]) -> Result<Self, InvalidKey> {
        if secret.len() < SHORTEST_SECRET {
            return Err(InvalidKey::Short);
        }
        let secret = hmac::Key::new(HMAC_SHA256, secret);
        let name = hmac::sign(&secret, b"weir hello 1 network");
        let proof = hmac::sign(&secret, b"weir hello 1 proof");
        let vxlan = hmac::sign(&secret, b"weir hello 1 vxlan");
        let [a, b, c]: [u8; 3] = std::array::from_fn(|place| vxlan.as_ref()[place]);
        Ok(Self {
            network: std::array::from_fn(|place| name.as_ref()[place]),
            // For one mesh in 16 million the value would be 0, which some devices treat as unset.
            vxlan: u32::from_be_bytes([0, a, b, c]).max(1),
            proof: hmac::Key::new(HMAC_SHA256, proof.as_ref()),
        })
    }

    /// Returns the id of the mesh, which reveals nothing about a random secret.
    pub fn network(&self) -> [u8; NETWORK] {
        self.network
    }

    /// Returns the VXLAN of this mesh on all nodes that need one: 24 bits, and not 0.
    pub fn vxlan(&self) -> u32 {
        self.vxlan
    }

    pub(super) fn prove(&self, octets: &[u8]) -> [u8; PROOF] {
        let tag = hmac::sign(&self.proof, octets);
        std::array::from_fn(|place| tag.as_ref()[place])
    }

    /// Takes as long for any wrong proof.
    pub(super) fn proves(&self, octets: &[u8], proof: &[u8]) -> bool {
        hmac::verify(&self.proof, octets, proof).is_ok()
    }
}

impl fmt::Debug for MeshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MeshKey");
        shown.field("network", &self.network);
        shown.finish_non_exhaustive()
    }
}

/// A node's own key.
#[derive(Clone)]
pub struct NodeKey(Arc<Ed25519KeyPair>);

impl NodeKey {
    /// Makes the key from 32 random bytes, the same after each start.
    ///
    /// # Errors
    /// The bytes make no key; in practice all bytes do.
    pub fn from_seed(seed: [u8; 32]) -> Result<Self, InvalidKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| InvalidKey::Seed)?;
        Ok(Self(Arc::new(pair)))
    }

    /// Returns the public key of this node.
    pub fn public(&self) -> [u8; NODE] {
        let mut key = [0; NODE];
        key.copy_from_slice(self.0.public_key().as_ref());
        key
    }

    pub(super) fn sign(&self, octets: &[u8]) -> [u8; SIGNATURE] {
        let mut signature = [0; SIGNATURE];
        signature.copy_from_slice(self.0.sign(&[SIGNED, octets].concat()).as_ref());
        signature
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NodeKey");
        shown.field("public", &self.public());
        shown.finish_non_exhaustive()
    }
}

/// Returns true if the node signed the hello.
pub(super) fn signed(node: &[u8; NODE], octets: &[u8], signature: &[u8]) -> bool {
    let key = UnparsedPublicKey::new(&ED25519, node);
    key.verify(&[SIGNED, octets].concat(), signature).is_ok()
}
