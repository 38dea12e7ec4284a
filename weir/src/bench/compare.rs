//! `weir bench compare`: compares two reports.

use std::path::{Path as File, PathBuf};

use bench::local::{self, Change, Report};
use bench::verdict::Verdict;
use clap::Args;

use runtime::Error;
use runtime::command::Format;
use runtime::output::{Align, Cell, Output, Table, Tone};

/// Compare two measurements, and show which scenarios changed
#[derive(Args, Debug)]
#[command(after_long_help = "\
Both files come from `weir bench lab --json` on the same machine. A change is reported if all \
rounds of one measurement lie beyond all rounds of the other, by more than the noise of both.

Example:
  weir bench compare before.json after.json")]
pub struct CompareArgs {
    /// Earlier measurement
    before: PathBuf,
    /// Later measurement
    after: PathBuf,
    #[command(flatten)]
    format: Format,
}

fn read(file: &File) -> Result<Report, Error> {
    let name = file.display();
    let text = std::fs::read(file)
        .map_err(|error| Error::with_cause(format!("cannot read {name}"), &error, ""))?;
    let report: Report = serde_json::from_slice(&text).map_err(|error| {
        let hint = "name a report of `weir bench lab --json`";
        Error::with_cause(format!("{name} is not a report"), &error, hint)
    })?;
    match report.schema == local::SCHEMA {
        true => Ok(report),
        false => Err(Error::new(
            format!(
                "{name} has format {}, and this weir reads format {}",
                report.schema,
                local::SCHEMA
            ),
            "measure again with this weir",
        )),
    }
}

pub(super) fn run(args: &CompareArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    if before.load != after.load {
        let [one, other] = [&args.before, &args.after].map(|file| file.display());
        let what = format!(
            "cannot compare {one} with {other}: the first measurement sent {}, the second sent {}",
            before.load, after.load
        );
        return Err(Error::new(what, "measure again with the same options"));
    }
    let changes = local::changes(&before, &after);
    if args.format.json {
        return Ok(output.json(&changes)?);
    }
    for (name, of) in [("before", &before), ("after", &after)] {
        output.field(name, &format!("{}; weir {}", of.machine, of.machine.weir))?;
    }
    output.line("")?;
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("BEFORE, K/S", Align::Right),
        ("AFTER, K/S", Align::Right),
        ("VERDICT", Align::Left),
    ]);
    for Change { name, pps, verdict } in &changes {
        let [was, now] = pps.map(|spread| format!("{:.0}", spread.median / 1e3));
        let verdict = match verdict {
            Verdict::Faster(ratio) => {
                Cell::toned(format!("{:+.1} %", (ratio - 1.0) * 100.0), Tone::Good)
            }
            Verdict::Slower(ratio) => {
                Cell::toned(format!("{:+.1} %", (ratio - 1.0) * 100.0), Tone::Bad)
            }
            Verdict::Undecided => Cell::toned("undecided", Tone::Dim),
        };
        table.row(
            [name.as_str().into(), was.into(), now.into(), verdict],
            output,
        )?;
    }
    table.finish(output)?;
    Ok(())
}
