//! Requests and answers of `/v1/greeting`.

use api::Body;
use serde::{Deserialize, Serialize};

/// `GET /v1/greeting`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Who is greeted.
    pub whom: String,
    /// How often somebody was greeted.
    pub greeted: u64,
    /// Devices that there are, or were told of anew.
    pub devices: u64,
    /// Seconds that went by.
    pub seconds: u64,
    /// Turns that it had.
    pub turns: u64,
    /// Whether its own work was begun.
    pub works: bool,
}

/// `POST /v1/greeting`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greet {
    /// How often.
    pub times: u64,
}

impl Body for Greet {
    const EXPECTED: &'static str = "a JSON object with \"times\"";
}
