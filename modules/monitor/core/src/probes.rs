//! Probes: what can be recorded of the network stack beyond conversations, each described by one
//! constant. Everything that shows a probe (JSON, terminal, Prometheus) goes by its description;
//! docs/probes.md walks through adding one.

mod drops;
mod ledger;
mod qdisc_delay;
mod tcp_retransmits;

use std::collections::BTreeMap;
use std::fmt;

pub use ledger::{Ledger, Record, Subject};

/// All there are, as they are listed. A new probe is a line here.
pub const PROBES: &[&Probe] = &[
    &drops::DROPS,
    &qdisc_delay::QDISC_DELAY,
    &tcp_retransmits::TCP_RETRANSMITS,
];

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

/// A name that is none of a probe. Its text names those that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProbe(pub String);

impl fmt::Display for UnknownProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
        let given: String = self.0.chars().take(40).collect();
        write!(
            f,
            "there is no probe {given:?}: there are {}",
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownProbe {}

/// The probe of a name.
///
/// # Errors
/// There is none of that name.
pub fn find(name: &str) -> Result<&'static Probe, UnknownProbe> {
    let found = PROBES.iter().find(|probe| probe.name == name);
    found.copied().ok_or_else(|| UnknownProbe(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_c_prometheus_and_toml() {
        for (at, probe) in PROBES.iter().enumerate() {
            let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            assert!(
                probe.name.chars().all(|c| small(c) || c == '-') && !probe.name.contains("--"),
                "{}",
                probe.name
            );
            if let Some(label) = probe.label {
                assert!(label.name.chars().all(|c| small(c) || c == '_'));
                // These are every probe's.
                assert!(!["port", "device", "le"].contains(&label.name));
            }
            assert!(!probe.needs.tracepoints.is_empty() && !probe.help.is_empty());
            assert_eq!(find(probe.name), Ok(*probe));
            assert!(PROBES[..at].iter().all(|other| other.name != probe.name));
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_those_that_there_are() {
        let error = find("drop\u{1b}").expect_err("unknown").to_string();
        assert!(error.starts_with("there is no probe \"drop\\u{1b}\": there are drops, "));
    }

    #[test]
    fn what_is_lacking_is_named() {
        let lacks = |tracepoint: bool, enumeration: bool| {
            drops::DROPS.lacks(|_| tracepoint, |_| enumeration)
        };
        assert_eq!(lacks(true, true), None);
        let lacking = lacks(false, true).expect("refused");
        assert!(lacking.contains("tracepoint kfree_skb") && lacking.contains("5.17"));
        assert!(
            lacks(true, false)
                .expect("refused")
                .contains("skb_drop_reason")
        );
        assert_eq!(qdisc_delay::QDISC_DELAY.lacks(|_| true, |_| false), None);
    }

    #[test]
    fn words_have_numbers() {
        let label = Label {
            name: "state",
            words: Words::Fixed(&["", "one", "", "three"]),
        };
        let words = label.words(|_, _| unreachable!());
        assert_eq!(
            words,
            BTreeMap::from([(1, "one".to_owned()), (3, "three".to_owned())])
        );
    }
}
