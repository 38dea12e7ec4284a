//! A worker, as the server sees it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::answer::{Answer, Said};
use super::limits::{Engine, Limits};
use super::worker;
use crate::error::Error;

/// Beyond the query's own time: to start, to write the answer.
const GRACE: Duration = Duration::from_secs(2);

/// A process that waits for its query. It is killed where this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Until the query was written: that it is closed is its end.
    query: Option<ChildStdin>,
    answer: ChildStdout,
}

impl Process {
    /// Starts one. `place`: what the engine reads.
    pub(super) fn start(
        program: &Path,
        engine: Engine,
        place: &Path,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let started = Command::new(program)
            .args(worker::arguments(engine, limits))
            .arg(place)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(Error::file(program))?;
        let (Some(query), Some(answer)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Other("a process without pipes".into()));
        };
        Ok(Self {
            child,
            query: Some(query),
            answer,
        })
    }

    /// Has it answer. Whatever comes of it, no process is left.
    pub(super) async fn ask(mut self, query: &str, limits: &Limits) -> Result<Answer, Error> {
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
        match serde_json::from_slice(&said) {
            Ok(Said::Answer(answer)) => Ok(answer),
            Ok(Said::Refused(why)) => Err(Error::Asked(why)),
            Ok(Said::Long) => Err(limits.too_long()),
            Ok(Said::Large) => Err(limits.too_much_memory()),
            Ok(Said::Failed(why)) => Err(Error::Other(format!("queries do not work: {why}"))),
            Err(_) => Err(silent(ended, limits)),
        }
    }

    async fn converse(&mut self, query: &str, limits: &Limits) -> io::Result<Vec<u8>> {
        if let Some(mut to) = self.query.take() {
            // It may have ended before it took the query: then it has said why.
            let _ = to.write_all(query.as_bytes()).await;
        }
        let mut said = Vec::new();
        let most = limits.octets as u64 + (64 << 10);
        let mut answer = (&mut self.answer).take(most);
        answer.read_to_end(&mut said).await?;
        Ok(said)
    }
}

fn broken(error: io::Error) -> Error {
    Error::Other(format!("the process that answers queries: {error}"))
}

/// Why one ended that said nothing.
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
            Error::Asked("the query wanted of the kernel what no query may, and was ended".into())
        }
        _ => Error::Other(format!(
            "the process that answers queries ended without an answer ({ended})"
        )),
    }
}
