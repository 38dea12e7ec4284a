//! Sanitises names from the network. Attackers may send control codes or markup for a terminal or a
//! browser.

/// Longest name of a host, bytes (RFC 1035, 2.3.4, as text).
pub const LONGEST_HOST: usize = 253;
/// Longest name of a device, bytes of UTF-8: that of a DNS label.
pub const LONGEST_DEVICE: usize = 63;

/// Cleans a host's name: lower case, without the dot at its end; letters, digits, `-`, `_` and dots
/// only. Names in other scripts stay A-labels (`xn--…`, RFC 5890). `None` for any other text, for
/// addresses, and for names that are too long.
pub fn host(octets: &[u8]) -> Option<String> {
    let octets = octets.strip_suffix(b".").unwrap_or(octets);
    if octets.is_empty() || octets.len() > LONGEST_HOST {
        return None;
    }
    let mut last: &[u8] = &[];
    for label in octets.split(|&octet| octet == b'.') {
        let plain = |&octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        if label.is_empty() || label.len() > 63 || !label.iter().all(plain) {
            return None;
        }
        last = label;
    }
    // A last label of digits is the end of an IPv4 address (RFC 3696, 2).
    if last.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(octets)
        .ok()
        .map(str::to_ascii_lowercase)
}

/// Cleans the name of a device: any printable text in any script, cut to [`LONGEST_DEVICE`].
/// Control characters, invisible characters and those that change the text direction are removed;
/// spaces become one. Markup stays: the code that shows a name escapes it. `None` if nothing is
/// left, and for `localhost`, which many devices send.
pub fn device(octets: &[u8]) -> Option<String> {
    let mut name = String::new();
    let mut space = false;
    // Lossy decoding only adds U+FFFD, which is removed. The prefix is long enough even if most of
    // it is removed.
    for char in String::from_utf8_lossy(&octets[..octets.len().min(1024)]).chars() {
        if char.is_whitespace() {
            space = true;
            continue;
        }
        if hidden(char) {
            continue;
        }
        let gap = usize::from(space && !name.is_empty());
        if name.len() + gap + char.len_utf8() > LONGEST_DEVICE {
            break;
        }
        if gap != 0 {
            name.push(' ');
        }
        space = false;
        name.push(char);
    }
    (!name.is_empty() && !name.eq_ignore_ascii_case("localhost")).then_some(name)
}

/// Returns true for characters that are invisible, affect others, or mean nothing (Unicode: Cc, Cf,
/// Co, Cn of the specials, default ignorable).
fn hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
        || u32::from(char) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        assert_eq!(
            host(b"WWW.Example.COM.").as_deref(),
            Some("www.example.com")
        );
        assert_eq!(
            host(b"_dns.resolver.arpa").as_deref(),
            Some("_dns.resolver.arpa")
        );
        assert_eq!(
            host(b"xn--bcher-kva.example").as_deref(),
            Some("xn--bcher-kva.example")
        );
        assert_eq!(host(b"router").as_deref(), Some("router"));
        assert_eq!(host(&[b'a'; 63]).map(|name| name.len()), Some(63));
        let refused: [&[u8]; 14] = [
            b"",
            b".",
            b"..",
            b"a..b",
            b".a",
            b"192.0.2.1",
            b"2001:db8::1",
            b"a b",
            b"<b>x</b>",
            b"a\x1b[31m",
            b"b\xc3\xbccher.example",
            b"a\0b",
            b"a/b",
            &[b'a'; 64],
        ];
        for octets in refused {
            assert_eq!(host(octets), None, "{octets:?}");
        }
        let long = [b"a.".repeat(126), b"ab".to_vec()].concat();
        assert_eq!(host(&long), None);
        assert!(host(&long[..253]).is_some());
    }

    #[test]
    fn devices() {
        let kept = [
            ("Anna's iPhone", "Anna's iPhone"),
            ("  Küche   TV\t", "Küche TV"),
            ("客厅电视", "客厅电视"),
            ("a\u{1b}]0;gone\u{7}b", "a]0;goneb"),
            ("safe\u{202e}gpj.exe", "safegpj.exe"),
            ("\u{feff}\u{200b}x\u{2066}y\u{2069}", "xy"),
            ("line\nbreak\r", "line break"),
            ("<script>", "<script>"),
            ("x\u{85}y\u{9b}31m", "x y31m"),
            ("\u{e0041}tag\u{10ffff}", "tag"),
        ];
        for (given, name) in kept {
            assert_eq!(device(given.as_bytes()).as_deref(), Some(name), "{given:?}");
        }
        for nothing in ["", " \n", "\u{200b}\0", "localhost", "LocalHost"] {
            assert_eq!(device(nothing.as_bytes()), None, "{nothing:?}");
        }
        assert_eq!(device(b"a\xff\xfeb").as_deref(), Some("ab"));
        assert_eq!(device("ü".repeat(40).as_bytes()), Some("ü".repeat(31)));
        let spaced = format!("{} y", "x".repeat(62));
        assert_eq!(device(spaced.as_bytes()), Some("x".repeat(62)));
    }
}
