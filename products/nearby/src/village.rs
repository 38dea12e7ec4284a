//! Nodes that reach each other by IP, and thus form a village: links between two of them.
//!
//! A [`Handshake`] turns a TCP connection into a [`Session`], whose two halves seal and open
//! records. Only nodes with the village's [`Secret`] and a proof of their id complete the
//! handshake. Over the records two [`MessageStream`]s exchange messages. A [`HalfOpenLimiter`]
//! bounds the handshakes in progress.
//!
//! All of it is pure: bytes go in, bytes come out. `docs/reference/nearby-protocol.md` specifies them.

mod half_open;
mod handshake;
mod message_stream;
mod secret;
mod session;

pub use half_open::{HALF_OPEN, HalfOpenLimiter, PER_SOURCE};
pub use handshake::{Handshake, HandshakeError, HandshakeResult};
pub use message_stream::{MESSAGE, MessageStream};
pub use secret::{Secret, SecretError};
pub use session::{Decryptor, Encryptor, InvalidRecord, RECORD, Session};

/// The protocol's version: two of different ones do not understand each other.
pub const VERSION: u8 = 1;
/// Default TCP port.
pub const PORT: u16 = 9351;
/// Largest number of IP links for a message, from its origin or its arrival by Bluetooth.
pub const HOPS: u8 = 8;
/// Time limit of a handshake, ms.
pub const PATIENCE: u64 = 5_000;
/// Pauses between two tries to reach a node: the first, twice as long each time, and at most, ms.
pub const PAUSES: [u64; 2] = [1_000, 60_000];

/// Returns the delay before the next try after `tries` failed ones. A random part of up to a
/// quarter prevents that all nodes return at once.
pub fn pause(tries: u32, chance: u8) -> u64 {
    let [first, most] = PAUSES;
    let whole = (first << tries.min(10)).min(most);
    (whole * 3 / 4 + whole * u64::from(chance) / 510).clamp(first * 3 / 4, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_at_a_minute() {
        let shortest: Vec<u64> = (0..8).map(|tries| pause(tries, 0)).collect();
        assert_eq!(shortest[..3], [750, 1_500, 3_000]);
        for tries in 0..100 {
            for chance in [0, 127, 255] {
                assert!((750..=60_000).contains(&pause(tries, chance)));
            }
        }
        assert_eq!(pause(u32::MAX, 255), 60_000);
        assert_ne!(pause(3, 0), pause(3, 200), "not all at once");
    }
}
