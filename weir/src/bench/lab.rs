//! `weir bench lab`: the closed loop, in namespaces of this machine.

use std::path::PathBuf;

use bench::circuit::Path;
use bench::load::{Encapsulation, Length, Load};
use bench::local::chart::draw;
use bench::local::page::page;
use bench::local::{self, Bulk, Profile, Report, Scenario, Series, Settings, Variable};
use bench::machine::{Lock, processors};
use bench::rounds::{Plan, Spread};
use clap::Args;
use serde::Serialize;

use super::bar::Bar;
use super::shared::{failed, keep};
use runtime::Error;
use runtime::command::Format;
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, wrap};

/// Measure in network namespaces of this machine; needs only root
///
/// Client, router and server run in network namespaces. A generator feeds the client's device as a
/// driver would, and all receive paths run in the same call, on one processor. Nothing waits, so
/// packets per second are the reciprocal of the cost of a packet. Your network is not touched.
#[derive(Args, Debug)]
#[command(after_long_help = "\
NS/PACKET: cost of a packet, including generator and sink; `direct` is these two alone.
OF KERNEL'S: ratio to kernel-nat, or to kernel-drop where packets are dropped.
CPU: busy processors. SOFTIRQ: the part of CPU in which the kernel handled packets after an \
interrupt (--json lists each processor). BY WEIR: share of packets that weir handled.
Scenarios are measured in turn, round after round. Next to each timing, packets at the far end are \
checked. Scenarios that differ by less than the noise share a rank. No network card takes part: \
compare the rows with each other; no row predicts the throughput of your wires.
Press Ctrl-C to end early; results so far are printed.

Examples:
  weir bench lab --quick
  weir bench lab --json > before.json
  weir bench lab --html report.html
  weir bench lab --only kernel-nat,weir-xdp,xdp-static
  weir bench lab --only kernel-nat,weir-xdp --wires pppoe --length imix
  weir bench lab --only kernel-nat,weir-xdp --series flows --most-flows 1000000")]
pub struct LabArgs {
    /// Finish within a minute, for a rough result
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    quick: bool,
    /// Number of rounds over all scenarios
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds per scenario and round, 0.05 to 60
    #[arg(long, default_value_t = 0.8, value_parser = seconds)]
    seconds: f64,
    /// Measure only these scenarios, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = scenario)]
    only: Vec<Path>,
    /// Number of flows, which send in turn
    #[arg(long, default_value_t = 64, value_parser = flows)]
    flows: u32,
    /// Packets of one flow in a row, 1 to 4096
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    burst: u32,
    /// Frame length in bytes without checksum, 60 to 1514; or imix: 60, 590 and 1514, mixed
    #[arg(long, default_value = "60")]
    length: Length,
    /// Encapsulation of IP: plain, vlan, qinq, pppoe, pppoe-over-vlan
    #[arg(long, default_value = "plain")]
    wires: Encapsulation,
    /// Also measure a series over each of: length, flows, burst, wires [default: all, without
    /// --quick and --only]
    #[arg(long, value_name = "BY", value_delimiter = ',', value_parser = series, conflicts_with = "quick")]
    series: Vec<Variable>,
    /// Largest number of flows in --series flows, up to 1,000,000
    #[arg(long, value_name = "FLOWS", default_value_t = 30_000, value_parser = flows)]
    most_flows: u32,
    /// Also measure TCP connections between whole hosts, on all processors [default: without
    /// --quick and --only]
    #[arg(long)]
    tcp: bool,
    /// Also profile where time is spent, if perf is installed [default: without --quick and --only]
    #[arg(long)]
    profile: bool,
    /// Processor to measure on [default: the last one]
    #[arg(long)]
    cpu: Option<usize>,
    /// Also write the report to this file, as a page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the chart to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|number| (0.05..=60.0).contains(number))
        .ok_or_else(|| "must be a number from 0.05 to 60".into())
}

fn flows(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "must be a number from 1 to 1000000".into())
}

fn scenario(name: &str) -> Result<Path, String> {
    let found = Path::ALL.into_iter().find(|path| path.name() == name);
    found.ok_or_else(|| format!("must be one of {}", Path::ALL.map(Path::name).join(", ")))
}

fn series(name: &str) -> Result<Variable, String> {
    let found = Variable::ALL.into_iter().find(|by| by.name() == name);
    let names = Variable::ALL.map(Variable::name).join(", ");
    found.ok_or_else(|| format!("must be one of {names}"))
}

pub(super) fn run(args: &LabArgs, output: &mut Output<'_>) -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::new(
            "`weir bench lab` makes network namespaces, which requires root",
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
        Error::with_cause(
            "cannot find weir's own binary",
            &error,
            "start weir by its path",
        )
    })?;
    let plan = match args.quick {
        true => Plan {
            rounds: 3,
            seconds: 0.25,
            warm: 0.1,
        },
        false => Plan {
            rounds: args.rounds,
            seconds: args.seconds,
            warm: (args.seconds / 2.0).min(0.3),
        },
    };
    let all = !args.quick && args.only.is_empty();
    let settings = Settings {
        plan,
        scenarios: match args.only.is_empty() {
            true => Path::ALL.to_vec(),
            false => args.only.clone(),
        },
        load: Load {
            flows: args.flows,
            burst: args.burst,
            length: args.length,
            wires: args.wires,
        },
        cpu,
        weir: own,
        most_flows: args.most_flows,
        series: match args.series.is_empty() && all {
            true => Variable::ALL.to_vec(),
            false => args.series.clone(),
        },
        tcp: args.tcp || all,
        profile: args.profile || all,
    };
    let _lock = Lock::take().map_err(failed)?;
    bench::sweep().map_err(failed)?;
    let mut bar = Bar::new();
    bench::end_gently();
    let report = local::run(
        &settings,
        &mut |progress| bar.show(progress),
        &bench::asked_to_end,
    );
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

/// JSON output: the report and the ranking.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Names, the fastest first; scenarios within the noise share a rank.
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

fn print_series(all: &[Series], output: &mut Output<'_>) -> Result<(), Error> {
    output.line("")?;
    let mut table = Table::new([
        ("WITH", Align::Left),
        ("SCENARIO", Align::Left),
        ("K PACKETS/S", Align::Right),
        ("MIN-MAX", Align::Right),
        ("OF KERNEL NAT", Align::Right),
    ]);
    for series in all {
        for point in &series.points {
            let nat = point.find(Path::Masquerade);
            for scenario in &point.scenarios {
                let row = [
                    series.with(&point.at).into(),
                    name(&scenario.name),
                    thousand(scenario.pps.median).into(),
                    from_to(&scenario.pps).into(),
                    Cell::or_dash(nat.map(|nat| ratio(scenario, nat))),
                ];
                table.row(row, output)?;
            }
        }
    }
    Ok(table.finish(output)?)
}

fn print_tcp(tcp: &Bulk, output: &mut Output<'_>) -> Result<(), Error> {
    output.line("")?;
    output.line(&format!(
        "{} TCP connections between whole hosts, all processors",
        tcp.connections
    ))?;
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("MBIT/S", Align::Right),
        ("MIN-MAX", Align::Right),
        ("CPU", Align::Right),
        ("BY WEIR", Align::Right),
    ]);
    for one in &tcp.scenarios {
        let mbits = |rate: f64| format!("{:.0}", rate / 1e6);
        let rate = one.bits_per_second;
        let row = [
            name(&one.name),
            mbits(rate.median).into(),
            format!("{}-{}", mbits(rate.min), mbits(rate.max)).into(),
            format!("{:.1}", one.cpu.median).into(),
            Cell::or_dash(one.forwarded.map(percent)),
        ];
        table.row(row, output)?;
    }
    Ok(table.finish(output)?)
}

/// Prints the functions that take the most time, side by side.
fn print_profiles(profiles: &[Profile], output: &mut Output<'_>) -> Result<(), Error> {
    const MOST: usize = 8;
    output.line("")?;
    output.line("Time by function, from a profiler (--html draws all of it)")?;
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("FUNCTION", Align::Left),
        ("OWN TIME", Align::Right),
    ]);
    for profile in profiles {
        for (function, share) in profile.own().into_iter().take(MOST) {
            let row = [name(&profile.name), function.into(), percent(share).into()];
            table.row(row, output)?;
        }
    }
    table.finish(output)?;
    for profile in profiles {
        if let Some(counts) = profile.counts {
            output.line(&format!(
                "{}: {:.0} cycles and {:.0} instructions a packet",
                profile.name, counts.cycles, counts.instructions
            ))?;
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn thousand(rate: f64) -> String {
    format!("{:.0}", rate / 1e3)
}

fn from_to(pps: &Spread) -> String {
    format!("{}-{}", thousand(pps.min), thousand(pps.max))
}

fn ratio(of: &Scenario, to: &Scenario) -> String {
    format!("{:.2}", of.pps.median / to.pps.median)
}

fn name(scenario: &str) -> Cell {
    let tone = match scenario.starts_with("weir") {
        true => Tone::Good,
        false => Tone::Plain,
    };
    Cell::toned(scenario, tone)
}

fn print(report: &Report, output: &mut Output<'_>) -> Result<(), Error> {
    output.line(&report.machine.to_string())?;
    output.line(&format!(
        "{}; one processor, {} rounds of {} s; differences up to {} may be noise",
        report.load,
        report.rounds,
        report.seconds,
        percent(report.noise)
    ))?;
    output.line("")?;
    let mut table = Table::new([
        ("RANK", Align::Right),
        ("SCENARIO", Align::Left),
        ("FORWARDED BY", Align::Left),
        ("K PACKETS/S", Align::Right),
        ("MIN-MAX", Align::Right),
        ("NS/PACKET", Align::Right),
        ("OF KERNEL'S", Align::Right),
        ("CPU", Align::Right),
        ("SOFTIRQ", Align::Right),
        ("BY WEIR", Align::Right),
    ]);
    let mut rank = 1;
    for group in report.ranking() {
        for scenario in &group {
            let row = [
                rank.to_string().into(),
                name(&scenario.name),
                scenario.text.as_str().into(),
                thousand(scenario.pps.median).into(),
                from_to(&scenario.pps).into(),
                format!("{:.0}", scenario.ns_per_packet.median).into(),
                Cell::or_dash(
                    report
                        .against(scenario)
                        .map(|kernel| ratio(scenario, kernel)),
                ),
                format!("{:.1}", scenario.cpu.median).into(),
                format!("{:.1}", scenario.softirq()).into(),
                Cell::or_dash(scenario.forwarded.map(percent)),
            ];
            table.row(row, output)?;
        }
        rank += group.len();
    }
    table.finish(output)?;
    if !report.series.is_empty() {
        print_series(&report.series, output)?;
    }
    if let Some(tcp) = &report.tcp {
        print_tcp(tcp, output)?;
    }
    if !report.profiles.is_empty() {
        print_profiles(&report.profiles, output)?;
    }
    let mut notes = Vec::new();
    for left_out in &report.left_out {
        notes.push(format!(
            "Not measured: {}, because {}.",
            left_out.name, left_out.reason
        ));
    }
    if report.ranking().iter().any(|group| group.len() > 1) {
        notes.push(
            "Scenarios of the same rank differ by less than the noise: more rounds or a quieter \
            machine may separate them."
                .into(),
        );
    }
    if !report.complete {
        notes.push("Ended early: some rounds are missing.".into());
    }
    for note in notes {
        output.line("")?;
        for line in wrap(&note, WIDTH) {
            output.line(&line)?;
        }
    }
    Ok(())
}
