//! Sections that belong to no module: `[api]` and `[log]`.

use std::path::PathBuf;

use super::keys::table;
use super::section::Section;
use super::values::words;

/// Sections of the daemon itself.
pub const SECTIONS: [Section; 2] = [Section::of::<Api>("api"), Section::of::<Log>("log")];

table! {
    /// `[api]`: how others speak to the daemon.
    Api {
        /// Socket of the API. "auto" is /run/weir/weir.sock, or one named after the network
        /// namespace in any but the first.
        Restart socket: Option<PathBuf> = None;
    }
}

table! {
    /// `[log]`: what the daemon tells, on standard error.
    Log {
        /// Level of the log on standard error.
        Live level: LogLevel = LogLevel::Info;
    }
}

/// Level of logging; each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Possible problems.
    Warn,
    /// Actions of the daemon.
    #[default]
    Info,
    /// Actions of each part of the daemon.
    Debug,
    /// Each event.
    Trace,
}

impl LogLevel {
    const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    /// Returns the level that is `steps` more verbose (less, when negative), within the limits.
    pub fn louder(self, steps: i32) -> Self {
        let at = Self::ALL
            .iter()
            .position(|level| *level == self)
            .unwrap_or_default();
        let at = i32::try_from(at)
            .unwrap_or_default()
            .saturating_add(steps)
            .clamp(0, 4);
        Self::ALL[usize::try_from(at).unwrap_or_default()]
    }
}

words!(LogLevel, "\"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
    "error" => Self::Error, "warn" => Self::Warn, "info" => Self::Info, "debug" => Self::Debug,
    "trace" => Self::Trace);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_ends() {
        assert_eq!(LogLevel::Info.louder(1), LogLevel::Debug);
        assert_eq!(LogLevel::Info.louder(i32::MAX), LogLevel::Trace);
        assert_eq!(LogLevel::Info.louder(i32::MIN), LogLevel::Error);
    }
}
