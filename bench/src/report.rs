//! Tables, for people and for docs/performance.md.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::programs::Cost;
use crate::{Error, machine};

/// Table: headings, and lines of cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Headings of the columns.
    pub headings: Vec<String>,
    /// Lines with a cell for each column.
    pub lines: Vec<Vec<String>>,
}

/// Builds a table.
pub fn table(headings: &[&str], lines: &[Vec<String>]) -> Table {
    Table {
        headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
        lines: lines.to_vec(),
    }
}

/// Writes Markdown with aligned cells, readable as it is: the first column to the left, the others
/// to the right.
impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || [&self.headings].into_iter().chain(&self.lines);
        let width = |column: usize| {
            let cells = all().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.headings.len()).map(width).collect();
        let rule = |(column, width): (usize, &usize)| match column {
            0 => "-".repeat(*width),
            _ => "-".repeat(width.saturating_sub(1)) + ":",
        };
        let rules = widths.iter().enumerate().map(rule).collect();
        for line in [&self.headings, &rules].into_iter().chain(&self.lines) {
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let space = " ".repeat(width - cell.chars().count());
                match column {
                    0 => write!(out, "| {cell}{space} ")?,
                    _ => write!(out, "| {space}{cell} ")?,
                }
            }
            out.write_str("|\n")?;
        }
        Ok(())
    }
}

/// Version of the JSON form of [`StoredResult`].
pub const SCHEMA: u32 = 1;

/// Stored result of a benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredResult {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Machine: processor, number of processors, kernel.
    pub machine: String,
    /// Tables, by their names in docs/performance.md.
    pub tables: Vec<(String, Table)>,
    /// All figures, before rounding.
    pub figures: Value,
}

impl StoredResult {
    /// Returns a result of this machine.
    ///
    /// # Errors
    /// The figures cannot be written as JSON.
    pub fn here(tables: &[(&str, Table)], figures: &impl Serialize) -> Result<Self, Error> {
        let figures =
            serde_json::to_value(figures).map_err(|error| Error::Wrong(error.to_string()))?;
        let named = |(name, table): &(&str, Table)| ((*name).to_owned(), table.clone());
        Ok(Self {
            schema: SCHEMA,
            machine: machine::describe(),
            tables: tables.iter().map(named).collect(),
            figures,
        })
    }
}

/// Writes the machine and the tables, for people.
impl fmt::Display for StoredResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.machine)?;
        for (_, table) in &self.tables {
            write!(out, "\n{table}")?;
        }
        Ok(())
    }
}

/// Formats costs of single programs; `unit` is ns or instructions.
pub fn programs(costs: &[Cost], unit: &str) -> Table {
    let lines: Vec<_> = costs
        .iter()
        .map(|c| {
            vec![
                c.name.clone(),
                format!("{:.0}", c.own),
                format!("{:.0}", c.own + c.drop),
            ]
        })
        .collect();
    table(&["program", &format!("own {unit}"), "with harness"], &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned() {
        let lines = [["a packet", "1"], ["b", "1000"]].map(|line| line.map(String::from).to_vec());
        let found = table(&["what", "ns"], &lines).to_string();
        let wanted =
            "| what     |   ns |\n| -------- | ---: |\n| a packet |    1 |\n| b        | 1000 |\n";
        assert_eq!(found, wanted);
        assert_eq!(table(&["", "x"], &[]).to_string(), "|  | x |\n|  | : |\n");
    }
}
