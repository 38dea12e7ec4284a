//! The tables of [`super::measure`].

use crate::circuit::Path;
use crate::load::Wires;
use crate::report::{Table, table};

use super::{Cost, FORWARDERS};

/// Fewer instructions than the flowtable by this factor is the goal for NAT between plain wires.
const AGAINST_FLOWTABLE: f64 = 2.5;
/// Packets per instruction with other headers, of those between plain wires.
const AGAINST_PLAIN: f64 = 0.8;

/// Wires, and whether upward.
type Row = (Wires, bool);

/// Instructions per packet, generator and sink included; the same less generator and first wire;
/// against the goals, by the first table.
pub fn report(costs: &[Cost]) -> [(&'static str, Table); 3] {
    let mut rows: Vec<Row> = Vec::new();
    for cost in costs {
        let row = (cost.wires, cost.upward);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    [
        ("paths", absolute(costs, &rows, |_| 0.0)),
        (
            "paths-router",
            absolute(costs, &rows, |row| {
                find(costs, row, Path::Nothing).unwrap_or(f64::NAN)
            }),
        ),
        ("paths-goals", goals(costs, &rows)),
    ]
}

fn find(costs: &[Cost], row: Row, path: Path) -> Option<f64> {
    costs
        .iter()
        .find(|cost| (cost.wires, cost.upward) == row && cost.path == path.name())
        .map(|cost| cost.median)
}

fn name((wires, upward): Row) -> String {
    format!("{}, {}", wires.text(), if upward { "up" } else { "down" })
}

fn absolute(costs: &[Cost], rows: &[Row], less: impl Fn(Row) -> f64) -> Table {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let cell = |path| {
                find(costs, *row, path)
                    .map_or("–".into(), |median| format!("{:.0}", median - less(*row)))
            };
            [name(*row)]
                .into_iter()
                .chain(FORWARDERS.map(cell))
                .collect()
        })
        .collect();
    let headings: Vec<_> = ["path"]
        .into_iter()
        .chain(FORWARDERS.map(Path::text))
        .collect();
    table(&headings, &lines)
}

fn goals(costs: &[Cost], rows: &[Row]) -> Table {
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    let plain = |upward, path| find(costs, (Wires::Plain, upward), path);
    let cell = |ratio: Option<f64>, goal: Option<f64>| match (ratio, goal) {
        (None, _) => "–".into(),
        (Some(ratio), Some(goal)) if ratio < goal => format!("{ratio:.2} (short of {goal})"),
        (Some(ratio), _) => format!("{ratio:.2}"),
    };
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let is_plain = row.0 == Wires::Plain;
            let flowtable = find(costs, *row, Path::Flowtable);
            let mut line = vec![name(*row)];
            for (path, goal) in [
                (
                    Path::WeirXdp,
                    Some(if is_plain { AGAINST_FLOWTABLE } else { 1.0 }),
                ),
                (Path::WeirTc, None),
            ] {
                let weir = find(costs, *row, path);
                line.push(cell(ratio(flowtable, weir), goal));
            }
            for path in [Path::WeirXdp, Path::WeirTc] {
                let weir = find(costs, *row, path);
                line.push(cell(ratio(plain(row.1, path), weir), Some(AGAINST_PLAIN)));
            }
            line
        })
        .collect();
    let headings = [
        "path",
        "flowtable ÷ weir at XDP",
        "flowtable ÷ weir at TC",
        "weir at XDP, of plain",
        "weir at TC, of plain",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(wires: Wires, path: Path, median: f64) -> Cost {
        Cost {
            wires,
            upward: true,
            path: path.name(),
            median,
            least: median,
            most: median,
            share: None,
        }
    }

    #[test]
    fn goals_are_judged_by_ratios_of_one_row() {
        let costs = [
            cost(Wires::Plain, Path::Nothing, 800.0),
            cost(Wires::Plain, Path::Flowtable, 4000.0),
            cost(Wires::Plain, Path::WeirXdp, 2000.0),
            cost(Wires::Vlan, Path::WeirXdp, 2600.0),
        ];
        let text = report(&costs).map(|(_, table)| table.to_string()).concat();
        assert!(text.contains("2.00 (short of 2.5)"), "{text}");
        assert!(text.contains("0.77 (short of 0.8)"), "{text}");
        assert!(text.contains(" 3200 |"), "{text}");
    }
}
