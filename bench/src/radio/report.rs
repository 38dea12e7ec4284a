//! Report of the measurement.

use serde::{Deserialize, Serialize};

use super::scenario::Driver;
use crate::machine::Machine;
use crate::rounds::median;

/// Version of the report; changes with the meaning of any field.
pub const SCHEMA: &str = "weir-bench-radio/1";

/// Report of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Machine that was measured.
    pub machine: Machine,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// Seed of the medium's random numbers; each later round adds 1.
    pub seed: u64,
    /// Number of rounds.
    pub repeat: u32,
    /// Set if all rounds were made; the user may have stopped early.
    pub complete: bool,
    /// Scenarios, in the order measured.
    pub scenarios: Vec<ScenarioResult>,
}

/// Results of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioResult {
    /// [`Scenario::name`](super::Scenario::name).
    pub name: String,
    /// Description of the scenario.
    pub text: String,
    /// Results of each driver.
    pub runs: Vec<Run>,
}

/// Result of a driver in a scenario: medians of all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`Driver::name`].
    pub driver: String,
    /// Medians.
    #[serde(flatten)]
    pub figures: Figures,
    /// Results of each round.
    pub rounds: Vec<Figures>,
    /// Powers of the first access point in the first round.
    pub steps: Vec<Step>,
}

/// Results of a measurement; several access points are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Received throughput, Mbit/s.
    pub arrived_mbit: f64,
    /// Throughput that a full air would carry, extrapolated from the airtime used, Mbit/s.
    pub carries_mbit: f64,
    /// Mean power while an access point sends, mW.
    pub on_air_mw: f64,
    /// Mean power over the whole time, mW.
    pub radiated_mw: f64,
    /// Time from the appearance of the wall to more power, ms.
    pub reaction_ms: Option<f64>,
}

impl Run {
    /// Summarises rounds; returns `None` without any.
    pub(super) fn of(driver: Driver, rounds: Vec<Figures>, steps: Vec<Step>) -> Option<Self> {
        let of = |figure: fn(&Figures) -> Option<f64>| -> Option<f64> {
            let mut all: Vec<f64> = rounds.iter().filter_map(figure).collect();
            all.sort_by(f64::total_cmp);
            (!all.is_empty()).then(|| median(&all))
        };
        Some(Self {
            driver: driver.name().into(),
            figures: Figures {
                arrived_mbit: of(|it| Some(it.arrived_mbit))?,
                carries_mbit: of(|it| Some(it.carries_mbit))?,
                on_air_mw: of(|it| Some(it.on_air_mw))?,
                radiated_mw: of(|it| Some(it.radiated_mw))?,
                reaction_ms: of(|it| it.reaction_ms),
            },
            rounds,
            steps,
        })
    }
}

/// Change of power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Milliseconds since the measurement began; negative before.
    pub at_ms: f64,
    /// Power in dBm.
    pub power_dbm: i32,
    /// Reason, as a word of `weir radio log`; the predecessor gives none.
    pub reason: Option<String>,
}

impl Report {
    /// Returns the number of rounds as a part of a sentence; empty for a single round.
    pub fn times(&self) -> String {
        match self.repeat {
            0 | 1 => String::new(),
            many => format!(", medians of {many}"),
        }
    }
}

impl ScenarioResult {
    /// Returns the result of a driver.
    pub fn run(&self, driver: Driver) -> Option<&Run> {
        self.runs.iter().find(|run| run.driver == driver.name())
    }

    /// Returns a run's throughput as a share of another driver's: of the medians, and the least and
    /// most of the run's rounds.
    pub fn against(&self, run: &Run, other: Driver) -> Option<[f64; 3]> {
        let other = self.throughput(&self.run(other)?.figures);
        let share = |figures: &Figures| self.throughput(figures) / other.max(f64::MIN_POSITIVE);
        let rounds = run.rounds.iter().map(share);
        let (least, most) = rounds.fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        Some([share(&run.figures), least, most])
    }

    /// Returns the throughput to show: the received one with a full air, else the extrapolated.
    pub fn throughput(&self, figures: &Figures) -> f64 {
        match self.name == super::Scenario::Two.name() {
            true => figures.arrived_mbit,
            false => figures.carries_mbit,
        }
    }
}

/// Returns the milliseconds from the wall at `wall` to a power above the one set at that time.
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
            .map(|(at_ms, power_dbm)| Step {
                at_ms,
                power_dbm,
                reason: None,
            })
            .into();
        assert_eq!(reaction(&steps, 100.0), Some(300.0));
        assert_eq!(reaction(&steps, 500.0), None);
        assert_eq!(reaction(&[], 100.0), None);
    }

    #[test]
    fn rounds_are_told_as_their_median_and_their_ends() {
        let round = |carries_mbit, reaction_ms| Figures {
            arrived_mbit: 2.0,
            carries_mbit,
            on_air_mw: 1.0,
            radiated_mw: 0.5,
            reaction_ms,
        };
        let weir = [(9.0, None), (19.0, Some(300.0)), (18.0, Some(100.0))];
        let weir = weir.map(|(carries, reaction)| round(carries, reaction));
        let of = |driver, rounds| Run::of(driver, rounds, Vec::new()).expect("rounds");
        let measured = ScenarioResult {
            name: "walls".into(),
            text: String::new(),
            runs: vec![
                of(Driver::Weir, weir.to_vec()),
                of(Driver::Maximum, vec![round(20.0, None)]),
            ],
        };
        let run = &measured.runs[0];
        assert_eq!(run.figures, round(18.0, Some(200.0)));
        assert_eq!(
            measured.against(run, Driver::Maximum),
            Some([0.9, 0.45, 0.95])
        );
        assert_eq!(measured.against(run, Driver::Slow), None);
        assert_eq!(Run::of(Driver::Weir, Vec::new(), Vec::new()), None);
    }
}
