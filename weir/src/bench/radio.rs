//! `weir bench radio`: measures transmit power that follows throughput, next to other methods.

use std::path::PathBuf;
use std::time::Duration;

use bench::machine::Lock;
use bench::radio::{Driver, Report, Run, Scenario, ScenarioResult, Settings, chart, lacks};
use clap::Args;

use super::bar::Bar;
use super::shared::{failed, keep};
use runtime::Error;
use runtime::command::Format;
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, wrap};

/// Measure power control and other methods on simulated radios
///
/// Runs access points (hostapd) and stations on radios of mac80211_hwsim, in network namespaces.
/// The simulated air models distances, walls and powers. The same traffic is sent once for each
/// method that sets the power: weir's search, its predecessor, full power, and full power at the
/// slowest rate. Needs root, hostapd, iw, and a kernel with mac80211_hwsim.
#[derive(Args, Debug)]
#[command(after_long_help = "\
ARRIVED: traffic that arrived. WOULD CARRY: ARRIVED by the time that the air was in use, so the \
throughput if traffic were sent all the time. OF MAXIMUM: WOULD CARRY relative to full power, or \
ARRIVED where two access points fill the air. With --repeat, all columns are medians, and BETWEEN \
shows the least and the greatest of the rounds. ON AIR: mean power while an access point sent. \
RADIATED: mean power over all of the time. REACTION: time from the appearance of a wall to more \
power.
Weir's search and its predecessor run in this command, on the kernel's own counters; no daemon \
runs. Press Ctrl-C to end early; results so far are printed.

Examples:
  weir bench radio --scenario near,walls --seconds 20
  weir bench radio --json > radio.json
  weir bench radio --svg radio.svg")]
pub struct RadioArgs {
    /// Measure only these scenarios, separated by commas: near, far, walls, interferer, moving, two
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = scenario)]
    scenario: Vec<Scenario>,
    /// Measure only these methods, separated by commas: weir, predecessor, maximum, slow
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = driver)]
    driver: Vec<Driver>,
    /// Seconds of each measurement, 1 to 3600
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Seed of the medium's random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Repeat all measurements this often, 1 to 100, and print medians
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Also write the chart to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

fn scenario(name: &str) -> Result<Scenario, String> {
    let found = Scenario::ALL.into_iter().find(|one| one.name() == name);
    let names = Scenario::ALL.map(Scenario::name).join(", ");
    found.ok_or_else(|| format!("must be one of {names}"))
}

fn driver(name: &str) -> Result<Driver, String> {
    let found = Driver::ALL.into_iter().find(|one| one.name() == name);
    let names = Driver::ALL.map(Driver::name).join(", ");
    found.ok_or_else(|| format!("must be one of {names}"))
}

fn or_all<T: Copy>(some: &[T], all: &[T]) -> Vec<T> {
    match some.is_empty() {
        true => all.to_vec(),
        false => some.to_vec(),
    }
}

pub(super) fn run(args: &RadioArgs, output: &mut Output<'_>) -> Result<(), Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::new(
            "`weir bench radio` makes radios and network namespaces, which requires root",
            "sudo weir bench radio",
        ));
    }
    let _lock = Lock::take().map_err(failed)?;
    if let Some((what, hint)) = lacks() {
        return Err(Error::new(what, hint));
    }
    let settings = Settings {
        scenarios: or_all(&args.scenario, &Scenario::ALL),
        drivers: or_all(&args.driver, &Driver::ALL),
        time: Duration::from_secs(args.seconds),
        seed: args.seed,
        repeat: args.repeat,
    };
    bench::sweep().map_err(failed)?;
    let mut bar = Bar::new();
    bench::end_gently();
    let report = bench::radio::run(
        &settings,
        &mut |progress| bar.show(progress),
        &bench::asked_to_end,
    );
    bar.clear();
    let report = report.map_err(failed)?;
    keep(args.svg.as_deref(), || chart::draw(&report))?;
    match args.format.json {
        true => Ok(output.json(&report)?),
        false => print(&report, output),
    }
}

fn print(report: &Report, output: &mut Output<'_>) -> Result<(), Error> {
    output.line(&report.machine.to_string())?;
    output.line(&format!(
        "{} s each{}, random seed {}",
        report.seconds,
        report.times(),
        report.seed
    ))?;
    for measured in &report.scenarios {
        output.line("")?;
        output.line(&format!("{}: {}", measured.name, measured.text))?;
        table(measured, output)?;
    }
    if !report.complete {
        output.line("")?;
        for line in wrap("Ended early: some measurements are missing.", WIDTH) {
            output.line(&line)?;
        }
    }
    Ok(())
}

fn table(measured: &ScenarioResult, output: &mut Output<'_>) -> Result<(), Error> {
    let mut table = Table::new([
        ("DECIDES", Align::Left),
        ("ARRIVED", Align::Right),
        ("WOULD CARRY", Align::Right),
        ("OF MAXIMUM", Align::Right),
        ("BETWEEN", Align::Right),
        ("ON AIR", Align::Right),
        ("RADIATED", Align::Right),
        ("REACTION", Align::Right),
    ]);
    for run in &measured.runs {
        table.row(row(measured, run), output)?;
    }
    Ok(table.finish(output)?)
}

fn row(measured: &ScenarioResult, run: &Run) -> [Cell; 8] {
    let megabits = |rate: f64| Cell::from(format!("{rate:.2} Mbit/s"));
    let milliwatts = |power: f64| Cell::from(format!("{power:.2} mW"));
    let share = measured.against(run, Driver::Maximum);
    let between = share.filter(|_| run.rounds.len() > 1);
    let figures = &run.figures;
    let tone = match run.driver == Driver::Weir.name() {
        true => Tone::Good,
        false => Tone::Plain,
    };
    [
        Cell::toned(run.driver.as_str(), tone),
        megabits(figures.arrived_mbit),
        megabits(figures.carries_mbit),
        Cell::or_dash(share.map(|[share, ..]| format!("{share:.3}")).as_ref()),
        Cell::or_dash(
            between
                .map(|[_, least, most]| format!("{least:.2}–{most:.2}"))
                .as_ref(),
        ),
        milliwatts(figures.on_air_mw),
        milliwatts(figures.radiated_mw),
        Cell::or_dash(figures.reaction_ms.map(|ms| format!("{ms:.0} ms")).as_ref()),
    ]
}
