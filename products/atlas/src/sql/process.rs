//! A worker, as the server sees it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::answer::{Answer, WorkerMessage};
use super::limits::{Engine, Limits};
use super::settings::Settings;
use super::{duckdb, parquet, public, worker};
use crate::error::Error;

/// Beyond the query's own time: to start, to write the answer.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of errors that are read.
const ERRORS: u64 = 16 << 10;

/// A process that waits for its query. The drop kills the process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Pipe of the query, closed at its end.
    query: Option<ChildStdin>,
    answer: ChildStdout,
    /// Error output of an external engine, with the faults of a query.
    errors: Option<ChildStderr>,
    engine: Engine,
}

/// Output of a process.
#[derive(Debug, Default)]
struct Output {
    answer: Vec<u8>,
    /// True if there was more.
    cut: bool,
    errors: Vec<u8>,
}

impl Process {
    /// Starts one.
    pub(super) fn start(settings: &Settings, engine: Engine) -> Result<Self, Error> {
        let mut command = Command::new(&settings.program);
        command
            .args(worker::arguments(&settings.limits.of(engine)))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        match (engine, &settings.duckdb) {
            (Engine::Duckdb, Some(program)) => command
                .args(["--engine=duckdb", "--program"])
                .arg(program)
                .arg(parquet::path(&settings.data))
                .stderr(Stdio::piped()),
            _ => command
                .arg(public::path(&settings.data))
                .stderr(Stdio::null()),
        };
        let mut child = command.spawn().map_err(Error::file(&settings.program))?;
        let (Some(query), Some(answer)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Other("the process has no pipes".into()));
        };
        Ok(Self {
            errors: child.stderr.take(),
            child,
            engine,
            query: Some(query),
            answer,
        })
    }

    /// Passes the query, and returns the answer. The process always ends.
    pub(super) async fn ask(mut self, query: &str, limits: &Limits) -> Result<Answer, Error> {
        let begun = Instant::now();
        let time = Duration::from_secs(limits.seconds.into()) + GRACE;
        let said = timeout(time, self.converse(query, limits)).await;
        if !matches!(said, Ok(Ok(_))) {
            let _ = self.child.start_kill();
        }
        let ended = self.child.wait().await.map_err(broken)?;
        let Ok(said) = said else {
            return Err(limits.too_long());
        };
        let said = said.map_err(broken)?;
        match serde_json::from_slice(&said.answer) {
            Ok(WorkerMessage::Answer(answer)) => Ok(answer),
            Ok(WorkerMessage::Refused(why)) => Err(Error::Asked(why)),
            Ok(WorkerMessage::Long) => Err(limits.too_long()),
            Ok(WorkerMessage::Large) => Err(limits.too_much_memory()),
            Ok(WorkerMessage::Damaged(why)) => Err(Error::Unready(why)),
            Ok(WorkerMessage::Failed(why)) => {
                Err(Error::Other(format!("cannot answer queries: {why}")))
            }
            Err(_) if self.engine == Engine::Duckdb && (ended.success() || said.cut) => {
                let took = begun.elapsed().as_secs_f64() * 1e3;
                let answer = duckdb::read(&said.answer, said.cut, limits);
                answer
                    .map(|answer| Answer {
                        took_ms: (took * 10.0).round() / 10.0,
                        ..answer
                    })
                    .ok_or_else(|| silent(ended, limits))
            }
            Err(_) if ended.code().is_some() => {
                let refused = duckdb::refused(&said.errors, limits);
                Err(refused.unwrap_or_else(|| silent(ended, limits)))
            }
            Err(_) => Err(silent(ended, limits)),
        }
    }

    async fn converse(&mut self, query: &str, limits: &Limits) -> io::Result<Output> {
        if let Some(mut to) = self.query.take() {
            // A worker that ended before the query has written its reason.
            let _ = to.write_all(query.as_bytes()).await;
        }
        let mut output = Output::default();
        let most = limits.octets as u64 + (64 << 10);
        let mut answer = (&mut self.answer).take(most);
        let mut errors = self.errors.as_mut().map(|errors| errors.take(ERRORS));
        let complaining = async {
            match &mut errors {
                Some(errors) => errors.read_to_end(&mut output.errors).await,
                None => Ok(0),
            }
        };
        let (read, _) = tokio::join!(answer.read_to_end(&mut output.answer), complaining);
        output.cut = read? as u64 == most;
        if output.cut {
            let _ = self.child.start_kill();
        }
        Ok(output)
    }
}

fn broken(error: io::Error) -> Error {
    Error::Other(format!("the process that answers queries: {error}"))
}

/// Returns the reason of an end without output.
fn silent(ended: ExitStatus, limits: &Limits) -> Error {
    let signal = ended
        .signal()
        .and_then(|number| Signal::try_from(number).ok());
    match signal {
        Some(Signal::SIGXCPU | Signal::SIGALRM) => limits.too_long(),
        // The allocator gave up, the stack was at its end, or the kernel had no memory left.
        Some(Signal::SIGABRT | Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGKILL) => {
            limits.too_much_memory()
        }
        Some(Signal::SIGSYS) => {
            Error::Asked("the query made a forbidden system call, and was ended".into())
        }
        _ => Error::Other(format!(
            "the process that answers queries ended without an answer ({ended})"
        )),
    }
}
