//! Checks the token of a client, where one is required: pure.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE};
use net::hex;
use ring::hmac;

/// The cookie's name.
const COOKIE_NAME: &str = "weir-nearby";
/// Maximum number of cookies of this name that are checked: other programs of this host may have
/// set some.
const COOKIES: usize = 4;
/// Text that the token signs, so that the cookie does not contain the token itself.
const SIGNED: &[u8] = b"weir-nearby page";
/// Lifetime of the cookie, in seconds: ninety days.
const KEPT: u32 = 90 * 86_400;

/// The token, as a key.
pub struct TokenAuth(hmac::Key);

impl TokenAuth {
    /// Creates the key from a token.
    pub fn new(token: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes()))
    }

    /// Returns true for the token. Takes constant time, however wrong the given token is.
    pub fn is_token(&self, given: &str) -> bool {
        let given = hmac::Key::new(hmac::HMAC_SHA256, given.as_bytes());
        let tag = hmac::sign(&given, SIGNED);
        hmac::verify(&self.0, SIGNED, tag.as_ref()).is_ok()
    }

    /// Returns the cookie for a valid token: `Set-Cookie`.
    pub fn cookie(&self) -> String {
        let tag = hmac::sign(&self.0, SIGNED);
        let value = hex::text(tag.as_ref());
        format!("{COOKIE_NAME}={value}; Path=/; Max-Age={KEPT}; HttpOnly; SameSite=Strict")
    }

    /// Returns true if a request has the token: by the cookie or, for programs, as
    /// `Authorization: MetricsRequest`.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let bearer =
            web::request_checks::only(headers, AUTHORIZATION).and_then(|it| it.split_once(' '));
        if let Some((scheme, token)) = bearer {
            return scheme.eq_ignore_ascii_case("bearer") && self.is_token(token.trim());
        }
        let texts = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|it| it.to_str().ok());
        let pairs = texts
            .flat_map(|it| it.split(';'))
            .filter_map(|it| it.trim().split_once('='));
        let mut ours = pairs.filter(|(name, _)| *name == COOKIE_NAME).take(COOKIES);
        ours.any(|(_, value)| {
            hex::parse(value).is_some_and(|tag| hmac::verify(&self.0, SIGNED, &tag).is_ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append(name, HeaderValue::from_str(value).expect("a header"));
        headers
    }

    #[test]
    fn by_the_token_or_its_cookie_and_by_nothing_else() {
        let (entry, other) = (
            TokenAuth::new("a token of letters"),
            TokenAuth::new("another one"),
        );
        assert!(entry.is_token("a token of letters"));
        assert!(!entry.is_token("a token of letter") && !entry.is_token(""));
        let cookie = entry.cookie();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains("letters"), "the token is not in it");
        let pair = cookie.split(';').next().expect("a pair");
        let by = |text: &str| entry.admits(&headers(COOKIE, text));
        assert!(by(pair) && by(&format!("a=b; {COOKIE_NAME}=x; {pair}")));
        assert!(!other.admits(&headers(COOKIE, pair)));
        for wrong in ["", "weir-nearby=", "=", ";;", &pair[..pair.len() - 1]] {
            assert!(!by(wrong), "{wrong}");
        }
        assert!(!by(&format!("{COOKIE_NAME}={}", "é".repeat(32))));
        assert!(!by(&format!(
            "{}{pair}",
            format!("{COOKIE_NAME}=x;").repeat(COOKIES)
        )));
        let bearer = |text: &str| entry.admits(&headers(AUTHORIZATION, text));
        assert!(bearer("Bearer a token of letters") && bearer("bearer a token of letters"));
        assert!(!bearer("Bearer x") && !bearer("Basic a token of letters") && !bearer("Bearer"));
        assert!(!entry.admits(&HeaderMap::new()));
    }
}
