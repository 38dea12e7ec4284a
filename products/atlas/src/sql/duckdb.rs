//! DuckDB, if installed: an external program over Parquet files, confined as far as possible.

use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::answer::{Answer, WorkerMessage};
use super::limits::Limits;
use super::{confine, syscalls};
use crate::error::Error;
use crate::figure::Cell;

const VIEWS: &str = include_str!("duckdb.sql");
/// Files that it may have open: those of all years, and its libraries.
const FILES: u64 = 100;
/// Address space that DuckDB needs in addition to the query's memory, in bytes.
pub(super) const ADDRESSES: u64 = 256 << 20;

/// Finds the program in the usual folders. A launcher (such as pip's) cannot be confined.
pub(super) fn find() -> Option<PathBuf> {
    let places = env::var_os("PATH")?;
    env::split_paths(&places)
        .map(|place| place.join("duckdb"))
        .find(|program| {
            let mut begin = [0; 4];
            let read = File::open(program).and_then(|mut file| file.read_exact(&mut begin));
            read.is_ok() && begin == *b"\x7fELF"
        })
        .and_then(|program| program.canonicalize().ok())
}

/// Returns the error for a missing DuckDB.
pub(super) fn missing() -> Error {
    Error::Missing(
        "DuckDB is not installed here: put its program `duckdb` (duckdb.org) where PATH has it, or leave out engine=duckdb"
            .into(),
    )
}

/// Replaces this process by DuckDB with a query. Returns only on failure.
pub(super) fn become_it(
    program: &Path,
    folder: &Path,
    limits: &Limits,
    query: &[u8],
) -> Result<WorkerMessage, String> {
    let query = match std::str::from_utf8(query) {
        Ok(query) if !query.contains('\0') => query,
        _ => return Ok(WorkerMessage::Refused("the query is not UTF-8 text".into())),
    };
    let error = Command::new(program)
        .args(["-no-init", "-bail", "-batch", "-jsonlines", "-c"])
        .arg(statements(folder, limits, query))
        .env_clear()
        .exec();
    Err(format!("{}: {error}", program.display()))
}

/// Drops the rights that DuckDB does not need.
pub(super) fn confine_for(program: &Path, folder: &Path, limits: &Limits) -> Result<(), String> {
    let landlock =
        confine::with_program(program, folder).map_err(|error| format!("landlock: {error}"))?;
    confine::bound(limits, FILES, limits.addresses() + ADDRESSES)?;
    syscalls::only_threads(landlock)
}

/// Returns all statements in one line, with the query as a text: the program would take a line that
/// begins with a dot for a command.
fn statements(folder: &Path, limits: &Limits, query: &str) -> String {
    let folder = folder.to_string_lossy();
    let plain = folder.replace('\'', "''");
    let memory = limits.memory >> 20;
    let query = escaped(query);
    let mut sql = format!(
        "SET threads = 1; SET memory_limit = '{memory}MiB'; SET temp_directory = ''; \
         SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; \
         SET allow_community_extensions = false; SET allowed_directories = ['{plain}']; "
    );
    for line in VIEWS.lines() {
        sql.push_str(line.replace("{folder}", &plain).trim());
        sql.push(' ');
    }
    let _ = write!(
        sql,
        "SET enable_external_access = false; SET lock_configuration = true; \
         SELECT list(column_name) AS names, list(column_type) AS types \
         FROM (DESCRIBE FROM query(E'{query}')); \
         SELECT list_value(*COLUMNS(*)) AS cells \
         FROM (SELECT COLUMNS(*)::VARCHAR FROM query(E'{query}')) LIMIT {}",
        limits.rows.saturating_add(1)
    );
    sql
}

/// Escapes a query for use between `E'` and `'`.
fn escaped(query: &str) -> String {
    // `query` wants one statement, but takes one that ends.
    let mut text = String::with_capacity(query.len() + 64);
    for character in query.chars() {
        match character {
            '\'' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            other => text.push(other),
        }
    }
    text
}

#[derive(Deserialize)]
struct Head {
    names: Vec<String>,
    types: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Option<String>>,
}

/// Parses the output as an answer; `cut`: the output was cut off. `None`: malformed.
pub(super) fn read(written: &[u8], cut: bool, limits: &Limits) -> Option<Answer> {
    let mut lines = written.split(|octet| *octet == b'\n');
    let head: Head = serde_json::from_slice(lines.next()?).ok()?;
    let most = limits.rows.min(limits.cells / head.names.len().max(1));
    let mut answer = Answer {
        columns: head.names,
        truncated: cut,
        ..Answer::default()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        let Ok(row) = serde_json::from_slice::<Row>(line) else {
            // The last one, cut in the middle.
            break;
        };
        if answer.rows.len() == most {
            answer.truncated = true;
            break;
        }
        let cells = row.cells.into_iter().zip(&head.types);
        let cells = cells.map(|(text, of)| text.map_or(Cell::Nothing, |text| cell(text, of)));
        answer.rows.push(cells.collect());
    }
    Some(answer)
}

/// Returns a value as SQLite would return it.
fn cell(text: String, of: &str) -> Cell {
    match of {
        "BOOLEAN" => Cell::Whole(i64::from(text == "true")),
        "TIMESTAMP" => Cell::Text(text.replacen(' ', "T", 1) + "Z"),
        _ if of.ends_with("INT") || of.ends_with("INTEGER") => match text.parse() {
            Ok(number) => Cell::Whole(number),
            Err(_) => real(text),
        },
        "DOUBLE" | "FLOAT" => real(text),
        _ if of.starts_with("DECIMAL") => real(text),
        _ => Cell::Text(text),
    }
}

fn real(text: String) -> Cell {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Cell::Real(number),
        Ok(number) if number.is_nan() => Cell::Text("NaN".into()),
        Ok(number) if number > 0.0 => Cell::Text("Infinity".into()),
        Ok(_) => Cell::Text("-Infinity".into()),
        Err(_) => Cell::Text(text),
    }
}

/// Returns the error for a missing answer, from the error output.
pub(super) fn refused(said: &[u8], limits: &Limits) -> Option<Error> {
    let said = String::from_utf8_lossy(said);
    // The remaining text quotes the statement that contains the query as a text.
    let said = said.split("\n\nLINE ").next().unwrap_or_default().trim();
    if said.starts_with("Out of Memory") {
        return Some(limits.too_much_memory());
    }
    let words: String = said.chars().take(500).collect();
    (!words.is_empty()).then_some(Error::Asked(words))
}

/// Returns true if the query is at fault: DuckDB finds these errors before reading a file.
pub(super) fn is_of_the_query(error: &Error) -> bool {
    let Error::Asked(words) = error else {
        return false;
    };
    ["Parser Error", "Binder Error", "Catalog Error"]
        .iter()
        .any(|kind| words.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_stays_a_text() {
        let hostile = "x'); .shell id\n.shell id\r\\'); DROP VIEW growth; --";
        let sql = statements(Path::new("/a/b'c"), &Limits::STRANGERS, hostile);
        assert!(!sql.contains('\n') && !sql.contains('\r'), "{sql}");
        assert!(sql.contains("['/a/b''c']"), "{sql}");
        let inside = sql.rsplit("query(E'").next().expect("the query");
        let escaped = r"x\'); .shell id\n.shell id\r\\\'); DROP VIEW growth; --";
        assert!(
            inside.starts_with(&format!("{escaped}')) LIMIT 10001")),
            "{inside}"
        );
    }

    #[test]
    fn values_are_as_sqlite_gives_them() {
        let written = br#"{"names":["a","b","c","d","e","f"],"types":["BIGINT","DOUBLE","TIMESTAMP","BOOLEAN","HUGEINT","VARCHAR"]}
{"cells":["-1","inf","2019-10-17 22:00:00","true","99999999999999999999","1"]}
{"cells":["1","0.5",null,"false","7",""]}
{"cells":["1","0.5",nu"#;
        let answer = read(written, true, &Limits::STRANGERS).expect("an answer");
        let text = |text: &str| Cell::Text(text.into());
        assert_eq!(
            answer.rows[0],
            [
                Cell::Whole(-1),
                text("Infinity"),
                text("2019-10-17T22:00:00Z"),
                Cell::Whole(1),
                Cell::Real(1e20),
                text("1")
            ]
        );
        assert_eq!(
            answer.rows[1][2..5],
            [Cell::Nothing, Cell::Whole(0), Cell::Whole(7)]
        );
        assert!(answer.rows.len() == 2 && answer.truncated);
        let few = Limits {
            rows: 1,
            ..Limits::STRANGERS
        };
        let answer = read(written, false, &few).expect("an answer");
        assert!(answer.rows.len() == 1 && answer.truncated);
        assert_eq!(read(b"", false, &few), None);
        assert_eq!(read(b"Error", false, &few), None);
    }
}
