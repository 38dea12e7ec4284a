//! Conditions: everything that needs attention now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The router's clock, seconds since 1970-01-01 UTC.
    pub now: u64,
    /// The conditions, the gravest first.
    pub conditions: Vec<Condition>,
}

/// A state that needs attention for as long as it lasts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Stable name of the condition: its key, and its subject after a space.
    pub id: String,
    /// Severity.
    pub severity: Severity,
    /// Key of the text, which translations go by: `loop`, `uplink-down`.
    pub key: String,
    /// Values of the text, by name. Numbers are in full: bytes, bits a second, milliseconds,
    /// seconds since 1970.
    pub parameters: BTreeMap<String, String>,
    /// The text in English.
    pub text: String,
    /// Advice in English, where a part of weir gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Start of the condition, seconds since 1970-01-01 UTC.
    pub since: u64,
    /// Module that found the condition; `offload` for the packet path.
    pub module: String,
    /// View of the page that shows more: `devices`, `cables`.
    pub view: String,
    /// Device, port or part that the condition concerns; empty: the router.
    pub subject: String,
}

/// Severity of a condition.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not work for people of the network.
    Critical,
    /// Something is degraded, or will fail.
    #[default]
    Warning,
    /// Everything works; worth knowing.
    Hint,
}

impl Severity {
    /// Returns the word for the severity, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}
