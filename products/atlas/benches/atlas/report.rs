//! Writes the results as a part of docs/reference/atlas-performance.md.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::load::Load;
use crate::timed::{Case, Kind};

const BEGIN: &str = "<!-- atlas: made by `make atlas-bench` -->\n";
const END: &str = "<!-- atlas: end -->";

#[derive(Default)]
pub struct Report {
    facts: Vec<Fact>,
    pub cases: Vec<Case>,
    /// Results of the server's load.
    pub loads: Vec<Load>,
    /// Results of the other engines.
    pub table: String,
    /// Time span of the data.
    pub span: String,
    memory: String,
}

struct Fact {
    what: &'static str,
    rows: u64,
    took: Duration,
    octets: u64,
}

impl Report {
    pub fn fact(&mut self, what: &'static str, rows: u64, took: Duration, octets: u64) {
        eprintln!("{what}: {rows} rows in {took:?}, {octets} octets");
        self.facts.push(Fact {
            what,
            rows,
            took,
            octets,
        });
    }

    /// Records the peak memory of this process.
    pub fn memory(&mut self) -> Result<()> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let mut of = status.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let names = ["VmHWM", "RssAnon"];
            let kilobytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
            names
                .contains(&name)
                .then(|| format!("{} MB {name}", kilobytes / 1000))
        });
        self.memory = of.by_ref().collect::<Vec<_>>().join(", ");
        Ok(())
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = self.print(&mut out);
        out
    }

    fn print(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}. {}\n", self.span, self.table)?;
        writeln!(
            out,
            "| | rows | seconds of one processor | rows a second | MB |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|")?;
        for fact in &self.facts {
            let seconds = fact.took.as_secs_f64();
            writeln!(
                out,
                "| {} | {} | {seconds:.1} | {:.0} | {:.1} |",
                fact.what,
                fact.rows,
                fact.rows as f64 / seconds,
                fact.octets as f64 / 1e6
            )?;
        }
        writeln!(
            out,
            "\n| chart | zoom | ms: median | least | most | processor | JSON, KB | SVG, KB |"
        )?;
        writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|")?;
        let ms = |duration: &Duration| format!("{:.1}", duration.as_secs_f64() * 1000.0);
        for case in &self.cases {
            let Kind::Chart(..) = case.kind else { continue };
            if let Some(why) = &case.refused {
                writeln!(
                    out,
                    "| {} | {} | refused: {why} | | | | | |",
                    case.name, case.how
                )?;
                continue;
            }
            let Some([least, median, most, busy]) = case.spread() else {
                continue;
            };
            let [json, svg] = case.octets.map(|octets| octets as f64 / 1000.0);
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {json:.1} | {svg:.1} |",
                case.name,
                case.how,
                ms(&median),
                ms(&least),
                ms(&most),
                ms(&busy)
            )?;
        }
        writeln!(
            out,
            "\n| question | by | ms: median | least | most | processors |"
        )?;
        writeln!(out, "|---|---|---:|---:|---:|---:|")?;
        for case in &self.cases {
            if let Kind::Chart(..) = case.kind {
                continue;
            }
            let Some([least, median, most, busy]) = case.spread() else {
                continue;
            };
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                case.name,
                case.how,
                ms(&median),
                ms(&least),
                ms(&most),
                ms(&busy)
            )?;
        }
        writeln!(out, "\nMemory after all charts: {}.\n", self.memory)?;
        writeln!(
            out,
            "| answers | a second | ms: median | 99 of 100 within | µs of a processor | octets | failed | own memory, MB |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for load in &self.loads {
            writeln!(
                out,
                "| {} | {:.0} | {} | {} | {} | {} | {} | {} |",
                load.what,
                load.rate(),
                ms(&load.within(50)),
                ms(&load.within(99)),
                load.busy.as_micros(),
                load.octets,
                load.failed,
                load.memory / 1_000_000
            )?;
        }
        Ok(())
    }

    /// Puts it between the marks of `file`.
    pub fn write(&self, file: &Path) -> Result<()> {
        let text = std::fs::read_to_string(file)?;
        let (before, rest) = text.split_once(BEGIN).ok_or("no mark where it begins")?;
        let (_, after) = rest.split_once(END).ok_or("no mark where it ends")?;
        std::fs::write(file, format!("{before}{BEGIN}{}{END}{after}", self.text()))?;
        Ok(())
    }
}
