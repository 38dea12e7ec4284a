//! What `weir bench lab` is to measure, and how long that takes.

use std::path::PathBuf;
use std::time::Duration;

use lab::{Lab, Options};

use super::series::By;
use crate::circuit::Path;
use crate::load::{Load, Wires};
use crate::machine::most_connections;
use crate::rounds::Plan;

/// How long a scenario takes to be built, before one was.
pub(super) const BUILD: Duration = Duration::from_millis(900);

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long and how often.
    pub plan: Plan,
    /// In this order.
    pub scenarios: Vec<Path>,
    /// What is sent.
    pub load: Load,
    /// The processor on which everything runs.
    pub cpu: usize,
    /// The binary of weir.
    pub weir: PathBuf,
    /// What is measured beside, at several lengths, numbers of flows and so on.
    pub series: Vec<By>,
    /// Flows of the last point of that by flows, at most.
    pub most_flows: u32,
    /// Whether TCP between whole hosts is measured too.
    pub tcp: bool,
    /// Whether a profiler looks where the time goes.
    pub profile: bool,
}

/// Why this machine cannot send that.
pub(super) fn lacks(load: &Load) -> Option<String> {
    let tried = || {
        let arrangement = load.wires.arrangement();
        Lab::gateway(&Options {
            arrangement,
            ..Options::default()
        })
    };
    match (too_many(load.flows, most_connections()), load.wires) {
        (Some(reason), _) => Some(reason),
        (None, Wires::Plain) => None,
        (None, wires) => tried().err().map(|error| {
            let error = error.to_string();
            let words: Vec<_> = error.split_whitespace().collect();
            let error = words.join(" ");
            format!(
                "it cannot be made here (it takes {}): {error}",
                wires.takes()
            )
        }),
    }
}

/// Why a kernel that follows so many connections at most cannot follow these flows.
fn too_many(flows: u32, most: Option<u64>) -> Option<String> {
    // What a machine has besides.
    const OTHERS: u64 = 1024;
    let most = most.filter(|most| u64::from(flows) + OTHERS > *most)?;
    Some(format!(
        "this kernel follows at most {most} connections, too few for {flows} flows: raise \
            net.netfilter.nf_conntrack_max"
    ))
}

/// How long so many scenarios take.
pub(super) fn expected(scenarios: usize, plan: Plan) -> Duration {
    let count = scenarios as u32;
    BUILD * count + plan.piece() * ((count + 1) * plan.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_have_to_be_followed() {
        assert_eq!(too_many(1_000_000, None), None, "it follows none yet");
        assert_eq!(too_many(64, Some(262_144)), None);
        for (flows, most) in [(262_000, 262_144), (1_000_000, 65_536)] {
            let reason = too_many(flows, Some(most)).expect("a reason");
            assert!(reason.contains("nf_conntrack_max") && reason.contains(&most.to_string()));
        }
    }
}
