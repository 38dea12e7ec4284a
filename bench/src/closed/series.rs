//! The same scenarios at several lengths of frames, numbers of flows and so on: what a router's
//! speed depends on, and what not.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::row::Scenario;
use crate::circuit::Path;
use crate::load::{Length, Load, Mix, Wires};

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
    /// Bytes of the frames, without checksum.
    Length,
    /// Number of flows.
    Flows,
    /// Packets of one flow in a row.
    Burst,
    /// What is below IP.
    Wires,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Length, Self::Flows, Self::Burst, Self::Wires];

    /// Short name, for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Flows => "flows",
            Self::Burst => "burst",
            Self::Wires => "wires",
        }
    }

    /// For an axis.
    pub fn text(self) -> &'static str {
        match self {
            Self::Length => "bytes of a frame",
            Self::Flows => "flows",
            Self::Burst => "packets of one flow in a row",
            Self::Wires => "headers below IP",
        }
    }

    /// Its points.
    pub(super) fn loads(self, base: Load, most_flows: u32) -> Vec<(At, Load)> {
        match self {
            Self::Length => {
                let lengths = [60, 508, 1514].map(Length::Octets);
                let lengths = lengths.into_iter().chain([Length::Mixed(Mix::Imix)]);
                let load = |length| (At::of(length), Load { length, ..base });
                lengths.map(load).collect()
            }
            Self::Flows => {
                let flows = [1, 1024, 30_000, 65_536, 200_000, 1_000_000].into_iter();
                let flows = flows.filter(|flows| *flows <= most_flows);
                let load = |flows| (At::Number(flows), Load { flows, ..base });
                flows.map(load).collect()
            }
            Self::Burst => {
                let load = |burst| (At::Number(burst), Load { burst, ..base });
                [1, 1024].map(load).to_vec()
            }
            Self::Wires => {
                let load = |wires: Wires| (At::Name(wires.text().into()), Load { wires, ..base });
                Wires::ALL.map(load).to_vec()
            }
        }
    }

    pub(super) fn scenarios(self) -> Vec<Path> {
        let all = SCENARIOS.into_iter();
        let knows = |path: &Path| self != Self::Wires || Wires::ALL.iter().all(|w| path.knows(*w));
        all.filter(knows).collect()
    }
}

/// Where a point of a series is: a number, or the name of what is no number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum At {
    /// Bytes, flows, packets.
    Number(u32),
    /// Lengths that take turns, wires.
    Name(String),
}

impl At {
    fn of(length: Length) -> Self {
        match length {
            Length::Octets(octets) => Self::Number(octets.into()),
            Length::Mixed(Mix::Imix) => Self::Name("IMIX".into()),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Scenarios at several values of one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What differs.
    pub by: By,
    /// Numbers in ascending order.
    pub points: Vec<Point>,
}

/// At one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value.
    pub at: At,
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
    pub fn with(&self, at: &At) -> String {
        match (self.by, at) {
            (By::Length, At::Number(at)) => format!("{at} bytes"),
            (By::Flows, At::Number(1)) => "1 flow".into(),
            (By::Flows, At::Number(at)) => format!("{at} flows"),
            (By::Burst, at) => format!("{at} in a row"),
            (_, at) => at.to_string(),
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
    pub fn of(&self, name: &str) -> Vec<&Scenario> {
        let found = self.points.iter().filter_map(|point| {
            let mut all = point.scenarios.iter();
            all.find(|one| one.name == name)
        });
        found.collect()
    }
}
