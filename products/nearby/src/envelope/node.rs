//! Names of nodes.

use super::size_class;
use crate::Id;

/// Prefix of a node's whole name, before the public key, as in libp2p for short keys.
const PREFIX: [u8; 6] = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];

/// A node's whole name: its Ed25519 public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(pub [u8; 32]);

impl Node {
    /// Returns the bytes that name the node in messages.
    pub fn octets(&self) -> Vec<u8> {
        [&PREFIX[..], &self.0].concat()
    }

    /// Reads those.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let key = octets.strip_prefix(&PREFIX)?;
        let node = key.try_into().ok().map(Self);
        node.filter(|node: &Self| !size_class::is_small(&node.0))
    }

    /// Returns the short name.
    pub fn id(&self) -> Id {
        Id(std::array::from_fn(|at| self.0[at]))
    }
}
