//! Programs that print events: a line of JSON each.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lab::Error;
use serde_json::Value;

/// The longest wait for an event, in an emulated machine on a busy host.
pub const LIMIT: Duration = Duration::from_secs(90);
/// Number of last lines in an error.
const SHOWN: usize = 20;
/// Time until a program that is not needed any more is killed.
const ENDS: Duration = Duration::from_secs(2);

/// Lines so far, in order; a new one wakes the waiting threads.
#[derive(Clone, Default)]
pub struct Told(Arc<(Mutex<Lines>, Condvar)>);

#[derive(Default)]
struct Lines {
    all: Vec<Value>,
    is_over: bool,
}

impl Told {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all lines from now on, until the source ends.
    pub fn take(&self, source: impl BufRead) {
        for line in source.lines().map_while(Result::ok) {
            if let Ok(value) = serde_json::from_str(&line) {
                self.lines().all.push(value);
                self.0.1.notify_all();
            }
        }
        self.lines().is_over = true;
        self.0.1.notify_all();
    }

    /// Returns all lines so far.
    pub fn all(&self) -> Vec<Value> {
        self.lines().all.clone()
    }

    /// Returns the number of lines so far.
    pub fn count(&self) -> usize {
        self.lines().all.len()
    }

    /// Waits until `find` succeeds in the lines.
    pub fn wait<T>(
        &self,
        what: &str,
        mut find: impl FnMut(&[Value]) -> Option<T>,
    ) -> Result<T, Error> {
        let end = Instant::now() + LIMIT;
        let mut lines = self.lines();
        loop {
            if let Some(found) = find(&lines.all) {
                return Ok(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if lines.is_over || left.is_zero() {
                let why = if lines.is_over {
                    "it ended"
                } else {
                    "too late"
                };
                let last = lines.all.len().saturating_sub(SHOWN);
                let last: Vec<String> = lines.all[last..].iter().map(Value::to_string).collect();
                let text = format!("{what} ({why}); told last:\n{}", last.join("\n"));
                return Err(Error::Timeout(text));
            }
            let waited = self.0.1.wait_timeout(lines, left);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a line of which this is a part.
    pub fn wait_for(&self, what: &Value) -> Result<Value, Error> {
        self.wait(&what.to_string(), |all| {
            all.iter().find(|it| fits(it, what)).cloned()
        })
    }
}

/// Returns true if an object has all fields of another.
pub fn fits(told: &Value, wanted: &Value) -> bool {
    let mut wanted = wanted.as_object().into_iter().flatten();
    wanted.all(|(key, value)| told.get(key) == Some(value))
}

/// Runs a program without input, and ends it when the standard input closes: when this program
/// ends, however it ends.
const ENDED: &str = "exec 3<&0; \"$@\" < /dev/null 3<&- & it=$!
    { read -r line <&3; kill -9 $it; } > /dev/null 2>&1 & reader=$!; exec 3<&-
    wait $it; code=$?; kill $reader 2> /dev/null; exit $code";

/// A command that is ended when its standard input is.
pub fn ended(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", ENDED, "sh"]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// A program; it ends with this.
pub struct Teller {
    child: Child,
    /// Closed, it has the program end.
    input: Option<ChildStdin>,
    pub told: Told,
}

impl Teller {
    /// Starts a program with its error output in a file.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self, Error> {
        let name = command.get_program().display().to_string();
        let wrong = |error: std::io::Error| Error::system(format!("start {name}"))(error);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).map_err(Error::system(log.display().to_string()))?)
            .spawn()
            .map_err(wrong)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Unexpected(format!("{name} has no pipes")));
        };
        let told = Told::default();
        let taker = told.clone();
        std::thread::spawn(move || taker.take(BufReader::new(output)));
        Ok(Self {
            child,
            input: Some(input),
            told,
        })
    }

    /// Writes a line to the program.
    pub fn ask(&mut self, line: &str) -> Result<(), Error> {
        let Some(input) = &mut self.input else {
            return Ok(());
        };
        let said = writeln!(input, "{line}").and_then(|()| input.flush());
        said.map_err(Error::system(format!("say {line}")))
    }

    /// Returns true if the program has ended by itself.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        // A program that reads its input ends then, but perhaps not soon.
        self.input = None;
        let end = Instant::now() + ENDS;
        while Instant::now() < end && !self.is_over() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
