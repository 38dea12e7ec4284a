//! Measures processor time and memory of the monitoring daemon, by the number of active flows.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use datapath::bench::{Bench, Exit};
use lab::counters::processor_time;
use lab::{Ipv6, Lab, Options};
use serde::Serialize;

use crate::Error;
use crate::daemon::Daemon;
use crate::machine::inside;
use crate::report::{Table, table};
use crate::traffic::Kind;

/// Bursts a second: each flow has a packet a second, in one of the bursts.
const BURSTS: u32 = 10;

/// Result for a number of flows.
#[derive(Clone, Debug, Serialize)]
pub struct Burden {
    /// Flows with a packet each second.
    pub flows: u32,
    /// Conversations that the daemon reported at the end.
    pub conversations: u64,
    /// Processor time, percent of a single processor.
    pub processor: f64,
    /// Resident memory, MB.
    pub resident: f64,
    /// Anonymous part of the resident memory, without tables and files.
    pub own: f64,
}

/// Starts `weir run --only monitor` for each number of flows, lets the flows settle, and measures
/// for `seconds`.
pub fn burdens(binary: &Path, flows: &[u32], seconds: u32) -> Result<Vec<Burden>, Error> {
    datapath::bench::unpin()?;
    flows
        .iter()
        .map(|flows| burden(binary, *flows, seconds))
        .collect()
}

fn burden(binary: &Path, flows: u32, seconds: u32) -> Result<Burden, Error> {
    let kind = Kind {
        ipv6: false,
        translated: false,
        length: 60,
        flows: flows.max(1),
        servers: false,
    };
    let lab = Lab::gateway(&Options {
        nat: false,
        ipv6: Ipv6::Off,
        plain_offloads: true,
        raw: true,
        ..Options::default()
    })?;
    let router = lab.node("router")?;
    let weir = Daemon::monitor(router, binary, "", 2)?;
    let mut forward = Bench::load(
        &kind.forward(),
        lab.index("client", "eth0")?,
        &Exit::default(),
    )?;
    let mut second = |begin: Instant, nth: u32| -> Result<(), Error> {
        for burst in 0..BURSTS {
            let packets = (flows / BURSTS).max(1).next_multiple_of(64);
            if flows > 0 {
                inside(lab.node("client")?, || forward.generate(packets))??;
            }
            let due = begin
                + Duration::from_secs(nth.into())
                + Duration::from_secs(1) * (burst + 1) / BURSTS;
            sleep(due.saturating_duration_since(Instant::now()));
        }
        Ok(())
    };
    let begin = Instant::now();
    for nth in 0..3 {
        second(begin, nth)?;
    }
    let before = processor_time(weir.id())?.as_secs_f64();
    let begin = Instant::now();
    for nth in 0..seconds {
        second(begin, nth)?;
    }
    let took = begin.elapsed().as_secs_f64();
    let processor = (processor_time(weir.id())?.as_secs_f64() - before) / took * 100.0;
    let conversations = weir
        .devices()?
        .devices
        .iter()
        .map(|device| device.conversations)
        .sum();
    let (resident, own) = memory(weir.id())?;
    Ok(Burden {
        flows,
        conversations,
        processor,
        resident,
        own,
    })
}

/// Returns the resident memory of a process, and its anonymous part, in MB.
pub fn memory(id: u32) -> Result<(f64, f64), Error> {
    let text = fs::read_to_string(format!("/proc/{id}/status"))
        .map_err(Error::system("read the daemon's status"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|rest| rest.trim().split(' ').next()?.parse::<f64>().ok());
        word.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
    };
    Ok((field("VmRSS:"), field("RssAnon:")))
}

/// Formats the results as a table.
pub fn report(burdens: &[Burden]) -> Table {
    let lines: Vec<_> = burdens
        .iter()
        .map(|burden| {
            vec![
                burden.flows.to_string(),
                burden.conversations.to_string(),
                format!("{:.2} %", burden.processor),
                format!("{:.1}", burden.resident),
                format!("{:.1}", burden.own),
            ]
        })
        .collect();
    let headings = [
        "active flows",
        "conversations, at both ports",
        "processor",
        "resident, MB",
        "of it own, MB",
    ];
    table(&headings, &lines)
}
