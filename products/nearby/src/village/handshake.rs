use std::sync::Arc;

use ring::signature::{ED25519, UnparsedPublicKey};
use snow::{Builder, HandshakeState};

use super::session::{LENGTH, Opener, TAG};
use super::{Secret, Session, VERSION};
use crate::envelope::{Key, Node};

/// The secret lets in, and keys for this once keep secret what is said, whoever gets the secret later.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// A message of the pattern: a key for this once, and a proof.
const MESSAGE: usize = 32 + TAG;
/// Who somebody is: their public key, and its signature.
const PROOF: usize = 32 + 64;

/// Why a handshake came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// It is no node, or of another village.
    #[error("it has another secret, speaks another version, or is no weir-nearby")]
    Secret,
    /// It has the secret, and is not who it says.
    #[error("it has the secret, but does not prove who it is")]
    Proof,
    /// It is this node.
    #[error("it is this node itself")]
    Itself,
    /// No key for this once.
    #[error("this machine has no random numbers")]
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

/// That a handshake is through.
#[derive(Debug)]
pub struct Through {
    /// Who the other is: proven.
    pub node: Node,
    /// For what follows.
    pub session: Session,
    /// Records that came already.
    pub records: Vec<Vec<u8>>,
}

/// A handshake, of either side.
///
/// The caller says a first message, and is answered where it has the secret. Then it says who it is, and
/// signs what both have heard; only then the called one says the same. So a first message that was
/// recorded costs an answer that nobody can read, and no signature.
pub struct Handshake {
    key: Arc<Key>,
    caller: bool,
    step: Step,
    held: Vec<u8>,
}

enum Step {
    /// The pattern is under way.
    Noise(Box<HandshakeState>),
    /// The other is to say who it is.
    Proof { session: Session, hash: [u8; 32] },
    /// It came to an end.
    Over,
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Handshake(..)")
    }
}

impl Handshake {
    /// Calls: what is to be written first comes out, too.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn call(secret: &Secret, key: Arc<Key>) -> Result<(Self, Vec<u8>), HandshakeError> {
        let mut state = builder(secret)?.build_initiator()?;
        let first = write(&mut state)?;
        Ok((Self::new(key, true, state), first))
    }

    /// Is called.
    ///
    /// # Errors
    /// None that anybody else can cause.
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

    /// Whether the other has shown that it has the secret.
    pub fn is_known(&self) -> bool {
        matches!(self.step, Step::Proof { .. })
    }

    /// Octets came. What is to be written is put to `out`; when it is through, that is given.
    ///
    /// # Errors
    /// It came to nothing: the connection is to be closed, without a word.
    pub fn heard(
        &mut self,
        octets: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Through>, HandshakeError> {
        self.held.extend(octets);
        loop {
            let length = match self.step {
                Step::Noise(_) => MESSAGE,
                Step::Proof { .. } => PROOF + TAG,
                Step::Over => return Err(HandshakeError::Secret),
            };
            // Each message has one length only: a stranger has nothing to be kept here.
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

    /// Says who this is.
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
    ) -> Result<Through, HandshakeError> {
        let node = told(&mut session.opener, message, &signed(!self.caller, hash))?;
        if node.id() == self.key.node().id() {
            return Err(HandshakeError::Itself);
        }
        if !self.caller {
            self.prove(&mut session, hash, out)?;
        }
        let held = std::mem::take(&mut self.held);
        let records = session.opener.heard(&held);
        Ok(Through {
            node,
            session,
            records: records.map_err(|_| HandshakeError::Proof)?,
        })
    }
}

/// Who the other says that it is, and proves.
fn told(opener: &mut Opener, message: &[u8], signed: &[u8]) -> Result<Node, HandshakeError> {
    let records = opener.heard(message).map_err(|_| HandshakeError::Secret)?;
    let proof = records.first().and_then(|it| it.split_first_chunk::<32>());
    let (node, signature) = proof.ok_or(HandshakeError::Proof)?;
    Node::read(&Node(*node).octets()).ok_or(HandshakeError::Proof)?;
    let done = UnparsedPublicKey::new(&ED25519, node).verify(signed, signature);
    done.map_err(|_| HandshakeError::Proof)?;
    Ok(Node(*node))
}

/// What is signed. The hash is of this one handshake, so that no proof is of use in another; and what one
/// side signed is not what the other signs.
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

/// The next message of the pattern, with its length.
fn write(state: &mut HandshakeState) -> Result<Vec<u8>, HandshakeError> {
    let mut out = vec![0; LENGTH + MESSAGE];
    let length = state.write_message(&[], &mut out[LENGTH..])?;
    out.truncate(LENGTH + length);
    out[..LENGTH].copy_from_slice(&(length as u16).to_be_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests;
