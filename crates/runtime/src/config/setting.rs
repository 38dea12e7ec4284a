//! A value, and where it was set.

use std::fmt;
use std::ops::Deref;

/// Source of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// None: weir's default.
    #[default]
    Default,
    /// A flag.
    CommandLine,
    /// A configuration file.
    File {
        /// Path as given.
        name: String,
        /// Line from 1; 0 if unknown.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::CommandLine => f.pad("command line"),
            Self::File { name, line: 0 } => f.pad(name),
            Self::File { name, line } => f.pad(&format!("{name}:{line}")),
        }
    }
}

/// A value, and where it was set. Reads like the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Source of the value.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// Creates a setting with weir's default value.
    pub fn default_value(value: T) -> Self {
        Self {
            value,
            origin: Origin::Default,
        }
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
