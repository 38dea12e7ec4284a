//! The used parts of qaul's protobuf messages.

use prost::DecodeError;

#[derive(Clone, PartialEq, prost::Message)]
pub struct Envelope {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    #[prost(bytes, tag = "1")]
    Info(Vec<u8>),
    #[prost(bytes, tag = "2")]
    Feed(Vec<u8>),
    #[prost(bytes, tag = "3")]
    Messaging(Vec<u8>),
    #[prost(message, tag = "4")]
    Identification(Identification),
    #[prost(bytes, tag = "5")]
    Encrypted(Vec<u8>),
    #[prost(bytes, tag = "6")]
    Handshake(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Identification {
    #[prost(bool, tag = "1")]
    pub request: bool,
    #[prost(message, optional, tag = "2")]
    pub node: Option<Name>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Name {
    #[prost(bytes, tag = "1")]
    pub id: Vec<u8>,
}

/// A container of a feed message, and of one from person to person, alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Signed {
    #[prost(bytes, tag = "1")]
    pub signature: Vec<u8>,
    #[prost(bytes, tag = "2")]
    pub message: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FeedMessage {
    #[prost(bytes, tag = "1")]
    pub sender: Vec<u8>,
    #[prost(string, tag = "2")]
    pub content: String,
    #[prost(uint64, tag = "3")]
    pub time: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Addressed {
    #[prost(bytes, tag = "1")]
    pub sender: Vec<u8>,
    #[prost(bytes, tag = "2")]
    pub receiver: Vec<u8>,
    #[prost(bytes, tag = "3")]
    pub payload: Vec<u8>,
}

/// Reads a message.
pub fn decoded<M: prost::Message + Default>(octets: &[u8]) -> Result<M, DecodeError> {
    M::decode(octets)
}
