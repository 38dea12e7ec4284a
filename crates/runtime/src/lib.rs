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

/// Reads the command line and does what it says. Exit codes: 0 done, 1 failed, 2 the command line
/// cannot be understood.
pub fn run(registry: &Registry) -> ExitCode {
    let mut output = Output::stdout();
    let result = match registry.run(std::env::args_os(), &mut output) {
        Ok(result) => result,
        Err(answer) => {
            // Help and version come this way too. A closed pipe is no reason to complain.
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
                // Nowhere left to complain to, where this fails.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            error.exit_code()
        }
    }
}

/// An event loop in this thread.
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
