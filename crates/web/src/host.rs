//! Host names in requests: pure. An attacker's page can point its own name at this router (DNS
//! rebinding), and would then be same-origin; but its requests carry that name.

use std::net::IpAddr;

/// Host and port of a `Host` header or of an origin (RFC 3986 section 3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Name or address.
    pub host: Host,
    /// Port, if given.
    pub port: Option<u16>,
}

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address literal.
    Address(IpAddr),
    /// A name, in lower case, without the dot at its end.
    Name(String),
}

impl Authority {
    /// Parses `name`, `name:port`, `192.0.2.1:port` or `[2001:db8::1]:port`. `None` for anything
    /// else, user names included.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (literal, port) = rest.split_once(']')?;
                (
                    Host::Address(IpAddr::V6(literal.parse().ok()?).to_canonical()),
                    port,
                )
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let (name, port) = text.split_at(end);
                (Host::parse(name)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            // `u16` would read a plus sign too.
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { host, port })
    }
}

impl Host {
    /// Parses a name or an address without brackets.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > 253 || !name.bytes().all(plain) {
            return None;
        }
        Some(Self::Name(name.to_ascii_lowercase()))
    }

    /// Returns true if the host means the machine that the browser runs on, whatever DNS says (RFC
    /// 6761 section 6.3).
    pub fn is_local(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost",
        }
    }
}

/// Host names that the server accepts.
pub struct AcceptedHosts(Vec<Host>);

impl AcceptedHosts {
    /// Takes the configured hosts; entries that are neither name nor address are left out.
    pub fn new<'a>(configured: impl IntoIterator<Item = &'a str>) -> Self {
        let parse = |text: &str| match Authority::parse(text) {
            Some(authority) => Some(authority.host),
            // An IPv6 address without brackets.
            None => Host::parse(text),
        };
        Self(configured.into_iter().filter_map(parse).collect())
    }

    /// Returns true if a client that connected to the address `local` may use this host name.
    pub fn admit(&self, host: &Host, local: IpAddr) -> bool {
        host.is_local() || *host == Host::Address(local.to_canonical()) || self.0.contains(host)
    }
}

/// Returns true if an `Origin` (RFC 6454 section 7) is that of the page at `own`. Without TLS here,
/// a reverse proxy may speak TLS, so both schemes match; over TLS only `https` does.
pub fn same_origin(origin: &str, own: &Authority, tls: bool) -> bool {
    let (authority, default) = match origin.split_once("://") {
        Some(("https", authority)) => (authority, 443),
        Some(("http", authority)) if !tls => (authority, 80),
        _ => return false,
    };
    Authority::parse(authority).is_some_and(|theirs| {
        theirs.host == own.host && theirs.port.unwrap_or(default) == own.port.unwrap_or(default)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn authority(text: &str) -> Authority {
        Authority::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn reads_hosts() {
        let address = |text: &str| Host::Address(text.parse().expect("an address"));
        for (text, host, port) in [
            ("localhost", Host::Name("localhost".into()), None),
            (
                "Router.LAN.:8443",
                Host::Name("router.lan".into()),
                Some(8443),
            ),
            ("192.0.2.1", address("192.0.2.1"), None),
            ("192.0.2.1:80", address("192.0.2.1"), Some(80)),
            ("[2001:db8::1]:80", address("2001:db8::1"), Some(80)),
            ("[::ffff:192.0.2.1]", address("192.0.2.1"), None),
        ] {
            assert_eq!(authority(text), Authority { host, port }, "{text}");
        }
        for wrong in [
            "",
            ":80",
            "a:",
            "a:+1",
            "a:65536",
            "a:80:80",
            "user@a",
            "a/b",
            "[::1",
            "[::1]x",
            "[a]",
            "[192.0.2.1]",
            "::1",
            "a b",
            "a\u{0}",
            "ä",
            "a,b",
            ".",
            "a..b\n",
            "[fe80::1%eth0]",
        ] {
            assert_eq!(Authority::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn admits_its_own_and_what_was_configured() {
        let hosts = AcceptedHosts::new([
            "router.lan",
            "Weir.example.",
            "2001:db8::7",
            "[2001:db8::8]",
            "not a name",
        ]);
        let local: IpAddr = "192.168.1.1".parse().expect("an address");
        for fine in [
            "localhost:9347",
            "LOCALHOST",
            "127.0.0.1:1",
            "[::1]",
            "192.168.1.1:8443",
            "router.lan",
            "ROUTER.lan.:8443",
            "weir.example",
            "[2001:db8::7]",
            "[2001:db8::8]:1",
        ] {
            assert!(hosts.admit(&authority(fine).host, local), "{fine}");
        }
        for other in [
            "evil.example",
            "router.lan.evil.example",
            "localhost.evil.example",
            "xlocalhost",
            "192.168.1.2",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "2130706433",
            "not",
        ] {
            assert!(!hosts.admit(&authority(other).host, local), "{other}");
        }
    }

    #[test]
    fn origins() {
        for (origin, own, tls, same) in [
            ("http://localhost:9347", "localhost:9347", false, true),
            ("http://localhost:9347", "127.0.0.1:9347", false, false),
            ("http://router.lan", "router.lan", false, true),
            ("http://router.lan", "router.lan:80", false, true),
            ("https://router.lan", "router.lan", false, true),
            ("https://router.lan", "router.lan:443", true, true),
            ("https://router.lan:8443", "router.lan", true, false),
            ("http://router.lan", "router.lan", true, false),
            ("http://[::1]:9347", "[::1]:9347", false, true),
            ("null", "localhost", false, false),
            ("", "localhost", false, false),
            ("file://", "localhost", false, false),
            ("http://evil.example", "localhost", false, false),
            ("http://localhost:9347/", "localhost:9347", false, false),
            (
                "http://localhost:9347@evil.example",
                "localhost:9347",
                false,
                false,
            ),
            ("HTTP://localhost", "localhost", false, false),
        ] {
            assert_eq!(
                same_origin(origin, &authority(own), tls),
                same,
                "{origin} {own} {tls}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = Authority::parse(&text);
            let own = Authority { host: Host::Name("localhost".into()), port: None };
            let _ = same_origin(&text, &own, false);
            let _ = AcceptedHosts::new([text.as_str()]);
        }

        #[test]
        fn another_name_is_never_admitted(text in "[a-z0-9.:\\[\\]-]{1,40}") {
            let local = IpAddr::from([192, 168, 1, 1]);
            if let Some(authority) = Authority::parse(&text) {
                let own = authority.host.is_local() || authority.host == Host::Address(local);
                prop_assert_eq!(AcceptedHosts::new([]).admit(&authority.host, local), own);
            }
        }
    }
}
