//! All of a store as Parquet files, for whoever asks more than SQLite should answer.
//!
//! `docs/atlas-store.md` says which columns there are.

mod sheet;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use self::sheet::{Column, Kind, Sheet};
use crate::error::Error;
use crate::store;
use crate::time::Unit;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// In the folder.
    pub file: String,
    /// Rows in it.
    pub rows: u64,
    /// Its size.
    pub octets: u64,
}

const OBSERVATIONS: Sheet = Sheet {
    sql: "SELECT hour * 3600000, key, nodes,
            CASE status WHEN 0 THEN 'live' WHEN 1 THEN 'stale' WHEN 2 THEN 'frozen' ELSE 'odd' END,
            counted, o.profile, fetched * 1000
          FROM observations o JOIN communities c ON c.id = o.community
          WHERE hour >= ?1 AND hour < ?2 ORDER BY hour, key",
    columns: &[
        Column::of("t", Kind::Time),
        Column::of("key", Kind::Text),
        Column::or_none("nodes", Kind::Whole),
        Column::of("status", Kind::Text),
        Column::of("counted", Kind::Flag),
        Column::of("profile", Kind::Whole),
        Column::of("fetched", Kind::Time),
    ],
};

const COMMUNITIES: Sheet = Sheet {
    sql: "SELECT key, name, metacommunity, city, country, latitude, longitude, api, url, p.id,
            first_hour * 3600000, last_hour * 3600000
          FROM communities c JOIN profiles p ON p.id = c.profile ORDER BY key",
    columns: &[
        Column::of("key", Kind::Text),
        Column::of("name", Kind::Text),
        Column::or_none("metacommunity", Kind::Text),
        Column::or_none("city", Kind::Text),
        Column::or_none("country", Kind::Text),
        Column::or_none("latitude", Kind::Real),
        Column::or_none("longitude", Kind::Real),
        Column::or_none("api", Kind::Text),
        Column::or_none("url", Kind::Text),
        Column::of("profile", Kind::Whole),
        Column::of("first", Kind::Time),
        Column::of("last", Kind::Time),
    ],
};

const PROFILES: Sheet = Sheet {
    sql: "SELECT id, name, metacommunity, city, country, latitude, longitude, api, url,
            (SELECT json_group_array(protocol)
             FROM (SELECT protocol FROM profile_routing WHERE profile = id ORDER BY 1))
          FROM profiles ORDER BY id",
    columns: &[
        Column::of("profile", Kind::Whole),
        Column::of("name", Kind::Text),
        Column::or_none("metacommunity", Kind::Text),
        Column::or_none("city", Kind::Text),
        Column::or_none("country", Kind::Text),
        Column::or_none("latitude", Kind::Real),
        Column::or_none("longitude", Kind::Real),
        Column::or_none("api", Kind::Text),
        Column::or_none("url", Kind::Text),
        Column::of("routing", Kind::Texts),
    ],
};

const HOURS: Sheet = Sheet {
    sql: "SELECT hour * 3600000, live, stale, frozen, listed, odd FROM hour_totals ORDER BY hour",
    columns: &[
        Column::of("t", Kind::Time),
        Column::of("live", Kind::Whole),
        Column::of("stale", Kind::Whole),
        Column::of("frozen", Kind::Whole),
        Column::of("listed", Kind::Whole),
        Column::of("odd", Kind::Whole),
    ],
};

const SUMS: &[Column] = &[
    Column::of("day", Kind::Date),
    Column::of("key", Kind::Text),
    Column::of("hours", Kind::Whole),
    Column::of("nodes", Kind::Whole),
    Column::or_none("least", Kind::Whole),
    Column::or_none("most", Kind::Whole),
    Column::of("live", Kind::Whole),
    Column::of("stale", Kind::Whole),
    Column::of("frozen", Kind::Whole),
    Column::of("listed", Kind::Whole),
    Column::of("odd", Kind::Whole),
    Column::of("profile", Kind::Whole),
];

const DAYS: Sheet = Sheet {
    sql: "SELECT day, key, hours, nodes, least, most, live, stale, frozen, listed, odd, s.profile
          FROM days s JOIN communities c ON c.id = s.community ORDER BY day, key",
    columns: SUMS,
};

const MONTHS: Sheet = Sheet {
    sql: "SELECT unixepoch(format('%04d-%02d-01', month / 12, month % 12 + 1)) / 86400, key,
            hours, nodes, least, most, live, stale, frozen, listed, odd, s.profile
          FROM months s JOIN communities c ON c.id = s.community ORDER BY month, key",
    columns: SUMS,
};

/// Writes all of the store in `data` into the folder `out`, which is made where it is not there.
/// Each file is new at once, under its name only when it is whole. All are of the same moment.
pub fn parquet(data: &Path, out: &Path) -> Result<Vec<Written>, Error> {
    let store = store::open(data)?;
    // One transaction: whoever imports meanwhile does not come between two files.
    store.execute_batch("BEGIN")?;
    fs::create_dir_all(out).map_err(Error::file(out))?;
    let mut written = Vec::new();
    let whole = |name: &str, sheet: &Sheet| sheet.write(&store, out, name, &[]);
    written.push(whole("communities.parquet", &COMMUNITIES)?);
    written.push(whole("profiles.parquet", &PROFILES)?);
    written.push(whole("hours.parquet", &HOURS)?);
    written.push(whole("days.parquet", &DAYS)?);
    written.push(whole("months.parquet", &MONTHS)?);
    for year in years(&store)? {
        let begin = Unit::Month.begin(year * 12);
        let end = Unit::Month.begin((year + 1) * 12);
        let name = format!("observations-{year:04}.parquet");
        written.push(OBSERVATIONS.write(&store, out, &name, &[begin, end])?);
    }
    remove_others(out, &written)?;
    Ok(written)
}

/// The years in which something was observed.
fn years(store: &Connection) -> Result<BTreeSet<i64>, Error> {
    let mut read = store.prepare("SELECT DISTINCT month / 12 FROM month_totals")?;
    let years = read.query_map([], |row| row.get(0))?;
    Ok(years.collect::<rusqlite::Result<_>>()?)
}

/// Years of another store, which was written here before, would be counted by whoever reads
/// `observations-*.parquet`.
fn remove_others(out: &Path, written: &[Written]) -> Result<(), Error> {
    for entry in fs::read_dir(out).map_err(Error::file(out))? {
        let entry = entry.map_err(Error::file(out))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let year = name
            .strip_prefix("observations-")
            .and_then(|rest| rest.strip_suffix(".parquet"))
            .is_some_and(|year| {
                year.len() == 4 && year.bytes().all(|octet| octet.is_ascii_digit())
            });
        if year && written.iter().all(|file| file.file != name) {
            fs::remove_file(entry.path()).map_err(Error::file(entry.path()))?;
        }
    }
    Ok(())
}
