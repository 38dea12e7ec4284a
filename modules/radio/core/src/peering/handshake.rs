//! Handshake in which two nodes prove that they know the network's secret and have the keys in
//! their beacons: Noise IKpsk1 (The Noise Protocol Framework, revision 34), then one sealed frame
//! from each.
//!
//! IK: the caller knows the other's key from its beacon, so a node without the beacon cannot begin.
//! psk1: the first message already proves the secret, and a node without the secret never gets an
//! answer. Both add an ephemeral key, so a later leak of the secret does not reveal earlier
//! messages. The prologue binds addresses, channel, instances and name: a message replayed at
//! another place or time is invalid. Before any computation, a hello must have a valid tag, which
//! costs the receiver one hash.
//!
//! A repeated hello costs an answer and has no effect: its sender cannot read the answer.

use kernel::nl80211::PairwiseKey;
use ring::hmac;
use snow::{Builder, HandshakeState, StatelessTransportState};

use super::element::Instance;
use super::secret::{NodeKey, Secret};
use super::{VERSION, frame};

const PATTERN: &str = "Noise_IKpsk1_25519_ChaChaPoly_SHA256";
/// Bytes of a tag, a hello's or that of ChaCha20-Poly1305.
pub const TAG: usize = 16;
/// A key for this once, the caller's own key sealed, nothing sealed.
const FIRST: usize = 32 + 32 + TAG + TAG;
/// A key for this once, nothing sealed.
const SECOND: usize = 32 + TAG;
/// Bytes of a hello's body.
pub const HELLO: usize = TAG + FIRST;

/// Reason for a failed handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The message is cut short.
    #[error("a message of {0} bytes is too short")]
    Short(usize),
    /// The message was not made with the secret and the key, or is for another place and time.
    #[error("invalid proof")]
    Proof,
    /// The system has no random numbers.
    #[error("cannot read random numbers from the system")]
    Random,
}

impl From<snow::Error> for HandshakeError {
    fn from(error: snow::Error) -> Self {
        match error {
            snow::Error::Rng => Self::Random,
            _ => Self::Proof,
        }
    }
}

/// A side of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// Address of the side.
    pub mac: kernel::Mac,
    /// Which start of it this is.
    pub instance: Instance,
    /// Public key of the side.
    pub public: [u8; 32],
}

/// Parameters that both sides must share.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeContext<'a> {
    /// Side that sends hello.
    pub caller: Party,
    /// Side that answers.
    pub called: Party,
    /// The channel's centre, MHz.
    pub frequency: u32,
    /// The network's name.
    pub ssid: &'a [u8],
}

impl HandshakeContext<'_> {
    fn octets(&self) -> Vec<u8> {
        let party = |party: &Party| [&party.mac[..], &party.instance.0, &party.public].concat();
        [
            &b"weir peering"[..],
            &[VERSION],
            &party(&self.caller),
            &party(&self.called),
            &self.frequency.to_be_bytes(),
            self.ssid,
        ]
        .concat()
    }
}

/// Result of a completed handshake.
pub struct Session {
    sealed: StatelessTransportState,
    key: PairwiseKey,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session(..)")
    }
}

impl Session {
    fn new(mut state: HandshakeState) -> Result<Self, HandshakeError> {
        let (first, second) = state.dangerously_get_raw_split();
        let split = hmac::Key::new(hmac::HMAC_SHA256, &[first, second].concat());
        let mut context = hmac::Context::with_key(&split);
        context.update(b"weir peering pairwise");
        context.update(state.get_handshake_hash());
        let tag = context.sign();
        let octets = tag.as_ref();
        Ok(Self {
            key: PairwiseKey(std::array::from_fn(|at| octets[at])),
            sealed: state.into_stateless_transport_mode()?,
        })
    }

    /// Returns the key for all later frames of the two nodes. Each handshake gives a new key.
    pub fn key(&self) -> PairwiseKey {
        self.key
    }

    /// Seals a confirmation. Each side has one such frame, and it is always the same.
    ///
    /// # Errors
    /// None that a frame's room can cause.
    pub fn seal(&self, kind: frame::Kind) -> Result<Vec<u8>, HandshakeError> {
        let mut body = [0; 1 + TAG];
        let length = self.sealed.write_message(0, &[kind as u8], &mut body)?;
        Ok(body[..length].to_vec())
    }

    /// Returns true if the body proves that the other side has completed the handshake.
    pub fn proves(&self, kind: frame::Kind, body: &[u8]) -> bool {
        let mut inside = [0; 1 + TAG];
        let body = body.get(..1 + TAG).unwrap_or_default();
        let length = self.sealed.read_message(0, body, &mut inside);
        length.is_ok_and(|length| inside[..length] == [kind as u8])
    }
}

/// A node that said hello.
pub struct Initiator(HandshakeState);

impl std::fmt::Debug for Initiator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller(..)")
    }
}

impl Initiator {
    /// Begins a handshake and returns the hello's body.
    ///
    /// # Errors
    /// Random numbers are unavailable, or the other side's key is invalid.
    pub fn begin(
        secret: &Secret,
        node: &NodeKey,
        place: &HandshakeContext<'_>,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let prologue = place.octets();
        let mut state = builder(secret, node, &prologue)?
            .remote_public_key(&place.called.public)?
            .build_initiator()?;
        let mut message = [0; FIRST];
        let length = state.write_message(&[], &mut message)?;
        let message = &message[..length];
        let tag: [u8; TAG] = secret.tag(&[b"hello", &prologue, message]);
        Ok((Self(state), [&tag[..], message].concat()))
    }

    /// Reads the answer. An invalid answer changes nothing: anyone can send one.
    ///
    /// # Errors
    /// The answer proves nothing.
    pub fn end(&mut self, body: &[u8]) -> Result<AnswerToken, HandshakeError> {
        let message = body
            .get(..SECOND)
            .ok_or(HandshakeError::Short(body.len()))?;
        self.0.read_message(message, &mut [0; SECOND])?;
        Ok(AnswerToken(()))
    }

    /// Returns the session, after an answer was read.
    ///
    /// # Errors
    /// No answer was read.
    pub fn session(self, _: AnswerToken) -> Result<Session, HandshakeError> {
        Session::new(self.0)
    }
}

/// Proof that an answer was read.
#[derive(Debug)]
pub struct AnswerToken(());

/// Answers a hello: returns the session, and the answer's body. A sender without the secret gets no
/// answer.
///
/// # Errors
/// The hello is cut short or proves nothing.
pub fn answer(
    secret: &Secret,
    node: &NodeKey,
    place: &HandshakeContext<'_>,
    body: &[u8],
) -> Result<(Session, Vec<u8>), HandshakeError> {
    let short = HandshakeError::Short(body.len());
    let (tag, rest) = body.split_first_chunk::<TAG>().ok_or(short)?;
    let message = rest.get(..FIRST).ok_or(short)?;
    let prologue = place.octets();
    if !secret.proves(tag, &[b"hello", &prologue, message]) {
        return Err(HandshakeError::Proof);
    }
    let mut state = builder(secret, node, &prologue)?.build_responder()?;
    state.read_message(message, &mut [0; FIRST])?;
    // A holder of the secret could send a hello in another node's name.
    if state.get_remote_static() != Some(&place.caller.public[..]) {
        return Err(HandshakeError::Proof);
    }
    let mut answer = [0; SECOND];
    let length = state.write_message(&[], &mut answer)?;
    Ok((Session::new(state)?, answer[..length].to_vec()))
}

fn builder<'a>(
    secret: &'a Secret,
    node: &'a NodeKey,
    prologue: &'a [u8],
) -> Result<Builder<'a>, snow::Error> {
    Builder::new(PATTERN.parse()?)
        .psk(1, secret.shared())?
        .local_private_key(node.secret())?
        .prologue(prologue)
}
