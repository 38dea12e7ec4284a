//! How a key becomes a session: Noise NNpsk0, in one round trip.
//!
//! The router's first message is authenticated by the key they share; both add a key for this once,
//! so that who learns the shared key later cannot read what was said before. A replayed first
//! message makes a session that its sender cannot use.

use snow::{Builder, HandshakeState};

use crate::VERSION;
use crate::aead::Cipher;
use crate::derive::NoRandom;
use crate::frame::{Frame, Kind, MOST};
use crate::key::{Key, KeyId};
use crate::session::{Role, Session, SessionId};
use crate::tlv::Malformed;
use crate::welcome::Welcome;

/// By its rules all keys and hashes are of 32 bytes.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// Why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Too short to be what it is to be.
    #[error("a handshake's body of {0} bytes is too short")]
    Short(usize),
    /// Not made with the key.
    #[error(
        "the other side does not have the same key, or the message was changed on its way; if \
            this goes on, have the partner print a new pairing line"
    )]
    Key,
    /// Made with the key, and of no use: the partner has a fault.
    #[error("the partner's welcome makes no sense: {0}")]
    Welcome(#[from] Malformed),
    /// No key for this once.
    #[error(transparent)]
    Random(#[from] NoRandom),
}

impl From<snow::Error> for HandshakeError {
    fn from(error: snow::Error) -> Self {
        match error {
            snow::Error::Rng => Self::Random(NoRandom),
            // All else that can happen with a fixed pattern is a message that does not fit.
            _ => Self::Key,
        }
    }
}

/// A router that waits for its welcome.
#[derive(Debug)]
pub struct Initiator(HandshakeState);

impl Initiator {
    /// The frame to send first, 60 bytes.
    pub fn begin(key: &Key) -> Result<(Self, Vec<u8>), HandshakeError> {
        let prologue = prologue(key.id());
        Self::first(builder(key, &prologue)?.build_initiator()?, key.id())
    }

    fn first(mut state: HandshakeState, id: KeyId) -> Result<(Self, Vec<u8>), HandshakeError> {
        // No items yet. The partner skips what it does not know.
        let message = write(&mut state, &[])?;
        let body = &[&id.0[..], &message].concat();
        let kind = Kind::Handshake;
        Ok((Self(state), Frame { kind, body }.octets()))
    }

    /// Reads the body of the welcome.
    pub fn end(mut self, body: &[u8]) -> Result<(Session, Welcome), HandshakeError> {
        let list = read(&mut self.0, body)?;
        let (id, welcome) = Welcome::decode(&list)?;
        let cipher = if welcome.aes && Cipher::aes_is_fast() {
            Cipher::Aes256Gcm
        } else {
            Cipher::ChaCha20Poly1305
        };
        Ok((session(Role::Router, id, cipher, self.0), welcome))
    }
}

/// Which key a handshake's body is made with, or says so.
pub fn key_id(body: &[u8]) -> Result<KeyId, HandshakeError> {
    body.first_chunk()
        .map(|id| KeyId(*id))
        .ok_or(HandshakeError::Short(body.len()))
}

/// The router's key for this once, which a handshake's body begins with behind the id, or says so.
pub fn once(body: &[u8]) -> Result<[u8; 32], HandshakeError> {
    body.get(8..)
        .and_then(|message| message.first_chunk())
        .copied()
        .ok_or(HandshakeError::Short(body.len()))
}

/// The partner's end: the session, and the frame to answer with, 161 bytes at most. Whoever does
/// not have the key is not answered.
pub fn answer(
    key: &Key,
    body: &[u8],
    id: SessionId,
    welcome: &Welcome,
) -> Result<(Session, Vec<u8>), HandshakeError> {
    let prologue = prologue(key.id());
    let state = builder(key, &prologue)?.build_responder()?;
    second(state, key.id(), body, id, welcome)
}

fn second(
    mut state: HandshakeState,
    key: KeyId,
    body: &[u8],
    id: SessionId,
    welcome: &Welcome,
) -> Result<(Session, Vec<u8>), HandshakeError> {
    if key_id(body)? != key {
        return Err(HandshakeError::Key);
    }
    read(&mut state, &body[8..])?;
    let list = welcome.encode(id);
    // What the router would refuse is not sent.
    Welcome::decode(&list)?;
    let body = &write(&mut state, &list)?;
    let kind = Kind::Welcome;
    // The router says with each open what it chose.
    let session = session(Role::Partner, id, Cipher::ChaCha20Poly1305, state);
    Ok((session, Frame { kind, body }.octets()))
}

/// What both must have said alike: the protocol, its version and the key's id.
fn prologue(id: KeyId) -> Vec<u8> {
    [&b"weir multipath"[..], &[VERSION], &id.0].concat()
}

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Result<Builder<'a>, snow::Error> {
    Builder::new(PATTERN.parse()?)
        .psk(0, key.secret())?
        .prologue(prologue)
}

fn write(state: &mut HandshakeState, payload: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let mut message = [0; MOST];
    let length = state.write_message(payload, &mut message)?;
    Ok(message[..length].to_vec())
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let mut payload = [0; MOST];
    let length = state.read_message(message, &mut payload)?;
    Ok(payload[..length].to_vec())
}

/// All keys come from what Noise split its last key into: unlike the hash of what was said, that is
/// secret.
fn session(role: Role, id: SessionId, cipher: Cipher, mut state: HandshakeState) -> Session {
    let mut split = [0; 64];
    let (first, second) = state.dangerously_get_raw_split();
    split[..32].copy_from_slice(&first);
    split[32..].copy_from_slice(&second);
    Session::new(role, id, cipher, &split, state.get_handshake_hash())
}

/// Handshakes that are the same each time.
#[cfg(test)]
pub(crate) mod fixed {
    use super::*;

    pub(crate) fn begin(
        key: &Key,
        once: &[u8; 32],
    ) -> Result<(Initiator, Vec<u8>), HandshakeError> {
        let prologue = prologue(key.id());
        let builder = builder(key, &prologue)?.fixed_ephemeral_key_for_testing_only(once);
        Initiator::first(builder.build_initiator()?, key.id())
    }

    pub(crate) fn answer(
        key: &Key,
        once: &[u8; 32],
        body: &[u8],
        id: SessionId,
        welcome: &Welcome,
    ) -> Result<(Session, Vec<u8>), HandshakeError> {
        let prologue = prologue(key.id());
        let builder = builder(key, &prologue)?.fixed_ephemeral_key_for_testing_only(once);
        second(builder.build_responder()?, key.id(), body, id, welcome)
    }
}
