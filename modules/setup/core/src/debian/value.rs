//! Validation of values. Each function returns the value as written into a file, or `None` if it is
//! not valid: valid values contain neither line ends nor special characters of the file's syntax.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn made_of(text: &str, most: usize, more: &str) -> bool {
    (1..=most).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// Parses a network device: at most 15 bytes (`IFNAMSIZ`), without special characters of patterns
/// in systemd.network(5) or nft(8).
pub fn device(text: &str) -> Option<String> {
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (starts && made_of(text, 15, "_.-")).then(|| text.to_owned())
}

/// Parses a name of a section.
pub fn label(text: &str) -> Option<String> {
    made_of(text, 64, "_").then(|| text.to_owned())
}

/// Parses a name in the DNS, or a host's: RFC 1123, 2.1, and underscores.
pub fn domain(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let good =
        |label: &str| made_of(label, 63, "-_") && !label.starts_with('-') && !label.ends_with('-');
    (name.len() <= 253 && name.split('.').all(good)).then(|| name.to_owned())
}

/// Parses a single label of such a name.
pub fn host(text: &str) -> Option<String> {
    domain(text).filter(|name| !name.contains('.'))
}

/// Parses an address of either family.
pub fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// Parses an address of IPv4.
pub fn address4(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok()
}

/// An address with the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: IpAddr,
    pub length: u8,
}

impl Prefix {
    /// Returns the network of the address.
    pub fn network(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask(self.length)))
            }
            IpAddr::V6(address) => {
                let shift = 128 - u32::from(self.length);
                let mask = u128::MAX.checked_shl(shift).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
            }
        };
        Self { address, ..self }
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Returns a mask of IPv4 with `length` bits.
pub fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// Parses `255.255.255.0`, or `24`, as a length.
pub fn netmask(text: &str) -> Option<u8> {
    if let Ok(length) = text.parse::<u8>() {
        return (length <= 32).then_some(length);
    }
    let bits = u32::from(address4(text)?);
    let length = u8::try_from(bits.leading_ones()).ok()?;
    (mask(length) == bits).then_some(length)
}

/// Parses `192.168.1.1/24`, or an address alone: all of its bits.
pub fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        Some(length) if address.is_ipv4() => netmask(length)?,
        Some(length) => length.parse().ok()?,
        None => most,
    };
    (length <= most).then_some(Prefix { address, length })
}

/// Parses a MAC, and returns it in small letters.
pub fn mac(text: &str) -> Option<String> {
    macs(text).filter(|mac| !mac.contains('*'))
}

/// Parses a MAC, or several by `*` instead of any byte (dnsmasq(8), `--dhcp-host`).
pub fn macs(text: &str) -> Option<String> {
    let octets: Vec<&str> = text.split([':', '-']).collect();
    let digits = |octet: &str| octet.len() == 2 && octet.bytes().all(|c| c.is_ascii_hexdigit());
    let good = |octet: &&str| *octet == "*" || digits(octet);
    (octets.len() == 6 && octets.iter().all(good)).then(|| octets.join(":").to_ascii_lowercase())
}

/// Parses a tag of dnsmasq for clients.
pub fn tag(text: &str) -> Option<String> {
    made_of(text, 64, "_-").then(|| text.to_owned())
}

/// Parses a port, or several: `1000-2000`, `1000:2000`.
pub fn ports(text: &str) -> Option<String> {
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let port = |text: &str| match text.bytes().all(|c| c.is_ascii_digit()) {
        true => text.parse::<u16>().ok().filter(|&port| port > 0),
        false => None,
    };
    match (port(from)?, port(to)?) {
        (from, to) if from == to => Some(from.to_string()),
        (from, to) if from < to => Some(format!("{from}-{to}")),
        _ => None,
    }
}

/// Parses a key of WireGuard: 32 bytes in base64 (wg(8)).
pub fn key(text: &str) -> Option<String> {
    let body = text.strip_suffix('=')?;
    (body.len() == 43 && made_of(body, 43, "+/")).then(|| text.to_owned())
}

/// Returns true for printable ASCII of any length.
pub fn printable(text: &str) -> bool {
    text.bytes().all(|c| (0x20..=0x7e).contains(&c))
}

/// Quotes a word of pppd's options (pppd(8), "OPTIONS FILES").
pub fn quoted(text: &str) -> Option<String> {
    let good = (1..=255).contains(&text.len()) && printable(text);
    good.then(|| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// Parses a lease time (dnsmasq(8), `--dhcp-range`).
pub fn lease(text: &str) -> Option<String> {
    if text == "infinite" {
        return Some(text.to_owned());
    }
    let number = text.strip_suffix(['s', 'm', 'h', 'd', 'w']).unwrap_or(text);
    let digits = number.bytes().all(|c| c.is_ascii_digit());
    (digits && (1..=9).contains(&number.len())).then(|| text.to_owned())
}

/// Parses a zone of `/usr/share/zoneinfo`.
pub fn zone(text: &str) -> Option<String> {
    // OpenWrt writes spaces where the database has underscores.
    let name = text.replace(' ', "_");
    let good = |part: &str| made_of(part, 32, "_+-") && !part.starts_with('-');
    name.split('/').all(good).then_some(name)
}

/// Parses a number in these bounds.
pub fn number(bounds: std::ops::RangeInclusive<u64>) -> impl Fn(&str) -> Option<u64> {
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits)?;
        bounds.contains(&number).then_some(number)
    }
}

/// Parses a number of exactly `length` digits of base 16.
pub fn hexadecimal(text: &str, length: usize) -> Option<String> {
    let good = text.len() == length && text.bytes().all(|c| c.is_ascii_hexdigit());
    good.then(|| text.to_ascii_lowercase())
}

/// Parses a flag, in the words that OpenWrt's scripts accept.
pub fn flag(text: &str) -> Option<bool> {
    match text {
        "1" | "on" | "true" | "yes" | "enabled" => Some(true),
        "0" | "off" | "false" | "no" | "disabled" => Some(false),
        _ => None,
    }
}
