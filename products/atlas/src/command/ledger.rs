//! `weir-atlas ledger`: defects in the data.

use std::io::Write;

use clap::Args;

use super::data::Data;
use super::failure::Failure;
use super::terminal::in_line;
use crate::answer::no_formula;
use crate::error::Error;
use crate::{store, time};

/// List irregular data, and how they were read
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir-atlas ledger --search nodes | head
  weir-atlas ledger --csv > ledger.csv")]
pub(super) struct Arguments {
    #[command(flatten)]
    data: Data,
    /// Only lines with this text in the file name, the key or the problem
    #[arg(long, value_name = "TEXT", default_value = "")]
    search: String,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let store = store::open(&arguments.data.data)?;
    let mut query = store
        .prepare(
            "SELECT file, hour, coalesce(key, ''), what, read_as FROM ledger \
             WHERE ?1 = '' OR instr(lower(file), ?1) > 0 OR instr(lower(coalesce(key, '')), ?1) > 0 \
                   OR instr(lower(what), ?1) > 0 ORDER BY id",
        )
        .map_err(Error::from)?;
    let mut rows = query
        .query([arguments.search.to_lowercase()])
        .map_err(Error::from)?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    let broken = |error: csv::Error| Error::Other(format!("cannot write CSV: {error}"));
    if arguments.csv {
        csv.write_record(["file", "t", "key", "what", "read_as"])
            .map_err(broken)?;
    }
    while let Some(row) = rows.next().map_err(Error::from)? {
        let text = |at| row.get::<_, String>(at).map_err(Error::from);
        let hour: Option<i64> = row.get(1).map_err(Error::from)?;
        let (file, key, what, read_as) = (text(0)?, text(2)?, text(3)?, text(4)?);
        if arguments.csv {
            let at = hour.map(time::iso).unwrap_or_default();
            let cells = [&file, &at, &key, &what, &read_as];
            let cells = cells.map(|text| no_formula(text).into_owned());
            csv.write_record(cells).map_err(broken)?;
            let written = std::mem::replace(&mut csv, csv::Writer::from_writer(Vec::new()));
            let octets = written
                .into_inner()
                .map_err(|error| Error::Other(format!("cannot write CSV: {error}")))?;
            output.write_all(&octets)?;
        } else {
            let whose = if key.is_empty() {
                "the file"
            } else {
                key.as_str()
            };
            let line = format!("{file}: {whose}: {what}: read as {read_as}");
            writeln!(output, "{}", in_line(&line))?;
        }
    }
    Ok(())
}
