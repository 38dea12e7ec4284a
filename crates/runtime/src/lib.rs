//! Base of all modules of weir: the daemon with its loop and rights in [`daemon`], the
//! configuration in [`config`], checks in [`check`], output in [`output`], commands that belong to
//! no module in [`commands`]. Modules come by value, in a [`registry`]; the crate names no module.

pub mod check;
pub mod command;
pub mod commands;
pub mod config;
pub mod daemon;
pub mod error;
pub mod log;
pub mod output;
pub mod persisted;
pub mod registry;
pub mod secret;
pub mod uplink;

use std::process::ExitCode;

pub use error::Error;

use output::Output;
use registry::Registry;

/// Parses the command line and runs its command. Exit codes: 0 success, 1 failure, 2 invalid
/// command line.
pub fn run(registry: &Registry) -> ExitCode {
    let mut output = Output::stdout();
    let result = match registry.run(std::env::args_os(), &mut output) {
        Ok(result) => result,
        Err(answer) => {
            // Clap returns help and version as errors, too. A closed pipe is not worth a message.
            let _ = cli::help::print(&answer);
            return ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2));
        }
    };
    let flushed = output.flush().map_err(Error::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = error.to_string();
            if !text.is_empty() {
                use std::io::Write;
                // If this fails, no channel is left for an error.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            error.exit_code()
        }
    }
}

/// Creates an event loop in this thread.
///
/// # Errors
/// Too many files are open.
pub fn event_loop() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| {
            Error::with_cause(
                "cannot create the event loop",
                &e,
                "check whether too many files are open",
            )
        })
}
