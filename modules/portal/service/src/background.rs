//! Slow work on a thread of its own: the daemon's loop continues meanwhile.

use api::Problem;

/// Completes when the work is done.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::new(500, "no_thread", error.to_string(), "try again"))
}
