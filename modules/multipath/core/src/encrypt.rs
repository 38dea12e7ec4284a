//! Encryption of connections between router and partner.

/// A TLS record's head (RFC 8446 section 5.1) and the type of the message in it.
const HELLO: usize = 6;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The longest record that is not encrypted, bytes.
const RECORD: usize = 1 << 14;

/// Encryption of connections on their way to the partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encrypt {
    /// All but those that a client begins with TLS; their server names are readable on the way.
    Auto,
    /// All connections.
    #[default]
    All,
    /// No connection: as safe as without weir.
    None,
}

impl Encrypt {
    /// Returns true if a connection with these first bytes of the client is to be encrypted.
    /// Without bytes: perhaps the server speaks first.
    pub fn applies(self, first: &[u8]) -> bool {
        match self {
            Self::Auto => !begins_tls(first),
            Self::All => true,
            Self::None => false,
        }
    }
}

/// Returns true if these are the first bytes of a TLS client, of any version from SSL 3 on.
fn begins_tls(first: &[u8]) -> bool {
    let Some(&[kind, major, minor, high, low, message]) = first.first_chunk::<HELLO>() else {
        return false;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    kind == HANDSHAKE
        && major == 3
        && minor <= 4
        && (4..=RECORD).contains(&length)
        && message == CLIENT_HELLO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_known_by_its_first_octets() {
        // OpenSSL and browsers begin like this: a record of version 3.1, whatever version follows.
        let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
        assert!(begins_tls(&hello) && !Encrypt::Auto.applies(&hello));
        for other in [
            &hello[..5],
            b"",
            b"GET / HTTP/1.1\r\n",
            b"SSH-2.0-OpenSSH_9.6\r\n",
            // An alert, a server's hello, another version, records of no length and of too much.
            &[21, 3, 1, 0, 2, 1],
            &[22, 3, 1, 2, 0, 2],
            &[22, 2, 1, 2, 0, 1],
            &[22, 3, 5, 2, 0, 1],
            &[22, 3, 1, 0, 0, 1],
            &[22, 3, 1, 64, 1, 1],
        ] {
            assert!(!begins_tls(other), "{other:?}");
            assert!(Encrypt::Auto.applies(other));
        }
    }

    #[test]
    fn all_and_none_do_not_look() {
        for first in [&b""[..], b"plain", &[22, 3, 1, 2, 0, 1]] {
            assert!(Encrypt::All.applies(first) && !Encrypt::None.applies(first));
        }
    }
}
