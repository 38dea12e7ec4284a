//! Errors of commands.

use std::io::ErrorKind::{BrokenPipe, FileTooLarge, QuotaExceeded, StorageFull};

use api::ClientError;

/// Reason for a command's failure, and a hint. Empty: the reader of the output has closed it.
pub struct Failure(pub String, pub String);

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::NotRunning(path) => Self(
                format!("no program listens at {}", path.display()),
                "start `weir-nearby run`, or name its --socket".to_owned(),
            ),
            ClientError::Output(error) => error.into(),
            ClientError::NotAllowed(path) => not_allowed(&format!("at {}", path.display())),
            ClientError::Problem(problem) if problem.error == "not_here" => not_allowed("there"),
            error => Self(error.to_string(), error.hint()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == BrokenPipe {
            return Self(String::new(), String::new());
        }
        if let StorageFull | QuotaExceeded | FileTooLarge = error.kind() {
            return Self(
                format!("cannot write the output: {error}"),
                "free space there, or write the output elsewhere".to_owned(),
            );
        }
        Self(
            error.to_string(),
            "check whether the other end still runs".to_owned(),
        )
    }
}

/// Returns the failure of a refused user. The socket may be open to a group, but only these users
/// get answers, as with weir's.
fn not_allowed(at: &str) -> Failure {
    Failure(
        format!("only root and the user of weir-nearby may connect to {at}"),
        "run the command as one of them, for example with sudo".to_owned(),
    )
}
