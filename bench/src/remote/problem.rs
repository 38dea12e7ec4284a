//! Problems that keep two machines from measuring, in words for the user.

use std::error::Error;
use std::fmt;

/// Problem, with a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Problem: a sentence without a full stop.
    pub what: String,
    /// Advice to the user.
    pub hint: String,
}

impl Problem {
    /// Returns a problem with this hint.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// Returns a function that appends a system error to `what`.
    pub fn system(
        what: impl fmt::Display,
        hint: impl Into<String>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.to_string();
        let hint = hint.into();
        move |error| Self::new(format!("{what}: {error}"), hint)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Problem {}
