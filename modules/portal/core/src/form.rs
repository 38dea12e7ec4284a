//! Forms (`application/x-www-form-urlencoded`, URL standard section 5), and tokens that distinguish
//! forms of this page from forms of other sites.

use net::hex;
use percent_encoding::percent_decode;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

/// Minimum validity of a token in seconds; at most twice as long.
const HOLDS: u64 = 3600;

/// Returns the value of a field, the first with that name.
pub fn field(body: &[u8], name: &str) -> Option<String> {
    body.split(|octet| *octet == b'&').find_map(|pair| {
        let end = pair
            .iter()
            .position(|octet| *octet == b'=')
            .unwrap_or(pair.len());
        let value = pair.get(end + 1..).unwrap_or_default();
        (decoded(&pair[..end]) == name.as_bytes())
            .then(|| String::from_utf8_lossy(&decoded(value)).into_owned())
    })
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_owned();
    for plus in text.iter_mut().filter(|octet| **octet == b'+') {
        *plus = b' ';
    }
    percent_decode(&text).collect()
}

/// A password for comparison in constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password([u8; 32]);

impl Password {
    /// Creates a secret from the typed text. Spaces around the text are ignored.
    pub fn new(text: &str) -> Self {
        let digest = digest(&SHA256, text.trim().as_bytes());
        let mut octets = [0; 32];
        octets.copy_from_slice(digest.as_ref());
        Self(octets)
    }
}

/// Key that creates and verifies tokens.
pub struct FormTokens(Key);

impl FormTokens {
    /// Creates tokens with a secret.
    pub fn new(secret: &[u8]) -> Self {
        Self(Key::new(HMAC_SHA256, secret))
    }

    /// Returns the token for an owner at a time in seconds.
    pub fn token(&self, whose: &str, now: u64) -> String {
        let tag = sign(&self.0, text(whose, now / HOLDS).as_bytes());
        hex::text(tag.as_ref())
    }

    /// Returns true if the token belongs to this owner and has not expired.
    pub fn is_valid(&self, token: &str, whose: &str, now: u64) -> bool {
        let period = now / HOLDS;
        hex::parse(token).is_some_and(|tag| {
            [period, period.wrapping_sub(1)]
                .iter()
                .any(|period| verify(&self.0, text(whose, *period).as_bytes(), &tag).is_ok())
        })
    }
}

fn text(whose: &str, period: u64) -> String {
    format!("{period} {whose}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_found() {
        let body = b"token=ab&code=K7QM-3XWD+%20k%C3%A4&code=other&%63=x&empty";
        assert_eq!(field(body, "code").as_deref(), Some("K7QM-3XWD  kä"));
        assert_eq!(field(body, "c").as_deref(), Some("x"));
        assert_eq!(field(body, "empty").as_deref(), Some(""));
        assert_eq!(field(body, "none"), None);
        assert_eq!(field(b"code=%zz%4", "code").as_deref(), Some("%zz%4"));
    }

    #[test]
    fn a_token_is_ones_own_and_ends() {
        let tokens = FormTokens::new(b"secret");
        let token = tokens.token("10.0.0.2", 10_000);
        assert!(tokens.is_valid(&token, "10.0.0.2", 10_000 + HOLDS));
        assert!(!tokens.is_valid(&token, "10.0.0.2", 10_000 + 2 * HOLDS));
        assert!(!tokens.is_valid(&token, "10.0.0.3", 10_000));
        assert!(!FormTokens::new(b"other").is_valid(&token, "10.0.0.2", 10_000));
        assert!(!tokens.is_valid("", "10.0.0.2", 10_000));
    }

    proptest! {
        #[test]
        fn nothing_panics(body: Vec<u8>, token in ".*") {
            let _ = field(&body, "code");
            let _ = FormTokens::new(b"secret").is_valid(&token, "", 0);
        }
    }
}
