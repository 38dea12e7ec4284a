//! `weir bench`: how many packets a second this machine forwards, and by what.

use std::io::{IsTerminal, Write};
use std::path::{Path as File, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bench::circuit::{Driver, Path};
use bench::closed::chart::draw;
use bench::closed::page::page;
use bench::closed::{self, Change, Progress, Report, Scenario, Settings};
use bench::machine::{Lock, processors};
use bench::rounds::Plan;
use bench::verdict::Verdict;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::Error;
use crate::cli::Format;
use crate::output::{Align, Cell, Output, Table, Tone, WIDTH, wrap};

/// Measure how many packets a second this machine forwards, and by what
#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Lab(LabArgs),
    Compare(CompareArgs),
}

/// Measure in network namespaces of this machine: nothing is needed but root
///
/// Client, router and server are made of network namespaces. A generator feeds the client's device as a driver would, and all receive paths run in the same
/// call, on one processor: nothing waits, so that packets per second are the reciprocal of what a packet costs. Your network is not touched.
#[derive(Args, Debug)]
#[command(after_long_help = "\
NS/PACKET is what a packet costs, generator and sink included: `direct` is these two alone.
CPU is processors that were busy. BY WEIR is the share of packets that weir forwarded.
Scenarios are measured in turn, round after round; beside each timing, packets at the far end are
checked. What is not further apart than the noise has the same rank. There is no network card in
this: compare the rows, and take no row for what your wires can carry.
Ctrl-C ends it; what was measured by then is told.
Examples:
  weir bench lab --quick
  weir bench lab --json > before.json
  weir bench lab --html report.html
  weir bench lab --only kernel-nat,weir-xdp,xdp-static")]
struct LabArgs {
    /// Done within a minute: to see about where things are
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    quick: bool,
    /// Rounds over all scenarios
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds for each in a round, 0.05 to 60
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Only these scenarios, with commas between them
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = scenario)]
    only: Vec<Path>,
    /// Flows, which take turns
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    flows: u32,
    /// Octets of a frame, without checksum
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(60..=1514))]
    length: u16,
    /// The processor to measure on [default: the last one]
    #[arg(long)]
    cpu: Option<usize>,
    /// Write the report to this file too, as a page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write its picture to this file too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Say what became faster or slower from one measurement to another
#[derive(Args, Debug)]
#[command(after_long_help = "\
Both are files that `weir bench lab --json` wrote, on the same machine. A change is told where all
rounds of one are beyond all rounds of the other, and by more than the noise of both.
Example:
  weir bench compare before.json after.json")]
struct CompareArgs {
    /// What was measured first
    before: PathBuf,
    /// What was measured then
    after: PathBuf,
    #[command(flatten)]
    format: Format,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|number| (0.05..=60.0).contains(number))
        .ok_or_else(|| "a number from 0.05 to 60".into())
}

fn scenario(name: &str) -> Result<Path, String> {
    let found = Path::ALL.into_iter().find(|path| path.name() == name);
    found.ok_or_else(|| format!("one of {}", Path::ALL.map(Path::name).join(", ")))
}

pub(super) fn run(args: &BenchArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        What::Lab(args) => lab(args, output),
        What::Compare(args) => compare(args, output),
    }
}

/// Whether somebody pressed Ctrl-C, from now on. Who does so twice has it ended at once.
fn enough() -> Result<Arc<AtomicBool>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let pressed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&pressed);
    std::thread::Builder::new().spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if seen.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    })?;
    Ok(pressed)
}

fn lab(args: &LabArgs, output: &mut Output<'_>) -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::new(
            "`weir bench lab` makes network namespaces, which takes root",
            "sudo weir bench lab",
        ));
    }
    let cpu = args.cpu.unwrap_or(processors().saturating_sub(1));
    if cpu >= processors() {
        return Err(Error::usage(
            format!("there is no processor {cpu}"),
            format!("0 to {}", processors().saturating_sub(1)),
        ));
    }
    let own = std::env::current_exe().map_err(|error| {
        Error::because(
            "weir does not find its own binary",
            &error,
            "start it by its path",
        )
    })?;
    let plan = match args.quick {
        true => Plan {
            rounds: 3,
            seconds: 0.3,
            warm: 0.1,
        },
        false => Plan {
            rounds: args.rounds,
            seconds: args.seconds,
            warm: (args.seconds / 2.0).min(0.5),
        },
    };
    let settings = Settings {
        plan,
        scenarios: match args.only.is_empty() {
            true => Path::ALL.to_vec(),
            false => args.only.clone(),
        },
        flows: args.flows,
        length: args.length.into(),
        cpu,
        driver: Driver::Daemon(own),
    };
    let _lock = Lock::take().map_err(failed)?;
    bench::sweep().map_err(failed)?;
    let enough = enough()?;
    let mut bar = Bar::new();
    let report = closed::run(&settings, &mut |progress| bar.show(progress), &|| {
        enough.load(Ordering::Relaxed)
    });
    bar.clear();
    let report = report.map_err(failed)?;
    keep(args.html.as_deref(), || page(&report))?;
    keep(args.svg.as_deref(), || draw(&report))?;
    match args.format.json {
        true => output.json(&Told::of(&report))?,
        false => print(&report, output)?,
    }
    Ok(())
}

/// Where it was asked for.
fn keep(file: Option<&File>, text: impl FnOnce() -> String) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()).map_err(|error| {
        let what = format!("{} cannot be written", file.display());
        Error::because(what, &error, "")
    })
}

fn failed(error: bench::Error) -> Error {
    Error::because(
        "it cannot be measured",
        &error,
        "`weir check` says what the kernel lacks",
    )
}

/// How far it is, on standard error: a bar on a terminal, else a line for each piece.
struct Bar {
    terminal: bool,
}

impl Bar {
    fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, progress: &Progress) {
        const CELLS: usize = 20;
        let full = ((progress.done * CELLS as f64) as usize).min(CELLS);
        let left = clock(progress.left);
        let mut stderr = std::io::stderr().lock();
        // Nobody is to lose a measurement for a terminal that went away.
        let _ = match self.terminal {
            true => write!(
                stderr,
                "\r\x1b[K{}{} {left} left  {}",
                "#".repeat(full),
                "-".repeat(CELLS - full),
                progress.doing
            ),
            false => writeln!(stderr, "{left} left: {}", progress.doing),
        };
        let _ = stderr.flush();
    }

    fn clear(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// As JSON: the report, and what follows from it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Names, the fastest first; those that cannot be told apart together.
    ranking: Vec<Vec<&'a str>>,
}

impl<'a> Told<'a> {
    fn of(report: &'a Report) -> Self {
        let names = |group: Vec<&'a Scenario>| group.iter().map(|one| one.name.as_str()).collect();
        Self {
            report,
            ranking: report.ranking().into_iter().map(names).collect(),
        }
    }
}

fn print(report: &Report, output: &mut Output<'_>) -> Result<(), Error> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    output.line(&report.machine.to_string())?;
    output.line(&format!(
        "{} UDP flows of {} octets, one processor, {} rounds of {} s; the same measured twice differed by up to {}",
        report.flows,
        report.length,
        report.rounds,
        report.seconds,
        percent(report.noise)
    ))?;
    output.line("")?;
    let mut table = Table::new([
        ("RANK", Align::Right),
        ("SCENARIO", Align::Left),
        ("WHAT FORWARDS", Align::Left),
        ("K PACKETS/S", Align::Right),
        ("MIN-MAX", Align::Right),
        ("NS/PACKET", Align::Right),
        ("OF KERNEL NAT", Align::Right),
        ("CPU", Align::Right),
        ("BY WEIR", Align::Right),
    ]);
    let nat = report.find(Path::Masquerade);
    let mut rank = 1;
    for group in report.ranking() {
        for scenario in &group {
            let thousand = |rate: f64| format!("{:.0}", rate / 1e3);
            let ratio = nat.map(|nat| format!("{:.2}", scenario.pps.median / nat.pps.median));
            let tone = match scenario.name.starts_with("weir") {
                true => Tone::Good,
                false => Tone::Plain,
            };
            let row = [
                rank.to_string().into(),
                Cell::toned(&scenario.name, tone),
                scenario.text.as_str().into(),
                thousand(scenario.pps.median).into(),
                format!(
                    "{}-{}",
                    thousand(scenario.pps.min),
                    thousand(scenario.pps.max)
                )
                .into(),
                format!("{:.0}", scenario.ns_per_packet.median).into(),
                Cell::or_dash(ratio),
                format!("{:.1}", scenario.cpu.median).into(),
                Cell::or_dash(scenario.forwarded.map(percent)),
            ];
            table.row(row, output)?;
        }
        rank += group.len();
    }
    table.finish(output)?;
    let mut notes = Vec::new();
    for left_out in &report.left_out {
        notes.push(format!(
            "Not measured: {}, as {}.",
            left_out.name, left_out.reason
        ));
    }
    if report.ranking().iter().any(|group| group.len() > 1) {
        notes.push("What has the same rank cannot be told apart by this measurement: more rounds may, a quieter machine too.".into());
    }
    if !report.complete {
        notes.push("It was ended early: not all rounds were made.".into());
    }
    for note in notes {
        output.line("")?;
        for line in wrap(&note, WIDTH) {
            output.line(&line)?;
        }
    }
    Ok(())
}

fn read(file: &File) -> Result<Report, Error> {
    let name = file.display();
    let text = std::fs::read(file)
        .map_err(|error| Error::because(format!("{name} cannot be read"), &error, ""))?;
    let report: Report = serde_json::from_slice(&text).map_err(|error| {
        let mend = "it has to be what `weir bench lab --json` wrote";
        Error::because(format!("{name} is no report"), &error, mend)
    })?;
    match report.schema == closed::SCHEMA {
        true => Ok(report),
        false => Err(Error::new(
            format!(
                "{name} is of the kind {}, and this weir reads {}",
                report.schema,
                closed::SCHEMA
            ),
            "measure again with this weir",
        )),
    }
}

fn compare(args: &CompareArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let changes = closed::changes(&before, &after);
    if args.format.json {
        return Ok(output.json(&changes)?);
    }
    for (name, of) in [("before", &before), ("after", &after)] {
        output.field(name, &format!("{}; weir {}", of.machine, of.machine.weir))?;
    }
    if (before.flows, before.length) != (after.flows, after.length) {
        let warning = "Flows or frames are not the same: what follows is no answer.";
        output.line(&output.toned(Tone::Warn, warning))?;
    }
    output.line("")?;
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("BEFORE, K/S", Align::Right),
        ("AFTER, K/S", Align::Right),
        ("VERDICT", Align::Left),
    ]);
    for Change { name, pps, verdict } in &changes {
        let [was, now] = pps.map(|spread| format!("{:.0}", spread.median / 1e3));
        let verdict = match verdict {
            Verdict::Faster(ratio) => {
                Cell::toned(format!("{:+.1} %", (ratio - 1.0) * 100.0), Tone::Good)
            }
            Verdict::Slower(ratio) => {
                Cell::toned(format!("{:+.1} %", (ratio - 1.0) * 100.0), Tone::Bad)
            }
            Verdict::Undecided => Cell::toned("undecided", Tone::Dim),
        };
        table.row(
            [name.as_str().into(), was.into(), now.into(), verdict],
            output,
        )?;
    }
    table.finish(output)?;
    Ok(())
}
