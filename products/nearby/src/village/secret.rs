use std::fmt;
use std::str::FromStr;

use net::hex;
use ring::digest::{SHA256, digest};

/// Prefix of the line.
const PREFIX: &str = "weir-village1-";
/// Size of the checksum at the end, in bytes.
const SUM: usize = 4;

/// Secret that all nodes of a village share: it makes its holder a node.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// Error for an invalid line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The prefix is missing.
    #[error("it is not a line of `weir-nearby village`: those begin with {PREFIX}")]
    Prefix,
    /// The length, a digit or the checksum is wrong.
    #[error("the line is damaged: copy all {} characters of it again", PREFIX.len() + 2 * (32 + SUM))]
    Damaged,
}

impl Secret {
    /// Creates a secret from 32 random bytes.
    pub fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// Returns the bytes.
    pub(super) fn octets(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the line for a file, without its end.
    pub fn line(&self) -> String {
        format!("{PREFIX}{}{}", hex::text(&self.0), hex::text(&self.sum()))
    }

    fn sum(&self) -> [u8; SUM] {
        let whole = digest(&SHA256, &[PREFIX.as_bytes(), &self.0].concat());
        std::array::from_fn(|at| whole.as_ref()[at])
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    /// Reads the line. White space around it is nothing.
    fn from_str(text: &str) -> Result<Self, SecretError> {
        let digits = text
            .trim()
            .strip_prefix(PREFIX)
            .ok_or(SecretError::Prefix)?;
        let octets = hex::parse(digits).ok_or(SecretError::Damaged)?;
        let octets = <[u8; 32 + SUM]>::try_from(octets).map_err(|_| SecretError::Damaged)?;
        let secret = Self(std::array::from_fn(|at| octets[at]));
        match octets[32..] == secret.sum() {
            true => Ok(secret),
            false => Err(SecretError::Damaged),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_is_written_and_no_other_line_is() {
        let secret = Secret::new(std::array::from_fn(|at| at as u8));
        let line = secret.line();
        assert_eq!(line.len(), 86);
        assert_eq!(format!(" {line}\n").parse(), Ok(secret.clone()));
        assert!(!format!("{secret:?}").contains("0102"));
        for at in PREFIX.len()..line.len() {
            for digit in ['0', '1', 'f', 'x', '+'] {
                let mut wrong: Vec<char> = line.chars().collect();
                if wrong[at] == digit {
                    continue;
                }
                wrong[at] = digit;
                let wrong: String = wrong.into_iter().collect();
                assert_eq!(
                    wrong.parse::<Secret>(),
                    Err(SecretError::Damaged),
                    "{wrong}"
                );
            }
            assert_eq!(line[..at].parse::<Secret>(), Err(SecretError::Damaged));
        }
        assert_eq!(
            format!("{line}00").parse::<Secret>(),
            Err(SecretError::Damaged)
        );
        assert_eq!(
            format!("{line}ä").parse::<Secret>(),
            Err(SecretError::Damaged)
        );
        assert_eq!("weir1-abc".parse::<Secret>(), Err(SecretError::Prefix));
        assert_eq!("".parse::<Secret>(), Err(SecretError::Prefix));
    }
}
