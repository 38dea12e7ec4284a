//! Description of a probe.

use std::collections::BTreeMap;

/// Description of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name, in configuration and output: small letters, digits and `-`. In C, `_` replaces `-`.
    pub name: &'static str,
    /// Phrase that describes the recorded value.
    pub help: &'static str,
    /// Contents of a record.
    pub measure: Measure,
    /// Unit of the values.
    pub unit: Unit,
    /// Label of the records, in addition to port and station.
    pub label: Option<Label>,
    /// Kernel requirements.
    pub needs: Needs,
}

/// Contents of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A number that only rises (`PROBE_COUNTER`).
    Counter,
    /// Number of values per bucket; buckets are powers of two (`PROBE_HISTOGRAM`).
    Histogram,
}

/// Unit of a counter, or of the values of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets, as on the wire.
    Packets,
    /// Bytes.
    Bytes,
    /// Millionths of a second.
    Microseconds,
}

impl Unit {
    /// Returns the name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Microseconds => "microseconds",
        }
    }
}

/// Label of a probe's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Name: small letters and `_`, as Prometheus requires.
    pub name: &'static str,
    /// Words for the numbers.
    pub words: LabelValues,
}

/// Source of a label's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelValues {
    /// An enumeration of the running kernel, which differs from version to version. It must be
    /// there.
    Enumeration {
        /// Name in the kernel's sources.
        name: &'static str,
        /// Common prefix of the words.
        prefix: &'static str,
    },
    /// Always these, counted from 0. A number without a word, or with an empty one, is shown as a
    /// number.
    Fixed(&'static [&'static str]),
}

impl Label {
    /// Returns the names by number. `kernel`: those of an enumeration of the running kernel, by its
    /// name and the prefix to remove.
    pub fn words(
        &self,
        kernel: impl FnOnce(&str, &str) -> BTreeMap<u32, String>,
    ) -> BTreeMap<u32, String> {
        match self.words {
            LabelValues::Enumeration { name, prefix } => kernel(name, prefix),
            LabelValues::Fixed(words) => (0..)
                .zip(words)
                .filter(|(_, word)| !word.is_empty())
                .map(|(number, word)| (number, (*word).to_owned()))
                .collect(),
        }
    }
}

/// Kernel requirements of a probe, in addition to type information (BTF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The first version that has all of it.
    pub linux: &'static str,
    /// Tracepoints, without their groups.
    pub tracepoints: &'static [&'static str],
}

impl Probe {
    /// Returns the missing kernel features of this probe, in words; `None` if nothing is missing.
    /// The callbacks look up tracepoints and enumerations by name.
    pub fn lacks(
        &self,
        tracepoint: impl Fn(&str) -> bool,
        enumeration: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let since = self.needs.linux;
        for name in self.needs.tracepoints {
            if !tracepoint(name) {
                return Some(format!(
                    "this kernel has no tracepoint {name}: Linux {since} or newer is needed"
                ));
            }
        }
        match self.label?.words {
            LabelValues::Enumeration { name, .. } if !enumeration(name) => Some(format!(
                "this kernel has no enumeration {name}: Linux {since} or newer is needed"
            )),
            _ => None,
        }
    }
}
