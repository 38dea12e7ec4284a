//! What the daemon tells, on standard error.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;

use crate::config::LogLevel;

/// Starts logging. Does nothing when it was started before.
pub fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let format = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !plain)
        .with_target(false);
    // systemd stamps each line itself.
    if std::env::var_os("JOURNAL_STREAM").is_some() {
        let _ = format.without_time().try_init();
    } else {
        let _ = format.try_init();
    }
}
