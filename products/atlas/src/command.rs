//! The command line: a file for each command, with its arguments and implementation.

mod charts;
mod completions;
mod data;
mod export;
mod failure;
mod follow;
mod import;
mod ledger;
mod man;
mod query;
mod serve;
mod site;
mod terminal;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use self::failure::Failure;
use self::terminal::harmless;
use crate::error::Error;

/// A community's data as charts
///
/// Reads snapshots of a directory, stores them in one file, and shows them as pages, pictures,
/// tables and answers to queries.
#[derive(Parser, Debug)]
#[command(
    name = "weir-atlas",
    version,
    after_long_help = "\
Exit codes: 0 done, 1 failed, 2 invalid command line or invalid query.

Examples:
  weir-atlas import snapshots.tar.xz
  weir-atlas serve
  weir-atlas query 'SELECT * FROM growth' --csv"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Import(import::Arguments),
    Follow(follow::Arguments),
    Serve(serve::Arguments),
    Query(query::Arguments),
    Export(export::Arguments),
    Site(site::Arguments),
    Ledger(ledger::Arguments),
    Charts(charts::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    /// Answer one query; started by the server
    #[command(hide = true)]
    SqlWorker(crate::sql::Worker),
}

/// Parses the command line and executes it.
pub fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(answer) => {
            // Help and version arrive as errors, too. A closed pipe needs no message.
            let _ = cli::help::print(&answer);
            return ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2));
        }
    };
    let mut output = io::BufWriter::new(io::stdout().lock());
    let done = match line.command {
        Command::Site(arguments) => site::run(&arguments, &mut output),
        Command::Query(arguments) => query::run(&arguments, &mut output),
        Command::Follow(arguments) => follow::run(&arguments, &mut output),
        Command::Import(arguments) => import::run(&arguments, &mut output),
        Command::Export(arguments) => export::run(&arguments, &mut output),
        Command::Serve(arguments) => serve::run(arguments, &mut output),
        Command::Ledger(arguments) => ledger::run(&arguments, &mut output),
        Command::Charts(_) => charts::run(&mut output),
        Command::Completions(arguments) => completions::run(&arguments, tree(), &mut output),
        Command::Man(arguments) => man::run(&arguments, tree(), &mut output),
        Command::SqlWorker(asked) => return crate::sql::worker(&asked),
    };
    match done.and_then(|()| Ok(output.flush()?)) {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Error(error)) => {
            // Nowhere left to complain to, where this fails.
            let _ = writeln!(io::stderr(), "weir-atlas: {}", harmless(&error.to_string()));
            match error {
                Error::Asked(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Returns the whole command, for completions and manual pages.
fn tree() -> clap::Command {
    CommandLine::command()
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
