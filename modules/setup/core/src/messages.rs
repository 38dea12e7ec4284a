//! Requests and answers of `/v1/setup`: the router's configuration and its changes.

use crate::choices::Choices;
pub use crate::plan::ports::{
    Found as SetupPortUplink, Kind as SetupUplinkKind, PortUse as SetupPortUse, Used as SetupUse,
    Wish as SetupPortWish,
};
use crate::plan::{Problem, Radio, Sentence};
use serde::{Deserialize, Serialize};

/// What differs between the files and what waits to be put into them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDifference {
    /// Each line, in the order of the files.
    pub lines: Vec<SetupLine>,
}

/// An option, list element or section that is there only before a change, or only after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupLine {
    /// Whether it is there after the change; else before it.
    pub added: bool,
    /// What: `network.lan.proto`, `firewall.@rule[3]`.
    pub address: String,
    /// Its value in apostrophes, or a section's type. Secrets are not told.
    pub value: String,
    /// Whether the value is an element of a list.
    pub list: bool,
}

/// What waits to be confirmed, and what was changed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStates {
    /// The change that is made, and not confirmed yet.
    pub pending: Option<SetupChange>,
    /// The change that was taken back last, where none was confirmed since.
    #[serde(default)]
    pub undone: Option<SetupChange>,
    /// How far the router gets, while a change waits.
    #[serde(default)]
    pub reach: Option<SetupReach>,
    /// Confirmed changes, the newest first.
    pub states: Vec<SetupChange>,
}

/// How far the router gets towards the Internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupReach {
    /// How far.
    pub way: SetupWay,
    /// Who does not answer.
    pub whom: Option<String>,
    /// The same in English.
    pub says: String,
}

/// How far the router gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupWay {
    /// All the way: a server of names tells what only the Internet knows.
    Reached,
    /// There is no default route.
    NoRoute,
    /// The gateway does not answer.
    NoGateway,
    /// No server of names does.
    NoNames,
}

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupChange {
    /// Its number.
    pub number: u64,
    /// What it is for.
    pub why: String,
    /// Who made it.
    pub who: String,
    /// When, in seconds since 1970.
    pub when: u64,
    /// Seconds that are left to confirm it; `None` of one that is confirmed.
    pub left: Option<u64>,
    /// The files.
    pub files: Vec<String>,
    /// What differs, a line each.
    pub lines: Vec<String>,
}

/// A router as the wizard finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRouter {
    /// Its system.
    pub release: SetupRelease,
    /// What it is: `TP-Link Archer C7 v5`.
    pub model: Option<String>,
    /// Its radios.
    pub radios: Vec<Radio>,
    /// Devices that a cable is plugged into.
    pub ports: Vec<String>,
    /// What is decided already. Secrets are left out.
    pub choices: Choices,
    /// Secrets that are set, by their fields: `wifi.networks[0].key`. One that a request leaves out
    /// stays as it is.
    pub kept: Vec<String>,
    /// What waits to be confirmed.
    pub pending: Option<SetupChange>,
    /// The change that was taken back last, where none was confirmed since.
    #[serde(default)]
    pub undone: Option<SetupChange>,
    /// How far the router gets, while a change waits, and where it has an uplink.
    #[serde(default)]
    pub reach: Option<SetupReach>,
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
    /// Whether the wizard knows what it takes; else it shows what it would do, and does nothing.
    pub known: bool,
}

/// What is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupChoices {
    /// All that is decided.
    pub choices: Choices,
    /// What the change is for.
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

/// What choices come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupPlan {
    /// What is wrong. Nothing is done while anything is.
    pub problems: Vec<Problem>,
    /// What would change, line by line.
    pub lines: Vec<SetupLine>,
    /// The same for people.
    pub sentences: Vec<Sentence>,
    /// How good the administrator's new password is.
    pub strength: Option<SetupStrength>,
    /// Where the router would be found, where that changes.
    pub address: Option<String>,
}

/// Strength of a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupStrength {
    /// 0: at once; 4: never.
    pub score: u8,
    /// Its weakness, in a sentence.
    pub warning: Option<String>,
    /// Advice that would make it stronger.
    pub suggestions: Vec<String>,
}

/// A change that was made, or taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDone {
    /// It.
    pub change: SetupChange,
    /// Where the router is found from now on, where that changed.
    #[serde(default)]
    pub address: Option<String>,
    /// What is told this once: files of clients.
    #[serde(default)]
    pub once: Vec<SetupClient>,
}

/// A client's file, with a key that nobody else has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupClient {
    /// Whose.
    pub name: String,
    /// What it comes in by.
    pub tunnel: SetupTunnel,
    /// The file.
    pub file: String,
    /// The same as a QR code, where a telephone could read it.
    pub qr: Option<answers::QrPicture>,
}

/// What a client comes in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupTunnel {
    /// WireGuard: the file is one of wg-quick(8).
    WireGuard,
    /// OpenVPN: the file is `.ovpn`, all in one.
    OpenVpn,
}

/// What another node needs to join this one's mesh: a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupJoin {
    /// A document for `weir setup import`, or for the wizard.
    pub document: String,
    /// The same as a QR code.
    pub qr: answers::QrPicture,
}

/// A document, to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupDocument {
    /// As `weir setup export` writes it.
    pub document: String,
}

impl api::Body for SetupDocument {
    const EXPECTED: &'static str = "a JSON object with \"document\"";
}

/// What is to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupConfirm {
    /// The change that was looked at: if it is another that waits, nothing is kept. None: whichever
    /// waits.
    pub number: Option<u64>,
    /// When that was made, as numbers begin anew where what was noted of them is lost.
    pub when: Option<u64>,
}

impl api::Body for SetupConfirm {
    const EXPECTED: &'static str = "no body, or a JSON object with \"number\" and \"when\"";
}

/// What is to be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupRevert {
    /// A confirmed change: the configuration becomes what it was before. None: the change that
    /// waits.
    pub number: Option<u64>,
    /// Without a number: only if it is this one that waits.
    pub waiting: Option<u64>,
}

impl api::Body for SetupRevert {
    const EXPECTED: &'static str = "no body, or a JSON object with \"number\" or \"waiting\"";
}

/// What each port is used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupPorts {
    /// The router's system, in small letters: `openwrt`, `libremesh`, `debian`.
    pub system: String,
    /// The ports that the configuration uses or the router has, in the order of their names.
    pub ports: Vec<SetupPortUse>,
}

/// What ports are to be used for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupPortsWish {
    /// Each port that is to change, and what to.
    pub ports: Vec<SetupPortWish>,
    /// What the change is for.
    #[serde(default)]
    pub why: String,
    /// Seconds in which it has to be confirmed.
    #[serde(default)]
    pub within: Option<u64>,
}

impl api::Body for SetupPortsWish {
    const EXPECTED: &'static str =
        "a JSON object with \"ports\", and \"why\" and \"within\" where they matter";
}
