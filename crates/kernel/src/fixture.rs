//! Datagrams as a kernel sent them, for tests: `tests/fixtures/*.hex`, one per line, `#` before the
//! command that caused it.

use crate::encode::Encoder;
use crate::message::{Message, Messages};

/// Reads all datagrams of a file.
pub(crate) fn datagrams(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/fixtures/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a fixture");
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| net::hex::parse(line).expect("hexadecimal"))
        .collect()
}

/// A message with these attributes behind its fixed part.
pub(crate) fn message(kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    Encoder::single(kind, 0, 1, |e| {
        e.fixed(fixed);
        for (kind, value) in attributes {
            e.attribute(*kind, value);
        }
    })
}

/// The first message of a datagram.
pub(crate) fn first(datagram: &[u8]) -> Message<'_> {
    let message = Messages::new(datagram).next();
    message.expect("a message").expect("whole")
}

/// The only datagram of a file.
pub(crate) fn datagram(name: &str) -> Vec<u8> {
    let mut all = datagrams(name);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}
