//! Report of a measurement, and its conclusions.

use serde::{Deserialize, Serialize};

use super::bulk::Bulk;
use super::profile::Profile;
use super::row::{Scenario, SkippedScenario};
use super::series::Series;
use crate::circuit::Path;
use crate::load::Load;
use crate::machine::Machine;
use crate::rounds::{Spread, median, sorted};
use crate::verdict::{Verdict, compare};

/// Version of the report; changes with the meaning of any field.
pub const SCHEMA: &str = "weir-bench-lab/1";

/// Report of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Machine that was measured.
    pub machine: Machine,
    /// Requested rounds.
    pub rounds: u32,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// Packets sent.
    #[serde(flatten)]
    pub load: Load,
    /// Relative difference that may be noise: see [`noise`](crate::verdict::noise).
    pub noise: f64,
    /// Set if all rounds were made; the user may have stopped early.
    pub complete: bool,
    /// Measured scenarios, in the order measured.
    pub scenarios: Vec<Scenario>,
    /// Scenarios and points that were not measured.
    pub left_out: Vec<SkippedScenario>,
    /// Measurements at several lengths, numbers of flows and so on.
    #[serde(default)]
    pub series: Vec<Series>,
    /// TCP between whole hosts.
    #[serde(default)]
    pub tcp: Option<Bulk>,
    /// Profiles.
    #[serde(default)]
    pub profiles: Vec<Profile>,
}

impl Report {
    /// Returns the scenario of a path.
    pub fn find(&self, path: Path) -> Option<&Scenario> {
        let mut all = self.scenarios.iter();
        all.find(|scenario| scenario.name == path.name())
    }

    /// Returns the kernel's scenario to compare with: its NAT, or its drop by a rule.
    pub fn against(&self, scenario: &Scenario) -> Option<&Scenario> {
        match scenario.drops() {
            true => self.find(Path::Drop),
            false => self.find(Path::Masquerade),
        }
    }

    /// Compares two scenarios of this report.
    pub fn compare(&self, first: &Scenario, second: &Scenario) -> Verdict {
        compare(&first.each, &second.each, self.noise)
    }

    /// Groups the scenarios, the fastest first. Scenarios of a group cannot be told apart from the
    /// first one of the group.
    pub fn ranking(&self) -> Vec<Vec<&Scenario>> {
        let mut all: Vec<_> = self.scenarios.iter().collect();
        all.sort_by(|a, b| b.pps.median.total_cmp(&a.pps.median));
        let mut groups: Vec<Vec<&Scenario>> = Vec::new();
        for scenario in all {
            match groups.last_mut() {
                Some(group) if self.compare(group[0], scenario) == Verdict::Undecided => {
                    group.push(scenario);
                }
                _ => groups.push(vec![scenario]),
            }
        }
        groups
    }
}

/// Comparison of a scenario in two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// [`Path::name`].
    pub name: String,
    /// Packets per second, before and after.
    pub pps: [Spread; 2],
    /// Verdict on the second compared with the first.
    pub verdict: Verdict,
}

/// Compares two reports. They were not measured in turn, so a difference has to be clearer: all
/// rounds of one beyond all rounds of the other, and medians further apart than the noise of both.
pub fn changes(before: &Report, after: &Report) -> Vec<Change> {
    let noise = before.noise.max(after.noise);
    let both = after.scenarios.iter().filter_map(|now| {
        let mut was = before.scenarios.iter();
        was.find(|was| was.name == now.name).map(|was| (was, now))
    });
    both.map(|(was, now)| {
        let apart = was.pps.min > now.pps.max || now.pps.min > was.pps.max;
        let enough = was.each.len().min(now.each.len()) >= 2;
        let middle = |scenario: &Scenario| median(&sorted(&scenario.each));
        Change {
            name: now.name.clone(),
            pps: [was.pps, now.pps],
            verdict: match apart && enough {
                true => compare(&[middle(now)], &[middle(was)], noise),
                false => Verdict::Undecided,
            },
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::row::Row;
    use super::super::{chart, page};
    use super::*;
    use crate::machine::Processor;

    fn report(noise: f64, rates: &[(Path, &[f64])]) -> Report {
        let rows = rates.iter().map(|(path, rates)| Row {
            rates: rates.to_vec(),
            busy: vec![1.0; rates.len()],
            processors: vec![vec![Processor::default()]; rates.len()],
            ..Row::of(*path)
        });
        Report {
            schema: SCHEMA.into(),
            machine: Machine::this(),
            rounds: 5,
            seconds: 1.0,
            load: Load::default(),
            noise,
            complete: true,
            scenarios: rows.filter_map(Row::scenario).collect(),
            left_out: Vec::new(),
            series: Vec::new(),
            tcp: None,
            profiles: Vec::new(),
        }
    }

    #[test]
    fn what_cannot_be_told_apart_has_one_rank() {
        let found = report(
            0.03,
            &[
                (Path::Masquerade, &[1.0, 1.01, 0.99]),
                (Path::Ceiling, &[4.0, 4.1, 3.9]),
                (Path::WeirXdp, &[3.6, 3.7, 3.5]),
                (Path::HashNat, &[3.58, 3.65, 3.55]),
            ],
        );
        let names: Vec<Vec<_>> = found
            .ranking()
            .iter()
            .map(|group| group.iter().map(|one| one.name.as_str()).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["xdp-static"],
                vec!["weir-xdp", "xdp-hash"],
                vec!["kernel-nat"]
            ]
        );
    }

    #[test]
    fn of_two_reports() {
        let before = report(
            0.02,
            &[
                (Path::Ceiling, &[4.0, 4.05, 3.95]),
                (Path::WeirXdp, &[3.6, 3.65, 3.55]),
            ],
        );
        let after = report(
            0.02,
            &[
                (Path::Ceiling, &[3.96, 4.0, 3.92]),
                (Path::WeirXdp, &[2.88, 2.9, 2.85]),
            ],
        );
        let found = changes(&before, &after);
        assert_eq!(found[0].verdict, Verdict::Undecided, "1 %");
        assert!(
            matches!(found[1].verdict, Verdict::Slower(ratio) if (0.79..0.81).contains(&ratio)),
            "20 %"
        );
        assert!(changes(&before, &report(0.0, &[])).is_empty());
    }

    #[test]
    fn pictures_hold_no_markup_of_others() {
        let mut one = report(
            0.02,
            &[
                (Path::Ceiling, &[4e6, 4.05e6]),
                (Path::Masquerade, &[5e5, 5.1e5]),
            ],
        );
        one.machine.processor = "<script>alert(1)</script>\u{1b}[31m".into();
        for text in [chart::draw(&one), page::page(&one)] {
            assert!(
                !text.contains("<script") && !text.contains('\u{1b}'),
                "{text}"
            );
            assert!(
                text.contains("XDP, static rewrite: the ceiling")
                    && text.contains("8.0 × kernel NAT"),
                "{text}"
            );
        }
    }

    #[test]
    fn is_read_as_it_was_written() {
        let one = report(0.02, &[(Path::Ceiling, &[4.0, 8.0])]);
        let text = serde_json::to_string(&one).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Report>(&text).expect("a report"),
            one
        );
    }
}
