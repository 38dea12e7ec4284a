//! Requests and answers of `/v1/greeting`.

use api::Body;
use serde::{Deserialize, Serialize};

/// `GET /v1/greeting`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Name of the greeted.
    pub whom: String,
    /// Number of greetings.
    pub greeted: u64,
    /// Number of present or reported devices.
    pub devices: u64,
    /// Seconds since the start.
    pub seconds: u64,
    /// Number of turns.
    pub turns: u64,
    /// True once the module's own work has begun.
    pub works: bool,
}

/// `POST /v1/greeting`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greet {
    /// Number of greetings.
    pub times: u64,
}

impl Body for Greet {
    const EXPECTED: &'static str = "a JSON object with \"times\"";
}
