//! Tables, for eyes and for docs/performance.md.

use std::fmt::Write as _;

use crate::circuit::Path;
use crate::programs::Cost;
use crate::rounds::Row;

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

/// The closed loop. Router ns is the cost beyond the generator's own.
pub fn closed_loop(rows: &[Row]) -> String {
    let find = |path: Path| rows.iter().find(|row| row.path == path.name());
    let floor = find(Path::Nothing).map(Row::nanoseconds);
    let ratio = |row: &Row, base: Option<&Row>| {
        base.map_or("–".into(), |base| {
            format!("{:.2}", row.median / base.median)
        })
    };
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                row.text.to_owned(),
                format!("{:.0}", row.median / 1e3),
                format!("{:.0}–{:.0}", row.least / 1e3, row.most / 1e3),
                format!("{:.0}", row.nanoseconds()),
                floor.map_or("–".into(), |floor| {
                    format!("{:.0}", row.nanoseconds() - floor)
                }),
                ratio(row, find(Path::Masquerade)),
                ratio(row, find(Path::Ceiling)),
                row.share
                    .map_or("–".into(), |share| format!("{:.2} %", share * 100.0)),
            ]
        })
        .collect();
    let headings = [
        "path",
        "k packets/s",
        "min–max",
        "ns",
        "router ns",
        "of kernel NAT",
        "of ceiling",
        "forwarded by weir",
    ];
    table(&headings, &lines)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_run() {
        let rows = [
            (Path::Nothing, 4e6),
            (Path::Masquerade, 1e6),
            (Path::Ceiling, 2e6),
        ]
        .map(|(path, rate)| Row::of(path, vec![rate], None));
        let text = closed_loop(&rows);
        let ceiling = text.lines().last().expect("a line");
        let cells: Vec<_> = ceiling.split('|').map(str::trim).collect();
        assert_eq!(
            cells[2..8],
            ["2000", "2000–2000", "500", "250", "2.00", "1.00"]
        );
    }
}
