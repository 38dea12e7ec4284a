//! Measures the cost of counting while weir forwards at XDP, past the meter: packets per second,
//! and the daemon's processor time. Two routers, one without counting, take turns.

use std::path::Path as File;
use std::time::Duration;

use lab::counters::processor_time;
use serde::Serialize;

use crate::Error;
use crate::circuit::{Circuit, Path};
use crate::load::Load;
use crate::meter_path::AddedTime;
use crate::report::{Table, table};
use crate::rounds::{Plan, median};

/// Result for a number of flows.
#[derive(Clone, Debug, Serialize)]
pub struct CountingCost {
    /// Flows, each with packets in both directions.
    pub flows: u32,
    /// Nanoseconds per packet without counting, including generator and sink: median.
    pub alone: f64,
    /// Additional nanoseconds with counting.
    pub counted: AddedTime,
    /// Processor time of the daemon without counting, percent of a processor, with a packet of each
    /// flow each way a second.
    pub idle: f64,
    /// Processor time of the daemon with counting.
    pub counting: f64,
}

impl CountingCost {
    /// Returns the percentage of packets a second lost to counting, at the median.
    pub fn lost(&self) -> f64 {
        self.counted.median / (self.alone + self.counted.median) * 100.0
    }
}

/// Measures each number of flows, on processor `cpu`; `seconds` is for the daemon's time.
pub fn all(
    binary: &File,
    flows: &[u32],
    plan: Plan,
    seconds: u32,
    cpu: usize,
) -> Result<Vec<CountingCost>, Error> {
    let one = |flows: &u32| one(binary, *flows, plan, seconds, cpu);
    flows.iter().map(one).collect()
}

fn one(
    binary: &File,
    flows: u32,
    plan: Plan,
    seconds: u32,
    cpu: usize,
) -> Result<CountingCost, Error> {
    let load = Load {
        flows,
        ..Load::default()
    };
    let build = |config: &str| {
        // Processes started here inherit the pin.
        datapath::bench::unpin()?;
        Circuit::configured(Path::WeirXdp, load, binary, (config, &|_| Ok(())))
    };
    let mut circuits = [build("[monitor]\nenabled = false\n")?, build("")?];
    let (mut alone, mut counted) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds as usize {
        // Each router is first in turn.
        let mut found = [0.0; 2];
        for step in 0..2 {
            let which = (round + step) % 2;
            datapath::bench::pin(cpu)?;
            let run = circuits[which].measure(plan.warm, plan.seconds)?;
            found[which] = 1e9 / run.rate();
        }
        alone.push(found[0]);
        counted.push(found[1] - found[0]);
    }
    datapath::bench::unpin()?;
    let mut spent = [0.0; 2];
    for (spent, circuit) in spent.iter_mut().zip(&mut circuits) {
        let id = circuit.weir()?.id();
        circuit.trickle(2)?;
        let before = processor_time(id)?;
        circuit.trickle(seconds)?;
        let took = processor_time(id)?.saturating_sub(before);
        *spent = took.div_duration_f64(Duration::from_secs(seconds.into())) * 100.0;
    }
    alone.sort_by(f64::total_cmp);
    Ok(CountingCost {
        flows,
        alone: median(&alone),
        counted: AddedTime::of(counted),
        idle: spent[0],
        counting: spent[1],
    })
}

/// Formats the results as a table.
pub fn report(found: &[CountingCost]) -> Table {
    let lines: Vec<_> = found
        .iter()
        .map(|found| {
            let AddedTime {
                median,
                least,
                most,
            } = found.counted;
            vec![
                found.flows.to_string(),
                format!("{:.0}", found.alone),
                format!("{median:.1} ({least:.1} to {most:.1})"),
                format!("{:.1} %", found.lost()),
                format!("{:.2} %", found.idle),
                format!("{:.2} %", found.counting),
            ]
        })
        .collect();
    table(
        &[
            "active flows",
            "XDP, ns",
            "more with counting",
            "lost to it",
            "processor of a daemon that does not count",
            "that counts",
        ],
        &lines,
    )
}
