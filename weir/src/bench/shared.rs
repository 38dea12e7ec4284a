//! What the commands of `weir bench` share: a file that is asked for, and errors.

use std::path::Path as File;

use runtime::Error;

/// Writes a text to the file that was asked for.
pub fn keep(file: Option<&File>, text: impl FnOnce() -> String) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()).map_err(|error| {
        let what = format!("{} cannot be written", file.display());
        Error::because(what, &error, "")
    })
}

/// A measurement that failed, with a hint.
pub fn failed(error: bench::Error) -> Error {
    let hint = match &error {
        bench::Error::Lab(_) | bench::Error::Datapath(_) => {
            "`weir check` says what the kernel lacks"
        }
        bench::Error::System { .. } => "start it as root, with room for files in /run and /tmp",
        bench::Error::Client(_) | bench::Error::Wrong(_) => {
            "try again with less else running; report it if it stays"
        }
    };
    Error::because("it cannot be measured", &error, hint)
}

/// A measurement over real wires that failed, with its hint.
pub fn wire_trouble(trouble: bench::wires::Trouble) -> Error {
    Error::new(trouble.what, trouble.hint)
}
