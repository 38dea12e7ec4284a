//! Checks that a store can be read. `PRAGMA quick_check` reads everything, which takes minutes for
//! some gigabytes; this check covers the tables that charts read.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::file::{address, version};
use crate::error::Error;

/// Tables that are checked completely: some megabytes, however long the history is.
const SHORT: [&str; 9] = [
    "meta",
    "month_totals",
    "day_totals",
    "hour_totals",
    "months",
    "month_profiles",
    "communities",
    "profiles",
    "profile_routing",
];
/// Tables that are checked at a number of places, from begin to end.
const LONG: [(&str, &str); 3] = [
    ("days", "day"),
    ("day_profiles", "day"),
    ("observations", "hour"),
];
const PLACES: i64 = 64;
/// Timeout of the check: the unchecked part counts as intact, so that a slow disk excludes no
/// store.
const TIME: Duration = Duration::from_secs(5);
/// Instructions of SQLite's machine between checks of the time.
const LOOK: i32 = 5_000;

/// Refuses a damaged file, ignoring its journal.
pub(crate) fn whole(path: &Path) -> Result<(), Error> {
    let checked = (|| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let mut store = Connection::open_with_flags(address(path, "mode=ro&immutable=1"), flags)?;
        let due = Instant::now() + TIME;
        store.progress_handler(LOOK, Some(move || Instant::now() > due))?;
        fault(&store)
    })();
    let why = match checked {
        Ok(None) => return Ok(()),
        Ok(Some(fault)) => fault,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            let name = path.display();
            tracing::info!("{name} is large: not all of its sums were checked");
            return Ok(());
        }
        Err(error) => error.to_string(),
    };
    let name = path.display();
    Err(Error::Other(format!(
        "{name} is damaged ({why}): move an undamaged store there"
    )))
}

fn fault(store: &Connection) -> rusqlite::Result<Option<String>> {
    for table in SHORT {
        let check = format!("PRAGMA quick_check({table})");
        let said = store.query_row(&check, [], |row| row.get::<_, String>(0))?;
        if said != "ok" {
            return Ok(Some(format!("{table}: {said}")));
        }
    }
    for (table, key) in LONG {
        let ends = format!("SELECT min({key}), max({key}) FROM {table}");
        let (first, last): (Option<i64>, Option<i64>) =
            store.query_row(&ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(first), Some(last)) = (first, last) else {
            continue;
        };
        let some = format!(
            "SELECT sum(profile) FROM (SELECT profile FROM {table} WHERE {key} >= ?1 LIMIT 50)"
        );
        let mut some = store.prepare(&some)?;
        for place in 0..=PLACES {
            let from = first + (last - first) * place / PLACES;
            some.query_row([from], |_| Ok(()))?;
        }
    }
    Ok(None)
}

/// Reads a little of each chart's data; returns the version.
pub(crate) fn probe(store: &Connection) -> Result<i64, Error> {
    for last in [
        "SELECT live FROM month_totals ORDER BY month DESC LIMIT 1",
        "SELECT live FROM day_totals ORDER BY day DESC LIMIT 1",
        "SELECT live FROM hour_totals ORDER BY hour DESC LIMIT 1",
        "SELECT nodes FROM months ORDER BY month DESC LIMIT 1",
        "SELECT nodes FROM days ORDER BY day DESC LIMIT 1",
        "SELECT live FROM month_profiles ORDER BY month DESC LIMIT 1",
        "SELECT live FROM day_profiles ORDER BY day DESC LIMIT 1",
        "SELECT fetched FROM observations ORDER BY hour DESC LIMIT 1",
        "SELECT id FROM communities ORDER BY key DESC LIMIT 1",
        "SELECT length(name) FROM profiles ORDER BY id DESC LIMIT 1",
    ] {
        let read = store.query_row(last, [], |row| row.get::<_, Option<i64>>(0));
        read.optional()?;
    }
    version(store)
}

/// Returns true if the file is at fault rather than the question.
pub(crate) fn is_damage(error: &Error) -> bool {
    let Error::Store(error) = error else {
        return false;
    };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure)
    )
}
