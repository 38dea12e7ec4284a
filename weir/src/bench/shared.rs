//! Helpers for the commands of `weir bench`: an optional output file, and errors.

use std::path::Path as File;

use runtime::Error;

/// Writes a text to the requested file, if any.
pub fn keep(file: Option<&File>, text: impl FnOnce() -> String) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()).map_err(|error| {
        let what = format!("cannot write {}", file.display());
        Error::with_cause(what, &error, "")
    })
}

/// Converts a failed measurement to an error with a hint.
pub fn failed(error: bench::Error) -> Error {
    let hint = match &error {
        bench::Error::Lab(_) | bench::Error::Datapath(_) => {
            "`weir check` shows what the kernel lacks"
        }
        bench::Error::System { .. } => "run as root, with room for files in /run and /tmp",
        bench::Error::Client(_) | bench::Error::Wrong(_) => {
            "try again with less load on the machine; report the error if it persists"
        }
    };
    Error::with_cause("the measurement failed", &error, hint)
}

/// Converts a failed measurement over real wires to an error with its hint.
pub fn wire_trouble(trouble: bench::remote::Problem) -> Error {
    Error::new(trouble.what, trouble.hint)
}
