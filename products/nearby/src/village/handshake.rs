use std::sync::Arc;

use ring::signature::{ED25519, UnparsedPublicKey};
use snow::{Builder, HandshakeState};

use super::session::{Decryptor, LENGTH, TAG};
use super::{Secret, Session, VERSION};
use crate::envelope::{Key, Node};

/// Requires the secret. Ephemeral keys protect past traffic even if the secret leaks.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Size of a message: an ephemeral key and a proof.
const MESSAGE: usize = 32 + TAG;
/// Size of a node's public key and signature.
const PROOF: usize = 32 + 64;

/// Reason of a failed handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The peer is not a node, or belongs to another village.
    #[error("it has another secret or version, or is not a weir-nearby")]
    Secret,
    /// The peer has the secret, but not the claimed identity.
    #[error("it has the secret, but does not prove its id")]
    Proof,
    /// The peer is this node.
    #[error("it is this node itself")]
    Itself,
    /// No random numbers for an ephemeral key.
    #[error("cannot read random numbers from the system")]
    Random,
}

impl From<snow::Error> for HandshakeError {
    fn from(error: snow::Error) -> Self {
        match error {
            snow::Error::Rng => Self::Random,
            _ => Self::Secret,
        }
    }
}

/// Result of a completed handshake.
#[derive(Debug)]
pub struct HandshakeResult {
    /// Proven node at the other end.
    pub node: Node,
    /// Session for all later records.
    pub session: Session,
    /// Records already received.
    pub records: Vec<Vec<u8>>,
}

/// A handshake, of either side.
///
/// The caller sends a first message, and gets an answer if the message proves the secret. Then the
/// caller proves its identity by signing the exchange so far; only then the called side does so. So
/// a replayed first message yields an unreadable answer, and no signature.
pub struct Handshake {
    key: Arc<Key>,
    caller: bool,
    step: Step,
    held: Vec<u8>,
}

enum Step {
    /// The pattern is under way.
    Noise(Box<HandshakeState>),
    /// The peer must prove its identity.
    Proof { session: Session, hash: [u8; 32] },
    /// The handshake has ended.
    Over,
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Handshake(..)")
    }
}

impl Handshake {
    /// Starts as the caller; returns the first bytes to write, too.
    ///
    /// # Errors
    /// No random numbers are available.
    pub fn call(secret: &Secret, key: Arc<Key>) -> Result<(Self, Vec<u8>), HandshakeError> {
        let mut state = builder(secret)?.build_initiator()?;
        let first = write(&mut state)?;
        Ok((Self::new(key, true, state), first))
    }

    /// Starts as the called side.
    ///
    /// # Errors
    /// None that a peer can cause.
    pub fn answer(secret: &Secret, key: Arc<Key>) -> Result<Self, HandshakeError> {
        Ok(Self::new(key, false, builder(secret)?.build_responder()?))
    }

    fn new(key: Arc<Key>, caller: bool, state: HandshakeState) -> Self {
        Self {
            key,
            caller,
            step: Step::Noise(Box::new(state)),
            held: Vec::new(),
        }
    }

    /// Returns true if the peer has shown that it has the secret.
    pub fn is_known(&self) -> bool {
        matches!(self.step, Step::Proof { .. })
    }

    /// Handles bytes. Writes the answer to `out`; returns the result once complete.
    ///
    /// # Errors
    /// The handshake failed: close the connection without an answer.
    pub fn heard(
        &mut self,
        octets: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<HandshakeResult>, HandshakeError> {
        self.held.extend(octets);
        loop {
            let length = match self.step {
                Step::Noise(_) => MESSAGE,
                Step::Proof { .. } => PROOF + TAG,
                Step::Over => return Err(HandshakeError::Secret),
            };
            // Each message has a fixed length, so unauthenticated senders cannot fill memory.
            if self
                .held
                .iter()
                .zip((length as u16).to_be_bytes())
                .any(|(it, be)| *it != be)
            {
                self.step = Step::Over;
                return Err(HandshakeError::Secret);
            }
            if self.held.len() < LENGTH + length {
                return Ok(None);
            }
            let rest = self.held.split_off(LENGTH + length);
            let message = std::mem::replace(&mut self.held, rest);
            match std::mem::replace(&mut self.step, Step::Over) {
                Step::Noise(state) => self.noise(*state, &message[LENGTH..], out)?,
                Step::Proof { session, hash } => {
                    return self.proof(session, &hash, &message, out).map(Some);
                }
                Step::Over => return Err(HandshakeError::Secret),
            }
        }
    }

    fn noise(
        &mut self,
        mut state: HandshakeState,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        state.read_message(message, &mut [0; MESSAGE])?;
        if !self.caller {
            out.extend(write(&mut state)?);
        }
        let hash = <[u8; 32]>::try_from(state.get_handshake_hash());
        let hash = hash.map_err(|_| HandshakeError::Secret)?;
        let mut session = Session::new(state.into_stateless_transport_mode()?);
        if self.caller {
            self.prove(&mut session, &hash, out)?;
        }
        self.step = Step::Proof { session, hash };
        Ok(())
    }

    /// Proves the identity of this side.
    fn prove(
        &self,
        session: &mut Session,
        hash: &[u8; 32],
        out: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        let signature = self.key.sign(&signed(self.caller, hash));
        let proof = [&self.key.node().0[..], &signature].concat();
        let sealed = session.sealer.seal(&proof);
        out.extend(sealed.map_err(|_| HandshakeError::Proof)?);
        Ok(())
    }

    fn proof(
        &mut self,
        mut session: Session,
        hash: &[u8; 32],
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeResult, HandshakeError> {
        let node = told(&mut session.opener, message, &signed(!self.caller, hash))?;
        if node.id() == self.key.node().id() {
            return Err(HandshakeError::Itself);
        }
        if !self.caller {
            self.prove(&mut session, hash, out)?;
        }
        let held = std::mem::take(&mut self.held);
        let records = session.opener.heard(&held);
        Ok(HandshakeResult {
            node,
            session,
            records: records.map_err(|_| HandshakeError::Proof)?,
        })
    }
}

/// Verifies the identity of the peer.
fn told(opener: &mut Decryptor, message: &[u8], signed: &[u8]) -> Result<Node, HandshakeError> {
    let records = opener.heard(message).map_err(|_| HandshakeError::Secret)?;
    let proof = records.first().and_then(|it| it.split_first_chunk::<32>());
    let (node, signature) = proof.ok_or(HandshakeError::Proof)?;
    Node::read(&Node(*node).octets()).ok_or(HandshakeError::Proof)?;
    let done = UnparsedPublicKey::new(&ED25519, node).verify(signed, signature);
    done.map_err(|_| HandshakeError::Proof)?;
    Ok(Node(*node))
}

/// Returns the bytes to sign. The hash binds a proof to one handshake, and the side prevents that
/// one side's proof serves for the other's.
fn signed(caller: bool, hash: &[u8; 32]) -> Vec<u8> {
    let side = if caller { &b"caller"[..] } else { b"called" };
    [b"weir village ", side, hash].concat()
}

fn builder(secret: &Secret) -> Result<Builder<'_>, snow::Error> {
    const PROLOGUE: &[u8] = &[
        b'w', b'e', b'i', b'r', b' ', b'v', b'i', b'l', b'l', b'a', b'g', b'e', VERSION,
    ];
    Builder::new(PATTERN.parse()?)
        .psk(0, secret.octets())?
        .prologue(PROLOGUE)
}

/// Returns the next message of the pattern, with its length.
fn write(state: &mut HandshakeState) -> Result<Vec<u8>, HandshakeError> {
    let mut out = vec![0; LENGTH + MESSAGE];
    let length = state.write_message(&[], &mut out[LENGTH..])?;
    out.truncate(LENGTH + length);
    out[..LENGTH].copy_from_slice(&(length as u16).to_be_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests;
