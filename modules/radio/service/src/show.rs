//! Converts the state to API answers.

use answers::{Radio, RadioLogQuery, RadioStation, RadioStep, RadioSteps};
use radio_core::power::{Entry, Mac};

use super::power::{DeviceState, PowerControl, StationReport};

/// Access points in the order of their names.
pub fn all(powers: &PowerControl) -> Vec<Radio> {
    let known = powers.known();
    known.iter().map(|(name, known)| one(name, known)).collect()
}

/// Returns the tried powers of each requested device.
pub fn logs(powers: &PowerControl, asked: &RadioLogQuery) -> Vec<RadioSteps> {
    let known = powers.known();
    let wanted = known.iter().filter(|(name, _)| {
        let device = asked.device.as_ref();
        device.is_none_or(|device| device == *name)
    });
    let each = wanted.map(|(name, known)| {
        let now_ms = known.now();
        let span = asked.seconds.unwrap_or(u64::MAX).saturating_mul(1000);
        let steps = known.log.since(now_ms.saturating_sub(span));
        RadioSteps {
            device: name.clone(),
            now_ms,
            steps: steps.map(step).collect(),
        }
    });
    each.collect()
}

fn one(name: &str, known: &DeviceState) -> Radio {
    let mut stations: Vec<_> = known.stations.iter().map(|it| station(it, known)).collect();
    stations.sort_by(|a, b| a.mac.cmp(&b.mac));
    Radio {
        device: name.to_owned(),
        power_dbm: known.power,
        max_dbm: known.most,
        sufficient_dbm: known.enough,
        reason: known.reason.word().to_owned(),
        trouble: known.trouble.clone(),
        stations,
    }
}

fn station(heard: &StationReport, known: &DeviceState) -> RadioStation {
    let it = &heard.station;
    let mac = Mac(it.mac);
    // The last thing that was decided for its sake.
    let mut steps = known.log.entries().rev();
    let decision = steps.find(|entry| entry.station == Some(mac));
    RadioStation {
        mac: mac.to_string(),
        throughput_mbit: heard.throughput.map(megabits),
        expected_mbit: it.expected.map(|bits| megabits(bits as f64 / 1000.0)),
        power_dbm: heard.power.or(known.power),
        decision: decision.map(|entry| entry.reason.word().to_owned()),
        signal: it.signal.map(i32::from),
        ack_signal: it.ack_signal.map(i32::from).filter(|&signal| signal != 0),
        silent_ms: it.inactive,
    }
}

/// Converts kbit/s to Mbit/s, with three decimal places.
fn megabits(kilobits: f64) -> f64 {
    kilobits.round() / 1000.0
}

fn step(entry: &Entry) -> RadioStep {
    RadioStep {
        at_ms: entry.at,
        power_dbm: entry.power,
        reason: entry.reason.word().to_owned(),
        station: entry.station.map(|mac| mac.to_string()),
        throughput_mbit: entry.throughput.map(megabits),
        reference_mbit: entry.reference.map(megabits),
        rate_mbit: entry.rate.map(megabits),
    }
}
