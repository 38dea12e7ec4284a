//! What was heard, as it is told: a word, figures, a sentence.

use std::collections::BTreeMap;
use std::fmt;

/// What kind of thing was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The port has a link.
    Link,
    /// It has none.
    NoLink,
    /// It is in use already.
    InUse,
    /// A server of DHCP offers an address.
    Dhcp,
    /// A server of DHCPv6 offers addresses or prefixes.
    Dhcpv6,
    /// A router of IPv6 advertises itself.
    Router,
    /// Somebody terminates PPPoE.
    Pppoe,
    /// Frames of a VLAN.
    Vlan,
    /// Stations ask for each other by ARP.
    Arp,
    /// Stations ask for each other by neighbour discovery.
    Ndp,
    /// Own frames come back.
    Loop,
    /// The cable leads to another port of this router.
    Itself,
    /// A captive portal says where it is (RFC 8910).
    Captive,
    /// IPv4 is better left alone (RFC 8925).
    Ipv6Only,
    /// IPv4 is reached by NAT64 (RFC 8781).
    Nat64,
    /// IPv4 comes in a tunnel of DS-Lite (RFC 6334).
    DsLite,
    /// IPv4 comes by MAP or lightweight 4over6 (RFC 7598).
    Shared,
    /// Servers say different things.
    Conflict,
    /// The network overlaps one of this router's own.
    Overlap,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
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

/// Figures by name.
pub type Fields = BTreeMap<&'static str, Vec<String>>;

/// Something that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What kind of thing.
    pub kind: Kind,
    /// In which VLAN; `None`: without a tag.
    pub vlan: Option<u16>,
    /// Milliseconds after the start.
    pub after: u64,
    /// What it says.
    pub fields: Fields,
    /// The same as a sentence without a full stop.
    pub text: String,
}

/// One figure.
pub fn field<T: fmt::Display>(
    name: &'static str,
    values: impl IntoIterator<Item = T>,
) -> (&'static str, Vec<String>) {
    let values = values.into_iter().map(|value| value.to_string());
    (name, values.collect())
}

/// Figures, without those that say nothing.
pub fn fields<const N: usize>(all: [(&'static str, Vec<String>); N]) -> Fields {
    all.into_iter()
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// `a, b and c`.
pub fn listed<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    let mut all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    match all.pop() {
        None => String::new(),
        Some(last) if all.is_empty() => last,
        Some(last) => format!("{} and {last}", all.join(", ")),
    }
}
