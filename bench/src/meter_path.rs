//! The whole way of a packet through the kernel, without the monitor and with it, in turn: the closed loop on one processor.

use std::path::Path as File;

use serde::Serialize;

use crate::circuit::{Circuit, Driver, Path};
use crate::daemon::Daemon;
use crate::report::table;
use crate::rounds::{Plan, median};
use crate::{Error, machine};

/// One path.
#[derive(Clone, Debug, Serialize)]
pub struct Whole {
    /// [`Path::name`].
    pub path: &'static str,
    /// Nanoseconds per packet without the monitor, generator and sink included: the median of the rounds.
    pub alone: f64,
    /// More with it, at both ports: the median of the rounds' differences.
    pub more: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Whole {
    /// Packets a second that are lost by it, percent: at the median.
    pub fn lost(&self) -> f64 {
        self.more / (self.alone + self.more) * 100.0
    }
}

/// Measures kernel paths with so many flows; `cpu`: the processor to run on.
pub fn all(binary: &File, flows: u32, plan: Plan, cpu: usize) -> Result<Vec<Whole>, Error> {
    let paths = [Path::Kernel, Path::Masquerade];
    paths
        .into_iter()
        .map(|path| one(path, binary, flows, plan, cpu))
        .collect()
}

fn one(path: Path, binary: &File, flows: u32, plan: Plan, cpu: usize) -> Result<Whole, Error> {
    let mut circuit = Circuit::build(path, 60, flows, &Driver::Direct)?;
    let (mut alone, mut more) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        // Each is first in turn.
        let mut found = [0.0; 2];
        for step in 0..2 {
            let with = (round + step) % 2 == 1;
            // What is started inherits the pin.
            machine::unpin()?;
            let monitor = match with {
                true => Some(Daemon::monitor(circuit.router()?, binary, "", 2)?),
                false => None,
            };
            datapath::bench::pin(cpu)?;
            let run = circuit.measure(plan.warm, plan.seconds)?;
            found[usize::from(with)] = 1e9 / run.rate();
            drop(monitor);
        }
        alone.push(found[0]);
        more.push(found[1] - found[0]);
    }
    for values in [&mut alone, &mut more] {
        values.sort_by(f64::total_cmp);
    }
    Ok(Whole {
        path: path.name(),
        alone: median(&alone),
        more: median(&more),
        least: more.first().copied().unwrap_or(f64::NAN),
        most: more.last().copied().unwrap_or(f64::NAN),
    })
}

/// For eyes.
pub fn report(found: &[Whole]) -> String {
    let lines: Vec<_> = found
        .iter()
        .map(|whole| {
            vec![
                whole.path.to_owned(),
                format!("{:.0}", whole.alone),
                format!("{:.0}", whole.more),
                format!("{:.0} to {:.0}", whole.least, whole.most),
                format!("{:.1} %", whole.lost()),
            ]
        })
        .collect();
    table(
        &["path", "ns", "more with the monitor", "from … to", "lost"],
        &lines,
    )
}
