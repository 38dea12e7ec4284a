//! Content of messages: qaul's protobuf messages (`qaul.net.ble`, `qaul.net.feed`,
//! `qaul.net.messaging`), as far as a third party can read them.

mod node;
mod profile;
mod size_class;
mod wire;

use prost::Message as _;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

pub use node::Node;
pub use profile::Profile;
use wire::{Addressed, Envelope, FeedMessage, Identification, Kind, Name, Signed, decoded};

/// Largest text, in bytes: with sender, time and signature it fills the longest message of both
/// formats.
pub const LONGEST_TEXT: usize = crate::v1::LONGEST - 129;

/// A node's secret key.
#[derive(Debug)]
pub struct Key(Ed25519KeyPair);

impl Key {
    /// Creates a key from 32 random bytes, which are all that needs to be stored.
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    /// Returns the node of the key.
    pub fn node(&self) -> Node {
        let key = self.0.public_key().as_ref();
        Node(std::array::from_fn(|at| key[at]))
    }

    /// Signs bytes.
    pub fn sign(&self, octets: &[u8]) -> [u8; 64] {
        let signature = self.0.sign(octets);
        std::array::from_fn(|at| signature.as_ref()[at])
    }
}

/// The readable content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Said to all.
    Feed(Feed),
    /// A message from person to person, encrypted.
    Direct {
        /// Claimed sender, whose signature the message has.
        sender: Node,
        /// Receiver.
        receiver: Node,
        /// Size in bytes.
        octets: usize,
    },
    /// A neighbour's claim of its identity, with a flag that requests the same.
    Identification {
        /// True if the neighbour wants an answer.
        asks: bool,
        /// Claimed identity; anybody can claim any.
        node: Option<Node>,
    },
    /// Profiles of nodes that a neighbour can reach.
    Routing(Vec<Profile>),
    /// Encrypted from neighbour to neighbour.
    Sealed,
}

/// A message to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Sender, who signed the message.
    pub sender: Node,
    /// Text.
    pub text: String,
    /// Time by the sender's clock, in milliseconds since 1970.
    pub time: u64,
}

/// Error for an unreadable message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a valid protobuf message of this type.
    #[error("not a message of qaul: {0}")]
    Decode(String),
    /// The message has no content.
    #[error("empty message")]
    Empty,
    /// The sender or the receiver is not a valid node.
    #[error("invalid sender or receiver")]
    Node,
    /// The signature is not the sender's.
    #[error("invalid signature")]
    Signature,
}

impl From<prost::DecodeError> for Error {
    fn from(error: prost::DecodeError) -> Self {
        Self::Decode(error.to_string())
    }
}

/// Reads a message and verifies its signature.
///
/// # Errors
/// The message is malformed, or its signature is not the sender's.
pub fn read(octets: &[u8]) -> Result<Content, Error> {
    let node = |octets: &[u8]| Node::read(octets).ok_or(Error::Node);
    let checked = |signed: &Signed, sender: &Node| {
        let key = UnparsedPublicKey::new(&ED25519, sender.0);
        let done = key.verify(&signed.message, &signed.signature);
        done.map_err(|_| Error::Signature)
    };
    match decoded::<Envelope>(octets)?.kind.ok_or(Error::Empty)? {
        Kind::Info(octets) => Ok(Content::Routing(profile::profiles(&octets))),
        Kind::Encrypted(_) | Kind::Handshake(_) => Ok(Content::Sealed),
        Kind::Identification(said) => Ok(Content::Identification {
            asks: said.request,
            node: said.node.and_then(|name| Node::read(&name.id)),
        }),
        Kind::Feed(octets) => {
            let signed: Signed = decoded(&octets)?;
            let said: FeedMessage = decoded(&signed.message)?;
            let sender = node(&said.sender)?;
            checked(&signed, &sender)?;
            Ok(Content::Feed(Feed {
                sender,
                text: said.content,
                time: said.time,
            }))
        }
        Kind::Messaging(octets) => {
            let signed: Signed = decoded(&octets)?;
            let said: Addressed = decoded(&signed.message)?;
            let sender = node(&said.sender)?;
            checked(&signed, &sender)?;
            Ok(Content::Direct {
                sender,
                receiver: node(&said.receiver)?,
                octets: said.payload.len(),
            })
        }
    }
}

/// Returns a message without its unsigned parts, in a unique encoding. Otherwise a relaying node
/// could make many variants of the message, all with a valid signature. `None`: nothing is signed.
pub fn plain(octets: &[u8]) -> Option<Vec<u8>> {
    let again = |octets: &[u8]| decoded::<Signed>(octets).map(|signed| signed.encode_to_vec());
    let kind = match decoded::<Envelope>(octets).ok()?.kind? {
        Kind::Feed(octets) => Kind::Feed(again(&octets).ok()?),
        Kind::Messaging(octets) => Kind::Messaging(again(&octets).ok()?),
        _ => return None,
    };
    let kind = Some(kind);
    Some(Envelope { kind }.encode_to_vec())
}

/// Builds a message to all.
pub fn feed(key: &Key, text: &str, time: u64) -> Vec<u8> {
    let message = FeedMessage {
        sender: key.node().octets(),
        content: text.to_owned(),
        time,
    };
    let message = message.encode_to_vec();
    let signed = Signed {
        signature: key.0.sign(&message).as_ref().to_vec(),
        message,
    };
    let kind = Some(Kind::Feed(signed.encode_to_vec()));
    Envelope { kind }.encode_to_vec()
}

/// Returns an identification of this node; requests the other's if `asks` is true.
pub fn identification(own: &Node, asks: bool) -> Vec<u8> {
    let node = Name { id: own.octets() };
    let kind = Some(Kind::Identification(Identification {
        request: asks,
        node: Some(node),
    }));
    Envelope { kind }.encode_to_vec()
}

#[cfg(test)]
mod tests;
