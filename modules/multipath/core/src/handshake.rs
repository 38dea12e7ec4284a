//! Handshake from keys to a session: Noise IKpsk1, in one round trip.
//!
//! The router knows its partner's public key. The first message proves the router's own identity,
//! and that the router has the key of a pairing line. Both sides add an ephemeral key, so that an
//! attacker who learns the static keys later cannot read earlier traffic. A replayed first message
//! makes a session that its sender cannot use.

use snow::{Builder, HandshakeState};

use crate::VERSION;
use crate::aead::Cipher;
use crate::derive::NoRandom;
use crate::frame::{Frame, Kind, MOST};
use crate::identity::Identity;
use crate::key::{Key, KeyId, PublicKey};
use crate::session::{Role, Session, SessionId};
use crate::tlv::Malformed;
use crate::welcome::{self, Welcome};

/// Noise pattern. All its keys and hashes are of 32 bytes.
const PATTERN: &str = "Noise_IKpsk1_25519_ChaChaPoly_SHA256";

/// Cause of a failed handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Body that is too short.
    #[error("handshake body too short: {0} bytes")]
    Short(usize),
    /// The message was not made with the key.
    #[error(
        "the other side has another key, or the message was changed in transit; if this persists, \
            print a new pairing line at the partner"
    )]
    Key,
    /// Another router used the line before.
    #[error(
        "the partner has bound this pairing line to another router; if that is this router and it \
            has lost its key, or if you do not know that router, print a new line at the partner: \
            `weir multipath rotate`"
    )]
    Another,
    /// Made with the key, but malformed: the partner has a fault.
    #[error("malformed welcome from the partner: {0}")]
    Welcome(#[from] Malformed),
    /// No random numbers for an ephemeral key.
    #[error(transparent)]
    Random(#[from] NoRandom),
}

impl From<snow::Error> for HandshakeError {
    fn from(error: snow::Error) -> Self {
        match error {
            snow::Error::Rng => Self::Random(NoRandom),
            // With a fixed pattern, the only other error is a message that does not fit.
            _ => Self::Key,
        }
    }
}

/// A router that waits for its welcome.
#[derive(Debug)]
pub struct Initiator(HandshakeState);

impl Initiator {
    /// Begins a handshake; returns the frame to send first, 108 bytes.
    ///
    /// # Errors
    /// Random numbers are unavailable.
    pub fn begin(key: &Key, own: &Identity) -> Result<(Self, Vec<u8>), HandshakeError> {
        let (prologue, partner) = (prologue(key.id()), key.partner());
        let builder = builder(key, own, &prologue)?.remote_public_key(&partner.0)?;
        Self::first(builder.build_initiator()?, key.id())
    }

    fn first(mut state: HandshakeState, id: KeyId) -> Result<(Self, Vec<u8>), HandshakeError> {
        // No items yet. The partner skips unknown items.
        let message = write(&mut state, &[])?;
        let body = &[&id.0[..], &message].concat();
        let kind = Kind::Handshake;
        Ok((Self(state), Frame { kind, body }.octets()))
    }

    /// Reads the body of the welcome.
    pub fn end(mut self, body: &[u8]) -> Result<(Session, Welcome), HandshakeError> {
        let list = read(&mut self.0, body)?;
        if welcome::is_refusal(&list)? {
            return Err(HandshakeError::Another);
        }
        let (id, welcome) = Welcome::decode(&list)?;
        let cipher = if welcome.aes && Cipher::aes_is_fast() {
            Cipher::Aes256Gcm
        } else {
            Cipher::ChaCha20Poly1305
        };
        Ok((session(Role::Router, id, cipher, self.0), welcome))
    }
}

/// Reads the id of the key that a handshake's body is made with.
pub fn key_id(body: &[u8]) -> Result<KeyId, HandshakeError> {
    body.first_chunk()
        .map(|id| KeyId(*id))
        .ok_or(HandshakeError::Short(body.len()))
}

/// Reads the router's ephemeral key, which follows the id in a handshake's body.
pub fn once(body: &[u8]) -> Result<[u8; 32], HandshakeError> {
    body.get(8..)
        .and_then(|message| message.first_chunk())
        .copied()
        .ok_or(HandshakeError::Short(body.len()))
}

/// A handshake that was made with the key of a line, by a router that proved its identity.
#[derive(Debug)]
pub struct Responder {
    state: HandshakeState,
    router: PublicKey,
}

impl Responder {
    /// Reads a handshake's body, at the partner. A router without the key gets no answer.
    ///
    /// # Errors
    /// The body was not made with this key, or is for another partner.
    pub fn read(own: &Identity, key: &Key, body: &[u8]) -> Result<Self, HandshakeError> {
        let prologue = prologue(key.id());
        Self::second(builder(key, own, &prologue)?.build_responder()?, key, body)
    }

    fn second(mut state: HandshakeState, key: &Key, body: &[u8]) -> Result<Self, HandshakeError> {
        if key_id(body)? != key.id() {
            return Err(HandshakeError::Key);
        }
        read(&mut state, &body[8..])?;
        let router = state
            .get_remote_static()
            .and_then(|key| key.try_into().ok());
        let router = PublicKey(router.ok_or(HandshakeError::Key)?);
        Ok(Self { state, router })
    }

    /// Returns the router's public key.
    pub fn router(&self) -> PublicKey {
        self.router
    }

    /// Returns the session, and the frame to answer with, 323 bytes at most.
    ///
    /// # Errors
    /// The welcome is malformed, or random numbers are unavailable.
    pub fn welcome(
        mut self,
        id: SessionId,
        welcome: &Welcome,
    ) -> Result<(Session, Vec<u8>), HandshakeError> {
        let list = welcome.encode(id);
        // A welcome that the router would refuse is not sent.
        Welcome::decode(&list)?;
        let frame = self.answer(&list)?;
        // The router states its choice with each open.
        let session = session(Role::Partner, id, Cipher::ChaCha20Poly1305, self.state);
        Ok((session, frame))
    }

    /// Builds the frame that refuses a line of another router.
    ///
    /// # Errors
    /// Random numbers are unavailable.
    pub fn refuse(mut self) -> Result<Vec<u8>, HandshakeError> {
        self.answer(&welcome::refusal())
    }

    fn answer(&mut self, list: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let body = &write(&mut self.state, list)?;
        let kind = Kind::Welcome;
        Ok(Frame { kind, body }.octets())
    }
}

/// Returns the data that both sides must agree on: the protocol, its version and the key's id.
fn prologue(id: KeyId) -> Vec<u8> {
    [&b"weir multipath"[..], &[VERSION], &id.0].concat()
}

fn builder<'a>(
    key: &'a Key,
    own: &'a Identity,
    prologue: &'a [u8],
) -> Result<Builder<'a>, snow::Error> {
    Builder::new(PATTERN.parse()?)
        .psk(1, key.secret())?
        .local_private_key(own.octets())?
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

/// Derives all keys from the output of Noise's split, which is secret, unlike the handshake hash.
fn session(role: Role, id: SessionId, cipher: Cipher, mut state: HandshakeState) -> Session {
    let mut split = [0; 64];
    let (first, second) = state.dangerously_get_raw_split();
    split[..32].copy_from_slice(&first);
    split[32..].copy_from_slice(&second);
    Session::new(role, id, cipher, &split, state.get_handshake_hash())
}

/// Deterministic handshakes, for tests.
#[cfg(test)]
pub(crate) mod fixed {
    use super::*;

    pub(crate) fn begin(
        key: &Key,
        own: &Identity,
        once: &[u8; 32],
    ) -> Result<(Initiator, Vec<u8>), HandshakeError> {
        let (prologue, partner) = (prologue(key.id()), key.partner());
        let builder = builder(key, own, &prologue)?.remote_public_key(&partner.0)?;
        let builder = builder.fixed_ephemeral_key_for_testing_only(once);
        Initiator::first(builder.build_initiator()?, key.id())
    }

    pub(crate) fn read(
        own: &Identity,
        key: &Key,
        once: &[u8; 32],
        body: &[u8],
    ) -> Result<Responder, HandshakeError> {
        let prologue = prologue(key.id());
        let builder = builder(key, own, &prologue)?.fixed_ephemeral_key_for_testing_only(once);
        Responder::second(builder.build_responder()?, key, body)
    }
}
