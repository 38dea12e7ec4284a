//! Random bytes, and keys from keys: HKDF-SHA256 (RFC 5869).

use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};

/// Error: the system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read random numbers from the system: check that /dev/urandom exists")]
pub struct NoRandom;

pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandom> {
    let mut octets = [0; LENGTH];
    SystemRandom::new()
        .fill(&mut octets)
        .map_err(|_| NoRandom)?;
    Ok(octets)
}

/// Extracts a pseudorandom key from a secret, which need not be uniform.
pub(crate) fn extract(salt: &[u8], secret: &[u8]) -> Prk {
    Salt::new(HKDF_SHA256, salt).extract(secret)
}

/// Wraps a key that is already derived, to expand it further.
pub(crate) fn of_key(key: &[u8; 32]) -> Prk {
    Prk::new_less_safe(HKDF_SHA256, key)
}

/// Derives a key for one purpose, which the parts of `info` name.
pub(crate) fn expand(from: &Prk, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    from.expand(info, HKDF_SHA256)
        .and_then(|material| material.fill(&mut key))
        .expect("HKDF-SHA256 gives up to 8160 bytes");
    key
}
