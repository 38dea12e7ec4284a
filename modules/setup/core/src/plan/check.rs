//! Validation of values.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if a text may be the router's name or address for clients. Empty: not known.
pub fn is_endpoint(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = inner.unwrap_or(text).parse::<Ipv6Addr>() {
        return !address.is_unspecified() && !address.is_multicast();
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return address.octets()[0] != 0 && !address.is_multicast() && !address.is_broadcast();
    }
    text.is_empty() || text.len() <= 253 && is_name(text)
}

/// Returns true for a host name of any number of labels (RFC 1123, section 2.1): the last one is
/// not a number, as that would be an address.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let edge = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        label.len() <= 63
            && edge(label.bytes().next())
            && edge(label.bytes().last())
            && label
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'-')
    };
    text.split('.').all(label) && text.rsplit('.').next().is_some_and(is_host_name)
}

/// Returns true if an address can belong to one device: not multicast, reserved, or link-local
/// (fe80::1 is on each link).
pub fn is_of_a_device(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => (1..224).contains(&address.octets()[0]),
        IpAddr::V6(address) => {
            !address.is_unspecified() && !address.is_multicast() && !address.is_unicast_link_local()
        }
    }
}

/// Returns true if a text holds a control character, of C0, C1, or for the direction of writing.
pub fn has_control(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// Returns true if fw4 of every release can put this into a comment of nft(8). Strings of nft(8)
/// end with the next quotation mark, and are 128 bytes long at most. Until 2024 fw4 put a backslash
/// before both marks.
pub fn is_quotable(text: &str) -> bool {
    !text.contains(['"', '\\'])
}

/// Checks the name of a device (`dev_valid_name` of the kernel, and the limits of UCI's lists).
pub fn is_device(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_' | b'@');
    (1..16).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(plain)
        && !matches!(name, "." | "..")
}

/// Returns true for a host name of one label (RFC 1123, section 2.1).
pub fn is_host_name(text: &str) -> bool {
    let edge = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && edge(text.bytes().next())
        && edge(text.bytes().last())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        && !text.bytes().all(|c| c.is_ascii_digit())
}

/// Returns true for a key of Wi-Fi: 8 to 63 characters of printable ASCII, or 64 hexadecimal digits
/// (IEEE 802.11, annex J.4).
pub fn is_wifi_key(text: &str) -> bool {
    match text.len() {
        8..=63 => text.bytes().all(|c| (32..=126).contains(&c)),
        64 => text.bytes().all(|c| c.is_ascii_hexdigit()),
        _ => false,
    }
}

/// Returns true for a key of `WireGuard`: 32 bytes in Base64, the last character of which has four
/// bits.
pub fn is_wireguard_key(text: &str) -> bool {
    let Some(digits) = text.strip_suffix('=') else {
        return false;
    };
    let digit = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/');
    digits.len() == 43
        && digits.bytes().all(digit)
        && digits.ends_with(|c| "AEIMQUYcgkosw048".contains(c))
}

/// Returns true for the hardware address of one device.
pub fn is_mac(text: &str) -> bool {
    net::mac::parse_station(text).is_some() && !text.contains('-')
}

/// Parses a port, or ports: `8443`, `6000-6010`.
pub fn ports(text: &str) -> Option<(u16, u16)> {
    let port = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        digits
            .then(|| text.parse::<u16>().ok())
            .flatten()
            .filter(|port| *port > 0)
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (port(first)?, port(last)?),
        None => (port(text)?, port(text)?),
    };
    (first <= last).then_some((first, last))
}

/// Returns true for a lease time of dnsmasq: two minutes at least.
pub fn is_lease(text: &str) -> bool {
    if text == "infinite" {
        return true;
    }
    let (number, seconds) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1_u64),
        Some('m') => (&text[..text.len() - 1], 60),
        Some('h') => (&text[..text.len() - 1], 3600),
        Some('d') => (&text[..text.len() - 1], 86_400),
        Some('w') => (&text[..text.len() - 1], 604_800),
        // A number alone is seconds.
        _ => (text, 1),
    };
    (1..=8).contains(&number.len())
        && number.bytes().all(|c| c.is_ascii_digit())
        && number
            .parse::<u64>()
            .is_ok_and(|n| (120..=31_536_000).contains(&(n * seconds)))
}

/// Returns true for a hash of crypt(3): `$6$salt$hash`.
pub fn is_hash(text: &str) -> bool {
    let mut parts = text.split('$');
    let known = parts.next() == Some("")
        && matches!(
            parts.next(),
            Some("1" | "5" | "6" | "y" | "2b" | "2y" | "2a")
        );
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'$' | b'.' | b'/' | b'=' | b',');
    known && text.len() <= 255 && text.len() >= 20 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_wireguard() {
        assert!(is_wireguard_key(
            "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
        ));
        // 43 digits say 258 bits: the last one has to end with two zeros.
        assert!(!is_wireguard_key(
            "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBml="
        ));
        assert!(!is_wireguard_key(
            "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBm="
        ));
        assert!(!is_wireguard_key(""));
    }

    #[test]
    fn times_and_ports() {
        assert!(is_lease("12h") && is_lease("120s") && is_lease("infinite"));
        assert!(is_lease("1w") && is_lease("43200") && is_lease("31536000"));
        assert!(!is_lease("119s") && !is_lease("h") && !is_lease("") && !is_lease("12"));
        assert!(!is_lease("w") && !is_lease("53w") && !is_lease("12 h") && !is_lease("+200"));
        assert!(!is_lease("99999999h") && !is_lease("１２h"));
        assert_eq!(ports("80"), Some((80, 80)));
        assert_eq!(ports("6000-6010"), Some((6000, 6010)));
        for wrong in ["0", "65536", "10-1", "-5", "1-", "", "+80", "80-90-100"] {
            assert_eq!(ports(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_router_is_found_by() {
        let long = format!("{}.example", "a.".repeat(130));
        for good in [
            "",
            "linde.example",
            "roof-3",
            "3.example.org",
            "198.51.100.7",
            "2001:db8::7",
            "[2001:db8::7]",
            "xn--mller-kva.example",
        ] {
            assert!(is_endpoint(good), "{good}");
        }
        for wrong in [
            "vpn.example.org:1195",
            "-x",
            ".",
            "a..b",
            "a.",
            "::",
            "[::]",
            "256.1.1.1",
            "0.0.0.0",
            "[2001:db8::7]:1194",
            "[198.51.100.7]",
            "[linde.example]",
            "[2001:db8::7",
            "224.0.0.1",
            "ff02::1",
            "1.2.3",
            "a b",
            "a_b",
            "ü.example",
            &long,
        ] {
            assert!(!is_endpoint(wrong), "{wrong}");
        }
    }

    #[test]
    fn names_and_addresses() {
        assert!(is_host_name("roof-3") && is_host_name("3com"));
        assert!(
            is_quotable("Zur Linde: 'Küche' #1 {$x}") && !is_quotable("a\\") && !is_quotable("\"")
        );
        for wrong in ["", "-a", "a-", "a.b", "ü", "12", "a b", &"a".repeat(64)] {
            assert!(!is_host_name(wrong), "{wrong}");
        }
        assert!(is_mac("02:00:5e:10:00:01"));
        for wrong in [
            "ff:ff:ff:ff:ff:ff",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "02-00",
        ] {
            assert!(!is_mac(wrong), "{wrong}");
        }
    }
}
