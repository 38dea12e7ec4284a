//! Write transaction: adds pending traffic to its hours, closed hours to their days and months, and
//! deletes expired data.

use monitor_core::count::Counts;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::pending::{MOST, OTHER, Pending};
use crate::periods::{Calendar, Unit};
use crate::schema::{COLUMNS, PAGE, SUMS, State};
use crate::settings::Settings;
use crate::words::ApplicationIds;

/// Data of a write.
pub struct Batch<'a> {
    /// Traffic.
    pub pending: &'a Pending,
    /// Applications.
    pub words: &'a ApplicationIds,
    /// Devices that have another name than before.
    pub names: &'a [(i64, String)],
    /// The time by which age is judged; `None` while the clock is new and may be wrong.
    pub steady: Option<i64>,
}

/// Returns the SQL that adds a conflicting row to the existing row. Sums saturate.
fn merge() -> String {
    let sums =
        COLUMNS.map(|column| format!("{column} = min({column} + excluded.{column}, {MOST})"));
    format!(
        "ON CONFLICT (start, device, application) DO UPDATE SET {}",
        sums.join(", ")
    )
}

/// Writes everything, or nothing.
pub fn write(
    connection: &mut Connection,
    batch: &Batch,
    calendar: &Calendar,
    settings: &Settings,
) -> rusqlite::Result<()> {
    // IMMEDIATE: a reader that keeps the file from being written is met here, not half way.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    words(&transaction, batch)?;
    let before = State::load(&transaction)?;
    let mut state = before;
    for (start, sums) in batch.pending.hours() {
        let this = State {
            hour: start,
            day: calendar.span(Unit::Day, start).start,
            month: calendar.span(Unit::Month, start).start,
        };
        let open = match state {
            Some(open) if open.hour == start => open,
            // An hour that was closed before is added to in all three: the clock was set back.
            Some(_) if exists(&transaction, start)? => {
                for (table, start) in [("hour", start), ("day", this.day), ("month", this.month)] {
                    insert(&transaction, table, start, sums)?;
                    fold(&transaction, table, start, settings.devices)?;
                }
                continue;
            }
            former => {
                if let Some(former) = former {
                    close(&transaction, former, settings.devices)?;
                }
                this
            }
        };
        insert(&transaction, "hour", start, sums)?;
        fold(&transaction, "hour", start, settings.devices)?;
        state = Some(open);
    }
    if let Some(state) = state.filter(|_| state != before) {
        transaction.execute(
            "INSERT OR REPLACE INTO state (id, hour, day, month) VALUES (0, ?1, ?2, ?3)",
            params![state.hour, state.day, state.month],
        )?;
        if let Some(now) = batch.steady {
            age(&transaction, now, settings)?;
        }
    }
    room(&transaction, settings.limit)?;
    transaction.commit()
}

/// Deletes data beyond the limit, and frees disk space: after the limit was lowered, or a flush did
/// not fit.
pub fn trim(connection: &mut Connection, limit: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Less than `room` aims for, so that there is something left for the flush.
    drop_oldest(&transaction, limit / 2)?;
    transaction.commit()?;
    if number(connection, "PRAGMA page_count")? * PAGE > limit {
        let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}

fn words(transaction: &Transaction, batch: &Batch) -> rusqlite::Result<()> {
    for (number, word) in batch.words.unsaved() {
        transaction.execute(
            "INSERT OR REPLACE INTO application (id, word) VALUES (?1, ?2)",
            params![number as i64, word],
        )?;
    }
    for (device, name) in batch.names {
        transaction.execute(
            "INSERT INTO device (mac, name) VALUES (?1, ?2) ON CONFLICT (mac) DO UPDATE SET name \
                = excluded.name WHERE name <> excluded.name",
            params![device, name],
        )?;
    }
    Ok(())
}

fn exists(transaction: &Transaction, hour: i64) -> rusqlite::Result<bool> {
    transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM hour WHERE start = ?1)",
        [hour],
        |row| row.get(0),
    )
}

fn insert(
    transaction: &Transaction,
    table: &str,
    start: i64,
    sums: &crate::pending::Sums,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(&format!(
        "INSERT INTO {table} (start, device, application, {SUMS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, \
            ?7, ?8, ?9, ?10, ?11) {}",
        merge()
    ))?;
    for (device, application, traffic) in sums.sorted() {
        // All are below MOST, which is below 2^63.
        let of = |both: &Counts| {
            [
                both.received.bytes,
                both.received.packets,
                both.sent.bytes,
                both.sent.packets,
            ]
            .map(|sum| sum as i64)
        };
        let [a, b, c, d] = of(&traffic.internet);
        let [e, f, g, h] = of(&traffic.lan);
        statement.execute(params![start, device, application, a, b, c, d, e, f, g, h])?;
    }
    Ok(())
}

/// Adds an hour to its day and month.
fn close(transaction: &Transaction, state: State, devices: usize) -> rusqlite::Result<()> {
    for (table, start) in [("day", state.day), ("month", state.month)] {
        transaction.execute(
            &format!(
                "INSERT INTO {table} (start, device, application, {SUMS})
                 SELECT ?1, device, application, {SUMS} FROM hour WHERE start = ?2 {}",
                merge()
            ),
            [start, state.hour],
        )?;
        fold(transaction, table, start, devices)?;
    }
    Ok(())
}

/// Merges the smallest devices of a period, if there are too many.
fn fold(
    transaction: &Transaction,
    table: &str,
    start: i64,
    devices: usize,
) -> rusqlite::Result<()> {
    let many: i64 = transaction.query_row(
        &format!("SELECT count(DISTINCT device) FROM {table} WHERE start = ?1 AND device >= 0"),
        [start],
        |row| row.get(0),
    )?;
    if many <= devices as i64 {
        return Ok(());
    }
    let mut statement = transaction.prepare(&format!(
        "SELECT device FROM {table} WHERE start = ?1 AND device >= 0
         GROUP BY device ORDER BY total(received_bytes) + total(sent_bytes) DESC,
         total(lan_received_bytes) + total(lan_sent_bytes) DESC, device LIMIT -1 OFFSET ?2"
    ))?;
    let smallest: Vec<i64> = statement
        .query_map(params![start, devices as i64], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut into = transaction.prepare(&format!(
        "INSERT INTO {table} (start, device, application, {SUMS})
         SELECT start, {OTHER}, application, {SUMS} FROM {table} WHERE start = ?1 AND device = ?2 \
         {}",
        merge()
    ))?;
    let mut out = transaction.prepare(&format!(
        "DELETE FROM {table} WHERE start = ?1 AND device = ?2"
    ))?;
    for device in smallest {
        into.execute([start, device])?;
        out.execute([start, device])?;
    }
    Ok(())
}

/// Deletes expired rows, and names of devices without any rows.
fn age(transaction: &Transaction, now: i64, settings: &Settings) -> rusqlite::Result<()> {
    const DAY: i64 = 86_400;
    let hours = now - i64::from(settings.hours_days) * DAY;
    let days = now - i64::from(settings.days_days) * DAY;
    let months = now - i64::from(settings.months_years) * 366 * DAY;
    transaction.execute(
        "DELETE FROM hour WHERE start < ?1 AND start <> (SELECT hour FROM state)",
        [hours],
    )?;
    let days = transaction.execute("DELETE FROM day WHERE start < ?1", [days])?;
    let months = transaction.execute("DELETE FROM month WHERE start < ?1", [months])?;
    if days + months > 0 {
        names(transaction)?;
    }
    Ok(())
}

fn names(transaction: &Transaction) -> rusqlite::Result<()> {
    transaction
        .execute(
            "DELETE FROM device WHERE mac NOT IN (SELECT device FROM hour UNION SELECT device \
                FROM day UNION SELECT device FROM month)",
            [],
        )
        .map(drop)
}

/// Keeps a tenth of the limit free for new data.
fn room(transaction: &Transaction, limit: u64) -> rusqlite::Result<()> {
    let most = limit - limit / 10;
    if used(transaction)? <= most {
        return Ok(());
    }
    drop_oldest(transaction, most - limit / 20)
}

/// Drops the oldest hours, then days, then months, until at most `most` bytes are in use.
fn drop_oldest(transaction: &Transaction, most: u64) -> rusqlite::Result<()> {
    for (table, kept) in [
        ("hour", "(SELECT hour FROM state)"),
        ("day", "(SELECT day FROM state)"),
        ("month", "(SELECT month FROM state)"),
    ] {
        while used(transaction)? > most {
            let oldest: Option<i64> = transaction
                .query_row(
                    &format!(
                        "SELECT start FROM {table} WHERE start <> {kept} ORDER BY start LIMIT 1"
                    ),
                    [],
                    |row| row.get(0),
                )
                .optional()?;
            let Some(oldest) = oldest else { break };
            transaction.execute(&format!("DELETE FROM {table} WHERE start = ?1"), [oldest])?;
        }
    }
    if used(transaction)? > most {
        names(transaction)?;
    }
    Ok(())
}

/// Returns the used bytes of the file.
fn used(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = number(connection, "PRAGMA page_count")?;
    Ok((pages - number(connection, "PRAGMA freelist_count")?.min(pages)) * PAGE)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    let number: i64 = connection.query_row(pragma, [], |row| row.get(0))?;
    Ok(number.max(0) as u64)
}
