//! `weir-atlas query`: free queries from the command line.

use std::io::Write;

use clap::Args;

use super::data::Data;
use super::failure::Failure;
use super::terminal::in_line;
use crate::answer::csv_of;
use crate::error::Error;
use crate::figure::Cell;
use crate::sql::{self, Engine};

/// Run an SQL query
///
/// Runs on a read-only copy of the data, in a process without other privileges.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir-atlas query 'SELECT month, nodes FROM growth' --csv
  weir-atlas query 'SELECT count(*) FROM snapshots' --json")]
pub(super) struct Arguments {
    /// Query, one SELECT statement
    sql: String,
    #[command(flatten)]
    data: Data,
    /// Print one JSON document
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
    /// Engine that runs the query
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let settings = sql::Settings::of_owner(&arguments.data.data);
    let answer = sql::query(settings, &arguments.sql, arguments.engine)?;
    if arguments.json {
        let text = serde_json::to_string(&*answer)
            .map_err(|error| Error::Other(format!("writing JSON: {error}")))?;
        writeln!(output, "{text}")?;
    } else if arguments.csv {
        let columns = answer.columns.iter().map(String::as_str);
        write!(output, "{}", csv_of(columns, &answer.rows)?)?;
    } else {
        table(&answer, output)?;
    }
    if answer.truncated {
        let _ = writeln!(
            std::io::stderr(),
            "There are more rows; they were left out."
        );
    }
    Ok(())
}

/// Formats columns as wide as their content, numbers to the right.
fn table(answer: &sql::Answer, output: &mut impl Write) -> Result<(), Failure> {
    let names: Vec<String> = answer.columns.iter().map(|name| in_line(name)).collect();
    let rows: Vec<Vec<(String, bool)>> = answer
        .rows
        .iter()
        .map(|row| row.iter().map(written).collect())
        .collect();
    let widths: Vec<usize> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let cells = cells.map(|(text, _)| text.chars().count());
            cells.chain([name.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let mut line = |cells: &[(String, bool)]| -> Result<(), Failure> {
        let mut text = String::new();
        for ((cell, right), width) in cells.iter().zip(&widths) {
            match right {
                true => text.push_str(&format!("{cell:>width$}  ")),
                false => text.push_str(&format!("{cell:<width$}  ")),
            }
        }
        Ok(writeln!(output, "{}", text.trim_end())?)
    };
    let heads: Vec<(String, bool)> = names
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let right = rows.first().and_then(|row| row.get(at));
            (name, right.is_some_and(|(_, right)| *right))
        })
        .collect();
    line(&heads)?;
    rows.iter().try_for_each(|row| line(row))
}

/// Returns a cell's text, and true if the cell is aligned to the right.
fn written(cell: &Cell) -> (String, bool) {
    match cell {
        Cell::Nothing => (String::new(), false),
        Cell::Text(text) => (in_line(text), false),
        Cell::Whole(number) => (number.to_string(), true),
        Cell::Real(number) => (number.to_string(), true),
        Cell::Time(hour) => (crate::time::iso(*hour), false),
    }
}
