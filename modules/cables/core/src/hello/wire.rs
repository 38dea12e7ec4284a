//! A hello's bytes, as docs/reference/cables-hello.md has them.

use detect::Mac;

/// Destination of hellos: the nearest bridge. A bridge that follows IEEE 802.1D does not forward
/// the address.
pub const GROUP: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
/// The EtherType: the first that IEEE 802 leaves to local experiments.
pub const ETHERTYPE: u16 = 0x88b5;
/// Prefix of the payload: others use this EtherType too.
pub const MAGIC: [u8; 4] = *b"weir";
/// The version of all this.
pub const VERSION: u8 = 1;
/// Bytes of a mesh's id.
pub const NETWORK: usize = 8;
/// Bytes of a node's public key.
pub const NODE: usize = 32;
/// Bytes of a nonce.
pub const NONCE: usize = 16;
/// Bytes of the proof that the sender has the mesh's key: complete, as the library compares only
/// complete proofs in constant time.
pub const PROOF: usize = 32;
/// Bytes of a node's signature.
pub const SIGNATURE: usize = 64;
/// Answers in one hello.
pub const MOST_ANSWERS: usize = 4;
/// Bytes of a hello without answers, from the Ethernet header on.
pub const SHORTEST: usize = BEFORE + PROOF + SIGNATURE;
/// Bytes of the longest hello.
pub const LONGEST: usize = SHORTEST + MOST_ANSWERS * ANSWER;

/// Bytes in front of the answers.
const BEFORE: usize = 84;
/// Bytes of an answer.
const ANSWER: usize = 6 + NONCE;
// The classifier of a port keeps at most this many bytes.
const _: () = assert!(LONGEST <= 320);

/// A sender that was received at the port, and the nonce in its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub mac: Mac,
    pub nonce: [u8; NONCE],
}

/// Fields of a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub capabilities: u16,
    pub network: [u8; NETWORK],
    pub node: [u8; NODE],
    pub mac: Mac,
    pub nonce: [u8; NONCE],
    pub answers: Vec<Answer>,
}

/// A received hello. Nothing of it is verified yet.
#[derive(Clone, Debug)]
pub(super) struct Hello<'a> {
    /// The frame's source.
    pub from: Mac,
    pub body: Body,
    /// Bytes covered by the proof.
    pub proven: &'a [u8],
    pub proof: &'a [u8],
    /// Bytes covered by the signature.
    pub signed: &'a [u8],
    pub signature: &'a [u8],
}

impl<'a> Hello<'a> {
    /// Reads one. `None`: not a hello of this version, whole and without a tag of 802.1Q.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let (to, rest) = octets.split_first_chunk::<6>()?;
        let (from, rest) = rest.split_first_chunk::<6>()?;
        let (kind, rest) = rest.split_first_chunk::<2>()?;
        let (magic, rest) = rest.split_first_chunk::<4>()?;
        let (&[version, count], rest) = rest.split_first_chunk::<2>()?;
        let ours = *to == GROUP && *kind == ETHERTYPE.to_be_bytes();
        let count = usize::from(count);
        if !ours || *magic != MAGIC || version != VERSION || count > MOST_ANSWERS {
            return None;
        }
        // Even the shortest hello is longer than the shortest frame, so there is no padding.
        if octets.len() != SHORTEST + count * ANSWER {
            return None;
        }
        let (capabilities, rest) = rest.split_first_chunk::<2>()?;
        let (network, rest) = rest.split_first_chunk::<NETWORK>()?;
        let (node, rest) = rest.split_first_chunk::<NODE>()?;
        let (mac, rest) = rest.split_first_chunk::<6>()?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (answers, rest) = rest.split_at_checked(count * ANSWER)?;
        let (proof, signature) = rest.split_at_checked(PROOF)?;
        let answer = |octets: &[u8]| {
            let (mac, nonce) = octets.split_first_chunk::<6>()?;
            Some(Answer {
                mac: *mac,
                nonce: nonce.try_into().ok()?,
            })
        };
        let answers = answers.chunks(ANSWER).map(answer).collect::<Option<_>>()?;
        Some(Self {
            from: *from,
            body: Body {
                capabilities: u16::from_be_bytes(*capabilities),
                network: *network,
                node: *node,
                mac: *mac,
                nonce: *nonce,
                answers,
            },
            proven: octets.get(..BEFORE + count * ANSWER)?,
            proof,
            signed: octets.get(..octets.len() - SIGNATURE)?,
            signature,
        })
    }
}

impl Body {
    /// Returns the frame up to the proof. A frame has at most four answers.
    pub fn begun(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(LONGEST);
        frame.extend(GROUP);
        frame.extend(self.mac);
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(MAGIC);
        let answers = &self.answers[..self.answers.len().min(MOST_ANSWERS)];
        frame.extend([VERSION, answers.len() as u8]);
        frame.extend(self.capabilities.to_be_bytes());
        frame.extend(self.network);
        frame.extend(self.node);
        frame.extend(self.mac);
        frame.extend(self.nonce);
        for answer in answers {
            frame.extend(answer.mac);
            frame.extend(answer.nonce);
        }
        frame
    }
}
