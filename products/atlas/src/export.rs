//! Exports a store as Parquet files, for analyses beyond SQLite.
//!
//! `docs/reference/atlas-store.md` lists the columns.

mod sheet;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use self::sheet::{Column, Kind, Sheet};
use crate::error::Error;
use crate::owned_folder::OwnedFolder;
use crate::store;
use crate::time::Unit;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Name in the folder.
    pub file: String,
    /// Rows in it.
    pub rows: u64,
    /// Size of the file.
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

/// Tables with one file each.
const WHOLE: [(&str, &Sheet); 5] = [
    ("communities.parquet", &COMMUNITIES),
    ("profiles.parquet", &PROFILES),
    ("hours.parquet", &HOURS),
    ("days.parquet", &DAYS),
    ("months.parquet", &MONTHS),
];

/// Exports the store in `data` to the folder `out`, which is created if missing. Each file gets its
/// name when complete; all show the same state of the store. Removes years of an earlier export
/// that are no longer written; keeps foreign files, but refuses a folder with foreign files, unless
/// `force`.
pub fn parquet(data: &Path, out: &Path, force: bool) -> Result<Vec<Written>, Error> {
    let (store, parts) = begin(data)?;
    let names = parts.iter().map(|part| part.name.as_str());
    let mut owned = OwnedFolder::claim(out, "export", force, names)?;
    let mut written = Vec::new();
    for part in &parts {
        written.push(owned.place(&part.name, |path| part.write(&store, path))?);
    }
    owned.tidy()?;
    Ok(written)
}

/// Writes all of the store into a new folder that this call creates.
pub(crate) fn fresh(data: &Path, out: &Path) -> Result<Vec<Written>, Error> {
    let (store, parts) = begin(data)?;
    fs::create_dir(out).map_err(Error::file(out))?;
    let write = |part: &Part| part.write(&store, &out.join(&part.name));
    parts.iter().map(write).collect()
}

/// A file to write.
struct Part {
    name: String,
    sheet: &'static Sheet,
    given: Vec<i64>,
}

impl Part {
    fn write(&self, store: &Connection, path: &Path) -> Result<Written, Error> {
        Ok(Written {
            file: self.name.clone(),
            rows: self.sheet.write(store, path, &self.given)?,
            octets: fs::metadata(path).map_err(Error::file(path))?.len(),
        })
    }
}

/// Returns the store at this moment, and its files.
fn begin(data: &Path) -> Result<(Connection, Vec<Part>), Error> {
    let store = store::open(data)?;
    // A single transaction: a concurrent import must not fall between two files.
    store.execute_batch("BEGIN")?;
    let whole = WHOLE.iter().map(|(name, sheet)| Part {
        name: (*name).to_owned(),
        sheet,
        given: Vec::new(),
    });
    let years = years(&store)?.into_iter().map(|year| Part {
        name: format!("observations-{year:04}.parquet"),
        sheet: &OBSERVATIONS,
        given: vec![
            Unit::Month.begin(year * 12),
            Unit::Month.begin((year + 1) * 12),
        ],
    });
    let parts = whole.chain(years).collect();
    Ok((store, parts))
}

/// Returns the years with an observation.
fn years(store: &Connection) -> Result<BTreeSet<i64>, Error> {
    let mut read = store.prepare("SELECT DISTINCT month / 12 FROM month_totals")?;
    let years = read.query_map([], |row| row.get(0))?;
    Ok(years.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::{entry, sample, snapshot};
    use crate::time::hour_of;
    use jiff::civil::date;
    use testing::Directory;

    #[test]
    fn files_are_whole_and_no_others_of_their_kind_remain() {
        let hour = hour_of(date(2019, 10, 17));
        let (data, _) = sample(&[snapshot(hour, vec![entry(hour, "a", 1)])]);
        let out = Directory::new();
        let file = |name: &str| out.path().join(name);
        let before = hour_of(date(2018, 10, 17));
        let (earlier, _) = sample(&[snapshot(before, vec![entry(before, "a", 1)])]);
        parquet(earlier.path(), out.path(), false).unwrap();
        assert!(file("observations-2018.parquet").exists());
        fs::write(file("observations-old.parquet"), "old").unwrap();
        let written = parquet(data.path(), out.path(), false).unwrap();
        let observations = written.last().unwrap();
        assert_eq!(
            (observations.file.as_str(), observations.rows),
            ("observations-2019.parquet", 1)
        );
        let mut names: Vec<_> = fs::read_dir(out.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = [
            ".weir-atlas-export",
            "communities.parquet",
            "days.parquet",
            "hours.parquet",
            "months.parquet",
            "observations-2019.parquet",
            "observations-old.parquet",
            "profiles.parquet",
        ];
        assert_eq!(names, expected);
        for written in written {
            let octets = fs::read(file(&written.file)).unwrap();
            assert!(
                octets.starts_with(b"PAR1") && octets.ends_with(b"PAR1"),
                "{written:?}"
            );
            assert_eq!(octets.len() as u64, written.octets);
        }
        let held = fs::File::open(out.path()).unwrap();
        held.lock().unwrap();
        let error = parquet(data.path(), out.path(), false).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("another weir-atlas"), "{error}");
    }

    #[test]
    fn what_others_have_put_there_stays() {
        let (data, _) = sample(&[]);
        for name in ["observations-1999.parquet", "months.parquet"] {
            for is_folder in [false, true] {
                let out = Directory::new();
                let there = out.path().join(name);
                match is_folder {
                    true => fs::create_dir(&there).unwrap(),
                    false => fs::write(&there, "mine").unwrap(),
                }
                let error = parquet(data.path(), out.path(), false).unwrap_err();
                let error = error.to_string();
                let says = format!("{}: the folder has files that", out.path().display());
                assert!(error.starts_with(&says), "{error}");
                assert_eq!(there.is_dir(), is_folder);
                assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
            }
        }
    }

    #[test]
    fn an_empty_store_has_no_years() {
        let (data, _) = sample(&[]);
        let out = Directory::new();
        let written = parquet(data.path(), out.path(), false).unwrap();
        assert_eq!(written.len(), 5);
        assert!(written.iter().all(|file| file.rows == 0));
    }
}
