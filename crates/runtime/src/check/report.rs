//! The report of `weir check`, as types.

use answers::Hook;
use api::Client;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::Effective;

/// Looks for what a module needs of the machine with this configuration. The function may ask the
/// daemon, where one runs.
pub type Check = fn(&Effective, Option<&Client>) -> Result<Vec<Feature>, Error>;

/// The report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Version of the kernel, in its own words.
    pub kernel: String,
    /// A daemon runs in this network namespace: devices are as it has them.
    pub running: bool,
    /// Features of the kernel and around it.
    pub features: Vec<Feature>,
    /// All but the loopback device.
    pub devices: Vec<Device>,
    /// True if the rules could be read; otherwise they are unknown.
    pub ruleset_read: bool,
    /// Findings in the firewall: rules that must see each packet, and minor ones.
    pub firewall: Vec<Finding>,
}

/// Something the kernel or its surroundings have, or have not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Name, in the kernel's words.
    pub name: String,
    /// First kernel version that has it, `5.15`; absent where it does not come with the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<String>,
    /// True if the feature is present: weir tried it.
    pub present: bool,
    /// Weir cannot do without it.
    pub required: bool,
    /// Use that weir makes of the feature, one sentence.
    pub why_needed: String,
    /// Result of the probe: the kernel's answer, a value, or that the feature could not be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Remedy if the feature is missing; absent if it is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A device, and what weir would do with it, or does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Hook that would take packets; absent if none would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Why there, or why nowhere, and what that means for what leaves: one sentence.
    pub why: String,
    /// Possible improvement, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Names of the devices that it stands on: its packets are taken there, where those have a
    /// hook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_devices: Vec<String>,
    /// Names of the devices that stand on it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<String>,
    /// Further notes about the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Something about a part of a device's traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Content of the note, one sentence.
    pub what: String,
    /// Possible improvement, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Something in the firewall that weir's fast path would go past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Location: `inet filter forward, handle 7`.
    pub place: String,
    /// Finding, and its meaning for weir: one sentence.
    pub what: String,
    /// The statement itself, as `nft -j` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Only worth knowing: nothing goes wrong.
    pub noted: bool,
    /// Connections that the rule leaves to the kernel now; absent if no daemon runs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl CheckReport {
    /// Weir can work here: nothing that it cannot do without is missing, and there is a device to
    /// work on. Findings do not count: they are about single rules.
    pub fn usable(&self) -> bool {
        self.missing().next().is_none() && self.ports() > 0
    }

    /// Lists the required features that are missing.
    pub(super) fn missing(&self) -> impl Iterator<Item = &Feature> {
        self.features
            .iter()
            .filter(|feature| feature.required && !feature.present)
    }

    /// Devices that weir would work on.
    pub(super) fn ports(&self) -> usize {
        self.devices
            .iter()
            .filter(|device| device.hook.is_some())
            .count()
    }
}

/// A hint of another crate, where there is something to do.
pub(super) fn hint(text: &str) -> Option<String> {
    (!text.is_empty() && !text.starts_with("nothing to do")).then(|| text.to_owned())
}
