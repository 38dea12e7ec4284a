//! Transmit power of access points, and what arrives by it; and access points that are peers.

use serde::{Deserialize, Serialize};

/// All access points that are looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radios {
    /// Whether power is looked at, and whether it is changed: `off`, `watch` or `control`.
    pub mode: String,
    /// The access points, in the order of their names.
    pub radios: Vec<Radio>,
}

/// An access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radio {
    /// The device.
    pub device: String,
    /// What it sends with, dBm; `None`: its driver does not tell.
    pub power_dbm: Option<i32>,
    /// The most that weir lets it send with, dBm: what it had before.
    pub most_dbm: i32,
    /// What was found to be enough, dBm.
    pub enough_dbm: Option<i32>,
    /// Why it has this power: a word, as in [`RadioStep::reason`].
    pub reason: String,
    /// What does not work, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Who is there.
    pub stations: Vec<RadioStation>,
}

/// A station of an access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioStation {
    /// Its hardware address.
    pub mac: String,
    /// What arrives there if the radio sends to it alone, all the time, Mbit/s: by what was sent in
    /// the last second. `None`: nothing was.
    pub arrives_mbit: Option<f64>,
    /// What the driver expects of that, Mbit/s.
    pub expected_mbit: Option<f64>,
    /// What is sent to it with, dBm.
    pub power_dbm: Option<i32>,
    /// What was decided for its sake: a word, as in [`RadioStep::reason`].
    pub decision: Option<String>,
    /// How loud it is heard, dBm.
    pub signal: Option<i32>,
    /// How loud its acknowledgements are, dBm.
    pub ack_signal: Option<i32>,
    /// Milliseconds since it was heard.
    pub silent_ms: Option<u32>,
}

/// What was tried, from the oldest step that is remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioLog {
    /// Of every access point, in the order of their names.
    pub logs: Vec<RadioSteps>,
}

/// Steps of one access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioSteps {
    /// The device.
    pub device: String,
    /// Its steps.
    pub steps: Vec<RadioStep>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioStep {
    /// Milliseconds after control of this device began.
    pub at_ms: u64,
    /// The power from then on, dBm.
    pub power_dbm: i32,
    /// Why: `begin`, `idle`, `newcomer`, `silent`, `edge`, `wall`, `reference`, `trial`, `kept`,
    /// `lost`, `worse` or `return`.
    pub reason: String,
    /// The station that decided it.
    pub station: Option<String>,
    /// What arrived there, Mbit/s,
    pub arrives_mbit: Option<f64>,
    /// and at the greatest power.
    pub reference_mbit: Option<f64>,
}

/// Access points that are, or may become, peers of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioPeers {
    /// The device whose access point it is about; empty: `[radio.peering]` names none.
    pub device: String,
    /// All whose beacons prove the secret, by address.
    pub peers: Vec<RadioPeer>,
    /// Why there are none, or fewer than there could be, in sentences.
    pub notices: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RadioPeer {
    /// Its hardware address.
    pub address: String,
    /// Its device, or what that will be called.
    pub interface: String,
    /// How far it is: `seen`, `waiting`, `handshake`, `installed`, `alive`.
    pub state: String,
    /// Whether what it and we say has a key of the two.
    pub encrypted: bool,
    /// Mean signal of its beacons, dBm.
    pub signal: Option<i32>,
    /// What the driver expects to get through to it, Mbit/s.
    pub expected_mbit: Option<f64>,
}
