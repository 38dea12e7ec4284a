//! `weir radio`.

use std::io;
use std::path::{Path, PathBuf};

use answers::{RadioLog, RadioPeers, Radios};
use clap::{Args, Subcommand};
use radio_core::power::{Entry, Reason, plot};

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, sanitize};

/// Show the transmit power of access points, and their throughput
///
/// With mode = "control" under [radio.power] in the configuration, weir lowers the power of access
/// points as long as no station loses throughput. With "watch" weir only reports.
#[derive(Args, Debug)]
#[command(
    mut_arg("socket", |socket| socket.global(true)),
    mut_arg("json", |json| json.global(true)),
    after_long_help = "\
ARRIVES: throughput to a station if the radio sent to it alone, all the time, by the traffic of \
the last second. EXPECTS: the driver's estimate of that. WHY: idle (no station receives), \
newcomer, silent, edge, wall (full power: a station has less than half of its throughput), \
reference (a test at the greatest power), trial, kept, lost, worse or return.

Examples:
  weir radio status
  weir radio status --json | jq '.radios[] | {device, power_dbm}'
  weir radio log
  weir radio log --csv > steps.csv
  weir radio log wlan0 --plot power.svg"
)]
pub struct RadioArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show access points and their stations
    Status,
    /// Show only the power, one line per access point
    Power,
    /// Show trials of power, and their reasons
    Log(LogArgs),
    /// List current and possible peers of this access point
    ///
    /// STATE: seen (its beacon proves the secret), waiting (its signal is too weak, or there are
    /// enough peers), handshake, installed (it has a key here), or alive (at both ends). KEY:
    /// "NONE: insecure" marks peers without proof, whose traffic is not encrypted; compat = "apup"
    /// accepts them.
    Peers,
}

#[derive(Args, Debug)]
struct LogArgs {
    /// Only this access point
    device: Option<String>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Draw a picture (SVG) into this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "csv"])]
    plot: Option<PathBuf>,
}

/// Shows it.
///
/// # Errors
/// The daemon does not answer, or the line is not understood.
pub fn run(args: &RadioArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    if let Some(What::Peers) = &args.what {
        let told: RadioPeers = client.get("/v1/radio/peers")?;
        return match args.format.json {
            true => Ok(output.json(&told)?),
            false => Ok(super::peering::show::print(&told, output)?),
        };
    }
    if let Some(What::Log(log)) = &args.what {
        let mut told: RadioLog = client.get("/v1/radio/log")?;
        if let Some(device) = &log.device {
            told.logs.retain(|one| one.device == *device);
            if told.logs.is_empty() {
                let what = format!("no access point {}", sanitize(device));
                return Err(Error::new(
                    what,
                    "see `weir radio power` for all access points",
                ));
            }
        }
        if let Some(file) = &log.plot {
            return picture(&told, file);
        }
        match (args.format.json, log.csv) {
            (true, _) => output.json(&told)?,
            (false, true) => csv(&told, output)?,
            (false, false) => steps(&told, output)?,
        }
        return Ok(());
    }
    let told: Radios = client.get("/v1/radio")?;
    if args.format.json {
        return Ok(output.json(&told)?);
    }
    if told.mode == "off" {
        return Ok(output.line(
            "power is not examined: set mode = \"watch\" under [radio.power] of the configuration",
        )?);
    }
    if told.radios.is_empty() {
        return Ok(output.line("no device is an access point; see `weir check`")?);
    }
    match &args.what {
        Some(What::Power) => powers(&told, output)?,
        _ => status(&told, output)?,
    }
    Ok(())
}

fn dbm(power: Option<i32>) -> Cell {
    Cell::or_dash(power.map(|power| format!("{power} dBm")).as_ref())
}

fn megabits(rate: Option<f64>) -> Cell {
    Cell::or_dash(rate.map(|rate| format!("{rate:.1} Mbit/s")).as_ref())
}

fn powers(told: &Radios, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("DEVICE", Align::Left),
        ("POWER", Align::Right),
        ("ENOUGH", Align::Right),
        ("MOST", Align::Right),
        ("STATIONS", Align::Right),
        ("WHY", Align::Left),
    ]);
    for radio in &told.radios {
        let row = [
            Cell::from(radio.device.as_str()),
            dbm(radio.power_dbm),
            dbm(radio.sufficient_dbm),
            dbm(Some(radio.max_dbm)),
            Cell::from(radio.stations.len().to_string()),
            Cell::from(radio.reason.as_str()),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    for radio in &told.radios {
        if let Some(trouble) = &radio.trouble {
            let line = format!("{}: {}", sanitize(&radio.device), sanitize(trouble));
            output.line(&output.toned(Tone::Warn, &line))?;
        }
    }
    Ok(())
}

fn status(told: &Radios, output: &mut Output<'_>) -> io::Result<()> {
    powers(told, output)?;
    if told.radios.iter().all(|radio| radio.stations.is_empty()) {
        return Ok(());
    }
    output.line("")?;
    let mut table = Table::new([
        ("STATION", Align::Left),
        ("AT", Align::Left),
        ("ARRIVES", Align::Right),
        ("EXPECTS", Align::Right),
        ("SIGNAL", Align::Right),
        ("DECIDED", Align::Left),
    ]);
    for radio in &told.radios {
        for station in &radio.stations {
            let row = [
                Cell::from(station.mac.as_str()),
                Cell::from(radio.device.as_str()),
                megabits(station.throughput_mbit),
                megabits(station.expected_mbit),
                dbm(station.signal),
                Cell::or_dash(station.decision.as_ref()),
            ];
            table.row(row, output)?;
        }
    }
    table.finish(output)
}

fn steps(told: &RadioLog, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("AT", Align::Right),
        ("DEVICE", Align::Left),
        ("POWER", Align::Right),
        ("WHY", Align::Left),
        ("STATION", Align::Left),
        ("ARRIVES", Align::Right),
        ("AT MOST", Align::Right),
        ("RATE", Align::Right),
    ]);
    for log in &told.logs {
        for step in &log.steps {
            let row = [
                Cell::from(format!("{:.2} s", step.at_ms as f64 / 1000.0)),
                Cell::from(log.device.as_str()),
                dbm(Some(step.power_dbm)),
                Cell::from(step.reason.as_str()),
                Cell::or_dash(step.station.as_ref()),
                megabits(step.throughput_mbit),
                megabits(step.reference_mbit),
                megabits(step.rate_mbit),
            ];
            table.row(row, output)?;
        }
    }
    table.finish(output)
}

/// Draws the log of one access point.
fn picture(told: &RadioLog, file: &Path) -> Result<(), Error> {
    let [log] = &told.logs[..] else {
        let names: Vec<_> = told.logs.iter().map(|log| sanitize(&log.device)).collect();
        let (what, hint) = match names.is_empty() {
            true => ("no log", "see `weir radio status` for the cause".to_owned()),
            false => (
                "a picture can show only one access point",
                format!("name one: {}", names.join(", ")),
            ),
        };
        return Err(Error::new(what, hint));
    };
    let kilobits = |rate: Option<f64>| rate.map(|rate| rate * 1000.0);
    let steps = log.steps.iter().filter_map(|step| {
        Some(Entry {
            at: step.at_ms,
            power: step.power_dbm,
            reason: Reason::told(&step.reason)?,
            station: None,
            throughput: kilobits(step.throughput_mbit),
            reference: kilobits(step.reference_mbit),
            rate: kilobits(step.rate_mbit),
        })
    });
    let steps: Vec<_> = steps.collect();
    std::fs::write(file, plot(&log.device, &steps)).map_err(|error| {
        let what = format!("cannot write {}", file.display());
        Error::with_cause(&what, &error, "name a file in an existing folder")
    })
}

fn csv(told: &RadioLog, output: &mut Output<'_>) -> io::Result<()> {
    output
        .line("at_ms,device,power_dbm,reason,station,throughput_mbit,reference_mbit,rate_mbit")?;
    let number = |it: Option<f64>| it.map(|it| it.to_string()).unwrap_or_default();
    for log in &told.logs {
        for step in &log.steps {
            output.line(&format!(
                "{},{},{},{},{},{},{},{}",
                step.at_ms,
                sanitize(&log.device),
                step.power_dbm,
                sanitize(&step.reason),
                sanitize(step.station.as_deref().unwrap_or_default()),
                number(step.throughput_mbit),
                number(step.reference_mbit),
                number(step.rate_mbit)
            ))?;
        }
    }
    Ok(())
}

/// Restore the power of radios after weir ends; started by weir
///
/// Reads from standard input the data that weir hands over.
#[derive(Args, Debug)]
pub struct RestoreArgs {}

/// Waits for weir's end.
///
/// # Errors
/// None.
pub fn way_back(_: &RestoreArgs, _: &mut Output<'_>) -> Result<(), Error> {
    let runtime = runtime::event_loop()?;
    let _inside = runtime.enter();
    super::power::keep();
    Ok(())
}
