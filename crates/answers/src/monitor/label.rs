//! What people say of a device.

use serde::{Deserialize, Serialize};

/// What `POST /v1/devices/{mac}/label` is told. What is not there stays as it is; an empty text
/// takes away what was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceLabel {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it is: `phone`, `tv`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

impl api::Body for DeviceLabel {
    const EXPECTED: &'static str = "a JSON object with \"name\", \"owner\" or \"icon\"";
}

/// What people say of a device, from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLabelled {
    /// Its hardware address.
    pub mac: String,
    /// What it is called; null where nobody said.
    pub name: Option<String>,
    /// Whose it is.
    pub owner: Option<String>,
    /// What it is.
    pub icon: Option<String>,
    /// What of these the configuration says.
    pub configured: Vec<String>,
}
