//! Detection of the uplink: evidence and suggestion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Findings at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupUplink {
    /// The port.
    pub port: String,
    /// Evidence, in the order of arrival.
    pub evidence: Vec<SetupEvidence>,
    /// Suggestion that follows from the evidence.
    pub suggestion: SetupSuggestion,
}

/// A detection at the uplink, running or finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDetection {
    /// True while the detection runs.
    pub running: bool,
    /// The port.
    pub port: String,
    /// Evidence so far, in the order of arrival.
    pub evidence: Vec<SetupEvidence>,
    /// Suggestion, when the detection is over.
    pub suggestion: Option<SetupSuggestion>,
    /// Reason for failure, and advice.
    pub failed: Option<String>,
}

/// Port to examine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupPort {
    /// The device; none: the configuration's uplink.
    pub port: Option<String>,
}

impl api::Body for SetupPort {
    const EXPECTED: &'static str = "no body, or a JSON object with \"port\"";
}

/// An observation at the port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupEvidence {
    /// Kind: `link`, `no-link`, `in-use`, `dhcp`, `dhcpv6`, `router`, `pppoe`, `vlan`, `arp`,
    /// `ndp`, `loop`, `itself`, `captive`, `ipv6-only`, `nat64`, `ds-lite`, `shared`, `conflict`,
    /// `overlap`.
    pub kind: String,
    /// VLAN; `None`: untagged.
    pub vlan: Option<u16>,
    /// Milliseconds after the start.
    pub after: u64,
    /// Values of the observation, by name.
    pub fields: BTreeMap<String, Vec<String>>,
    /// The observation as a sentence, without a full stop.
    pub text: String,
}

/// Suggested Internet access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupSuggestion {
    /// Kind of access.
    pub internet: SetupInternet,
    /// VLAN; `None`: untagged.
    pub vlan: Option<u16>,
    /// Details of the access.
    pub details: SetupDetails,
    /// Another network for the LAN, if needed.
    pub lan: Option<SetupLan>,
    /// Reasons, in sentences.
    pub why: Vec<String>,
    /// True if no evidence contradicts the suggestion.
    pub confident: bool,
    /// Open questions, in sentences.
    pub open_questions: Vec<String>,
}

/// Kind of Internet access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupInternet {
    /// By DHCP.
    Dhcp,
    /// By known addresses.
    Static,
    /// By PPPoE.
    Pppoe,
    /// By IPv6 alone.
    #[serde(rename = "dhcpv6-only")]
    Ipv6Only,
    /// No access was found.
    None,
}

/// Details of an Internet access.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDetails {
    /// Named PPPoE services.
    pub services: Vec<String>,
    /// Names of the PPPoE access concentrators.
    pub concentrators: Vec<String>,
    /// Addresses of servers that answered.
    pub servers: Vec<String>,
    /// Offered addresses; on a network without a server, addresses in use.
    pub addresses: Vec<String>,
    /// IPv4 network.
    pub network: Option<String>,
    /// The router; a guess if there is no server.
    pub gateway: Option<String>,
    /// Name servers; a guess if there is no server.
    pub dns: Vec<String>,
    /// IPv6 prefixes that routers advertise.
    pub prefixes: Vec<String>,
    /// IPv6 prefixes that are offered for the LAN.
    pub delegated: Vec<String>,
    /// True if IPv6 is available.
    pub ipv6: bool,
    /// Remote end of a DS-Lite tunnel.
    pub aftr: Option<String>,
    /// Other ways to share an IPv4 address: `MAP-E`, `MAP-T`, `lightweight 4over6`.
    pub shared: Vec<String>,
    /// NAT64 prefix.
    pub nat64: Option<String>,
    /// Address of a captive portal.
    pub portal: Option<String>,
}

/// A replacement network for the LAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupLan {
    /// Network that the LAN and the uplink share.
    pub former: String,
    /// Network that overlaps nothing observed; `None`: none found.
    pub network: Option<String>,
    /// Reason for the change.
    pub why: String,
}
