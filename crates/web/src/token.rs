//! Random tokens of cookies, and values derived from them.

use blake2::{Blake2s256, Digest};
use net::hex;
use serde::{Deserialize, Serialize};

use crate::WebError;

/// Token in a session's cookie: 256 random bits, written as 64 hexadecimal digits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Token([u8; 32]);

impl From<Token> for String {
    fn from(token: Token) -> Self {
        token.text()
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a token has 64 hexadecimal digits")
    }
}

/// Stored hash of a token: a reader of the memory cannot recover the token.
pub(crate) type TokenId = [u8; 32];

impl Token {
    pub(crate) fn random() -> Result<Self, WebError> {
        let mut octets = [0; 32];
        getrandom::fill(&mut octets).map_err(|error| WebError::Random(error.to_string()))?;
        Ok(Self(octets))
    }

    pub(crate) fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        hex::parse(text)?.try_into().ok().map(Self)
    }

    pub(crate) fn text(&self) -> String {
        hex::text(&self.0)
    }

    pub(crate) fn id(&self) -> TokenId {
        self.derived(b"weir session")
    }

    /// Returns the token for the CSRF header. A holder of the cookie can derive the token; no more
    /// state is needed.
    pub(crate) fn csrf(&self) -> String {
        hex::text(&self.derived(b"weir csrf"))
    }

    fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        let mut hash = Blake2s256::new();
        hash.update(purpose);
        hash.update(self.0);
        hash.finalize().into()
    }
}

/// Compares secrets in constant time.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    subtle::ConstantTimeEq::ct_eq(one, other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_being_written() {
        let token = Token::random().expect("random");
        let again = Token::parse(&token.text()).expect("64 digits");
        assert_eq!(again.id(), token.id());
        assert_eq!(again.csrf(), token.csrf());
        assert_ne!(Token::random().expect("random").id(), token.id());
    }

    #[test]
    fn what_is_derived_tells_nothing_else() {
        let token = Token([7; 32]);
        let all = [token.text(), token.csrf(), hex::text(&token.id())];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }

    #[test]
    fn only_64_digits() {
        for wrong in [
            "",
            "0",
            &"0".repeat(63),
            &"0".repeat(65),
            &"g".repeat(64),
            &"é".repeat(32),
            &format!("+{}", "0".repeat(63)),
        ] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn compares() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"abc", b"ab") && !same(b"", b"a"));
    }
}
