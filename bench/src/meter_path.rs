//! Measures the kernel's whole path in the closed loop on a processor: without programs, with
//! programs at both ports that do nothing, and with the monitor, in turn. The programs that do
//! nothing show the kernel's price of entering any program.

use std::any::Any;
use std::path::Path as File;

use serde::Serialize;

use crate::Error;
use crate::circuit::{Circuit, Path};
use crate::daemon::Daemon;
use crate::load::Load;
use crate::report::{Table, table};
use crate::rounds::{Plan, median};

/// Additional nanoseconds per packet, compared within each round.
#[derive(Clone, Debug, Serialize)]
pub struct AddedTime {
    /// Median of the rounds' differences.
    pub median: f64,
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
}

impl AddedTime {
    /// Summarises the rounds.
    pub(crate) fn of(mut differences: Vec<f64>) -> Self {
        differences.sort_by(f64::total_cmp);
        Self {
            median: median(&differences),
            least: differences.first().copied().unwrap_or(f64::NAN),
            most: differences.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// Result for a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathCost {
    /// [`Path::name`].
    pub path: &'static str,
    /// Nanoseconds per packet without programs, including generator and sink: median of the rounds.
    pub alone: f64,
    /// Addition by programs that do nothing.
    pub nothing: AddedTime,
    /// Addition by the monitor.
    pub monitor: AddedTime,
}

impl PathCost {
    /// Returns the percentage of packets a second lost to the monitor, at the median.
    pub fn lost(&self) -> f64 {
        self.monitor.median / (self.alone + self.monitor.median) * 100.0
    }
}

/// Number of watchers at the router's ports: none, programs that do nothing, the monitor.
const WATCHES: usize = 3;

/// Starts a watcher, which stays on the ports until the returned value is dropped.
fn watch(which: usize, circuit: &Circuit, binary: &File) -> Result<Box<dyn Any>, Error> {
    Ok(match which {
        0 => Box::new(()),
        1 => Box::new(circuit.nothing()?),
        _ => {
            // Processes started here inherit the pin.
            datapath::bench::unpin()?;
            Box::new(Daemon::monitor(circuit.router()?, binary, "", 2)?)
        }
    })
}

/// Measures kernel paths with this many flows, on processor `cpu`.
pub fn all(binary: &File, flows: u32, plan: Plan, cpu: usize) -> Result<Vec<PathCost>, Error> {
    let paths = [Path::Kernel, Path::Masquerade];
    paths
        .into_iter()
        .map(|path| one(path, binary, flows, plan, cpu))
        .collect()
}

fn one(path: Path, binary: &File, flows: u32, plan: Plan, cpu: usize) -> Result<PathCost, Error> {
    let load = Load {
        flows,
        ..Load::default()
    };
    let mut circuit = Circuit::build(path, load, binary)?;
    let (mut alone, mut nothing, mut monitor) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..plan.rounds as usize {
        // Each watcher is first in turn.
        let mut found = [0.0; WATCHES];
        for step in 0..WATCHES {
            let which = (round + step) % WATCHES;
            let watched = watch(which, &circuit, binary)?;
            datapath::bench::pin(cpu)?;
            let run = circuit.measure(plan.warm, plan.seconds)?;
            found[which] = 1e9 / run.rate();
            drop(watched);
        }
        alone.push(found[0]);
        nothing.push(found[1] - found[0]);
        monitor.push(found[2] - found[0]);
    }
    alone.sort_by(f64::total_cmp);
    Ok(PathCost {
        path: path.name(),
        alone: median(&alone),
        nothing: AddedTime::of(nothing),
        monitor: AddedTime::of(monitor),
    })
}

/// Formats the results as a table.
pub fn report(found: &[PathCost]) -> Table {
    let more =
        |more: &AddedTime| format!("{:.0} ({:.0} to {:.0})", more.median, more.least, more.most);
    let lines: Vec<_> = found
        .iter()
        .map(|whole| {
            vec![
                whole.path.to_owned(),
                format!("{:.0}", whole.alone),
                more(&whole.nothing),
                more(&whole.monitor),
                format!("{:.1} %", whole.lost()),
            ]
        })
        .collect();
    table(
        &[
            "path",
            "ns",
            "more with programs that do nothing",
            "with the monitor",
            "lost to it",
        ],
        &lines,
    )
}
