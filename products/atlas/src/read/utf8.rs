//! Files that should be UTF-8.

use std::borrow::Cow;

/// Detects UTF-16 and UTF-32 by the first bytes: a byte order mark, or the zeros next to ASCII.
pub(crate) fn encoding(octets: &[u8]) -> Option<&'static str> {
    match octets {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [0, 0, 0, 1..=255, ..] | [1..=255, 0, 0, 0, ..] => Some("UTF-32"),
        [0, 1..=255, 0, 1..=255, ..] | [1..=255, 0, 1..=255, 0, ..] => Some("UTF-16"),
        _ => None,
    }
}

/// Returns valid UTF-8, with texts without control characters, which JSON does not allow there.
pub(crate) fn repaired(octets: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(octets);
    let mut changed = matches!(text, Cow::Owned(_));
    let mut all = text.into_owned().into_bytes();
    let (mut within, mut escaped) = (false, false);
    for octet in &mut all {
        match *octet {
            0..0x20 if within => {
                *octet = b' ';
                changed = true;
                escaped = false;
            }
            _ if escaped => escaped = false,
            b'\\' => escaped = within,
            b'"' => within = !within,
            _ => {}
        }
    }
    match changed {
        true => Cow::Owned(all),
        false => Cow::Borrowed(octets),
    }
}
