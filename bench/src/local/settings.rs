//! Settings of `weir bench lab`, and the estimated time.

use std::path::PathBuf;
use std::time::Duration;

use lab::{Lab, Options};

use super::series::Variable;
use crate::circuit::Path;
use crate::load::{Encapsulation, Load};
use crate::machine::most_connections;
use crate::rounds::Plan;

/// Estimated time to build a scenario, before the first is built.
pub(super) const BUILD: Duration = Duration::from_millis(900);

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number and length of the rounds.
    pub plan: Plan,
    /// Scenarios, in this order.
    pub scenarios: Vec<Path>,
    /// Packets sent.
    pub load: Load,
    /// Processor that runs the measurement.
    pub cpu: usize,
    /// Path of the `weir` binary.
    pub weir: PathBuf,
    /// Series measured afterwards, at several lengths, numbers of flows and so on.
    pub series: Vec<Variable>,
    /// Highest number of flows in the series by flows.
    pub most_flows: u32,
    /// Set to measure TCP between whole hosts, too.
    pub tcp: bool,
    /// Set to profile where the time goes.
    pub profile: bool,
}

/// Returns why this machine cannot send the load, if so.
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
        (None, Encapsulation::Plain) => None,
        (None, wires) => tried().err().map(|error| {
            let error = error.to_string();
            let words: Vec<_> = error.split_whitespace().collect();
            let error = words.join(" ");
            format!(
                "this machine cannot build it (it needs {}): {error}",
                wires.takes()
            )
        }),
    }
}

/// Returns why the kernel cannot track the flows, with at most `most` connections.
fn too_many(flows: u32, most: Option<u64>) -> Option<String> {
    // Connections that the machine has besides.
    const OTHERS: u64 = 1024;
    let most = most.filter(|most| u64::from(flows) + OTHERS > *most)?;
    Some(format!(
        "this kernel tracks at most {most} connections, too few for {flows} flows: raise \
            net.netfilter.nf_conntrack_max"
    ))
}

/// Returns the estimated time of this many scenarios.
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
