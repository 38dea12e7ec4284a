//! Counts the instructions of a packet's whole path through a router, by arrangement and forwarder.
//!
//! A generator feeds frames into a host's device as a driver would. The router forwards the frames,
//! and a sink drops them at the other host, all on one processor, within one call. Under
//! `scripts/vm --icount` the guest's clock counts instructions, so time by packets is instructions
//! per packet, including generator and sink. A drop at the router's port shows the cost of the
//! generator and the first wire alone.

use std::path::Path as File;

use lab::generate::Side;
use serde::Serialize;

use crate::circuit::{Circuit, Path};
use crate::load::{Encapsulation, Load};
use crate::report::{Table, table};
use crate::rounds::median;
use crate::{Error, machine};

/// Forwarders, in the order of the table.
pub const FORWARDERS: [Path; 7] = [
    Path::Nothing,
    Path::Kernel,
    Path::Masquerade,
    Path::Flowtable,
    Path::Ceiling,
    Path::WeirTc,
    Path::WeirXdp,
];

/// Effort of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Packets in a batch.
    pub packets: u32,
    /// Batches, of which the median counts.
    pub batches: u32,
    /// Flows that take turns.
    pub flows: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            packets: 12_800,
            batches: 5,
            flows: 64,
        }
    }
}

/// Cost of a path.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Headers below IP.
    pub wires: Encapsulation,
    /// Set for packets from the client to the server.
    pub upward: bool,
    /// Forwarder: [`Path::name`].
    pub path: &'static str,
    /// Instructions per packet, including generator and sink: median of the batches.
    pub median: f64,
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
    /// Lowest share of the packets that weir forwarded; unset without weir.
    pub share: Option<f64>,
}

/// Measures wires with all their forwarders, in both directions. `weir` is the binary.
pub fn measure(
    wires: &[Encapsulation],
    effort: Effort,
    weir: &File,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Cost>, Error> {
    // Unlike elsewhere, this thread has neither pin nor priority: weir and PPP's daemons start in
    // between, and would inherit both.
    if machine::processors() != 1 {
        return Err(Error::Wrong(
            "whole paths are measured on one processor: run `make paths`".into(),
        ));
    }
    // While the machine waits for a file from outside, its clock leaps, and would exceed the limit
    // for weir's start.
    std::fs::read(weir).map_err(Error::system(format!("read {}", weir.display())))?;
    let mut costs = Vec::new();
    for wires in wires {
        let load = Load {
            flows: effort.flows,
            wires: *wires,
            ..Load::default()
        };
        for path in FORWARDERS.into_iter().filter(|path| path.knows(*wires)) {
            let named = |error| Error::Wrong(format!("{}, {}: {error}", wires.text(), path.text()));
            let mut circuit = Circuit::build(path, load, weir).map_err(named)?;
            for from in sides(path) {
                let cost = one(&mut circuit, *wires, *from, effort).map_err(named)?;
                progress(&format!(
                    "{}, {}, {}: {:.0} instructions a packet ({:.0} to {:.0})",
                    wires.text(),
                    if cost.upward { "up" } else { "down" },
                    path.text(),
                    cost.median,
                    cost.least,
                    cost.most
                ));
                costs.push(cost);
            }
        }
    }
    Ok(costs)
}

/// Returns the sides whose packets a path forwards: the static program takes only the client's.
fn sides(path: Path) -> &'static [Side] {
    match path {
        Path::Ceiling => &[Side::Client],
        _ => &[Side::Client, Side::Server],
    }
}

fn one(
    circuit: &mut Circuit,
    wires: Encapsulation,
    from: Side,
    effort: Effort,
) -> Result<Cost, Error> {
    circuit.listen(from)?;
    circuit.check_wire()?;
    let mut figures = Vec::new();
    let mut share: Option<f64> = None;
    for _ in 0..effort.batches {
        let run = circuit.batch(effort.packets)?;
        figures.push(run.cost());
        share = run
            .share
            .map(|now| share.map_or(now, |least| least.min(now)));
    }
    circuit.check_wire()?;
    figures.sort_by(f64::total_cmp);
    Ok(Cost {
        wires,
        upward: from == Side::Client,
        path: circuit.path().name(),
        median: median(&figures),
        least: figures.first().copied().unwrap_or(f64::NAN),
        most: figures.last().copied().unwrap_or(f64::NAN),
        share,
    })
}

/// Goal for NAT between plain wires: instructions of the flowtable by those of weir.
const AGAINST_FLOWTABLE: f64 = 2.5;
/// Goal for other headers: packets per instruction, relative to plain wires.
const AGAINST_PLAIN: f64 = 0.8;

/// Wires, and whether upward.
type Row = (Encapsulation, bool);

/// Formats three tables: instructions per packet with generator and sink, those without generator
/// and first wire, and the goals, by the first table.
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
    let plain = |upward, path| find(costs, (Encapsulation::Plain, upward), path);
    let cell = |ratio: Option<f64>, goal: Option<f64>| match (ratio, goal) {
        (None, _) => "–".into(),
        (Some(ratio), Some(goal)) if ratio < goal => format!("{ratio:.2} (short of {goal})"),
        (Some(ratio), _) => format!("{ratio:.2}"),
    };
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let is_plain = row.0 == Encapsulation::Plain;
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

    fn cost(wires: Encapsulation, path: Path, median: f64) -> Cost {
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
            cost(Encapsulation::Plain, Path::Nothing, 800.0),
            cost(Encapsulation::Plain, Path::Flowtable, 4000.0),
            cost(Encapsulation::Plain, Path::WeirXdp, 2000.0),
            cost(Encapsulation::Vlan, Path::WeirXdp, 2600.0),
        ];
        let text = report(&costs).map(|(_, table)| table.to_string()).concat();
        assert!(text.contains("2.00 (short of 2.5)"), "{text}");
        assert!(text.contains("0.77 (short of 0.8)"), "{text}");
        assert!(text.contains(" 3200 |"), "{text}");
    }
}
