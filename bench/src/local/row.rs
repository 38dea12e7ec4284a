//! Scenario, and its rounds as they are made.

use serde::{Deserialize, Serialize};

use crate::circuit::{Path, Run};
use crate::machine::Processor;
use crate::rounds::{Spread, median, sorted};

/// Result of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// [`Path::name`].
    pub name: String,
    /// Description of the scenario.
    pub text: String,
    /// Packets per second.
    pub pps: Spread,
    /// Nanoseconds per packet, including generator and sink.
    pub ns_per_packet: Spread,
    /// Busy processors.
    pub cpu: Spread,
    /// Shares of the time of each processor, medians.
    #[serde(default)]
    pub processors: Vec<Processor>,
    /// Lowest share of the packets that weir forwarded; unset without weir.
    pub forwarded: Option<f64>,
    /// Packets per second of each round, in order.
    pub each: Vec<f64>,
}

impl Scenario {
    /// Returns the processors that were busy with softirqs, all of them together.
    pub fn softirq(&self) -> f64 {
        self.processors.iter().map(|one| one.softirq).sum()
    }

    /// Returns whether the scenario drops packets instead of forwarding.
    pub fn drops(&self) -> bool {
        let dropping = Path::ALL.into_iter().filter(|path| path.drops());
        dropping.into_iter().any(|path| path.name() == self.name)
    }
}

/// Scenario or point of a series that this machine cannot measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedScenario {
    /// [`Path::name`], or the point.
    pub name: String,
    /// Reason.
    pub reason: String,
}

impl SkippedScenario {
    /// Adds this entry, if it is new.
    pub(super) fn add(self, all: &mut Vec<Self>) {
        if !all.contains(&self) {
            all.push(self);
        }
    }
}

/// Results of a circuit so far.
pub(super) struct Row {
    pub(super) path: Path,
    pub(super) rates: Vec<f64>,
    pub(super) busy: Vec<f64>,
    /// Shares of each round.
    pub(super) processors: Vec<Vec<Processor>>,
    pub(super) share: Option<f64>,
}

impl Row {
    pub(super) fn of(path: Path) -> Self {
        Self {
            path,
            rates: Vec::new(),
            busy: Vec::new(),
            processors: Vec::new(),
            share: None,
        }
    }

    pub(super) fn add(&mut self, run: &Run) {
        self.rates.push(run.rate());
        self.busy.push(run.busy());
        self.processors.push(run.processors.clone());
        let share = run.share;
        self.share = share.map(|share| self.share.map_or(share, |least| least.min(share)));
    }

    /// Returns the scenario, or `None` before the first round.
    pub(super) fn scenario(self) -> Option<Scenario> {
        let took: Vec<_> = self.rates.iter().map(|rate| 1e9 / rate).collect();
        Some(Scenario {
            name: self.path.name().into(),
            text: self.path.text().into(),
            pps: Spread::of(&self.rates)?,
            ns_per_packet: Spread::of(&took)?,
            cpu: Spread::of(&self.busy)?,
            processors: middle(&self.processors),
            forwarded: self.share,
            each: self.rates,
        })
    }
}

/// Returns the medians over the rounds for each processor.
fn middle(rounds: &[Vec<Processor>]) -> Vec<Processor> {
    let count = rounds.iter().map(Vec::len).min().unwrap_or(0);
    let of = |index: usize, what: fn(&Processor) -> f64| {
        let values: Vec<_> = rounds.iter().map(|round| what(&round[index])).collect();
        median(&sorted(&values))
    };
    let one = |index| Processor {
        busy: of(index, |one| one.busy),
        softirq: of(index, |one| one.softirq),
    };
    (0..count).map(one).collect()
}
