//! Error answers of the daemon.

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
    /// Description of the failure, in one sentence.
    pub detail: String,
    /// Advice.
    pub hint: String,
    /// Single errors, if there are several (a configuration file).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Field of each single error, if the errors concern a document's fields.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub fields: Box<[String]>,
    /// Seconds until a retry makes sense, for the header `Retry-After`.
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

    /// Adds the time after which a retry makes sense.
    pub fn with_retry_after(self, time: Duration) -> Self {
        Self {
            after: Some(u16::try_from(time.as_secs()).unwrap_or(u16::MAX)),
            ..self
        }
    }
}

/// Clips text of a request for use in an error.
pub fn clipped(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Refusal of a request without a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The problem to report.
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
