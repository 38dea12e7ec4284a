//! What was measured.

use serde::{Deserialize, Serialize};

use super::scenario::Driver;
use crate::machine::Machine;
use crate::rounds::median;

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
    /// Chances of the medium come from it; of a later round, from the next number.
    pub seed: u64,
    /// How often each was measured.
    pub repeat: u32,
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

/// One who decided on power, in a scenario: medians of all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`Driver::name`].
    pub driver: String,
    /// Medians.
    #[serde(flatten)]
    pub figures: Figures,
    /// Each round.
    pub rounds: Vec<Figures>,
    /// Powers of the first access point in the first round.
    pub steps: Vec<Step>,
}

/// What was measured. Where there are several access points, of all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
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
}

impl Run {
    /// Of these rounds; `None` where there is none.
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

/// A power that was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Since the measurement began, ms; before: negative.
    pub at_ms: f64,
    /// dBm.
    pub power_dbm: i32,
    /// Why, in a word of `weir radio log`; the logic that was before it tells none.
    pub reason: Option<String>,
}

impl Report {
    /// How often, as a part of a sentence; nothing where it was once.
    pub fn times(&self) -> String {
        match self.repeat {
            0 | 1 => String::new(),
            many => format!(", medians of {many}"),
        }
    }
}

impl Measured {
    /// That of somebody who decided.
    pub fn run(&self, driver: Driver) -> Option<&Run> {
        self.runs.iter().find(|run| run.driver == driver.name())
    }

    /// What a run is of another's throughput: by the medians, and the least and the greatest of its
    /// rounds.
    pub fn against(&self, run: &Run, other: Driver) -> Option<[f64; 3]> {
        let other = self.throughput(&self.run(other)?.figures);
        let share = |figures: &Figures| self.throughput(figures) / other.max(f64::MIN_POSITIVE);
        let rounds = run.rounds.iter().map(share);
        let (least, most) = rounds.fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        Some([share(&run.figures), least, most])
    }

    /// The throughput that tells: where the air is full, what arrived; else what it would carry.
    pub fn throughput(&self, figures: &Figures) -> f64 {
        match self.name == super::Scenario::Two.name() {
            true => figures.arrived_mbit,
            false => figures.carries_mbit,
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
        let measured = Measured {
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
