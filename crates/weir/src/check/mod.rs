//! What this machine can do, and what stands in the way: the report of `weir check`.

mod collect;
mod print;

use api::Hook;
use serde::{Deserialize, Serialize};

pub use collect::collect;

/// The report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Of the kernel.
    pub features: Vec<Feature>,
    /// That weir looked at.
    pub devices: Vec<Device>,
    /// Of the firewall: rules that weir leaves flows to the kernel for.
    pub firewall: Vec<Finding>,
}

/// Something the kernel has, or has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Name, in the kernel's words.
    pub name: String,
    /// First kernel version that has it: `5.15`.
    pub min_version: String,
    /// It is here.
    pub present: bool,
    /// Weir cannot do without it.
    pub required: bool,
    /// What weir does with it, one sentence.
    pub why_needed: String,
    /// What to do where it is missing; `None` where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// A device, and what weir would do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Where packets would be taken; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Why there, or why nowhere: one sentence.
    pub why: String,
    /// What would make it better, where something would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// Something in the firewall that must see each packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where: `table inet filter, chain forward, handle 7`.
    pub place: String,
    /// What, and what it means for weir: one sentence.
    pub what: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl CheckReport {
    /// Weir can work here: nothing that it cannot do without is missing, and there is a device to work on. Findings do not
    /// count: what they concern stays with the kernel, and the rest is forwarded.
    pub fn usable(&self) -> bool {
        self.features
            .iter()
            .all(|feature| feature.present || !feature.required)
            && self.devices.iter().any(|device| device.hook.is_some())
    }
}
