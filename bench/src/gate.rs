//! Gate against slow creep: compares instructions per packet, which are exactly repeatable under
//! `scripts/vm --icount`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::programs::Cost;
use crate::report::{Table, table};
use crate::verifier::series;

/// Recorded measurement, bench/instructions.json.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Kernel of the measurement: another kernel's just-in-time compiler may emit other
    /// instructions.
    pub kernel: String,
    /// C compiler of the measurement: see [`machine::compiler`](crate::machine::compiler).
    pub compiler: String,
    /// Instructions beyond those of a drop, by program.
    pub costs: Vec<Cost>,
}

impl Record {
    /// Reads a record.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file)
            .map_err(Error::system(format!("read {}", file.display())))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::Wrong(format!("{}: {error}", file.display())))
    }

    /// Checks that two records are comparable, or returns the reason why not.
    pub fn comparable(&self, now: &Self) -> Result<(), String> {
        if series(&self.kernel) != series(&now.kernel) {
            return Err(format!(
                "recorded on Linux {}, running on {}",
                self.kernel, now.kernel
            ));
        }
        if self.compiler != now.compiler {
            return Err(format!(
                "recorded with {}, running with {}",
                self.compiler, now.compiler
            ));
        }
        Ok(())
    }

    /// Takes the lower cost of each path from another measurement with the programs loaded anew. A
    /// short path varies from load to load: `weir port noted, out` took 21, 24 and 28 in a machine.
    pub fn lower(&mut self, other: &Self) {
        for cost in &mut self.costs {
            let again = other.costs.iter().find(|again| again.name == cost.name);
            if let Some(again) = again.filter(|again| again.own < cost.own) {
                *cost = again.clone();
            }
        }
    }

    /// Writes the record.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::Wrong(error.to_string()))?;
        std::fs::write(file, text + "\n")
            .map_err(Error::system(format!("write {}", file.display())))
    }
}

/// Returns whether a cost grew by over 3 %, and by over two instructions, for short paths.
fn grown(before: f64, after: f64) -> bool {
    after > before * 1.03 && after > before + 2.0
}

/// Compares both; returns the names of costlier paths, and of those missing on a side.
pub fn compare(recorded: &Record, now: &Record) -> (Table, Vec<String>) {
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for cost in &now.costs {
        let before = recorded
            .costs
            .iter()
            .find(|c| c.name == cost.name)
            .map(|c| c.own);
        let change = before.map(|before| (cost.own / before - 1.0) * 100.0);
        if before.is_none_or(|before| grown(before, cost.own)) {
            failed.push(cost.name.clone());
        }
        lines.push(vec![
            cost.name.clone(),
            before.map_or("–".into(), |before| format!("{before:.0}")),
            format!("{:.0}", cost.own),
            change.map_or("new".into(), |change| format!("{change:+.1} %")),
        ]);
    }
    failed.extend(
        recorded
            .costs
            .iter()
            .map(|c| &c.name)
            .filter(|name| now.costs.iter().all(|c| c.name != **name))
            .cloned(),
    );
    (
        table(&["program", "recorded", "now", "change"], &lines),
        failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(costs: &[(&str, f64)]) -> Record {
        let costs = costs
            .iter()
            .map(|(name, own)| Cost {
                name: (*name).into(),
                own: *own,
                drop: 100.0,
            })
            .collect();
        Record {
            kernel: "6.12.1".into(),
            compiler: "clang version 14".into(),
            costs,
        }
    }

    #[test]
    fn another_kernel_or_compiler_is_not_compared() {
        let old = record(&[]);
        let other = |kernel: &str, compiler: &str| Record {
            kernel: kernel.into(),
            compiler: compiler.into(),
            costs: Vec::new(),
        };
        assert!(
            old.comparable(&other("6.12.99-amd64", "clang version 14"))
                .is_ok()
        );
        assert!(old.comparable(&other("6.1.0", "clang version 14")).is_err());
        assert!(
            old.comparable(&other("6.12.1", "clang version 19"))
                .is_err()
        );
    }

    #[test]
    fn the_least_of_two_loads_counts() {
        let mut first = record(&[("a", 28.0), ("b", 24.0), ("c", 5.0)]);
        first.lower(&record(&[("b", 27.0), ("a", 24.0)]));
        assert_eq!(first, record(&[("a", 24.0), ("b", 24.0), ("c", 5.0)]));
    }

    #[test]
    fn only_what_grew_fails() {
        let old = record(&[("a", 100.0), ("b", 100.0), ("short", 10.0), ("gone", 1.0)]);
        let new = record(&[("a", 102.0), ("b", 104.0), ("short", 11.0), ("new", 5.0)]);
        let (text, failed) = compare(&old, &new);
        assert_eq!(failed, ["b", "new", "gone"]);
        let text = text.to_string();
        assert!(text.contains("+4.0 %"), "{text}");
    }
}
