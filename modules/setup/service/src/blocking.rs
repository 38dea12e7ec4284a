//! Requests run in threads of their own, and errors become problems for the page or the daemon.

use api::{Problem, ResponseFuture};

use super::config_store::IN_A_TERMINAL;
use runtime::Error;

/// Runs work in a thread of its own, as it waits for disks and services.
pub fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> ResponseFuture<T> {
    run_blocking_with_problem(move || work().map_err(|error| problem(&error)))
}

/// Runs work that returns its own problem for the daemon.
pub fn run_blocking_with_problem<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> ResponseFuture<T> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => Err(Problem::new(
                500,
                "failed",
                error.to_string(),
                "report this",
            )),
        }
    })
}

/// Returns a text without its part for a terminal: the user of a page may have none.
fn without_commands(said: &str) -> String {
    match said.split_once(IN_A_TERMINAL) {
        Some((said, _)) => said.to_owned(),
        None => said.to_owned(),
    }
}

/// Converts an error for the page.
pub fn problem(error: &Error) -> Problem {
    match error {
        Error::Failure {
            what,
            why,
            fields,
            hint,
            ..
        } => {
            let mut problem = Problem::new(409, "setup", what.clone(), without_commands(hint));
            problem.errors = why.iter().map(|line| without_commands(line)).collect();
            problem.fields = fields.clone().into();
            problem
        }
        other => Problem::new(500, "setup", other.to_string(), "report this"),
    }
}
