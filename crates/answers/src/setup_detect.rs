//! What is at the uplink: what was heard, and what follows from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was found at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupUplink {
    /// The port.
    pub port: String,
    /// What was heard, in its order.
    pub evidence: Vec<SetupEvidence>,
    /// What follows from it.
    pub suggestion: SetupSuggestion,
}

/// A look at the uplink that goes on, or is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDetection {
    /// Whether it goes on.
    pub running: bool,
    /// The port.
    pub port: String,
    /// What was heard so far, in its order.
    pub evidence: Vec<SetupEvidence>,
    /// What follows from it, when it is over.
    pub suggestion: Option<SetupSuggestion>,
    /// Why it could not be done, and what to do.
    pub failed: Option<String>,
}

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupPort {
    /// The device; none: that of the configuration's uplink.
    pub port: Option<String>,
}

impl api::Body for SetupPort {
    const EXPECTED: &'static str = "no body, or a JSON object with \"port\"";
}

/// Something that was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupEvidence {
    /// A word: `link`, `no-link`, `in-use`, `dhcp`, `dhcpv6`, `router`, `pppoe`, `vlan`, `arp`,
    /// `ndp`, `loop`, `itself`, `captive`, `ipv6-only`, `nat64`, `ds-lite`, `shared`, `conflict`,
    /// `overlap`.
    pub kind: String,
    /// In which VLAN; `None`: without a tag.
    pub vlan: Option<u16>,
    /// Milliseconds after the start.
    pub after: u64,
    /// What it says, by name.
    pub fields: BTreeMap<String, Vec<String>>,
    /// The same as a sentence, without a full stop.
    pub text: String,
}

/// How the router is to reach the Internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupSuggestion {
    /// How.
    pub internet: SetupInternet,
    /// In which VLAN; `None`: without a tag.
    pub vlan: Option<u16>,
    /// What was learned of it.
    pub details: SetupDetails,
    /// Another network for the LAN, where it has to have one.
    pub lan: Option<SetupLan>,
    /// Why, in sentences.
    pub why: Vec<String>,
    /// Whether nothing speaks against it.
    pub sure: bool,
    /// What could not be told, in sentences.
    pub untold: Vec<String>,
}

/// A way to the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupInternet {
    /// By DHCP.
    Dhcp,
    /// Of addresses that are known.
    Static,
    /// By PPPoE.
    Pppoe,
    /// By IPv6 alone.
    #[serde(rename = "dhcpv6-only")]
    Ipv6Only,
    /// None was found.
    None,
}

/// What was learned of a way to the Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDetails {
    /// Services of PPPoE that have a name.
    pub services: Vec<String>,
    /// Names of who terminates PPPoE.
    pub concentrators: Vec<String>,
    /// Addresses of servers that answered.
    pub servers: Vec<String>,
    /// Addresses that are offered; of a network without a server, those in use.
    pub addresses: Vec<String>,
    /// The network of IPv4.
    pub network: Option<String>,
    /// The router; a guess where there is no server.
    pub gateway: Option<String>,
    /// Name servers; a guess where there is no server.
    pub dns: Vec<String>,
    /// Prefixes of IPv6 that routers advertise.
    pub prefixes: Vec<String>,
    /// Prefixes of IPv6 that are offered for the LAN.
    pub delegated: Vec<String>,
    /// Whether IPv6 is there.
    pub ipv6: bool,
    /// The far end of a DS-Lite tunnel.
    pub aftr: Option<String>,
    /// Other ways to share an IPv4 address: `MAP-E`, `MAP-T`, `lightweight 4over6`.
    pub shared: Vec<String>,
    /// The prefix of NAT64.
    pub nat64: Option<String>,
    /// Where a captive portal is.
    pub portal: Option<String>,
}

/// Another network for the LAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupLan {
    /// The one that the uplink has, too.
    pub former: String,
    /// One that overlaps nothing that was heard; `None`: there is none.
    pub network: Option<String>,
    /// Why.
    pub why: String,
}
