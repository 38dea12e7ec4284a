//! What users lose while somebody counts: LeMon's four cases with iperf3 through a router, with nobody, with weir's monitor, and with softflowd
//! on the same device, in turn.
//!
//! Sender, router and receiver share the machine's processors, so whatever a monitor takes is taken from the transfer; devices neither
//! segment nor merge, so that the router sees packets as on a wire.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::gateway::SERVER;
use lab::peer::{Iperf, Load, Throughput};
use lab::{Ipv6, Lab, Namespace, Options, Process};
use serde::Serialize;

use crate::daemon::Daemon;
use crate::report::table;
use crate::rounds::median;
use crate::{Error, machine};

/// Most streams of one iperf3, which has 128 at most; beyond them there are several at once.
const STREAMS: u32 = 100;
/// First port of the servers.
const PORT: u16 = 5201;

/// Traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// Streams.
    pub flows: u32,
    /// UDP, as much as goes; else TCP.
    pub udp: bool,
    /// Octets of payload of a datagram; `None`: iperf3's choice.
    pub length: Option<u32>,
    /// Of LeMon's paper: percent lost with its monitor; its packets were large.
    pub lemon: Option<f64>,
    /// Percent that may be lost.
    pub goal: f64,
}

impl Case {
    const fn new(name: &'static str, flows: u32, udp: bool, length: Option<u32>) -> Self {
        Self {
            name,
            flows,
            udp,
            length,
            lemon: None,
            goal: if udp { 3.0 } else { 1.0 },
        }
    }

    const fn lost(mut self, percent: f64) -> Self {
        self.lemon = Some(percent);
        self
    }

    /// LeMon's, then those with small datagrams.
    pub const ALL: [Self; 6] = [
        Self::new("10-tcp", 10, false, None).lost(2.26),
        Self::new("50-udp", 50, true, None).lost(12.16),
        Self::new("100-tcp", 100, false, None).lost(3.19),
        Self::new("400-udp", 400, true, None).lost(13.24),
        Self::new("50-udp-64", 50, true, Some(64)),
        Self::new("400-udp-64", 400, true, Some(64)),
    ];
}

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// Nobody.
    Nobody,
    /// `weir run --only monitor`.
    Weir,
    /// softflowd at the router's port to the client.
    Softflowd,
}

impl Counter {
    const ALL: [Self; 3] = [Self::Nobody, Self::Weir, Self::Softflowd];
}

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds over all counters, for each case.
    pub rounds: u32,
    /// Seconds of each transfer.
    pub seconds: u32,
}

/// What was lost in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Loss {
    /// [`Case::name`].
    pub case: &'static str,
    /// Who counted.
    pub counter: Counter,
    /// What arrived with nobody: Mbit/s of TCP, thousands of datagrams a second of UDP; the median.
    pub alone: f64,
    /// Percent less that arrived with this one, against nobody in the same round: the median of the rounds. Below 0: more.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Of LeMon's paper.
    pub lemon: Option<f64>,
    /// What may be lost.
    pub goal: f64,
}

/// Whatever runs while it counts; stopped when dropped.
enum Running {
    Nobody,
    Weir(#[allow(dead_code)] Daemon),
    Softflowd(#[allow(dead_code)] Process),
}

/// Runs the cases.
pub fn all(
    binary: &Path,
    cases: &[Case],
    plan: Plan,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Loss>, Error> {
    machine::unpin()?;
    let lab = Lab::gateway(&Options {
        ipv6: Ipv6::Off,
        plain_offloads: true,
        ..Options::default()
    })?;
    let most = cases.iter().map(|case| case.flows).max().unwrap_or(0);
    let servers: Result<Vec<_>, _> = (0..most.div_ceil(STREAMS) as u16)
        .map(|nth| Iperf::serve(lab.node("server")?, PORT + nth))
        .collect();
    let servers = servers?;
    let mut losses = Vec::new();
    for case in cases {
        let mut rates: [Vec<f64>; 3] = Default::default();
        for round in 0..plan.rounds as usize {
            // Each is first, second and third in turn: a machine that gets slower wrongs nobody.
            for step in 0..3 {
                let index = (round + step) % 3;
                let rate = one(
                    &lab,
                    binary,
                    &servers,
                    case,
                    Counter::ALL[index],
                    plan.seconds,
                )?;
                rates[index].push(rate);
            }
            progress(&format!(
                "{}: round {} of {}: {:.0}, with weir {:.0}, with softflowd {:.0}",
                case.name,
                round + 1,
                plan.rounds,
                rates[0][round],
                rates[1][round],
                rates[2][round]
            ));
        }
        for index in 1..3 {
            losses.push(loss(case, Counter::ALL[index], &rates[0], &rates[index]));
        }
    }
    Ok(losses)
}

fn loss(case: &Case, counter: Counter, alone: &[f64], with: &[f64]) -> Loss {
    let mut lost: Vec<f64> = alone
        .iter()
        .zip(with)
        .map(|(alone, with)| (1.0 - with / alone) * 100.0)
        .collect();
    let mut alone = alone.to_vec();
    for values in [&mut lost, &mut alone] {
        values.sort_by(f64::total_cmp);
    }
    Loss {
        case: case.name,
        counter,
        alone: median(&alone),
        median: median(&lost),
        least: lost.first().copied().unwrap_or(f64::NAN),
        most: lost.last().copied().unwrap_or(f64::NAN),
        lemon: case.lemon,
        goal: case.goal,
    }
}

fn start(lab: &Lab, binary: &Path, counter: Counter) -> Result<Running, Error> {
    let router = lab.node("router")?;
    Ok(match counter {
        Counter::Nobody => Running::Nobody,
        Counter::Weir => Running::Weir(Daemon::monitor(router, binary, "", 2)?),
        Counter::Softflowd => Running::Softflowd(softflowd(router)?),
    })
}

/// In the foreground, with nobody to hear what it exports; room for all flows.
fn softflowd(router: &Namespace) -> Result<Process, Error> {
    let own = std::env::temp_dir().join(router.name());
    let mut command = Command::new("softflowd");
    command
        .args(["-d", "-i", "lan0", "-n", "127.0.0.1:9995", "-m", "65536"])
        .arg("-p")
        .arg(own.with_extension("softflowd.pid"))
        .arg("-c")
        .arg(own.with_extension("softflowd.ctl"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let process = router.start(&mut command)?;
    thread::sleep(Duration::from_millis(300));
    match process.ended()? {
        None => Ok(process),
        Some(status) => Err(Error::Wrong(format!("softflowd ended at once: {status}"))),
    }
}

/// One transfer: what arrived a second, see [`Loss::alone`].
fn one(
    lab: &Lab,
    binary: &Path,
    servers: &[Iperf],
    case: &Case,
    counter: Counter,
    seconds: u32,
) -> Result<f64, Error> {
    let _running = start(lab, binary, counter)?;
    let client = lab.node("client")?;
    let processes = case.flows.div_ceil(STREAMS);
    let load = Load {
        streams: case.flows / processes,
        udp: case.udp.then_some(0),
        length: case.length,
        ..Load::tcp(SERVER, seconds)
    };
    let arrived: Result<Vec<Throughput>, lab::Error> = thread::scope(|scope| {
        let transfers: Vec<_> = servers
            .iter()
            .take(processes as usize)
            .map(|server| scope.spawn(|| server.run(client, &load)))
            .collect();
        transfers
            .into_iter()
            .map(|transfer| {
                let ended = transfer.join();
                ended.unwrap_or_else(|_| Err(lab::Error::Unexpected("a transfer panicked".into())))
            })
            .collect()
    });
    let rate = |one: &Throughput| match case.udp {
        true => (one.packets.saturating_sub(one.lost)) as f64 / f64::from(seconds) / 1e3,
        false => one.bits_per_second / 1e6,
    };
    let sum = arrived?.iter().map(rate).sum::<f64>();
    match sum > 0.0 {
        true => Ok(sum),
        false => Err(Error::Wrong(format!("{}: nothing arrived", case.name))),
    }
}

/// For eyes.
pub fn report(losses: &[Loss]) -> String {
    let lines: Vec<_> = losses
        .iter()
        .map(|loss| {
            let who = match loss.counter {
                Counter::Nobody => "nobody",
                Counter::Weir => "weir",
                Counter::Softflowd => "softflowd",
            };
            vec![
                loss.case.to_owned(),
                who.to_owned(),
                format!("{:.0}", loss.alone),
                format!("{:.1} %", loss.median),
                format!("{:.1} to {:.1}", loss.least, loss.most),
                loss.lemon.map_or("–".into(), |lost| format!("{lost} %")),
                format!("{} %", loss.goal),
            ]
        })
        .collect();
    let headings = [
        "flows",
        "counted by",
        "alone, Mbit/s or k datagrams/s",
        "lost",
        "from … to",
        "LeMon lost",
        "goal",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_of_the_same_round() {
        let loss = loss(
            &Case::ALL[0],
            Counter::Weir,
            &[100.0, 200.0, 400.0],
            &[99.0, 196.0, 400.0],
        );
        assert_eq!((loss.least, loss.alone), (0.0, 200.0));
        assert!((loss.median - 1.0).abs() < 1e-9 && (loss.most - 2.0).abs() < 1e-9);
    }
}
