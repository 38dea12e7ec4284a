//! SQLite, restricted for untrusted users.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode, OpenFlags, Statement};

use super::answer::{Answer, WorkerMessage};
use super::functions;
use super::limits::{COLUMNS, Limits, QUERY, TEXT};
use super::public::FORMAT;
use crate::figure::Cell;
use crate::store::address;

/// Steps of SQLite's machine between two checks of the clock: some 0.1 ms.
const STEPS: i32 = 5_000;

/// Characters of an error.
const WORDS: usize = 500;

/// Tables of the engine's own that may be read.
const OWN: [&str; 4] = ["sqlite_schema", "sqlite_master", "json_each", "json_tree"];

/// The engine's other internal tables.
const OTHERS: [&str; 6] = [
    "dbstat",
    "fts3tokenize",
    "sqlite_dbpage",
    "sqlite_stmt",
    "bytecode",
    "tables_used",
];

/// Pragmas that describe tables, also as functions (`pragma_table_info('snapshots')`).
const TELLING: [&str; 8] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "function_list",
    "compile_options",
];

/// Functions that do more than compute.
const DOING: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// Opens the copy and reads its schema, so that no file is opened later.
pub(super) fn open(path: &Path, limits: &Limits) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // The file never changes: no lock, no journal.
    let mut store = Connection::open_with_flags(address(path, "mode=ro&immutable=1"), flags)?;
    store.execute_batch(&format!(
        "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0;
         PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA soft_heap_limit = 0;
         PRAGMA hard_heap_limit = {};",
        limits.memory
    ))?;
    functions::add(&store, limits.memory)?;
    // SQLite's one-time initialisation happens before files become inaccessible: SQLite reads the
    // seed of `random()` from the kernel.
    store.query_row("SELECT random()", [], |_| Ok(()))?;
    // A file that is empty is a database, without a table.
    let format = store.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?;
    if format != FORMAT {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
        let why = "no copy of a store".to_owned();
        return Err(rusqlite::Error::SqliteFailure(code, Some(why)));
    }
    let mut names = store.prepare("SELECT lower(name) FROM sqlite_schema")?;
    let tables: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    drop(names);
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        // "Berlin" is a column, not a text: otherwise a typing error gives an empty answer.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        store.set_db_config(config, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, TEXT),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, QUERY as i32),
        (Limit::SQLITE_LIMIT_COLUMN, COLUMNS),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 50_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        store.set_limit(limit, most)?;
    }
    store.authorizer(Some(move |asked: AuthContext<'_>| allowed(&tables, &asked)))?;
    Ok(store)
}

fn allowed(tables: &[String], asked: &AuthContext<'_>) -> Authorization {
    let may = match asked.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read {
            table_name,
            column_name,
        } => {
            let name = table_name.to_ascii_lowercase();
            let telling = name.strip_prefix("pragma_");
            // If no column is read, as by count(*), `table_name` is the name in the query, possibly
            // of a subquery.
            let counted = column_name.is_empty() && telling.is_none();
            tables.contains(&name)
                || OWN.contains(&name.as_str())
                || telling.is_some_and(|name| TELLING.contains(&name))
                || (counted && !OTHERS.contains(&name.as_str()))
        }
        AuthAction::Function { function_name } => {
            !DOING.contains(&function_name.to_ascii_lowercase().as_str())
        }
        AuthAction::Pragma { pragma_name, .. } => {
            TELLING.contains(&pragma_name.to_ascii_lowercase().as_str())
        }
        _ => false,
    };
    match may {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

/// Answers a query.
pub(super) fn answer(store: &mut Connection, query: &[u8], limits: &Limits) -> WorkerMessage {
    let Ok(query) = std::str::from_utf8(query) else {
        return WorkerMessage::Refused("the query is not UTF-8".into());
    };
    if query.contains('\0') {
        return WorkerMessage::Refused("the query contains a NUL character".into());
    }
    let begun = Instant::now();
    let end = begun + Duration::from_secs(limits.seconds.into());
    let armed = store.progress_handler(STEPS, Some(move || Instant::now() > end));
    if let Err(error) = armed {
        return WorkerMessage::Failed(error.to_string());
    }
    match run(store, query, limits) {
        Ok(Ok(answer)) => WorkerMessage::Answer(Answer {
            took_ms: (begun.elapsed().as_secs_f64() * 1e4).round() / 10.0,
            ..answer
        }),
        Ok(Err(refused)) => WorkerMessage::Refused(refused.into()),
        Err(error) => said(&error),
    }
}

type Refused = &'static str;

fn run(
    store: &Connection,
    query: &str,
    limits: &Limits,
) -> rusqlite::Result<Result<Answer, Refused>> {
    let mut statements = Batch::new(store, query);
    let Some(mut statement) = statements.next()? else {
        return Ok(Err("missing query: try SELECT * FROM growth"));
    };
    if !statement.readonly() || statement.column_count() == 0 {
        return Ok(Err(
            "this query returns no rows: only queries that return rows are allowed",
        ));
    }
    // A second statement is refused, valid or not.
    if !matches!(statements.next(), Ok(None)) {
        return Ok(Err(
            "only one statement is allowed: remove everything after the first ;",
        ));
    }
    rows(&mut statement, limits).map(Ok)
}

fn rows(statement: &mut Statement<'_>, limits: &Limits) -> rusqlite::Result<Answer> {
    let mut answer = Answer {
        columns: statement.column_names().map(String::from).collect(),
        ..Answer::default()
    };
    let width = answer.columns.len();
    let most = limits.rows.min(limits.cells / width.max(1));
    // Reserves room for the remaining parts of the answer.
    let mut room = limits.octets.saturating_sub(1024);
    for name in &answer.columns {
        room = room.saturating_sub(name.len() * 2 + 3);
    }
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if answer.rows.len() == most {
            answer.truncated = true;
            break;
        }
        let cells = (0..width).map(|at| row.get_ref(at).map(cell));
        let cells: Vec<Cell> = cells.collect::<Result<_, _>>()?;
        let octets: usize = 2 + cells.iter().map(octets).sum::<usize>();
        if octets > room {
            answer.truncated = true;
            break;
        }
        room -= octets;
        answer.rows.push(cells);
    }
    Ok(answer)
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Nothing,
        ValueRef::Integer(number) => Cell::Whole(number),
        ValueRef::Real(number) if number.is_finite() => Cell::Real(number),
        // SQLite has no other ones; JSON has none at all.
        ValueRef::Real(number) if number > 0.0 => Cell::Text("Infinity".into()),
        ValueRef::Real(_) => Cell::Text("-Infinity".into()),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(octets) => Cell::Text(literal(octets)),
    }
}

/// Returns a blob in SQL's form.
fn literal(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2 + 3);
    text.push_str("X'");
    for octet in octets {
        for half in [octet >> 4, octet & 15] {
            text.extend(char::from_digit(half.into(), 16).map(|digit| digit.to_ascii_uppercase()));
        }
    }
    text.push('\'');
    text
}

/// Returns the size of a cell in JSON, with the comma.
fn octets(cell: &Cell) -> usize {
    match cell {
        Cell::Nothing => 5,
        cell => serde_json::to_vec(cell).map_or(usize::MAX / 1024, |text| text.len() + 1),
    }
}

/// Returns SQLite's error with a hint.
fn said(error: &rusqlite::Error) -> WorkerMessage {
    let words = match error {
        rusqlite::Error::SqlInputError {
            msg, sql, offset, ..
        } => {
            let before = usize::try_from(*offset).ok().and_then(|at| sql.get(..at));
            match before {
                Some(before) => format!("{msg} (character {})", before.chars().count() + 1),
                None => msg.clone(),
            }
        }
        rusqlite::Error::SqliteFailure(_, Some(words)) => words.clone(),
        other => other.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => WorkerMessage::Long,
        Some(ErrorCode::OutOfMemory) => WorkerMessage::Large,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure) => {
            WorkerMessage::Damaged(cut(words))
        }
        Some(ErrorCode::TooBig) => WorkerMessage::Refused(format!(
            "a text, a blob or a row is longer than {} MB",
            TEXT >> 20
        )),
        Some(ErrorCode::AuthorizationForStatementDenied) => WorkerMessage::Refused(format!(
            "{words}: only SELECT over the public tables is allowed"
        )),
        _ => WorkerMessage::Refused(cut(words)),
    }
}

/// Truncates an error, which may quote a text from the query.
fn cut(mut words: String) -> String {
    if let Some((end, _)) = words.char_indices().nth(WORDS) {
        words.truncate(end);
        words.push('…');
    }
    words
}
