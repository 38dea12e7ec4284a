//! `weir bench send`: sends to a receiver on the other side of a real router.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path as File, PathBuf};

use bench::machine::processors;
use bench::remote::code::Code;
use bench::remote::report::{Report, Trial, thousands};
use bench::remote::target::{Settings, reach, target};
use bench::remote::verdict::TrialVerdict;
use bench::remote::{MOST_FLOWS, MOST_RATE, MOST_SECONDS, frame, sender};
use clap::Args;

use super::bar::Bar;
use super::shared::wire_trouble;
use runtime::Error;
use runtime::command::Format;
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, wrap};

/// Limit on the length of a code; all codes are shorter.
const LONGEST_CODE: u64 = 256;

/// Measure a real router: send through it to `weir bench receive`
///
/// Sends UDP packets to a machine on the other side of a router, counts the packets that arrive,
/// and searches for the highest rate without loss (RFC 2544). Needs no root. Floods the path to
/// HOST: do not use it over a network that others need.
#[derive(Args, Debug)]
#[command(after_long_help = "\
The receiver prints a code. Type the code when asked, or pass it with --code-file.
Without --rate, the rate doubles until packets are lost; then the gap is halved until it is 2 %. A \
longer trial at that rate confirms the result and measures the latency of a round trip, whose \
return path carries only the answers. LOST: packets lost on the way. Packets that the receiver's \
own sockets dropped are counted separately. If sender or receiver is slower than the router, the \
output says so instead of giving a figure. A PC sends some 500,000 to 1,000,000 packets a second \
through sockets.
Press Ctrl-C to end early; results so far are printed.

Examples:
  weir bench send 192.0.2.7
  weir bench send 192.0.2.7 --rate 100000 --seconds 10
  weir bench send [2001:db8::7]:9467 --code-file code --json > after.json")]
pub struct SendArgs {
    /// Address of the receiver: HOST, HOST:PORT or [ADDRESS]:PORT
    #[arg(value_name = "HOST[:PORT]", value_parser = target)]
    host: (String, u16),
    /// Read the code from the first line of this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    code_file: Option<PathBuf>,
    /// Packets a second, up to 20,000,000 [default: search for the highest without loss]
    #[arg(long, value_name = "PPS", value_parser = rate)]
    rate: Option<f64>,
    /// Seconds of each trial, 0.1 to 60
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Accepted loss in per cent of the packets, 0 to 50
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = loss)]
    loss: f64,
    /// Number of flows, each from its own port; they send in turn
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_FLOWS)))]
    flows: u32,
    /// Frame length in bytes without checksum, up to 1514 [default: the shortest, 60; with IPv6 80]
    #[arg(long, value_parser = clap::value_parser!(u16).range(i64::from(frame::SHORTEST)..=i64::from(frame::LONGEST)))]
    length: Option<u16>,
    /// Number of sending threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Device to send from [default: by the routes]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Link speed of the device in Mbit/s [default: from its driver]
    #[arg(long, value_name = "MBIT", value_parser = link)]
    link: Option<f64>,
    /// Send even from the device that carries your own SSH session
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    format: Format,
}

fn number(text: &str, from: f64, to: f64, what: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|number| (from..=to).contains(number))
        .ok_or_else(|| what.into())
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, 1.0, MOST_RATE, "must be 1 to 20000000 packets/s")
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.1, MOST_SECONDS, "must be a number from 0.1 to 60")
}

fn loss(text: &str) -> Result<f64, String> {
    number(text, 0.0, 50.0, "must be 0 to 50 per cent")
}

fn link(text: &str) -> Result<f64, String> {
    number(text, 0.01, 1e6, "must be 0.01 to 1000000 Mbit/s")
}

/// Reads the code from the first line of a file or of standard input, or from the terminal.
fn code(file: Option<&File>) -> Result<Code, Error> {
    let failed = |name: &str, error: &io::Error| {
        Error::with_cause(
            format!("cannot read the code from {name}"),
            error,
            "write the code to a file, in one line",
        )
    };
    let first = |input: &mut dyn Read, name: &str| {
        let mut line = String::new();
        let mut input = io::BufReader::new(input.take(LONGEST_CODE));
        let read = input.read_line(&mut line);
        read.map_err(|error| failed(name, &error)).map(|_| line)
    };
    let line = match file {
        Some(file) if file == File::new("-") => first(&mut io::stdin().lock(), "standard input")?,
        Some(file) => {
            let name = file.display().to_string();
            let mut opened = std::fs::File::open(file).map_err(|error| failed(&name, &error))?;
            first(&mut opened, &name)?
        }
        None if io::stdin().is_terminal() => {
            // The command reads the code even if the prompt cannot be shown.
            let _ = write!(io::stderr(), "Code shown by the receiver: ");
            let _ = io::stderr().flush();
            first(&mut io::stdin().lock(), "the terminal")?
        }
        None => {
            return Err(Error::new(
                "cannot ask for the receiver's code: no terminal",
                "use --code-file FILE, or --code-file - for standard input",
            ));
        }
    };
    line.parse()
        .map_err(|error| Error::with_cause("invalid code", &error, "`weir bench receive` shows it"))
}

pub(super) fn run(args: &SendArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let threads = usize::from(args.threads);
    if threads > processors() {
        return Err(Error::usage(
            format!(
                "{threads} threads are more than {} processors",
                processors()
            ),
            format!("use --threads 1 to {}", processors()),
        ));
    }
    let settings = Settings {
        host: args.host.0.clone(),
        port: args.host.1,
        flows: args.flows,
        length: args.length,
        rate: args.rate,
        seconds: args.seconds,
        loss: args.loss / 100.0,
        threads,
        device: args.device.clone(),
        link: args.link,
        force: args.force,
    };
    // Checks that the receiver is reachable before the user types the code.
    let reached = reach(&settings).map_err(wire_trouble)?;
    let code = code(args.code_file.as_deref())?;
    let mut bar = Bar::new();
    bench::end_gently();
    let report = sender::run(
        &settings,
        &reached,
        &code,
        &mut |progress| bar.show(progress),
        &bench::asked_to_end,
    );
    bar.clear();
    let report = report.map_err(wire_trouble)?;
    match args.format.json {
        true => output.json(&report)?,
        false => print(&report, output)?,
    }
    match &report.trouble {
        Some(trouble) => {
            output.flush()?;
            Err(Error::new(trouble, "measure again"))
        }
        None => Ok(()),
    }
}

fn print(report: &Report, output: &mut Output<'_>) -> Result<(), Error> {
    output.field("sender", &report.sender.to_string())?;
    output.field("receiver", &report.receiver.to_string())?;
    output.field(
        "path",
        &format!("{} to {} ({})", report.device, report.host, report.address),
    )?;
    output.field(
        "packets",
        &format!(
            "{} UDP flows, frames of {} bytes without checksum, {} s each trial",
            report.flows, report.length, report.seconds
        ),
    )?;
    let link = match (report.link_mbit, report.link_pps) {
        (Some(mbit), Some(pps)) => format!("{mbit} Mbit/s: {} packets/s", thousands(pps)),
        _ => "unknown; set it with --link".into(),
    };
    output.field("link", &link)?;
    output.line("")?;
    let mut table = Table::new([
        ("TARGET, /S", Align::Right),
        ("SENT, /S", Align::Right),
        ("ARRIVED, /S", Align::Right),
        ("MBIT/S", Align::Right),
        ("OF LINK", Align::Right),
        ("LOST", Align::Right),
        ("AT RECEIVER", Align::Right),
        ("REORDERED", Align::Right),
        ("DUPLICATE", Align::Right),
        ("VERDICT", Align::Left),
    ]);
    for trial in &report.trials {
        table.row(row(report, trial), output)?;
    }
    table.finish(output)?;
    if let Some(latency) = report.trials.iter().rev().find_map(|trial| trial.latency) {
        output.line("")?;
        output.field(
            "round trip",
            &format!(
                "p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, max {:.0} us, of {} answers; both \
                    machines included",
                latency.p50, latency.p99, latency.p999, latency.max, latency.answers
            ),
        )?;
    }
    for sentence in report.says() {
        output.line("")?;
        for line in wrap(&sentence, WIDTH) {
            output.line(&line)?;
        }
    }
    Ok(())
}

fn row(report: &Report, trial: &Trial) -> [Cell; 10] {
    let (text, tone) = match trial.judgement {
        TrialVerdict::Passed => ("passed", Tone::Good),
        TrialVerdict::Lost => ("lost", Tone::Bad),
        TrialVerdict::SenderLimit => ("sender's limit", Tone::Warn),
        TrialVerdict::ReceiverLimit => ("receiver's limit", Tone::Warn),
        TrialVerdict::LinkFlapped => ("link flapped", Tone::Warn),
    };
    let arrived = trial.received_pps;
    let link = report
        .link_pps
        .zip(arrived)
        .map(|(most, pps)| format!("{:.1} %", pps / most * 100.0));
    // The rate on the wire includes checksum, preamble and gap, for comparison with the link.
    let mbit = arrived.map(|pps| format!("{:.1}", pps * frame::bits(report.length) / 1e6));
    let lost = arrived.map(|_| thousands(trial.lost as f64));
    [
        thousands(trial.asked_pps).into(),
        thousands(trial.sent_pps).into(),
        Cell::or_dash(arrived.map(thousands)),
        Cell::or_dash(mbit),
        Cell::or_dash(link),
        Cell::or_dash(lost),
        thousands(trial.receiver_dropped as f64).into(),
        thousands(trial.reordered as f64).into(),
        thousands(trial.duplicates as f64).into(),
        Cell::toned(text, tone),
    ]
}
