//! The report of `weir check`, as types.

use answers::Hook;
use api::Client;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::Effective;

/// Check of a module's requirements on this machine, with this configuration. The function may
/// query a running daemon.
pub type Check = fn(&Effective, Option<&Client>) -> Result<Vec<Feature>, Error>;

/// The report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Version of the kernel, as the kernel reports it.
    pub kernel: String,
    /// True if a daemon runs in this network namespace: devices are as the daemon sees them.
    pub running: bool,
    /// Features of the kernel and around it.
    pub features: Vec<Feature>,
    /// All devices but loopback.
    pub devices: Vec<Device>,
    /// True if the rules could be read; otherwise they are unknown.
    pub ruleset_read: bool,
    /// Findings in the firewall: rules that must see each packet, and minor ones.
    pub firewall: Vec<Finding>,
}

/// A feature that the kernel or its surroundings have or lack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Name, in the kernel's words.
    pub name: String,
    /// First kernel version with the feature, `5.15`; absent if the feature is not part of the
    /// kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<String>,
    /// True if the feature is present: weir tried it.
    pub present: bool,
    /// True if weir needs the feature.
    pub required: bool,
    /// Weir's use of the feature, one sentence.
    pub why_needed: String,
    /// Result of the probe: the kernel's answer, a value, or that the feature could not be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Remedy if the feature is missing; absent if it is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A device, and what weir does or would do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Hook that would take packets; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Reason for the hook, or for no hook, and the effect on outgoing packets: one sentence.
    pub why: String,
    /// Possible improvement, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Names of the lower devices: packets of this device are taken there, if those have a hook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_devices: Vec<String>,
    /// Names of the upper devices, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<String>,
    /// Further notes about the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// A note about a part of a device's traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Content of the note, one sentence.
    pub what: String,
    /// Possible improvement, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A finding in the firewall that weir's fast path would bypass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Location: `inet filter forward, handle 7`.
    pub place: String,
    /// Finding, and its meaning for weir: one sentence.
    pub what: String,
    /// The statement itself, as `nft -j` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// True for a finding without harmful effect.
    pub noted: bool,
    /// Connections that the rule leaves to the kernel now; absent if no daemon runs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl CheckReport {
    /// Returns true if weir can work here: all required features are present, and there is a device
    /// to work on. Findings do not count: they concern single rules.
    pub fn usable(&self) -> bool {
        self.missing().next().is_none() && self.ports() > 0
    }

    /// Lists the required features that are missing.
    pub(super) fn missing(&self) -> impl Iterator<Item = &Feature> {
        self.features
            .iter()
            .filter(|feature| feature.required && !feature.present)
    }

    /// Returns the devices that weir would work on.
    pub(super) fn ports(&self) -> usize {
        self.devices
            .iter()
            .filter(|device| device.hook.is_some())
            .count()
    }
}

/// Returns a hint of another crate, if any.
pub(super) fn hint(text: &str) -> Option<String> {
    (!text.is_empty() && !text.starts_with("nothing to do")).then(|| text.to_owned())
}
