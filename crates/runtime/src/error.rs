//! Error message of a failed command: the failure, its cause and its remedy.

use std::fmt;
use std::io;
use std::process::ExitCode;

use api::ClientError;

use crate::config::ConfigError;
use crate::output::sanitize;

/// A command's failure.
#[derive(Debug)]
pub enum Error {
    /// An error with a message.
    Failure {
        /// Failed action, one sentence without a full stop.
        what: String,
        /// Causes, one line each.
        why: Vec<String>,
        /// Fields to which these lines refer, if they refer to a document's fields.
        fields: Vec<String>,
        /// Remedy.
        hint: String,
        /// True if the command line is at fault: exit code 2 instead of 1.
        usage: bool,
    },
    /// The command has already printed the problem (`weir check`).
    Quiet,
    /// The command ends with another program's exit code (`weir uci`), without a message.
    Code(u8),
    /// The reader of the output went away (`weir flows | head`): not a failure.
    ReaderGone,
}

impl Error {
    /// A failure: exit code 1.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failure {
            what: what.into(),
            why: Vec::new(),
            fields: Vec::new(),
            hint: hint.into(),
            usage: false,
        }
    }

    /// A failure, with its cause and the causes of that.
    pub fn with_cause(
        what: impl Into<String>,
        cause: &dyn std::error::Error,
        hint: impl Into<String>,
    ) -> Self {
        let causes = std::iter::successors(Some(cause), |cause| cause.source());
        let mut why: Vec<String> = causes.map(ToString::to_string).collect();
        // Many an error has its cause in its own words already.
        why.dedup_by(|cause, of| of.contains(cause.as_str()));
        let why = why.iter().flat_map(|cause| cause.lines());
        let why = why.map(str::to_owned).collect();
        Self::Failure {
            what: what.into(),
            why,
            fields: Vec::new(),
            hint: hint.into(),
            usage: false,
        }
    }

    /// The command line cannot be understood: exit code 2.
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failure {
            what: what.into(),
            why: Vec::new(),
            fields: Vec::new(),
            hint: hint.into(),
            usage: true,
        }
    }

    /// 0, 1 or 2, as documented in `weir --help`.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::ReaderGone => ExitCode::SUCCESS,
            Self::Failure { usage: true, .. } => ExitCode::from(2),
            Self::Code(code) => ExitCode::from(*code),
            Self::Failure { .. } | Self::Quiet => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Error {
    /// `weir: what`, then the causes and the hint, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Failure {
            what, why, hint, ..
        } = self
        else {
            return Ok(());
        };
        write!(f, "weir: {}", sanitize(what))?;
        for line in why {
            write!(f, "\n  {}", sanitize(line))?;
        }
        if hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  Hint: {}", sanitize(hint))
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    /// Converts an error of writing the output; other failures have more specific messages.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::with_cause(
            "cannot write the output",
            &error,
            "check whether the disk is full",
        )
    }
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        let hint = error.hint();
        match error {
            ClientError::Output(error) => error.into(),
            ClientError::Problem(problem) => Self::Failure {
                what: problem.detail,
                why: problem.errors,
                fields: problem.fields.into_vec(),
                hint: problem.hint,
                usage: false,
            },
            other => Self::new(other.to_string(), hint),
        }
    }
}

impl From<Vec<ConfigError>> for Error {
    fn from(errors: Vec<ConfigError>) -> Self {
        // The file as a whole: no key is at fault.
        if let [ConfigError { what, hint, .. }] = &*errors
            && (errors[0].line, &errors[0].key) == (0, &None)
        {
            let what = what.strip_prefix("cannot be read: ").unwrap_or(what);
            let what = format!("cannot read the configuration {}: {what}", errors[0].file);
            return Self::new(what, hint);
        }
        let what = match errors.len() {
            1 => "the configuration has an error".to_owned(),
            count => format!("the configuration has {count} errors"),
        };
        let why = errors.iter().map(ToString::to_string).collect();
        Self::Failure {
            what,
            why,
            fields: Vec::new(),
            hint: "nothing was changed; `weir config --keys` lists all keys".to_owned(),
            usage: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_why_and_mend() {
        let cause = io::Error::other("no room");
        let error = Error::with_cause("the file cannot be written", &cause, "make room");
        assert_eq!(
            error.to_string(),
            "weir: the file cannot be written\n  no room\n  Hint: make room"
        );
    }

    #[test]
    fn a_cause_is_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("the kernel refuses: {0}")]
        struct Refused(#[source] io::Error);

        let cause = Refused(io::Error::other("no memory"));
        let error = Error::with_cause("it does not start", &cause, "free some");
        assert_eq!(
            error.to_string(),
            "weir: it does not start\n  the kernel refuses: no memory\n  Hint: free some"
        );
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(error.exit_code(), ExitCode::SUCCESS);
        assert_eq!(error.to_string(), "");
        let error = Error::from(ClientError::Output(io::ErrorKind::BrokenPipe.into()));
        assert_eq!(error.exit_code(), ExitCode::SUCCESS);
        assert_eq!(Error::usage("x", "y").exit_code(), ExitCode::from(2));
        assert_eq!(Error::new("x", "y").exit_code(), ExitCode::FAILURE);
    }
}
