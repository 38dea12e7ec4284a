//! Transmit power of access points, and what arrives by it; and access points that are peers.

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
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

/// Of which steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RadioLogQuery {
    /// Of this device alone.
    pub device: Option<String>,
    /// Of so many seconds, the last ones, and the step that held before.
    pub seconds: Option<u64>,
}

impl Query for RadioLogQuery {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "device" => query.device = Some(value.clone()),
                "seconds" => {
                    let number = number(value);
                    let number = number.ok_or_else(|| wrong(name, value, "a whole number"))?;
                    query.seconds = Some(number);
                }
                other => {
                    let hint = "the parameters are device, seconds";
                    return Err(unknown("/v1/radio/log", other, hint));
                }
            }
        }
        Ok(query)
    }

    fn to_query(&self) -> String {
        let seconds = self.seconds.map(|seconds| seconds.to_string());
        query::encode([("device", self.device.clone()), ("seconds", seconds)])
    }
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
    /// Milliseconds from the beginning until now, by the clock of its steps.
    pub now_ms: u64,
    /// Its steps.
    pub steps: Vec<RadioStep>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioStep {
    /// Milliseconds after it was looked at first.
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
    /// The rate that it was sent to at, Mbit/s; `None`: its driver does not tell.
    pub rate_mbit: Option<f64>,
}

/// Access points that are, or may become, peers of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioPeers {
    /// The device whose access point it is about; empty: `[radio.peering]` names none.
    pub device: String,
    /// All whose beacons prove the secret, or are taken without, by address.
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
    /// Why it waits, where it does: `faint` (it is not loud enough), or `full` (there are peers
    /// enough).
    #[serde(default)]
    pub waits: Option<String>,
    /// Since when it is a peer, seconds.
    #[serde(default)]
    pub peer_seconds: Option<u64>,
    /// Whether what it and we say has a key of the two.
    pub encrypted: bool,
    /// It proves nothing (`compat = "apup"`): all that is said to it, and by it, is in clear.
    #[serde(default)]
    pub clear: bool,
    /// Mean signal of its beacons, dBm.
    pub signal: Option<i32>,
    /// What is expected to get through to it, Mbit/s: the mean of some seconds, which
    /// stays as it is while that changes by less than an eighth.
    pub expected_mbit: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_asked_for_as_it_is_written() {
        let all = RadioLogQuery {
            device: Some("wlan0 &=".into()),
            seconds: Some(120),
        };
        for asked in [RadioLogQuery::default(), all] {
            assert_eq!(query::read(&asked.to_query()), Ok(asked));
        }
        for (wrong, says) in [
            ("seconds=-1", "`-1` is not a value of `seconds`"),
            ("second=1", "`second` is not a parameter of /v1/radio/log"),
        ] {
            let problem = query::read::<RadioLogQuery>(wrong).expect_err(wrong);
            assert_eq!((problem.status, &*problem.detail), (400, says));
        }
    }
}
