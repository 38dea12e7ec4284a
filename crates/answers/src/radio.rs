//! Transmit power of access points and throughput at stations; peer access points.

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
use serde::{Deserialize, Serialize};

/// All observed access points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radios {
    /// Mode: `off`, `watch` (weir observes power) or `control` (weir also changes power).
    pub mode: String,
    /// The access points, sorted by name.
    pub radios: Vec<Radio>,
}

/// An access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Radio {
    /// The device.
    pub device: String,
    /// Transmit power, dBm; `None`: the driver does not report it.
    pub power_dbm: Option<i32>,
    /// Largest power that weir allows, dBm: the power before weir started.
    pub max_dbm: i32,
    /// Power found to be sufficient, dBm.
    pub sufficient_dbm: Option<i32>,
    /// Reason for this power: a word, as in [`RadioStep::reason`].
    pub reason: String,
    /// Problem, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Stations of the access point.
    pub stations: Vec<RadioStation>,
}

/// A station of an access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioStation {
    /// Hardware address of the station.
    pub mac: String,
    /// Throughput at the station if the radio sends to it alone, all the time, Mbit/s, from frames
    /// of the last second. `None`: no frames.
    pub throughput_mbit: Option<f64>,
    /// Throughput that the driver expects, Mbit/s.
    pub expected_mbit: Option<f64>,
    /// Transmit power for the station, dBm.
    pub power_dbm: Option<i32>,
    /// Decision made for this station: a word, as in [`RadioStep::reason`].
    pub decision: Option<String>,
    /// Signal of its frames, dBm.
    pub signal: Option<i32>,
    /// Signal of its acknowledgements, dBm.
    pub ack_signal: Option<i32>,
    /// Milliseconds since its last frame.
    pub silent_ms: Option<u32>,
}

/// Query of `GET /v1/radio/log`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RadioLogQuery {
    /// Selects steps of this device.
    pub device: Option<String>,
    /// Selects the last seconds, and the step in force before.
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

/// Power steps, from the oldest one stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioLog {
    /// Steps of every access point, sorted by name.
    pub logs: Vec<RadioSteps>,
}

/// Steps of one access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioSteps {
    /// The device.
    pub device: String,
    /// Milliseconds from the start until now, by the clock of the steps.
    pub now_ms: u64,
    /// The steps.
    pub steps: Vec<RadioStep>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioStep {
    /// Milliseconds after the first observation.
    pub at_ms: u64,
    /// Power from then on, dBm.
    pub power_dbm: i32,
    /// Reason: `begin`, `idle`, `newcomer`, `silent`, `edge`, `wall`, `reference`, `trial`, `kept`,
    /// `lost`, `worse` or `return`.
    pub reason: String,
    /// Station that caused the step.
    pub station: Option<String>,
    /// Throughput at that station, Mbit/s.
    pub throughput_mbit: Option<f64>,
    /// Throughput at the greatest power, Mbit/s.
    pub reference_mbit: Option<f64>,
    /// Rate of transmission to the station, Mbit/s; `None`: the driver does not report it.
    pub rate_mbit: Option<f64>,
}

/// Access points that are, or may become, peers of this router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioPeers {
    /// Device of this router's access point; empty: `[radio.peering]` names none.
    pub device: String,
    /// All access points whose beacons prove the secret, or are accepted without, by address.
    pub peers: Vec<RadioPeer>,
    /// Reasons for no peers, or for fewer than possible, in sentences.
    pub notices: Vec<String>,
}

/// A peer access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RadioPeer {
    /// Hardware address of the peer.
    pub address: String,
    /// Name of the peer's device, now or later.
    pub interface: String,
    /// Progress: `seen`, `waiting`, `handshake`, `installed`, `alive`.
    pub state: String,
    /// Reason for waiting: `faint` (the signal is too weak) or `full` (there are enough peers).
    #[serde(default)]
    pub waits: Option<String>,
    /// Duration of the peering, seconds.
    #[serde(default)]
    pub peer_seconds: Option<u64>,
    /// True if traffic with the peer is encrypted with a key of the two.
    pub encrypted: bool,
    /// True if the peer proves nothing (`compat = "apup"`): all traffic with it is in clear.
    #[serde(default)]
    pub clear: bool,
    /// Mean signal of its beacons, dBm.
    pub signal: Option<i32>,
    /// Expected throughput to the peer, Mbit/s: mean of some seconds, held while it changes by less
    /// than an eighth.
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
            ("seconds=-1", "invalid value `-1` of `seconds`"),
            ("second=1", "`second` is not a parameter of /v1/radio/log"),
        ] {
            let problem = query::read::<RadioLogQuery>(wrong).expect_err(wrong);
            assert_eq!((problem.status, &*problem.detail), (400, says));
        }
    }
}
