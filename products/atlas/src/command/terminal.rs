//! Texts for a terminal, and the log.

use std::io::{self, IsTerminal};

/// Returns the text without control sequences of a terminal.
pub fn harmless(text: &str) -> String {
    let keep = |c: &char| *c == '\n' || !c.is_control();
    text.chars().filter(keep).collect()
}

/// As [`harmless`], in one line.
pub fn in_line(text: &str) -> String {
    harmless(&text.replace('\n', " "))
}

/// Starts the log on standard error.
pub fn log() {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let format = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && !plain)
        .with_max_level(tracing::Level::INFO)
        .with_target(false);
    // systemd stamps each line itself.
    let _ = match std::env::var_os("JOURNAL_STREAM") {
        Some(_) => format.without_time().try_init(),
        None => format.try_init(),
    };
}
