//! The command line: a file for each command, with its arguments and implementation.

#[cfg(feature = "chat")]
mod chat;
mod completions;
mod failure;
mod man;
mod page;
mod peers;
mod power;
mod send;
mod village;
mod watch;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use api::Client;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use self::failure::Failure;
use crate::daemon;
use crate::machine::Format;

/// Exchange messages by Bluetooth, without a network
///
/// Talks to qaul on Linux and iOS (format v1) and on Android (v2), and relays messages to all from
/// one format to the other.
#[derive(Debug, Parser)]
#[command(
    name = "weir-nearby",
    version,
    after_long_help = "\
Exit codes: 0 done, 1 failed, 2 invalid command line.

Examples:
  weir-nearby run
  weir-nearby chat
  weir-nearby send all 'Where are you?'"
)]
struct Arguments {
    /// Socket of the running program, for root and the user that runs it
    #[arg(
        long,
        global = true,
        default_value = "/run/weir-nearby/socket",
        value_name = "PATH"
    )]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the program: find peers and exchange messages
    ///
    /// Runs as root, or as a user that may talk to BlueZ over D-Bus: every user on Debian,
    /// elsewhere often the group `bluetooth`. Without root, name a --state and a --socket that you
    /// may write. An adapter that is off is switched on at the start; if it is switched off later,
    /// the program waits for it.
    Run {
        /// Bluetooth adapter, by name or address; `none`: this node is reachable by IP only
        #[arg(long, default_value = "hci0", value_name = "NAME")]
        adapter: String,
        /// Message formats
        #[arg(long, value_enum, default_value = "both")]
        format: Formats,
        /// Largest number of connections
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8), value_name = "COUNT")]
        links: u8,
        /// Neither make nor offer channels (L2CAP); v2 then uses GATT only
        #[arg(long)]
        no_channels: bool,
        /// Power to spend on finding peers soon
        #[arg(long, value_enum, default_value = "balanced")]
        power: power::Power,
        /// Folder of the key and of waiting messages
        #[arg(long, default_value = "/var/lib/weir-nearby", value_name = "FOLDER")]
        state: PathBuf,
        /// Largest size of the waiting messages, in bytes
        #[arg(long, default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1 << 20..=1 << 40), value_name = "BYTES")]
        queue: u64,
        #[command(flatten)]
        page: page::Arguments,
        #[command(flatten)]
        village: village::Arguments,
    },
    /// Print the secret of a new village, for a file on all its nodes
    Village,
    Peers(peers::Arguments),
    Send(send::Arguments),
    Watch(watch::Arguments),
    #[cfg(feature = "chat")]
    Chat(chat::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Formats {
    /// Both, with messages to all relayed between them
    Both,
    /// Format of qaul on Linux and iOS
    V1,
    /// Format of qaul on Android
    V2,
}

/// Bytes of a socket's path at most (unix(7)).
const LONGEST_PATH: usize = 107;

/// Checks the socket, before another failure hides this cause.
fn check(socket: &Path) -> Result<(), Failure> {
    let length = socket.as_os_str().len();
    if length > LONGEST_PATH {
        return Err(Failure(
            format!(
                "the socket's path has {length} bytes, but at most {LONGEST_PATH} are possible"
            ),
            "use a shorter one with --socket".to_owned(),
        ));
    }
    Ok(())
}

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help and version arrive as errors, too. A closed pipe needs no message.
            let _ = cli::help::print(&answer);
            return ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2));
        }
    };
    let mut output = std::io::stdout();
    match act(&arguments, &mut output).and_then(|()| Ok(output.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output went away (`weir-nearby watch | head`): not a failure.
        Err(Failure(what, _)) if what.is_empty() => ExitCode::SUCCESS,
        Err(Failure(what, hint)) => {
            eprintln!("weir-nearby: {what}");
            if !hint.is_empty() {
                eprintln!("  hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn act(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let client = || Client::new(&arguments.socket);
    check(&arguments.socket)?;
    match &arguments.command {
        Command::Run {
            adapter,
            format,
            links,
            no_channels,
            power,
            state,
            queue,
            page,
            village,
        } => {
            let village = village.settings()?;
            if adapter == daemon::NO_ADAPTER && village.is_none() {
                return Err(Failure(
                    "without Bluetooth and without a village no peer is reachable".to_owned(),
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
                channels: !no_channels,
                power: (*power).into(),
                state: state.clone(),
                queue: *queue,
                socket: arguments.socket.clone(),
                page: page.settings(),
                village,
            })
        }
        Command::Village => village::make(),
        Command::Peers(arguments) => peers::run(arguments, &client()?, output),
        Command::Send(arguments) => send::run(arguments, &client()?, output),
        Command::Watch(arguments) => watch::run(arguments, &client()?, output),
        #[cfg(feature = "chat")]
        Command::Chat(_) => chat::run(&arguments.socket, output),
        Command::Completions(arguments) => completions::run(arguments, tree(), output),
        Command::Man(arguments) => man::run(arguments, tree(), output),
    }
}

/// Returns the whole command, for completions and manual pages.
fn tree() -> clap::Command {
    Arguments::command()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_texts_fit_terminals() {
        let faults = cli::help::faults(tree());
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
