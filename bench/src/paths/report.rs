//! The tables of [`super::measure`].

use lab::Arrangement;

use crate::report::{Table, table};

use super::{Cost, Forwarder};

/// Fewer instructions than the flowtable by this factor is the goal for NAT between plain wires.
const AGAINST_FLOWTABLE: f64 = 2.5;
/// Packets per instruction with other headers, of those between plain wires.
const AGAINST_PLAIN: f64 = 0.8;

/// Instructions per packet, generator and sink included; the same less generator and first wire; against the goals, by the first table.
pub fn report(costs: &[Cost]) -> [(&'static str, Table); 3] {
    let mut rows: Vec<(&str, bool)> = Vec::new();
    for cost in costs {
        let row = (cost.arrangement, cost.upward);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    [
        ("paths", absolute(costs, &rows, |_| 0.0)),
        (
            "paths-router",
            absolute(costs, &rows, |row| {
                find(costs, row, Forwarder::Nobody).unwrap_or(f64::NAN)
            }),
        ),
        ("paths-goals", goals(costs, &rows)),
    ]
}

fn find(costs: &[Cost], row: (&str, bool), forwarder: Forwarder) -> Option<f64> {
    costs
        .iter()
        .find(|cost| (cost.arrangement, cost.upward) == row && cost.forwarder == forwarder)
        .map(|cost| cost.median)
}

fn name((arrangement, upward): (&str, bool)) -> String {
    format!("{arrangement}, {}", if upward { "up" } else { "down" })
}

fn absolute(costs: &[Cost], rows: &[(&str, bool)], less: impl Fn((&str, bool)) -> f64) -> Table {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let cell = |forwarder| {
                find(costs, *row, forwarder)
                    .map_or("–".into(), |median| format!("{:.0}", median - less(*row)))
            };
            [name(*row)]
                .into_iter()
                .chain(Forwarder::ALL.map(cell))
                .collect()
        })
        .collect();
    let headings: Vec<_> = ["path"]
        .into_iter()
        .chain(Forwarder::ALL.map(Forwarder::text))
        .collect();
    table(&headings, &lines)
}

fn goals(costs: &[Cost], rows: &[(&str, bool)]) -> Table {
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    let plain = |upward, forwarder| find(costs, (Arrangement::PLAIN.name, upward), forwarder);
    let cell = |ratio: Option<f64>, goal: Option<f64>| match (ratio, goal) {
        (None, _) => "–".into(),
        (Some(ratio), Some(goal)) if ratio < goal => format!("{ratio:.2} (short of {goal})"),
        (Some(ratio), _) => format!("{ratio:.2}"),
    };
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let is_plain = row.0 == Arrangement::PLAIN.name;
            let flowtable = find(costs, *row, Forwarder::Flowtable);
            let mut line = vec![name(*row)];
            for (forwarder, goal) in [
                (
                    Forwarder::WeirXdp,
                    Some(if is_plain { AGAINST_FLOWTABLE } else { 1.0 }),
                ),
                (Forwarder::WeirTc, None),
            ] {
                let weir = find(costs, *row, forwarder);
                line.push(cell(ratio(flowtable, weir), goal));
            }
            for forwarder in [Forwarder::WeirXdp, Forwarder::WeirTc] {
                let weir = find(costs, *row, forwarder);
                line.push(cell(
                    ratio(plain(row.1, forwarder), weir),
                    Some(AGAINST_PLAIN),
                ));
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

    fn cost(arrangement: Arrangement, forwarder: Forwarder, median: f64) -> Cost {
        Cost {
            arrangement: arrangement.name,
            upward: true,
            forwarder,
            median,
            least: median,
            most: median,
            share: None,
        }
    }

    #[test]
    fn goals_are_judged_by_ratios_of_one_row() {
        let costs = [
            cost(Arrangement::PLAIN, Forwarder::Nobody, 800.0),
            cost(Arrangement::PLAIN, Forwarder::Flowtable, 4000.0),
            cost(Arrangement::PLAIN, Forwarder::WeirXdp, 2000.0),
            cost(Arrangement::VLAN, Forwarder::WeirXdp, 2600.0),
        ];
        let text = report(&costs).map(|(_, table)| table.to_string()).concat();
        assert!(text.contains("2.00 (short of 2.5)"), "{text}");
        assert!(text.contains("0.77 (short of 0.8)"), "{text}");
        assert!(text.contains(" 3200 |"), "{text}");
    }
}
