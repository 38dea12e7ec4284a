//! Evidence in its output form: a word, fields, a sentence.

use std::collections::BTreeMap;
use std::fmt;

/// Kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The port has a link.
    Link,
    /// The port has no link.
    NoLink,
    /// The port is in use already.
    InUse,
    /// A DHCP server offers an address.
    Dhcp,
    /// A DHCPv6 server offers addresses or prefixes.
    Dhcpv6,
    /// An IPv6 router advertises itself.
    Router,
    /// An access concentrator answers by PPPoE.
    Pppoe,
    /// Frames of a VLAN.
    Vlan,
    /// Stations query each other by ARP.
    Arp,
    /// Stations query each other by neighbour discovery.
    Ndp,
    /// Own frames come back.
    Loop,
    /// The cable leads to another port of this router.
    Itself,
    /// A captive portal announces its address (RFC 8910).
    Captive,
    /// A server asks clients to do without IPv4 (RFC 8925).
    Ipv6Only,
    /// IPv4 is reached by NAT64 (RFC 8781).
    Nat64,
    /// IPv4 comes in a tunnel of DS-Lite (RFC 6334).
    DsLite,
    /// IPv4 comes by MAP or lightweight 4over6 (RFC 7598).
    Shared,
    /// Servers contradict each other.
    Conflict,
    /// The network overlaps one of this router's own.
    Overlap,
}

impl Kind {
    /// Returns the word for the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::NoLink => "no-link",
            Self::InUse => "in-use",
            Self::Dhcp => "dhcp",
            Self::Dhcpv6 => "dhcpv6",
            Self::Router => "router",
            Self::Pppoe => "pppoe",
            Self::Vlan => "vlan",
            Self::Arp => "arp",
            Self::Ndp => "ndp",
            Self::Loop => "loop",
            Self::Itself => "itself",
            Self::Captive => "captive",
            Self::Ipv6Only => "ipv6-only",
            Self::Nat64 => "nat64",
            Self::DsLite => "ds-lite",
            Self::Shared => "shared",
            Self::Conflict => "conflict",
            Self::Overlap => "overlap",
        }
    }
}

/// Values by field name.
pub type Fields = BTreeMap<&'static str, Vec<String>>;

/// An observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Kind of evidence.
    pub kind: Kind,
    /// VLAN; `None`: untagged.
    pub vlan: Option<u16>,
    /// Milliseconds after the start.
    pub after: u64,
    /// Fields of the observation.
    pub fields: Fields,
    /// The observation as a sentence without a full stop.
    pub text: String,
}

/// Returns a field with its values as text.
pub fn field<T: fmt::Display>(
    name: &'static str,
    values: impl IntoIterator<Item = T>,
) -> (&'static str, Vec<String>) {
    let values = values.into_iter().map(|value| value.to_string());
    (name, values.collect())
}

/// Collects fields; empty ones are left out.
pub fn fields<const N: usize>(all: [(&'static str, Vec<String>); N]) -> Fields {
    all.into_iter()
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// Returns `a, b and c`.
pub fn listed<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    let mut all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    match all.pop() {
        None => String::new(),
        Some(last) if all.is_empty() => last,
        Some(last) => format!("{} and {last}", all.join(", ")),
    }
}
