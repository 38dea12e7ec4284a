//! What describes a probe.

use std::collections::BTreeMap;

/// What a probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name, in configuration and output: small letters, digits and `-`. In C, `_` stands for `-`.
    pub name: &'static str,
    /// One phrase that says what is recorded.
    pub help: &'static str,
    /// What a record is.
    pub measure: Measure,
    /// Of what.
    pub unit: Unit,
    /// What it divides by, beside port and station.
    pub label: Option<Label>,
    /// What the kernel must have.
    pub needs: Needs,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A number that only rises (`PROBE_COUNTER`).
    Counter,
    /// How often which value came, in buckets of powers of two (`PROBE_HISTOGRAM`).
    Histogram,
}

/// What is counted, or what the values of a histogram are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets, as on the wire.
    Packets,
    /// Bytes.
    Octets,
    /// Millionths of a second.
    Microseconds,
}

impl Unit {
    /// The word, in output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Octets => "bytes",
            Self::Microseconds => "microseconds",
        }
    }
}

/// What a probe divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name: small letters and `_`, as Prometheus wants them.
    pub name: &'static str,
    /// What the numbers mean.
    pub words: Words,
}

/// Where the words of a label come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// An enumeration of the running kernel, which differs from version to version. It must be
    /// there.
    Enumeration {
        /// As the kernel's sources name it.
        name: &'static str,
        /// What all of its words begin with.
        prefix: &'static str,
    },
    /// Always these, counted from 0. A number without a word, or with an empty one, is shown as a
    /// number.
    Fixed(&'static [&'static str]),
}

impl Label {
    /// The words by number. `kernel`: those of an enumeration of the running kernel, by its name
    /// and the prefix to leave away.
    pub fn words(
        &self,
        kernel: impl FnOnce(&str, &str) -> BTreeMap<u32, String>,
    ) -> BTreeMap<u32, String> {
        match self.words {
            Words::Enumeration { name, prefix } => kernel(name, prefix),
            Words::Fixed(words) => (0..)
                .zip(words)
                .filter(|(_, word)| !word.is_empty())
                .map(|(number, word)| (number, (*word).to_owned()))
                .collect(),
        }
    }
}

/// What the kernel must have for a probe, beside its type information (BTF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The first version that has all of it.
    pub linux: &'static str,
    /// Tracepoints, without their groups.
    pub tracepoints: &'static [&'static str],
}

impl Probe {
    /// What a kernel lacks of what this probe needs, in words; `None` if nothing. Asked is by the
    /// names of tracepoints and enumerations.
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
            Words::Enumeration { name, .. } if !enumeration(name) => Some(format!(
                "this kernel has no enumeration {name}: Linux {since} or newer is needed"
            )),
            _ => None,
        }
    }
}
