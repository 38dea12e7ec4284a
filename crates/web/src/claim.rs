//! Code that allows setting the first password from another host: only a user with the router's
//! console can read it.

use crate::WebError;
use crate::token::same;

/// Letters and digits that are hard to confuse.
const SIGNS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Length of the code: 40 bits, and few tries are allowed.
const LENGTH: usize = 8;

/// A code.
#[derive(Clone)]
pub(crate) struct Claim(String);

impl Claim {
    pub(crate) fn random() -> Result<Self, WebError> {
        let mut octets = [0; LENGTH];
        getrandom::fill(&mut octets).map_err(|error| WebError::Random(error.to_string()))?;
        let sign = |octet: u8| char::from(SIGNS[usize::from(octet & 31)]);
        Ok(Self(octets.map(sign).iter().collect()))
    }

    /// Returns the code in its readable form: `ABCD-2345`.
    pub(crate) fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        format!("{first}-{second}")
    }

    /// Returns true if the typed text is the code. Accepts lower case and separators.
    pub(crate) fn is(&self, typed: &str) -> bool {
        let signs = typed.chars().filter(char::is_ascii_alphanumeric);
        let typed: String = signs
            .take(2 * LENGTH)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        same(typed.as_bytes(), self.0.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::Claim;

    #[test]
    fn a_code_as_it_is_typed() {
        let claim = Claim("ABCD2345".to_owned());
        assert_eq!(claim.shown(), "ABCD-2345");
        for typed in ["ABCD-2345", "abcd2345", " abcd 2345 "] {
            assert!(claim.is(typed), "{typed}");
        }
        for typed in [
            "",
            "ABCD-234",
            "ABCD-2346",
            "ABCD-23455",
            "ABCD-2345ABCD-2345",
        ] {
            assert!(!claim.is(typed), "{typed}");
        }
        let random = Claim::random().unwrap();
        assert!(random.is(&random.shown()));
        assert!(!random.is(&Claim::random().unwrap().shown()));
    }
}
