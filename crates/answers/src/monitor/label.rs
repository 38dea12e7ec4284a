//! Labels that administrators give to devices.

use serde::{Deserialize, Serialize};

/// Body of `POST /v1/devices/{mac}/label`. An absent field keeps its value; an empty text removes
/// the value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceLabel {
    /// Name of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Owner of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Kind of device: `phone`, `tv`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

impl api::Body for DeviceLabel {
    const EXPECTED: &'static str = "a JSON object with \"name\", \"owner\" or \"icon\"";
}

/// Labels of a device after the change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledDevice {
    /// Hardware address of the device.
    pub mac: String,
    /// Name of the device; null if nobody named it.
    pub name: Option<String>,
    /// Owner of the device.
    pub owner: Option<String>,
    /// Kind of device.
    pub icon: Option<String>,
    /// Fields that the configuration sets.
    pub configured: Vec<String>,
}
