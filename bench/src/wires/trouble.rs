//! What keeps two machines from measuring, in words for the person in front of one of them.

use std::error::Error;
use std::fmt;

/// One line that says what is wrong, and one that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong, a sentence without a full stop.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl Trouble {
    /// Both lines.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// The system refused something; `what` says what could not be done.
    pub fn system(
        what: impl fmt::Display,
        hint: impl Into<String>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.to_string();
        let hint = hint.into();
        move |error| Self::new(format!("{what}: {error}"), hint)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Trouble {}
