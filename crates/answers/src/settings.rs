//! The configuration as the daemon uses it.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/config`: the effective configuration, every key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// One entry a key, in the order of the manual.
    pub entries: Vec<ConfigEntry>,
}

/// One key of the effective configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigEntry {
    /// Dotted name: `offload.reprove`.
    pub key: String,
    /// Value, of the type it has in the file; `null` where it is not set and has no default.
    pub value: serde_json::Value,
    /// Where it was set: `default`, `command line`, or `FILE:LINE`.
    pub origin: String,
}

/// Answer to `POST /v1/reload`: what became of it. A reload takes effect as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Keys whose value changed, or will.
    pub changed: Vec<ConfigChange>,
}

/// One key that a reload changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// Dotted name.
    pub key: String,
    /// Value that ran until now.
    pub from: serde_json::Value,
    /// Value in the file.
    pub to: serde_json::Value,
    /// It was read, but takes effect only when the daemon is started again.
    #[serde(default)]
    pub after_restart: bool,
}
