//! Logs to standard error.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

use crate::config::LogLevel;

/// The level in force, once logging was started.
static LEVEL: OnceLock<Handle<LevelFilter, Registry>> = OnceLock::new();

/// Starts logging. Does nothing when it was started before.
pub fn start(level: impl Into<LevelFilter>) {
    let (filter, handle) = reload::Layer::new(level.into());
    if LEVEL.set(handle).is_err() {
        return;
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let format = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !plain)
        .with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    // systemd stamps each line itself.
    if std::env::var_os("JOURNAL_STREAM").is_some() {
        let _ = registry.with(format.without_time()).try_init();
    } else {
        let _ = registry.with(format).try_init();
    }
}

/// Returns the current log level.
pub fn level() -> LevelFilter {
    let level = LEVEL.get().and_then(Handle::clone_current);
    level.unwrap_or(LevelFilter::INFO)
}

/// Changes the log level from now on.
pub fn set(level: LogLevel) {
    if let Some(handle) = LEVEL.get() {
        // Fails only once logging is over.
        let _ = handle.reload(LevelFilter::from(level));
    }
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}
