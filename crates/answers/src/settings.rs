//! The configuration as the daemon uses it.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/config`: the effective configuration, every key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The entries, one per key, in the order of the manual.
    pub entries: Vec<ConfigEntry>,
}

/// A key of the effective configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigEntry {
    /// Dotted name: `offload.reprove`.
    pub key: String,
    /// Value, of the type in the file; `null` if the key is not set and has no default.
    pub value: serde_json::Value,
    /// Origin of the value: `default`, `command line`, or `FILE:LINE`.
    pub origin: String,
}

/// Answer to `POST /v1/reload`. A reload takes effect as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Keys with a changed value, now or after a restart.
    pub changed: Vec<ConfigChange>,
}

/// A key that a reload changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// Dotted name.
    pub key: String,
    /// Old value.
    pub from: serde_json::Value,
    /// New value, from the file.
    pub to: serde_json::Value,
    /// True if the value takes effect only when the daemon restarts.
    #[serde(default)]
    pub after_restart: bool,
}
