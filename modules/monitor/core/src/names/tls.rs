//! The name in the first message of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3): the only one that
//! TLS sends in the clear.
//!
//! With Encrypted ClientHello (RFC 9849) the name seen is that of the provider; the real one is not
//! to be had.

use net::Cursor;

use super::{Outcome, text};

/// Record that carries handshake messages (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Longest fragment of a record: 2^14 bytes (RFC 8446, 5.1).
const LONGEST_RECORD: usize = 1 << 14;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

/// Contents of a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Name of the host that the client wants to reach.
    pub name: String,
    /// The first application protocol that it offers (RFC 7301), as `h2`; also absent if the name
    /// came first and the following bytes have not arrived.
    pub alpn: Option<String>,
}

/// Parses the first bytes from a TCP client: whole records or the beginning of one. The message may
/// span records.
///
/// [`Outcome::Foreign`]: not TLS, or not a ClientHello. [`Outcome::Nothing`]: it names no host.
pub fn read(first: &[u8]) -> Outcome<Hello> {
    let mut message = Vec::new();
    let mut records = Cursor(first);
    let mut broken = false;
    loop {
        let (kind, version) = (records.0.first(), records.0.get(1));
        broken |= kind.is_some_and(|&kind| kind != HANDSHAKE);
        broken |= version.is_some_and(|&major| major != 3);
        let Some([_, _, _, high, low]) = records.array::<5>().filter(|_| !broken) else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        broken = length == 0 || length > LONGEST_RECORD;
        if broken {
            break;
        }
        let there = length.min(records.0.len());
        message.extend_from_slice(records.take(there).unwrap_or_default());
        if there < length || is_whole(&message) {
            break;
        }
    }
    match hello(&message) {
        Outcome::NeedMore if broken => Outcome::Foreign,
        outcome => outcome,
    }
}

/// Returns true if the message is complete according to its header.
fn is_whole(message: &[u8]) -> bool {
    let mut header = Cursor(message);
    header.u8();
    header
        .u24()
        .is_some_and(|length| header.0.len() >= length as usize)
}

/// Reads a handshake message without records, as QUIC carries it: whole, or its beginning.
pub fn hello(message: &[u8]) -> Outcome<Hello> {
    let mut cursor = Cursor(message);
    match cursor.u8() {
        None => return Outcome::NeedMore,
        Some(CLIENT_HELLO) => {}
        Some(_) => return Outcome::Foreign,
    }
    let Some(length) = cursor.u24() else {
        return Outcome::NeedMore;
    };
    let cut = cursor.0.len() < length as usize;
    let body = &cursor.0[..cursor.0.len().min(length as usize)];
    // The version is frozen at TLS 1.2 (RFC 8446, 4.1.2); SSL 3 has no extensions.
    if body.first().is_some_and(|&major| major != 3) {
        return Outcome::Foreign;
    }
    let mut found = Found::default();
    let end = fields(body, &mut found);
    match (found.name, end) {
        (Some(Some(name)), _) => Outcome::Found(Hello {
            name,
            alpn: found.alpn,
        }),
        // A message without extensions ends where others have them.
        _ if cut => Outcome::NeedMore,
        (_, None) => Outcome::Foreign,
        (_, Some(())) => Outcome::Nothing,
    }
}

#[derive(Default)]
struct Found {
    /// The inner `None`: not a host name.
    name: Option<Option<String>>,
    alpn: Option<String>,
}

/// Reads the fields. `None`: the data ends too early.
fn fields(body: &[u8], found: &mut Found) -> Option<()> {
    let mut cursor = Cursor(body);
    // Version and random.
    cursor.take(2 + 32)?;
    // Session, cipher suites, compression methods.
    cursor.behind_u8()?;
    cursor.behind_u16()?;
    cursor.behind_u8()?;
    if cursor.0.is_empty() {
        return Some(());
    }
    // Not `behind_u16`: a truncated list is parsed as far as possible.
    let length = usize::from(cursor.u16()?);
    let there = length.min(cursor.0.len());
    let mut extensions = Cursor(cursor.take(there)?);
    while !(extensions.0.is_empty() && there == length) {
        let kind = extensions.u16()?;
        let data = extensions.behind_u16()?;
        match kind {
            SERVER_NAME if found.name.is_none() => found.name = Some(server_name(data)),
            ALPN if found.alpn.is_none() => found.alpn = first_protocol(data),
            _ => {}
        }
    }
    Some(())
}

/// Returns the host in a server name extension. Types other than `host_name` (0) were never
/// defined.
fn server_name(data: &[u8]) -> Option<String> {
    let mut list = Cursor(Cursor(data).behind_u16()?);
    if list.u8()? != 0 {
        return None;
    }
    text::host(list.behind_u16()?)
}

/// Returns the first name in an ALPN extension, if the name is plain text. Names that begin with
/// 0x?a 0x?a are GREASE (RFC 8701).
fn first_protocol(data: &[u8]) -> Option<String> {
    let mut list = Cursor(Cursor(data).behind_u16()?);
    loop {
        let name = list.behind_u8()?;
        if !name.is_empty() && name.len() <= 32 && name.iter().all(u8::is_ascii_graphic) {
            return String::from_utf8(name.to_vec()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a ClientHello with these extensions.
    fn client_hello(extensions: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        let data: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, data)| {
                [
                    &kind.to_be_bytes()[..],
                    &(data.len() as u16).to_be_bytes(),
                    data,
                ]
                .concat()
            })
            .collect();
        body.extend((data.len() as u16).to_be_bytes());
        body.extend(data);
        let mut message = vec![CLIENT_HELLO];
        message.extend(&(body.len() as u32).to_be_bytes()[1..]);
        message.extend(body);
        message
    }

    fn name(name: &[u8]) -> Vec<u8> {
        let length = name.len() as u16;
        [
            &(length + 3).to_be_bytes()[..],
            &[0],
            &length.to_be_bytes(),
            name,
        ]
        .concat()
    }

    /// Records of at most `most` bytes.
    fn records(message: &[u8], most: usize) -> Vec<u8> {
        message
            .chunks(most)
            .flat_map(|part| [&[22, 3, 1][..], &(part.len() as u16).to_be_bytes(), part].concat())
            .collect()
    }

    fn found(name: &str, alpn: Option<&str>) -> Outcome<Hello> {
        Outcome::Found(Hello {
            name: name.to_owned(),
            alpn: alpn.map(str::to_owned),
        })
    }

    #[test]
    fn wherever_it_is_cut() {
        let alpn = [0, 7, 2, 0x1a, 0xff, 3, b'd', b'o', b't'];
        let message = client_hello(&[
            (ALPN, &alpn),
            (51, &[9; 300]),
            (SERVER_NAME, &name(b"Dns.Example")),
            (99, &[]),
        ]);
        for most in [1, 2, 5, 100, 1000] {
            let octets = records(&message, most);
            assert_eq!(read(&octets), found("dns.example", Some("dot")));
            let enough = (0..octets.len())
                .find(|&length| read(&octets[..length]) != Outcome::NeedMore)
                .expect("found");
            for length in enough..octets.len() {
                assert_eq!(
                    read(&octets[..length]),
                    found("dns.example", Some("dot")),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn without_a_name() {
        assert_eq!(read(&records(&client_hello(&[]), 1000)), Outcome::Nothing);
        for bad in [&b"192.0.2.7"[..], b"a\x1b[2J", b"<img src=x>", b""] {
            assert_eq!(
                hello(&client_hello(&[(SERVER_NAME, &name(bad))])),
                Outcome::Nothing
            );
        }
        // No extensions at all, as TLS 1.0 may have it.
        let mut message = client_hello(&[]);
        message.truncate(message.len() - 2);
        message[3] -= 2;
        assert_eq!(hello(&message), Outcome::Nothing);
    }

    #[test]
    fn what_is_something_else() {
        for other in [
            &b"GET / HTTP/1.1"[..],
            b"SSH-2.0-x",
            &[22, 2],
            &[23, 3, 3, 0, 1, 0],
            &[22, 3, 1, 0, 0],
            &[22, 3, 1, 255, 0],
        ] {
            assert_eq!(read(other), Outcome::Foreign, "{other:?}");
        }
        // ServerHello, and a ClientHello whose inner lengths exceed its own.
        assert_eq!(hello(&[2, 0, 0, 1, 3]), Outcome::Foreign);
        let mut message = client_hello(&[(51, &[0; 20])]);
        message[4 + 2 + 32] = 255;
        assert_eq!(hello(&message), Outcome::Foreign);
        let mut message = client_hello(&[(51, &[0; 20])]);
        let at = message.len() - 21;
        message[at] = 99;
        assert_eq!(hello(&message), Outcome::Foreign);
    }
}
