//! Probes: records of the network stack beyond conversations.

use serde::{Deserialize, Serialize};

/// Answer to `GET /v1/probes`: every probe of this version, active or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// The probes, in a fixed order.
    pub probes: Vec<Probe>,
}

/// A probe: its description and its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Name of the probe, as the configuration takes it.
    pub name: String,
    /// Description of the records, in one phrase.
    pub help: String,
    /// Kind of the records.
    pub kind: ProbeKind,
    /// Unit of the counter or of the histogram's values: `packets`, `bytes`, `microseconds`.
    pub unit: String,
    /// Name of the quantity in [`ProbeRecord::label`]; absent if there is no label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Kernel tracepoints that the probe uses.
    pub tracepoints: Vec<String>,
    /// First version of Linux that has the tracepoints. BTF is needed, too.
    pub linux: String,
    /// True if the probe records.
    pub active: bool,
    /// Reason why the probe does not record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a histogram: bucket n of [`ProbeRecord::buckets`] counts values below this bound. The
    /// last bucket has no bound here and counts all larger values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<u64>,
    /// Records since the probe began, by port, then by label, then by station.
    pub records: Vec<ProbeRecord>,
    /// Number of events not recorded because the table was full.
    pub overflow: u64,
    /// Number of events not measured because their beginning was not seen or is forgotten.
    pub not_measured: u64,
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// A number that only rises.
    #[default]
    Counter,
    /// Counts of values by bucket.
    Histogram,
}

/// A record of one station at one port, with one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Name of the network device; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Hardware address of the station; absent if unknown, and if there was no room to record
    /// stations separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Value by which the probe divides its records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Value of a counter; number of values of a histogram.
    pub count: u64,
    /// Sum of a histogram's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<u64>,
    /// Count of values in each bucket, see [`Probe::below`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

impl ProbeRecord {
    /// Returns an upper bound of the value that this share of a histogram's values lies below: the
    /// bound of its bucket, at most twice the value. `None`: the histogram has no values, or the
    /// value lies beyond the last bound.
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
