//! Requests and answers of `/v1/setup`: the router's configuration and its changes.

use crate::choices::Choices;
pub use crate::plan::ports::{
    DetectedUplink as SetupPortUplink, PortAssignment as SetupPortUse,
    PortRequest as SetupPortRequest, PortRole as SetupUse, UplinkProtocol as SetupUplinkKind,
};
use crate::plan::{Problem, Radio, Sentence};
use serde::{Deserialize, Serialize};

/// Difference between the files and the changes that wait to be put into them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDifference {
    /// Lines, in the order of the files.
    pub lines: Vec<SetupLine>,
}

/// An option, list element or section that is there only before a change, or only after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupLine {
    /// True if the line exists after the change; otherwise before it.
    pub added: bool,
    /// Address of the option or section: `network.lan.proto`, `firewall.@rule[3]`.
    pub address: String,
    /// Value in apostrophes, or a section's type. Secrets are not shown.
    pub value: String,
    /// True if the value is an element of a list.
    pub list: bool,
}

/// The change that waits to be confirmed, and earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStates {
    /// The change that is made, and not confirmed yet.
    pub pending: Option<SetupChange>,
    /// Change that was undone last, if none was confirmed since.
    #[serde(default)]
    pub undone: Option<SetupChange>,
    /// Reachability of the Internet, while a change waits.
    #[serde(default)]
    pub reach: Option<SetupReachability>,
    /// Confirmed changes, the newest first.
    pub states: Vec<SetupChange>,
}

/// Reachability of the Internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupReachability {
    /// Result of the test.
    pub way: SetupReachResult,
    /// Gateway or server that does not answer.
    pub whom: Option<String>,
    /// Description in English.
    pub says: String,
}

/// Result of a test of the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupReachResult {
    /// The Internet is reachable: a name server answers a query that only the Internet can answer.
    Reached,
    /// No default route exists.
    NoRoute,
    /// The gateway does not answer.
    NoGateway,
    /// No name server answers.
    NoNames,
}

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupChange {
    /// Number of the change.
    pub number: u64,
    /// Purpose.
    pub why: String,
    /// Author.
    pub who: String,
    /// Time, in seconds since 1970.
    pub when: u64,
    /// Seconds that are left to confirm it; `None` if confirmed.
    pub left: Option<u64>,
    /// The files.
    pub files: Vec<String>,
    /// Differences, a line each.
    pub lines: Vec<String>,
}

/// A router as the wizard finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRouter {
    /// Operating system.
    pub release: SetupRelease,
    /// Model: `TP-Link Archer C7 v5`.
    pub model: Option<String>,
    /// Radios of the router.
    pub radios: Vec<Radio>,
    /// Devices with a connector for a cable.
    pub ports: Vec<String>,
    /// Present choices, without secrets.
    pub choices: Choices,
    /// Secrets that are set, by their fields: `wifi.networks[0].key`. Secrets that a request leaves
    /// out stay as they are.
    pub kept: Vec<String>,
    /// Change that waits to be confirmed.
    pub pending: Option<SetupChange>,
    /// Change that was undone last, if none was confirmed since.
    #[serde(default)]
    pub undone: Option<SetupChange>,
    /// Reachability of the Internet, while a change waits, if there is an uplink.
    #[serde(default)]
    pub reach: Option<SetupReachability>,
    /// Confirmed changes, the newest first.
    pub states: Vec<SetupChange>,
}

/// A router's system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRelease {
    /// `OpenWrt`, `Debian`.
    pub name: String,
    /// `24.10.1`.
    pub version: String,
    /// True if the wizard supports the system; otherwise it only shows the planned changes.
    pub known: bool,
}

/// Request to apply choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupChoices {
    /// All choices.
    pub choices: Choices,
    /// Purpose of the change.
    #[serde(default)]
    pub why: String,
    /// Seconds in which it has to be confirmed.
    #[serde(default)]
    pub within: Option<u64>,
}

impl api::Body for SetupChoices {
    const EXPECTED: &'static str =
        "a JSON object with \"choices\", and \"why\" and \"within\" where it is to be done";
}

/// Result of planning choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupPlan {
    /// Problems. Nothing is changed while there are any.
    pub problems: Vec<Problem>,
    /// Changes, line by line.
    pub lines: Vec<SetupLine>,
    /// Changes, for people.
    pub sentences: Vec<Sentence>,
    /// Strength of the administrator's new password.
    pub strength: Option<SetupStrength>,
    /// New address of the router, if that changes.
    pub address: Option<String>,
}

/// Strength of a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStrength {
    /// 0: guessed at once; 4: never.
    pub score: u8,
    /// Weakness of the password, in a sentence.
    pub warning: Option<String>,
    /// Advice that would make it stronger.
    pub suggestions: Vec<String>,
}

/// A change that was applied or undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupOutcome {
    /// The change.
    pub change: SetupChange,
    /// New address of the router, if that changed.
    #[serde(default)]
    pub address: Option<String>,
    /// Files of clients, shown only this once.
    #[serde(default)]
    pub once: Vec<SetupClientFile>,
}

/// Configuration file of a client, with the only copy of its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupClientFile {
    /// Owner of the device.
    pub name: String,
    /// Tunnel of the client.
    pub tunnel: SetupTunnel,
    /// The file.
    pub file: String,
    /// The file as a QR code, if a telephone could read it.
    pub qr: Option<answers::QrPicture>,
}

/// Kinds of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupTunnel {
    /// WireGuard: the file is one of wg-quick(8).
    WireGuard,
    /// OpenVPN: the file is `.ovpn`, all in one.
    OpenVpn,
}

/// Document that another node needs to join this one's mesh: a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupJoin {
    /// A document for `weir setup import`, or for the wizard.
    pub document: String,
    /// The document as a QR code.
    pub qr: answers::QrPicture,
}

/// A document to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupDocument {
    /// Text, as `weir setup export` writes it.
    pub document: String,
}

impl api::Body for SetupDocument {
    const EXPECTED: &'static str = "a JSON object with \"document\"";
}

/// Request to confirm a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupConfirm {
    /// Change that the user reviewed: if another one is pending, nothing is confirmed. `None`: the
    /// pending change.
    pub number: Option<u64>,
    /// Time of that change, as numbers restart if their record is lost.
    pub when: Option<u64>,
}

impl api::Body for SetupConfirm {
    const EXPECTED: &'static str = "no body, or a JSON object with \"number\" and \"when\"";
}

/// Request to take a change back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupRevert {
    /// A confirmed change: the configuration before it is restored. `None`: the pending change.
    pub number: Option<u64>,
    /// Without a number: only if this change waits.
    pub waiting: Option<u64>,
}

impl api::Body for SetupRevert {
    const EXPECTED: &'static str = "no body, or a JSON object with \"number\" or \"waiting\"";
}

/// Use of each port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupPorts {
    /// The router's system, in small letters: `openwrt`, `libremesh`, `debian`.
    pub system: String,
    /// The ports that the configuration uses or the router has, in the order of their names.
    pub ports: Vec<SetupPortUse>,
}

/// Request to change the use of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupPortsRequest {
    /// Ports that are to change, with their new uses.
    pub ports: Vec<SetupPortRequest>,
    /// Purpose of the change.
    #[serde(default)]
    pub why: String,
    /// Seconds in which it has to be confirmed.
    #[serde(default)]
    pub within: Option<u64>,
}

impl api::Body for SetupPortsRequest {
    const EXPECTED: &'static str =
        "a JSON object with \"ports\", and \"why\" and \"within\" where they matter";
}
