//! Devices that logged in before. Each has an unforgeable cookie and tries of its own: other
//! clients that use up their tries do not lock a known device out.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use blake2::{Blake2s256, Digest};
use tracing::warn;

use crate::WebError;
use crate::secret;
use crate::token::{Token, same};

/// Bytes of a device's number, and of its proof.
const HALF: usize = 16;

/// Number of a device.
pub(crate) type DeviceId = [u8; HALF];

/// Recognises devices by a key. The key's file is next to the password's; the first login creates
/// it.
pub(crate) struct KnownDevices {
    file: PathBuf,
    key: RefCell<Option<Token>>,
}

impl KnownDevices {
    /// Uses the key next to this file.
    pub(crate) fn with_key_next_to(password: &Path) -> Self {
        Self {
            file: password.with_added_extension("devices"),
            key: RefCell::new(None),
        }
    }

    /// Returns the device of this cookie, if the cookie is valid.
    pub(crate) fn known(&self, cookie: &Token) -> Option<DeviceId> {
        let key = self.key()?;
        let (id, proof) = cookie.bytes().split_first_chunk::<HALF>()?;
        same(proof, &proven(&key, id)).then_some(*id)
    }

    /// Returns a new cookie for a device that logged in.
    pub(crate) fn new_one(&self) -> Result<Token, WebError> {
        let key = match self.key() {
            Some(key) => key,
            None => self.make_key()?,
        };
        let random = Token::random()?;
        let mut octets = *random.bytes();
        if let Some((id, proof)) = octets.split_first_chunk_mut::<HALF>() {
            proof.copy_from_slice(&proven(&key, id));
        }
        Ok(Token::new(octets))
    }

    fn key(&self) -> Option<Token> {
        let mut key = self.key.borrow_mut();
        if key.is_none() {
            let text = secret::read(&self.file).ok().flatten();
            *key = text.and_then(|(text, _)| Token::parse(text.trim()));
        }
        key.clone()
    }

    fn make_key(&self) -> Result<Token, WebError> {
        let key = Token::random()?;
        if let Err(error) = secret::write(&self.file, &format!("{}\n", key.text())) {
            warn!(%error, "devices that logged in are known until weir ends");
        }
        *self.key.borrow_mut() = Some(key.clone());
        Ok(key)
    }
}

/// Returns the proof of a number: a keyed hash (BLAKE2, RFC 7693, allows the key as a prefix of the
/// input).
fn proven(key: &Token, id: &DeviceId) -> [u8; HALF] {
    let mut hash = Blake2s256::new();
    hash.update(key.bytes());
    hash.update(b"weir device");
    hash.update(id);
    let whole: [u8; 32] = hash.finalize().into();
    let mut half = [0; HALF];
    half.copy_from_slice(&whole[..HALF]);
    half
}

#[cfg(test)]
mod tests {
    use testing::Directory;

    use super::*;

    #[test]
    fn only_its_own_cookies_are_known_and_for_long() {
        let folder = Directory::new();
        let password = folder.join("password");
        let devices = KnownDevices::with_key_next_to(&password);
        let stranger = Token::random().expect("random");
        assert_eq!(devices.known(&stranger), None);
        assert!(
            !folder.join("password.devices").exists(),
            "nobody logged in"
        );
        let [one, other] = [(); 2].map(|()| devices.new_one().expect("random"));
        // The cookies are valid after a restart, too.
        let again = KnownDevices::with_key_next_to(&password);
        let known = [&one, &other, &stranger].map(|cookie| again.known(cookie));
        assert!(known[0].is_some() && known[1].is_some() && known[0] != known[1]);
        assert_eq!(known[2], None);
        let mut forged = *one.bytes();
        forged[0] ^= 1;
        assert_eq!(again.known(&Token::new(forged)), None);
    }
}
