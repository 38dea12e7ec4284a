//! Tables, for eyes and for docs/performance.md.

use std::fmt::Write as _;

use crate::programs::Cost;

/// Lines of cells under headings, aligned: the first column to the left, the others to the right. As Markdown, so that it can be
/// read and pasted alike.
pub fn table(headings: &[&str], lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count());
        cells
            .chain([headings[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (column, cell) in cells.enumerate() {
            let space = " ".repeat(widths[column] - cell.chars().count());
            let _ = if column == 0 {
                write!(out, "| {cell}{space} ")
            } else {
                write!(out, "| {space}{cell} ")
            };
        }
        out.push_str("|\n");
    };
    line(&mut headings.iter().copied());
    let rules: Vec<_> = widths
        .iter()
        .enumerate()
        .map(|(i, w)| {
            if i == 0 {
                "-".repeat(*w)
            } else {
                "-".repeat(w - 1) + ":"
            }
        })
        .collect();
    line(&mut rules.iter().map(String::as_str));
    for cells in lines {
        line(&mut cells.iter().map(String::as_str));
    }
    out
}

/// Single programs; `unit` is ns or instructions.
pub fn programs(costs: &[Cost], unit: &str) -> String {
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
