//! Several uplinks as one: the protocol between a router and its partner.
//!
//! A [`Pairing`] line carries the address of the partner and a key. From the key, both make a
//! [`Session`], in one round trip ([`handshake`]). The session then seals an [`Open`] in front of
//! the first payload of each connection, and its [`Status`] on the return path, without another
//! round trip. [`stream`] encrypts the following payload, if configured.
//!
//! [`hints`] are the user's settings of paths, [`goodput`] keeps any path from slowing the others
//! down, [`backup_reminders`] makes sure that the partner learns which paths are backups.
//!
//! Pure but for [`io`]: bytes in, bytes out; no clock, no socket. See `docs/reference/multipath-protocol.md`.
//!
//! [`nft`] has the rules that redirect clients' connections, [`lock`] those that block all other
//! traffic, [`reach`] the destinations that a partner permits. [`io`] has the sockets and threads:
//! [`io::Router`] and [`io::Partner`].

mod aead;
pub mod backup_reminders;
mod derive;
pub mod encrypt;
pub mod flaps;
pub mod frame;
pub mod gaps;
pub mod goodput;
pub mod handshake;
pub mod handshake_limiter;
pub mod hints;
pub mod identity;
pub mod io;
pub mod key;
pub mod lock;
pub mod net;
pub mod nft;
pub mod open;
pub mod pairing;
pub mod reach;
pub mod session;
pub mod shares;
pub mod stream;
#[cfg(test)]
mod tests;
mod tlv;
pub mod traffic_policy;
pub mod tunnel;
#[cfg(test)]
mod vector;
pub mod welcome;
pub mod window;

pub use aead::Cipher;
pub use derive::NoRandom;
pub use encrypt::Encrypt;
pub use frame::{Frame, FrameError, Header, Kind};
pub use handshake::{HandshakeError, Initiator};
pub use identity::{Identity, Master};
pub use key::{Key, KeyId, PublicKey};
pub use open::{Open, Status};
pub use pairing::{Pairing, PairingError};
pub use session::{
    DatagramKeys, IncomingConnection, OutgoingConnection, Session, SessionError, SessionId,
};
pub use stream::{Opener, Sealer, StreamError};
pub use tlv::Malformed;
pub use traffic_policy::{Clients, Forward, Ports, TrafficPolicy};
pub use welcome::Welcome;
pub use window::Window;

/// Version of the protocol.
pub const VERSION: u8 = 2;

/// Default port of a partner, TCP and UDP.
pub const PORT: u16 = 9349;
