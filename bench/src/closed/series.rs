//! The same scenarios at several lengths of frames and numbers of flows: what a router's speed depends on, and what not.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Load, Scenario, Session, Settings, expected};
use crate::Error;
use crate::circuit::Path;
use crate::rounds::Plan;

/// What is measured: what there is without weir, weir, and what is the most.
const SCENARIOS: [Path; 5] = [
    Path::Masquerade,
    Path::Flowtable,
    Path::WeirTc,
    Path::WeirXdp,
    Path::Ceiling,
];

/// What a series varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Octets of the frames, without checksum.
    Length,
    /// Number of flows.
    Flows,
}

impl By {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Length, Self::Flows];

    /// Short name, for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Flows => "flows",
        }
    }

    /// For an axis.
    pub fn text(self) -> &'static str {
        match self {
            Self::Length => "octets of a frame",
            Self::Flows => "flows",
        }
    }

    fn values(self) -> &'static [u32] {
        match self {
            Self::Length => &[60, 252, 508, 1020, 1514],
            Self::Flows => &[1, 16, 256, 4096, 30_000],
        }
    }
}

/// Scenarios at several values of one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What differs.
    pub by: By,
    /// In ascending order.
    pub points: Vec<Point>,
}

/// At one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value.
    pub at: u32,
    /// What was measured in turn there.
    pub scenarios: Vec<Scenario>,
}

impl Point {
    /// That of a name.
    pub fn find(&self, path: Path) -> Option<&Scenario> {
        let mut all = self.scenarios.iter();
        all.find(|scenario| scenario.name == path.name())
    }
}

impl Series {
    /// A value with what it is of: `64 flows`.
    pub fn with(&self, at: u32) -> String {
        match (self.by, at) {
            (By::Length, _) => format!("{at} octets"),
            (By::Flows, 1) => "1 flow".into(),
            (By::Flows, _) => format!("{at} flows"),
        }
    }

    /// The names of what was measured, in order, with what they are in words.
    pub fn names(&self) -> Vec<(&str, &str)> {
        let first = self.points.first().map(|point| &point.scenarios[..]);
        let all = first.unwrap_or_default().iter();
        all.map(|one| (one.name.as_str(), one.text.as_str()))
            .collect()
    }

    /// One scenario at all points.
    pub fn of(&self, name: &str) -> Vec<(u32, &Scenario)> {
        let found = self.points.iter().filter_map(|point| {
            let mut all = point.scenarios.iter();
            all.find(|one| one.name == name).map(|one| (point.at, one))
        });
        found.collect()
    }
}

/// Shorter than the main measurement: there are many.
fn plan(settings: &Settings) -> Plan {
    Plan {
        rounds: settings.plan.rounds.min(3),
        seconds: settings.plan.seconds * 0.3,
        warm: settings.plan.warm * 0.3,
    }
}

/// How long it takes.
pub(super) fn expected_time(settings: &Settings) -> Duration {
    let points: usize = settings.series.iter().map(|by| by.values().len()).sum();
    expected(SCENARIOS.len(), plan(settings)) * points as u32
}

impl Session<'_> {
    /// All that were asked for; one that was not ended is not told.
    pub(super) fn series(&mut self) -> Result<Vec<Series>, Error> {
        let plan = plan(self.settings);
        let mut all = Vec::new();
        for by in self.settings.series.clone() {
            let mut points = Vec::new();
            for at in by.values() {
                if self.stopped() {
                    return Ok(all);
                }
                let mut load = Load {
                    flows: self.settings.flows,
                    length: self.settings.length,
                };
                match by {
                    By::Length => load.length = *at as usize,
                    By::Flows => load.flows = *at,
                }
                let note = format!("{at} {}: ", by.text());
                let measured = self.measure(&SCENARIOS, load, plan, &note)?;
                points.push(Point {
                    at: *at,
                    scenarios: measured.scenarios,
                });
            }
            if !self.stopped() {
                all.push(Series { by, points });
            }
        }
        Ok(all)
    }
}
