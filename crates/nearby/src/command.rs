//! The command line.

mod village;

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use api::{Client, ClientError, Method};
use clap::{Parser, Subcommand, ValueEnum};

use crate::daemon::{self, Answer, Peers, Said};
use crate::room::Format;

/// Messages by Bluetooth between people without a network.
///
/// Speaks to qaul on Linux and iOS (v1) and on Android (v2), and passes on what one of them says to all
/// so that the other hears it, too.
#[derive(Debug, Parser)]
#[command(name = "weir-nearby", version)]
struct Arguments {
    /// Where the program that runs is asked.
    #[arg(
        long,
        global = true,
        default_value = "/run/weir/nearby.sock",
        value_name = "PATH"
    )]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Looks for others, until it is ended
    Run {
        /// The Bluetooth adapter; `none`: this node is reached by IP alone
        #[arg(long, default_value = "hci0", value_name = "NAME")]
        adapter: String,
        /// What is spoken
        #[arg(long, value_enum, default_value = "both")]
        format: Formats,
        /// Connections at most
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8), value_name = "COUNT")]
        links: u8,
        /// Where its key is kept
        #[arg(long, default_value = "/var/lib/weir-nearby", value_name = "FOLDER")]
        state: PathBuf,
        #[command(flatten)]
        village: village::Arguments,
    },
    /// Prints a secret for a new village: all its nodes have it in a file
    Village,
    /// Shows who is near
    Peers {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Says something that everybody can read, to all who are near or by one of them
    Send {
        /// `all`, or the id of one who is near: that one alone is told, and may tell it to others
        #[arg(value_name = "PEER")]
        to: String,
        /// What to say
        text: Option<String>,
        /// Say what is in a file instead
        #[arg(
            long,
            conflicts_with = "text",
            required_unless_present = "text",
            value_name = "FILE"
        )]
        file: Option<PathBuf>,
    },
    /// Shows what is said, and who comes and goes, as it happens
    Watch {
        /// As JSON, a line each
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Formats {
    /// Both, and each hears what the other says to all
    Both,
    /// As Linux and iOS have it
    V1,
    /// As Android has it
    V2,
}

/// Why a command came to nothing, and what helps.
struct Failure(String, String);

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::NotRunning(path) => Self(
                format!("nothing listens at {}", path.display()),
                "start `weir-nearby run`, or name its --socket".to_owned(),
            ),
            error => Self(error.to_string(), error.hint()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(
            error.to_string(),
            "see whether the other end is still there".to_owned(),
        )
    }
}

/// The program.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match act(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(what, hint)) => {
            eprintln!("weir-nearby: {what}");
            if !hint.is_empty() {
                eprintln!("  hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn act(arguments: &Arguments) -> Result<(), Failure> {
    let client = || Client::new(&arguments.socket);
    match &arguments.command {
        Command::Run {
            adapter,
            format,
            links,
            state,
            village,
        } => {
            let village = village.settings()?;
            if adapter == daemon::NO_ADAPTER && village.is_none() {
                return Err(Failure(
                    "without Bluetooth and without a village nobody is reached".to_owned(),
                    "name an --adapter, or the --village whose nodes are reached by IP".to_owned(),
                ));
            }
            let formats = match format {
                Formats::Both => [Format::V1, Format::V2].into(),
                Formats::V1 => [Format::V1].into(),
                Formats::V2 => [Format::V2].into(),
            };
            run(&daemon::Settings {
                adapter: adapter.clone(),
                formats,
                links: usize::from(*links),
                state: state.clone(),
                socket: arguments.socket.clone(),
                village,
            })
        }
        Command::Village => village::make(),
        Command::Peers { json: true } => {
            client()?.copy("/v1/peers", &mut std::io::stdout())?;
            println!();
            Ok(())
        }
        Command::Peers { json: false } => {
            let told: Peers = client()?.get("/v1/peers")?;
            show(&told)?;
            Ok(())
        }
        Command::Send { to, text, file } => {
            let text = match (text, file) {
                (Some(text), _) => text.clone(),
                (None, Some(file)) => std::fs::read_to_string(file).map_err(|error| {
                    let what = format!("cannot read {} as text: {error}", file.display());
                    Failure(what, "name another file".to_owned())
                })?,
                (None, None) => String::new(),
            };
            let say = daemon::Say {
                to: to.clone(),
                text,
            };
            let told: Answer = client()?.send(Method::POST, "/v1/messages", &say)?;
            println!("said to {} who are near", told.peers);
            Ok(())
        }
        Command::Watch { json } => watch(&client()?, *json),
    }
}

fn run(settings: &daemon::Settings) -> Result<(), Failure> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("WEIR_LOG")
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
        )
        .init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(daemon::run(settings));
    done.map_err(|what| Failure(what, String::new()))
}

fn show(told: &Peers) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if told.peers.is_empty() {
        return writeln!(out, "nobody is near");
    }
    writeln!(
        out,
        "{:<16}  {:<17}  {:<8}  {:>8}  waiting",
        "id", "address", "formats", "signal"
    )?;
    for peer in &told.peers {
        let signal = peer.signal.map_or(String::new(), |it| format!("{it} dBm"));
        let (id, address, formats) = (&peer.id, &peer.address, peer.formats.join(" "));
        writeln!(
            out,
            "{id:<16}  {address:<17}  {formats:<8}  {signal:>8}  {}",
            peer.waiting
        )?;
    }
    Ok(())
}

fn watch(client: &Client, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    for line in client.open("/v1/messages")?.lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        if json {
            writeln!(out, "{line}")?;
        } else if let Ok(said) = serde_json::from_str::<Said>(&line) {
            writeln!(out, "{}", text(&said))?;
        }
        out.flush()?;
    }
    Ok(())
}

/// A line for a person: what a stranger wrote moves no cursor.
fn text(said: &Said) -> String {
    match said {
        Said::Near { peer } => format!("{peer} is near"),
        Said::Gone { peer } => format!("{peer} is near no longer"),
        Said::Message { sender, text, .. } => {
            let plain = |it: char| if it.is_control() { '\u{fffd}' } else { it };
            format!("{sender}: {}", text.chars().map(plain).collect::<String>())
        }
        Said::Other {
            peer, kind, octets, ..
        } => format!("{peer} sent {octets} octets: {kind}"),
        Said::Outcome { number, peer, done } => match done {
            true => format!("message {number} is at {peer}"),
            false => format!("message {number} did not get to {peer}"),
        },
    }
}
