//! What was measured.

use serde::{Deserialize, Serialize};

use super::scenario::Driver;
use crate::machine::Machine;

/// Of the report: another number where a field means something else.
pub const SCHEMA: &str = "weir-bench-radio/1";

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where.
    pub machine: Machine,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// Chances of the medium come from it.
    pub seed: u64,
    /// Whether all was measured: a person may have had enough.
    pub complete: bool,
    /// In the order in which they were measured.
    pub scenarios: Vec<Measured>,
}

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// [`Scenario::name`](super::Scenario::name).
    pub name: String,
    /// The same in words.
    pub text: String,
    /// Each who decided.
    pub runs: Vec<Run>,
}

/// One who decided on power, in a scenario. Where there are several access points, all of them
/// together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`Driver::name`].
    pub driver: String,
    /// What arrived of what was sent, Mbit/s.
    pub arrived_mbit: f64,
    /// What would arrive if it were sent all the time: by the air that was taken, Mbit/s.
    pub carries_mbit: f64,
    /// Mean power while an access point sent, mW.
    pub on_air_mw: f64,
    /// Mean power over all of the time, mW.
    pub radiated_mw: f64,
    /// From when something came between until more power was set, ms.
    pub reaction_ms: Option<f64>,
    /// Powers of the first access point.
    pub steps: Vec<Step>,
}

/// A power that was set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Since the measurement began, ms; before: negative.
    pub at_ms: f64,
    /// dBm.
    pub power_dbm: i32,
}

impl Measured {
    /// That of somebody who decided.
    pub fn run(&self, driver: Driver) -> Option<&Run> {
        self.runs.iter().find(|run| run.driver == driver.name())
    }

    /// What a run is of another: of throughput, and of power on the air.
    pub fn against(&self, run: &Run, other: Driver) -> Option<(f64, f64)> {
        let other = self.run(other)?;
        let share = |of: f64, to: f64| of / to.max(f64::MIN_POSITIVE);
        let throughput = share(self.throughput(run), self.throughput(other));
        Some((throughput, share(run.on_air_mw, other.on_air_mw)))
    }

    /// The throughput that tells: where the air is full, what arrived; else what it would carry.
    pub fn throughput(&self, run: &Run) -> f64 {
        match self.name == super::Scenario::Two.name() {
            true => run.arrived_mbit,
            false => run.carries_mbit,
        }
    }
}

/// From when something came between, ms, until a power above the one that was set then.
pub(super) fn reaction(steps: &[Step], wall: f64) -> Option<f64> {
    let before = steps.iter().rev().find(|step| step.at_ms <= wall)?;
    let mut after = steps.iter().filter(|step| step.at_ms > wall);
    let more = after.find(|step| step.power_dbm > before.power_dbm)?;
    Some(more.at_ms - wall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_is_more_power_than_there_was() {
        let steps: Vec<Step> = [(-10.0, 20), (90.0, 7), (150.0, 5), (400.0, 20)]
            .map(|(at_ms, power_dbm)| Step { at_ms, power_dbm })
            .into();
        assert_eq!(reaction(&steps, 100.0), Some(300.0));
        assert_eq!(reaction(&steps, 500.0), None);
        assert_eq!(reaction(&[], 100.0), None);
    }
}
