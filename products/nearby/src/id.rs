use std::fmt;
use std::str::FromStr;

/// Id of a node: the first bytes of an Ed25519 public key.
///
/// Ids are not proven at this layer: any device may claim any id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; 8]);

/// Error for an invalid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Number of bytes, which is not eight.
    #[error("an id has 8 bytes, not {0}")]
    Length(usize),
    /// Text that is not 16 hexadecimal digits.
    #[error("invalid id {0:?}: write it as 16 hexadecimal digits, such as 0598f7b34b75adcb")]
    Text(String),
}

impl TryFrom<&[u8]> for Id {
    type Error = IdError;

    fn try_from(octets: &[u8]) -> Result<Self, IdError> {
        let id = octets.try_into();
        id.map(Self).map_err(|_| IdError::Length(octets.len()))
    }
}

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let octets = net::hex::parse(text).and_then(|octets| octets.try_into().ok());
        octets
            .map(Self)
            .ok_or_else(|| IdError::Text(text.to_owned()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id: Id = "0598f7b34b75adcb".parse().expect("an id");
        assert_eq!(id.0[..2], [0x05, 0x98]);
        assert_eq!(id.to_string(), "0598f7b34b75adcb");
        for wrong in [
            "",
            "0598f7b34b75adc",
            "+598f7b34b75adcb",
            "0598f7b34b75adcbaf",
        ] {
            assert!(wrong.parse::<Id>().is_err(), "{wrong}");
        }
        assert_eq!(Id::try_from(&[0; 17][..]), Err(IdError::Length(17)));
    }
}
