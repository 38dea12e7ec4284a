//! Probes: records of the network stack, in addition to conversations, each described by a
//! constant. All output of a probe (JSON, terminal, Prometheus) follows its description;
//! docs/reference/probes.md walks through adding one.

mod drops;
mod ledger;
mod probe;
mod qdisc_delay;
mod tcp_retransmits;

use std::fmt;

pub use ledger::{Ledger, Record, Subject};
pub use probe::{Label, LabelValues, Measure, Needs, Probe, Unit};

/// All probes, in the order of lists. A new probe is a line here.
pub const PROBES: &[&Probe] = &[
    &drops::DROPS,
    &qdisc_delay::QDISC_DELAY,
    &tcp_retransmits::TCP_RETRANSMITS,
];

/// Unknown name of a probe. The error text lists the valid names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProbe(pub String);

impl fmt::Display for UnknownProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
        let given: String = self.0.chars().take(40).collect();
        write!(
            f,
            "there is no probe {given:?}; valid probes: {}",
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownProbe {}

/// Returns the probe with this name.
///
/// # Errors
/// The name is unknown.
pub fn find(name: &str) -> Result<&'static Probe, UnknownProbe> {
    let found = PROBES.iter().find(|probe| probe.name == name);
    found.copied().ok_or_else(|| UnknownProbe(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
                // Every probe has these labels.
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
        assert!(error.starts_with("there is no probe \"drop\\u{1b}\"; valid probes: drops, "));
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
            words: LabelValues::Fixed(&["", "one", "", "three"]),
        };
        let words = label.words(|_, _| unreachable!());
        assert_eq!(
            words,
            BTreeMap::from([(1, "one".to_owned()), (3, "three".to_owned())])
        );
    }
}
