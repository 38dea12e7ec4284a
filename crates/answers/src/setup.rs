//! The router's configuration: what changes, and what changed.

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
    /// Confirmed changes, the newest first.
    pub states: Vec<SetupChange>,
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
