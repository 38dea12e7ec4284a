//! Valid names, and generated names of unnamed sections.

/// Returns true for a valid name of a section or option: letters, digits, `_`.
pub fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&c| c.is_ascii_alphanumeric() || c == b'_')
}

/// Returns true for a valid name of a package: letters, digits, `_`, `-`.
pub fn is_package(text: &[u8]) -> bool {
    !text.is_empty()
        && text
            .iter()
            .all(|&c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
}

/// Returns true if a file of this name can be a package: more names than a line `package` allows,
/// as in libuci (`network~`).
pub(crate) fn is_file(text: &[u8]) -> bool {
    is_type(text) && !text.contains(&b'/') && !text.contains(&b'.')
}

/// Returns true for a valid type of a section: printable ASCII without blanks.
pub fn is_type(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&c| (33..=126).contains(&c))
}

/// Returns true for a value that can be set: no control characters but tab, line feed and carriage
/// return.
pub fn is_value(text: &[u8]) -> bool {
    text.iter()
        .all(|&c| c >= 32 || matches!(c, b'\t' | b'\n' | b'\r'))
}

/// Returns the name for an unnamed section: the number of sections up to and including it, and a
/// hash of its type.
pub(crate) fn generated_name(sections: usize, kind: &str) -> String {
    // D. J. Bernstein's hash: 32 bits, of which the last 16 are used.
    let hash = kind.bytes().fold(5381_u32, |hash, c| {
        hash.wrapping_mul(33).wrapping_add(u32::from(c))
    });
    format!("cfg{sections:02x}{:04x}", hash & 0xffff)
}

/// Returns true if a name could be a generated one.
pub(crate) fn is_generated_name(name: &str) -> bool {
    name.strip_prefix("cfg").is_some_and(|digits| {
        digits.len() >= 6
            && digits
                .bytes()
                .all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::{generated_name, is_generated_name, is_name, is_package, is_type};

    #[test]
    fn names_as_openwrt_shows_them() {
        assert_eq!(generated_name(1, "system"), "cfg01e48a");
        assert_eq!(generated_name(1, "defaults"), "cfg01e63d");
        assert_eq!(generated_name(2, "zone"), "cfg02dc81");
        assert_eq!(generated_name(3, "device"), "cfg030f15");
        assert!(
            is_generated_name("cfg030f15") && is_generated_name(&generated_name(300, "device"))
        );
        assert!(
            !is_generated_name("cfg")
                && !is_generated_name("cfg030f1")
                && !is_generated_name("cfgABCDEF")
        );
    }

    #[test]
    fn what_names_are_made_of() {
        assert!(
            is_name(b"lan_2") && !is_name(b"lan-2") && !is_name(b"") && !is_name("län".as_bytes())
        );
        assert!(is_package(b"wireless-old") && !is_package(b"a.b") && !is_package(b"a/b"));
        assert!(is_type(b"wireguard_wg0") && is_type(b"a'b") && !is_type(b"a b") && !is_type(b""));
    }
}
