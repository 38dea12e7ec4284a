//! DuckDB and ClickHouse, in a Python process installed by scripts/setup.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::timed::Took;

pub struct Engines {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    parquet: String,
    prepared: String,
}

impl Engines {
    /// Starts the engines, and loads the files into DuckDB's own table.
    pub fn start(parquet: &Path, table: &Path) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| here.join("../../target"), Into::into);
        let python = target.join("tools/engines/bin/python");
        let mut child = Command::new(&python)
            .arg(here.join("benches/atlas/engines.py"))
            .args([parquet, table])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}: run scripts/setup", python.display()))?;
        let to = child.stdin.take();
        let from = child.stdout.take().ok_or("no pipe")?;
        let mut engines = Self {
            child,
            to,
            from: BufReader::new(from),
            parquet: parquet.display().to_string(),
            prepared: String::new(),
        };
        let made = engines.read()?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        let (seconds, octets) = (made["seconds"].as_f64(), made["octets"].as_u64());
        engines.prepared = format!(
            "DuckDB {}, its table made of the Parquet files in {:.1} s, {} MB; chDB {}.",
            text("duckdb"),
            seconds.unwrap_or_default(),
            octets.unwrap_or_default() / 1_000_000,
            text("chdb"),
        );
        Ok(engines)
    }

    /// Returns the versions of the engines and the prepared tables.
    pub fn prepared(&self) -> String {
        self.prepared.clone()
    }

    /// Asks a query, and returns the time for all rows.
    pub fn ask(&mut self, engine: &str, sql: &str) -> Result<Took> {
        let sql = sql.replace("$parquet", &self.parquet);
        let to = self.to.as_mut().ok_or("ended")?;
        writeln!(to, "{}", json!({"engine": engine, "sql": sql}))?;
        let answer = self.read()?;
        let of = |name: &str| answer[name].as_f64().map(Duration::from_secs_f64);
        Ok(Took {
            clock: of("seconds").ok_or("no time")?,
            busy: of("busy").ok_or("no time")?,
        })
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(serde_json::from_str(&line).map_err(|error| format!("engines.py: {error}: {line}"))?)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
    }
}
