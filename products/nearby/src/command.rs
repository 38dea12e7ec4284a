//! The command line: a file for each command, with its arguments and what it does.

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
use crate::room::Format;

/// Messages by Bluetooth between people without a network.
///
/// Speaks to qaul on Linux and iOS (v1) and on Android (v2), and passes on what one of them says to all
/// so that the other hears it, too.
#[derive(Debug, Parser)]
#[command(
    name = "weir-nearby",
    version,
    after_long_help = "\
Exit codes: 0 done, 1 failed, 2 the command line cannot be understood.

Examples:
  weir-nearby run
  weir-nearby chat
  weir-nearby send all 'Where are you?'"
)]
struct Arguments {
    /// Where the program that runs is asked, by root and by who runs it.
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
    /// Looks for others, until it is ended
    ///
    /// Runs as root, or as whoever may speak to BlueZ by D-Bus: everybody in Debian, and elsewhere often
    /// the group `bluetooth`. Who is not root names a --state and a --socket that it may write.
    /// An adapter that is off is switched on at the start; one that somebody switches off later is waited
    /// for.
    Run {
        /// The Bluetooth adapter, by its name or its address; `none`: this node is reached by IP alone
        #[arg(long, default_value = "hci0", value_name = "NAME")]
        adapter: String,
        /// What is spoken
        #[arg(long, value_enum, default_value = "both")]
        format: Formats,
        /// Connections at most
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8), value_name = "COUNT")]
        links: u8,
        /// Makes and offers no channels (L2CAP): v2 then goes by GATT alone
        #[arg(long)]
        no_channels: bool,
        /// What may be spent to hear others soon
        #[arg(long, value_enum, default_value = "balanced")]
        power: power::Power,
        /// Where its key is kept, and what waits for others
        #[arg(long, default_value = "/var/lib/weir-nearby", value_name = "FOLDER")]
        state: PathBuf,
        /// What waits there for others takes so many bytes at most
        #[arg(long, default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1 << 20..=1 << 40), value_name = "BYTES")]
        queue: u64,
        #[command(flatten)]
        page: page::Arguments,
        #[command(flatten)]
        village: village::Arguments,
    },
    /// Prints a secret for a new village: all its nodes have it in a file
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
    /// Both, and each hears what the other says to all
    Both,
    /// As Linux and iOS have it
    V1,
    /// As Android has it
    V2,
}

/// Octets of a socket's path at most (unix(7)).
const LONGEST_PATH: usize = 107;

/// Said before it comes to nothing for another reason.
fn check(socket: &Path) -> Result<(), Failure> {
    let length = socket.as_os_str().len();
    if length > LONGEST_PATH {
        return Err(Failure(
            format!("the socket's path has {length} bytes, and {LONGEST_PATH} are the most"),
            "name a shorter one with --socket".to_owned(),
        ));
    }
    Ok(())
}

/// The program.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help and version come this way too. A closed pipe is no reason to complain.
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

/// The whole command, for completions and manual pages.
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
