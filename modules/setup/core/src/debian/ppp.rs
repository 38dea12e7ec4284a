//! A peer of pppd (pppd(8)).
//!
//! User and password are in the peer's own file, which only root can read, and not in
//! `chap-secrets`, which is the administrator's.

use super::reader::Reader;
use super::value;

/// Content of `/etc/ppp/peers/weir-NAME`.
pub struct Peer {
    pub text: String,
    /// True if the other side provides name servers.
    pub names: bool,
}

const TEXT: &str = "at most 255 printable characters of ASCII";

/// Renders the file of an interface `proto pppoe`.
pub fn render(reader: &Reader<'_>, device: &str, lower: &str) -> Peer {
    let mut text = String::new();
    line!(text, "plugin pppoe.so");
    line!(text, "nic-{lower}");
    line!(text, "ifname {device}");
    let text_of = |option: &str| reader.one(option, value::quoted, TEXT);
    for (option, key) in [
        ("username", "user"),
        ("password", "password"),
        ("service", "pppoe-service"),
        ("ac", "pppoe-ac"),
    ] {
        if let Some(word) = text_of(option) {
            line!(text, "{key} {word}");
        }
    }
    for option in ["username", "password"] {
        if !reader.has(option) {
            reader.fault(option, format!("what the provider gave: {TEXT}"));
        }
    }
    let names = reader.flag("peerdns", true);
    line!(
        text,
        "hide-password\nnoauth\nnoipdefault\npersist\nmaxfail 0\nnodetach"
    );
    if reader.flag("defaultroute", true) {
        line!(text, "defaultroute");
    }
    if names {
        line!(text, "usepeerdns");
    }
    // RFC 2516, 7: of Ethernet's 1500 bytes PPPoE takes 8.
    let mtu = reader.number("mtu", 128..=1500).unwrap_or(1492);
    line!(text, "mtu {mtu}\nmru {mtu}");
    // Failures and the interval of echo requests; the defaults are netifd's.
    let alive = |text: &str| {
        let mut numbers = text.split([' ', ',']).filter(|word| !word.is_empty());
        let failures = value::number(0..=1000)(numbers.next()?)?;
        let interval = numbers.next().map_or(Some(5), value::number(1..=1000))?;
        Some((failures, interval))
    };
    let alive = reader.one(
        "keepalive",
        alive,
        "failures, and seconds between them: 5 1",
    );
    let (failures, interval) = alive.unwrap_or((5, 1));
    line!(
        text,
        "lcp-echo-interval {interval}\nlcp-echo-failure {failures}"
    );
    let word = |text: &str| {
        (text == "auto")
            .then_some(true)
            .or_else(|| value::flag(text))
    };
    if reader.one("ipv6", word, "auto, 0 or 1").unwrap_or(true) {
        line!(text, "+ipv6");
    }
    Peer { text, names }
}
