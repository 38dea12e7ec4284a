//! Probes: what is recorded of the network stack beyond conversations.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/probes`: every probe that this version has, recording or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// In a fixed order.
    pub probes: Vec<Probe>,
}

/// A probe, what it is, and what it recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Its name, as the configuration takes it.
    pub name: String,
    /// What is recorded, in one phrase.
    pub help: String,
    /// What a record is.
    pub kind: ProbeKind,
    /// What is counted, or what the values of a histogram are: `packets`, `bytes`, `microseconds`.
    pub unit: String,
    /// Name of what [`ProbeRecord::label`] tells; absent where it tells nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The tracepoints of the kernel that tell it.
    pub tracepoints: Vec<String>,
    /// The first version of Linux that has them. BTF is needed, too.
    pub linux: String,
    /// It records.
    pub active: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a histogram: bucket n of [`ProbeRecord::buckets`] counts values below this, and not below
    /// the one before; the last bucket, for which there is none here, counts all that are larger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<u64>,
    /// What was recorded since the probe began, by port, then by label, then by station.
    pub records: Vec<ProbeRecord>,
    /// How often something was not recorded as the table was full.
    pub no_room: u64,
    /// How often something was not measured, as its beginning was not seen or is forgotten.
    pub not_measured: u64,
}

/// What a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// A number that only rises.
    #[default]
    Counter,
    /// How often which value came.
    Histogram,
}

/// A record: of one station at one port, with one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Name of the network device; absent where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Hardware address of the station there; absent where none is known, and where there was no
    /// room to tell stations apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What the probe divides by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A counter's number; of a histogram, how many values there were.
    pub count: u64,
    /// Sum of a histogram's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<u64>,
    /// How often which value came, see [`Probe::below`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

impl ProbeRecord {
    /// A value that this share of a histogram's values lies below: an upper bound of the bucket
    /// that it falls into, at most twice as large as the value. `None`: there are no values, or it
    /// lies beyond the last bound.
    pub fn quantile(&self, share: f64, below: &[u64]) -> Option<u64> {
        let all: u64 = self.buckets.iter().fold(0, |sum, n| sum.saturating_add(*n));
        let wanted = (all as f64 * share).ceil().max(1.0);
        let mut so_far = 0u64;
        let at = self.buckets.iter().position(|n| {
            so_far = so_far.saturating_add(*n);
            so_far as f64 >= wanted
        })?;
        below.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let record = ProbeRecord {
            buckets: vec![5, 4, 1],
            ..Default::default()
        };
        assert_eq!(record.quantile(0.5, &[1, 2]), Some(1));
        assert_eq!(record.quantile(0.9, &[1, 2]), Some(2));
        assert_eq!(record.quantile(1.0, &[1, 2]), None, "beyond the last bound");
        assert_eq!(ProbeRecord::default().quantile(0.5, &[1, 2]), None);
    }
}
