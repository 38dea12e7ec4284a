//! What the daemon answers when it cannot do what was asked.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A problem, in the manner of RFC 9457: sent as `application/problem+json` with the status of the
/// same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// Short name that does not change between versions: `unknown_path`.
    pub error: String,
    /// What went wrong, one sentence.
    pub detail: String,
    /// What to do about it.
    pub hint: String,
    /// Each single error, where there are several (a configuration file).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The field that each of them is of, where they are of a document's fields.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub fields: Box<[String]>,
    /// After how many seconds it may be tried again, for the header `Retry-After`.
    #[serde(skip)]
    pub after: Option<u16>,
}

impl Problem {
    /// A problem without a list of single errors.
    pub fn new(
        status: u16,
        error: &str,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status,
            error: error.to_owned(),
            detail: detail.into(),
            hint: hint.into(),
            errors: Vec::new(),
            fields: Box::default(),
            after: None,
        }
    }

    /// The same, for who may try again after this time.
    pub fn again_after(self, time: Duration) -> Self {
        Self {
            after: Some(u16::try_from(time.as_secs()).unwrap_or(u16::MAX)),
            ..self
        }
    }
}

/// What was asked goes back in an error, but not pages of it.
pub fn clipped(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why a request has no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is told.
    pub problem: Problem,
    /// The methods that the path takes, as the header `Allow` has them; with status 405.
    pub allow: Option<String>,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            allow: None,
        }
    }
}
