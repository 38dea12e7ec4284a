//! The process that answers one query.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::answer::WorkerMessage;
use super::limits::{Engine, Limits, QUERY};
use super::{confine, duckdb, engine};

/// Answers one query from standard input on standard output, with nothing but that: the server
/// starts it.
#[derive(Clone, Debug, clap::Args)]
pub struct Worker {
    /// Copy of the store, or folder of the Parquet files.
    place: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// Path of DuckDB's program.
    #[arg(long)]
    program: Option<PathBuf>,
    #[arg(long, default_value_t = Limits::STRANGERS.seconds)]
    seconds: u32,
    #[arg(long, default_value_t = Limits::STRANGERS.rows)]
    rows: usize,
    #[arg(long, default_value_t = Limits::STRANGERS.cells)]
    cells: usize,
    #[arg(long, default_value_t = Limits::STRANGERS.octets)]
    octets: usize,
    #[arg(long, default_value_t = Limits::STRANGERS.memory)]
    memory: u64,
}

impl Worker {
    fn limits(&self) -> Limits {
        Limits {
            seconds: self.seconds,
            rows: self.rows,
            cells: self.cells,
            octets: self.octets,
            memory: self.memory,
        }
    }
}

/// Returns the arguments of the program for [`Worker`].
pub(super) fn arguments(limits: &Limits) -> [String; 6] {
    [
        "sql-worker".into(),
        format!("--seconds={}", limits.seconds),
        format!("--rows={}", limits.rows),
        format!("--cells={}", limits.cells),
        format!("--octets={}", limits.octets),
        format!("--memory={}", limits.memory),
    ]
}

/// Runs the worker. The answer contains any error.
pub fn worker(asked: &Worker) -> ExitCode {
    let said = work(asked).unwrap_or_else(WorkerMessage::Failed);
    let Ok(text) = serde_json::to_vec(&said) else {
        return ExitCode::FAILURE;
    };
    match io::stdout().lock().write_all(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn work(asked: &Worker) -> Result<WorkerMessage, String> {
    // A killed server takes its workers with it.
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    let limits = asked.limits();
    let place = &asked.place;
    match asked.engine {
        Engine::Sqlite => {
            let mut store = match engine::open(place, &limits) {
                Ok(store) => store,
                Err(error) => {
                    return Ok(WorkerMessage::Damaged(format!(
                        "{}: {error}",
                        place.display()
                    )));
                }
            };
            confine::confine(&limits)?;
            match query(&limits)? {
                Ok(query) => Ok(engine::answer(&mut store, &query, &limits)),
                Err(refused) => Ok(refused),
            }
        }
        Engine::Duckdb => {
            let program = asked.program.as_ref().ok_or("--program is missing")?;
            duckdb::confine_for(program, place, &limits)?;
            match query(&limits)? {
                Ok(query) => duckdb::become_it(program, place, &limits, &query),
                Err(refused) => Ok(refused),
            }
        }
    }
}

/// Reads the query. From here on time counts.
fn query(limits: &Limits) -> Result<Result<Vec<u8>, WorkerMessage>, String> {
    let mut query = Vec::new();
    let most = QUERY as u64 + 1;
    let read = io::stdin().lock().take(most).read_to_end(&mut query);
    read.map_err(|error| format!("cannot read the query: {error}"))?;
    confine::end_after(Duration::from_secs(u64::from(limits.seconds) + 1));
    if query.len() > QUERY {
        let refused = format!("the query is longer than {} KB", QUERY >> 10);
        return Ok(Err(WorkerMessage::Refused(refused)));
    }
    Ok(Ok(query))
}
