//! Untrusted bytes: text made harmless.

use net::Cursor;

/// Most characters kept of a text.
const LETTERS: usize = 128;
/// Most characters kept of a page's address.
const ADDRESS: usize = 256;

/// Returns untrusted text, made harmless and truncated.
pub fn text(octets: &[u8]) -> String {
    let end = octets.iter().rposition(|&octet| octet != 0);
    let octets = &octets[..end.map_or(0, |last| last + 1)];
    clean(&String::from_utf8_lossy(octets), LETTERS)
}

/// Returns at most this many characters of a text, without control sequences of terminals or
/// markup: letters, digits and ASCII's signs stay, all else becomes `?`.
pub fn clean(text: &str, most: usize) -> String {
    let harmless = |letter: char| match letter {
        ' '..='~' => letter,
        _ if letter.is_alphanumeric() => letter,
        _ => '?',
    };
    text.chars().take(most).map(harmless).collect()
}

/// Returns a page's address: HTTP, visible ASCII, without characters that end a quotation.
pub fn page(octets: &[u8]) -> Option<String> {
    let end = octets.iter().rposition(|&octet| octet != 0)?;
    let text = std::str::from_utf8(octets.get(..=end)?).ok()?;
    let web = text.starts_with("http://") || text.starts_with("https://");
    let plain = |octet: u8| octet.is_ascii_graphic() && !b"\"'<>`\\".contains(&octet);
    (web && text.len() <= ADDRESS && text.bytes().all(plain)).then(|| text.to_owned())
}

/// Returns a DNS name (RFC 1035, section 3.1), without compression, of characters that a host name
/// may have.
pub fn name(octets: &[u8]) -> Option<String> {
    let mut cursor = Cursor(octets);
    let mut labels = Vec::new();
    loop {
        // A name without its root is not fully qualified (RFC 8415, section 10); accepted, because
        // many servers write names so.
        let length = match cursor.u8() {
            Some(0) | None => break,
            Some(length @ 1..=63) => length,
            Some(_) => return None,
        };
        let label = cursor.take(length.into())?;
        let plain = |&octet: &u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
        if !label.iter().all(plain) {
            return None;
        }
        labels.push(String::from_utf8_lossy(label).into_owned());
    }
    let name = labels.join(".");
    (!name.is_empty() && name.len() <= 253).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_kept() {
        assert_eq!(text(b"a\x1b[2Jb\0\0"), "a?[2Jb");
        assert_eq!(text("Z\u{fc}rich \u{202e}x".as_bytes()), "Zürich ?x");
        assert_eq!(text(&[b'x'; 4000]).len(), 128);
        assert_eq!(text(b"\xff\xfe"), "??");
    }

    #[test]
    fn pages_are_addresses_of_the_web() {
        assert_eq!(
            page(b"https://a.example/x\0").as_deref(),
            Some("https://a.example/x")
        );
        assert_eq!(page(b"javascript:alert(1)"), None);
        assert_eq!(page(b"http://a/\n"), None);
        assert_eq!(page(b"http://a/\"x"), None);
        assert_eq!(page(b""), None);
        assert_eq!(page(&[0; 9]), None);
    }

    #[test]
    fn names_are_read_to_their_end() {
        assert_eq!(
            name(b"\x04aftr\x07example\x00").as_deref(),
            Some("aftr.example")
        );
        assert_eq!(name(b"\x04aftr").as_deref(), Some("aftr"));
        assert_eq!(name(b"\x05aftr"), None);
        assert_eq!(name(b"\xc0\x00"), None, "no pointers");
        assert_eq!(name(b"\x02a\n\x00"), None);
        assert_eq!(name(b"\0"), None);
    }
}
