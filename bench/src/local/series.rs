//! Measures the same scenarios at several frame lengths, numbers of flows and so on, to show on
//! which of them a router's speed depends.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::row::Scenario;
use crate::circuit::Path;
use crate::load::{Encapsulation, Length, Load, Mix};

/// Scenarios of a series: the kernel without weir, weir, and the ceiling.
const SCENARIOS: [Path; 5] = [
    Path::Masquerade,
    Path::Flowtable,
    Path::WeirTc,
    Path::WeirXdp,
    Path::Ceiling,
];

/// Quantity that a series varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variable {
    /// Bytes of the frames, without checksum.
    Length,
    /// Number of flows.
    Flows,
    /// Packets of one flow in a row.
    Burst,
    /// Headers below IP.
    Wires,
}

impl Variable {
    /// All quantities.
    pub const ALL: [Self; 4] = [Self::Length, Self::Flows, Self::Burst, Self::Wires];

    /// Returns the short name, for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Flows => "flows",
            Self::Burst => "burst",
            Self::Wires => "wires",
        }
    }

    /// Returns the label of the axis.
    pub fn text(self) -> &'static str {
        match self {
            Self::Length => "bytes of a frame",
            Self::Flows => "flows",
            Self::Burst => "packets of one flow in a row",
            Self::Wires => "headers below IP",
        }
    }

    /// Returns the points and their loads.
    pub(super) fn loads(self, base: Load, most_flows: u32) -> Vec<(PointValue, Load)> {
        match self {
            Self::Length => {
                let lengths = [60, 508, 1514].map(Length::Octets);
                let lengths = lengths.into_iter().chain([Length::Mixed(Mix::Imix)]);
                let load = |length| (PointValue::of(length), Load { length, ..base });
                lengths.map(load).collect()
            }
            Self::Flows => {
                let flows = [1, 1024, 30_000, 65_536, 200_000, 1_000_000].into_iter();
                let flows = flows.filter(|flows| *flows <= most_flows);
                let load = |flows| (PointValue::Number(flows), Load { flows, ..base });
                flows.map(load).collect()
            }
            Self::Burst => {
                let load = |burst| (PointValue::Number(burst), Load { burst, ..base });
                [1, 1024].map(load).to_vec()
            }
            Self::Wires => {
                let load = |wires: Encapsulation| {
                    (
                        PointValue::Name(wires.text().into()),
                        Load { wires, ..base },
                    )
                };
                Encapsulation::ALL.map(load).to_vec()
            }
        }
    }

    pub(super) fn scenarios(self) -> Vec<Path> {
        let all = SCENARIOS.into_iter();
        let knows =
            |path: &Path| self != Self::Wires || Encapsulation::ALL.iter().all(|w| path.knows(*w));
        all.filter(knows).collect()
    }
}

/// Position of a point: a number, or a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PointValue {
    /// Bytes, flows or packets.
    Number(u32),
    /// Name of a mix of lengths, or of wires.
    Name(String),
}

impl PointValue {
    fn of(length: Length) -> Self {
        match length {
            Length::Octets(octets) => Self::Number(octets.into()),
            Length::Mixed(Mix::Imix) => Self::Name("IMIX".into()),
        }
    }
}

impl fmt::Display for PointValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Scenarios at several values of a quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Varied quantity.
    pub by: Variable,
    /// Points, with numbers in ascending order.
    pub points: Vec<Point>,
}

/// Scenarios at a single value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value.
    pub at: PointValue,
    /// Scenarios, measured in turn.
    pub scenarios: Vec<Scenario>,
}

impl Point {
    /// Returns the scenario of a path.
    pub fn find(&self, path: Path) -> Option<&Scenario> {
        let mut all = self.scenarios.iter();
        all.find(|scenario| scenario.name == path.name())
    }
}

impl Series {
    /// Formats a value with its unit: `64 flows`.
    pub fn with(&self, at: &PointValue) -> String {
        match (self.by, at) {
            (Variable::Length, PointValue::Number(at)) => format!("{at} bytes"),
            (Variable::Flows, PointValue::Number(1)) => "1 flow".into(),
            (Variable::Flows, PointValue::Number(at)) => format!("{at} flows"),
            (Variable::Burst, at) => format!("{at} in a row"),
            (_, at) => at.to_string(),
        }
    }

    /// Returns names and descriptions of the scenarios, in order.
    pub fn names(&self) -> Vec<(&str, &str)> {
        let first = self.points.first().map(|point| &point.scenarios[..]);
        let all = first.unwrap_or_default().iter();
        all.map(|one| (one.name.as_str(), one.text.as_str()))
            .collect()
    }

    /// Returns a scenario at all points.
    pub fn of(&self, name: &str) -> Vec<&Scenario> {
        let found = self.points.iter().filter_map(|point| {
            let mut all = point.scenarios.iter();
            all.find(|one| one.name == name)
        });
        found.collect()
    }
}
