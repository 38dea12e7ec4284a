//! Measures what users lose to a monitor: LeMon's four cases with iperf3 through a router. No
//! monitor, programs that do nothing, weir's monitor, and softflowd take turns on the same device.
//! The programs that do nothing show the price of any program at TC.
//!
//! Sender, router and receiver share the processors, so a monitor takes its time from the transfer.
//! Devices neither segment nor merge, so the router sees packets as on a wire. Transfers of a kind
//! differ by more than a monitor takes, so those of a case run all the time, while monitors change.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::iperf::Iperf;
use lab::{Ipv6, Lab, Namespace, Options, Process};
use serde::Serialize;

use crate::Error;
use crate::circuit::nothing;
use crate::daemon::Daemon;
use crate::report::{Table, table};
use crate::rounds::median;

/// Most streams of an iperf3 process, which allows 128; more streams need more processes.
const STREAMS: u32 = 100;
/// First port of the servers.
const PORT: u16 = 5201;
/// Time for a counter, and the disturbance by its start, to settle.
const SETTLE: Duration = Duration::from_millis(500);
/// Time for the streams of a case to get going.
const BEGIN: Duration = Duration::from_secs(3);

/// Traffic of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// Streams.
    pub flows: u32,
    /// Set for UDP at full speed; else TCP.
    pub udp: bool,
    /// Payload of a datagram in bytes; iperf3's default if unset.
    pub length: Option<u32>,
    /// Percent lost to LeMon's monitor, with large packets, by its paper.
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

    /// LeMon's cases, then those with small datagrams.
    pub const ALL: [Self; 6] = [
        Self::new("10-tcp", 10, false, None).lost(2.26),
        Self::new("50-udp", 50, true, None).lost(12.16),
        Self::new("100-tcp", 100, false, None).lost(3.19),
        Self::new("400-udp", 400, true, None).lost(13.24),
        Self::new("50-udp-64", 50, true, Some(64)),
        Self::new("400-udp-64", 400, true, Some(64)),
    ];
}

/// Program that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// No program.
    Nobody,
    /// Programs that do nothing at TC, on both router ports and in both directions.
    Nothing,
    /// `weir run --only monitor`.
    Weir,
    /// softflowd at the router's port to the client.
    Softflowd,
}

impl Counter {
    const ALL: [Self; 4] = [Self::Nobody, Self::Nothing, Self::Weir, Self::Softflowd];

    const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Nothing => "programs that do nothing",
            Self::Weir => "weir",
            Self::Softflowd => "softflowd",
        }
    }
}

/// Length and number of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds over all counters, for each case.
    pub rounds: u32,
    /// Seconds for each counter in a round.
    pub seconds: f64,
}

/// Verdict on a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The range from [`Loss::from`] to [`Loss::to`] is within the goal.
    Met,
    /// The whole range is above the goal.
    Short,
    /// The goal lies within the range.
    Undecided,
}

/// Loss of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Loss {
    /// [`Case::name`].
    pub case: &'static str,
    /// Counter.
    pub counter: Counter,
    /// Median rate without a counter: Mbit/s of TCP, thousands of datagrams a second of UDP.
    pub alone: f64,
    /// Median over the rounds of the percentage lost to this counter, against no counter in the
    /// same round; negative for a gain.
    pub median: f64,
    /// Lower end of the range in which the median of very many rounds lies, with a probability of
    /// at least 95 %.
    pub from: f64,
    /// Upper end of that range, see [`Loss::from`].
    pub to: f64,
    /// Percent lost by LeMon's paper.
    pub lemon: Option<f64>,
    /// Percent that may be lost.
    pub goal: f64,
    /// Verdict on the goal.
    pub verdict: Verdict,
}

/// Runs the cases.
pub fn all(
    binary: &Path,
    cases: &[Case],
    plan: Plan,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Loss>, Error> {
    datapath::bench::unpin()?;
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
        let mut rates: [Vec<f64>; Counter::ALL.len()] = Default::default();
        let _streams = begin(&lab, case)?;
        for round in 0..plan.rounds as usize {
            // Each counter is first in turn, so that a machine that slows down treats all alike.
            for step in 0..rates.len() {
                let index = (round + step) % rates.len();
                let rate = one(&lab, binary, case, Counter::ALL[index], plan.seconds)?;
                rates[index].push(rate);
            }
            let found = Counter::ALL.iter().zip(&rates);
            let found: Vec<_> = found
                .map(|(counter, rates)| format!("{} {:.0}", counter.name(), rates[round]))
                .collect();
            progress(&format!(
                "{}: round {} of {}: {}",
                case.name,
                round + 1,
                plan.rounds,
                found.join(", ")
            ));
        }
        for index in 1..rates.len() {
            losses.push(loss(case, Counter::ALL[index], &rates[0], &rates[index]));
        }
    }
    drop(servers);
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
    let (from, to) = confidence(&lost);
    Loss {
        case: case.name,
        counter,
        alone: median(&alone),
        median: median(&lost),
        from,
        to,
        lemon: case.lemon,
        goal: case.goal,
        verdict: match () {
            () if to <= case.goal => Verdict::Met,
            () if from > case.goal => Verdict::Short,
            () => Verdict::Undecided,
        },
    }
}

/// Returns the range that holds the true median with 95 %, for any distribution. The number of
/// values of `sorted` below it is that of heads in coin throws (normal approximation; least and
/// most of few values).
fn confidence(sorted: &[f64]) -> (f64, f64) {
    let number = sorted.len() as f64;
    let below = ((number - 1.96 * number.sqrt()) / 2.0).floor().max(1.0) as usize;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    (at(below - 1), at(sorted.len().wrapping_sub(below)))
}

/// Starts a counter, which stops when dropped.
fn start(lab: &Lab, binary: &Path, counter: Counter) -> Result<Box<dyn Any>, Error> {
    let router = lab.node("router")?;
    Ok(match counter {
        Counter::Nobody => Box::new(()),
        Counter::Nothing => Box::new(nothing(lab)?),
        Counter::Weir => Box::new(Daemon::monitor(router, binary, "", 2)?),
        Counter::Softflowd => Box::new(softflowd(router)?),
    })
}

/// Starts softflowd in the foreground, with room for all flows, and no collector.
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

/// Starts the streams of a case, which end when dropped. Senders have one processor and receivers
/// the other: if they moved, rates would vary.
fn begin(lab: &Lab, case: &Case) -> Result<Vec<Process>, Error> {
    let processes = case.flows.div_ceil(STREAMS) as u16;
    let streams = case.flows / u32::from(processes);
    let clients: Result<Vec<_>, Error> = (0..processes)
        .map(|nth| {
            let mut command = Command::new("iperf3");
            command.args(["--client", &SERVER.to_string(), "--affinity", "0,1"]);
            command.args(["--port", &(PORT + nth).to_string(), "--time", "86400"]);
            command.args(["--parallel", &streams.to_string(), "--interval", "0"]);
            if case.udp {
                command.args(["--udp", "--bitrate", "0"]);
            }
            if let Some(length) = case.length {
                command.args(["--length", &length.to_string()]);
            }
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            Ok(lab.node("client")?.start(&mut command)?)
        })
        .collect();
    thread::sleep(BEGIN);
    clients
}

/// Returns what the server has received so far: bytes of TCP with their headers, or datagrams of
/// UDP.
fn arrived(lab: &Lab, case: &Case) -> Result<u64, Error> {
    let (file, protocol, field) = match case.udp {
        true => ("snmp", "Udp:", "InDatagrams"),
        false => ("netstat", "IpExt:", "InOctets"),
    };
    let text = lab
        .node("server")?
        .enter(|| fs::read_to_string(format!("/proc/thread-self/net/{file}")))?
        .map_err(Error::system("read what arrived"))?;
    // The file has a line of names, and a line of values.
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (names, values) = (lines.next(), lines.next());
    let mut both = names
        .into_iter()
        .flat_map(str::split_whitespace)
        .zip(values.into_iter().flat_map(str::split_whitespace));
    let found = both.find(|(name, _)| *name == field);
    found
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| Error::Wrong(format!("no {field} in {file}")))
}

/// Returns the rate with a counter, see [`Loss::alone`].
fn one(
    lab: &Lab,
    binary: &Path,
    case: &Case,
    counter: Counter,
    seconds: f64,
) -> Result<f64, Error> {
    let _running = start(lab, binary, counter)?;
    thread::sleep(SETTLE);
    let (before, begin) = (arrived(lab, case)?, Instant::now());
    thread::sleep(Duration::from_secs_f64(seconds));
    let (after, took) = (arrived(lab, case)?, begin.elapsed().as_secs_f64());
    let unit = if case.udp { 1e3 } else { 1e6 / 8.0 };
    match after - before {
        0 => Err(Error::Wrong(format!("{}: no data arrived", case.name))),
        grown => Ok(grown as f64 / took / unit),
    }
}

/// Formats the losses as a table.
pub fn report(losses: &[Loss]) -> Table {
    let lines: Vec<_> = losses
        .iter()
        .map(|loss| {
            vec![
                loss.case.to_owned(),
                loss.counter.name().to_owned(),
                format!("{:.0}", loss.alone),
                format!("{:.1} %", loss.median),
                format!("{:.1} to {:.1}", loss.from, loss.to),
                loss.lemon.map_or("–".into(), |lost| format!("{lost} %")),
                format!("{} %", loss.goal),
                match loss.verdict {
                    Verdict::Met => "met",
                    Verdict::Short => "short",
                    Verdict::Undecided => "undecided",
                }
                .to_owned(),
            ]
        })
        .collect();
    let headings = [
        "flows",
        "counted by",
        "alone, Mbit/s or k datagrams/s",
        "lost",
        "with 95 %, from … to",
        "LeMon lost",
        "goal",
        "",
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
        assert_eq!((loss.from, loss.alone), (0.0, 200.0));
        assert!((loss.median - 1.0).abs() < 1e-9 && (loss.to - 2.0).abs() < 1e-9);
        assert_eq!(loss.verdict, Verdict::Undecided);
    }

    #[test]
    fn many_rounds_decide() {
        let values: Vec<f64> = (1..=30).map(f64::from).collect();
        // By the binomial distribution: the 10th to the 21st, 95.7 %.
        let (from, to) = confidence(&values);
        assert!(
            (9.0..=10.0).contains(&from) && (21.0..=22.0).contains(&to),
            "{from} {to}"
        );
        assert_eq!(confidence(&[1.0, 2.0, 3.0]), (1.0, 3.0));
        let alone = vec![100.0; 30];
        let lost = |percent: f64| {
            loss(
                &Case::ALL[0],
                Counter::Weir,
                &alone,
                &vec![100.0 - percent; 30],
            )
            .verdict
        };
        assert_eq!((lost(0.5), lost(1.5)), (Verdict::Met, Verdict::Short));
    }
}
