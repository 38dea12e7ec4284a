//! One scenario's rounds, as they come.

use super::report::Scenario;
use crate::circuit::{Path, Run};
use crate::machine::Processor;
use crate::rounds::{Spread, median, sorted};

/// What one circuit gave so far.
pub(super) struct Row {
    pub(super) path: Path,
    pub(super) rates: Vec<f64>,
    pub(super) busy: Vec<f64>,
    /// Of each round.
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

    /// `None` before there is a round.
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

/// The medians over rounds, processor by processor.
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
