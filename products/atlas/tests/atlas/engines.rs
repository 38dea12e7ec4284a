//! Other engines compute the same from the real data: DuckDB the growth, and the charts by profile,
//! from the raw files and by independent rules; DuckDB and ClickHouse the sums, from exported
//! files.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use atlas::chart_query::ChartQuery;
use atlas::snapshot::{Entry, Profile, Snapshot, Status};
use atlas::{answer, chart, export, read, store};
use rusqlite::Connection;
use serde_json::{Value, json};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the folder of cargo's output and of the tools of scripts/setup.
fn target() -> &'static Path {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.parent().expect("the target directory")
}

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("atlas-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn ask(what: &str, folder: &Path) -> Value {
    let python = target().join("tools/engines/bin/python");
    let asked = Command::new(&python)
        .arg(Path::new(HERE).join("tests/engines.py"))
        .arg(what)
        .arg(folder)
        .output();
    let out = asked
        .unwrap_or_else(|error| panic!("{}: {error}: scripts/setup installs it", python.display()));
    assert!(
        out.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// The rows of a query.
fn rows(store: &Connection, sql: &str) -> Value {
    let mut query = store.prepare(sql).expect("a query");
    let columns = query.column_count();
    let rows = query.query_map([], |row| {
        let cell = |at| {
            Ok(match row.get_ref(at)? {
                rusqlite::types::ValueRef::Integer(whole) => json!(whole),
                rusqlite::types::ValueRef::Real(real) => json!(real),
                rusqlite::types::ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
                _ => Value::Null,
            })
        };
        (0..columns).map(cell).collect::<rusqlite::Result<Value>>()
    });
    rows.expect("rows")
        .collect::<rusqlite::Result<_>>()
        .expect("rows")
}

/// The queries of `SUMS` in engines.py, over the store's own tables.
const SUMS: [&str; 7] = [
    "SELECT CAST(strftime('%Y', hour * 3600, 'unixepoch') AS INTEGER) * 12
       + strftime('%m', hour * 3600, 'unixepoch') - 1 AS month,
       CASE status WHEN 0 THEN 'live' WHEN 1 THEN 'stale' WHEN 2 THEN 'frozen' ELSE 'odd' END
         AS status,
       count(*), sum(ifnull(nodes, 0)), sum(iif(counted, nodes, 0)), count(nodes)
     FROM observations GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT key, min(hour) * 3600, max(hour) * 3600, count(*), max(o.profile), max(fetched)
     FROM observations o JOIN communities ON id = community GROUP BY key ORDER BY key",
    "SELECT key, first_hour * 3600, last_hour * 3600, profile, name
     FROM communities c JOIN profiles p ON p.id = c.profile ORDER BY key",
    "SELECT id, (SELECT count(*) FROM profile_routing WHERE profile = id),
       CAST(ifnull(latitude, 0) * 1000000 AS INTEGER), ifnull(country, '-') FROM profiles ORDER BY id",
    "SELECT CAST(strftime('%Y', day * 86400, 'unixepoch') AS INTEGER) * 12
       + strftime('%m', day * 86400, 'unixepoch') - 1 AS month, count(*), sum(hours), sum(nodes),
       sum(ifnull(least, 0)), sum(ifnull(most, 0)), sum(live), sum(stale), sum(frozen),
       sum(listed), sum(odd), max(profile)
     FROM days GROUP BY 1 ORDER BY 1",
    "SELECT month, count(*), sum(hours), sum(nodes), sum(ifnull(least, 0)), sum(ifnull(most, 0)),
       sum(live), sum(stale), sum(frozen), sum(listed), sum(odd), max(profile)
     FROM months GROUP BY 1 ORDER BY 1",
    "SELECT CAST(strftime('%Y', hour * 3600, 'unixepoch') AS INTEGER) * 12
       + strftime('%m', hour * 3600, 'unixepoch') - 1 AS month, count(*), sum(live), sum(stale),
       sum(frozen), sum(listed), sum(odd)
     FROM hour_totals GROUP BY 1 ORDER BY 1",
];

/// Compares row by row, with a small tolerance.
fn same(one: &Value, other: &Value, what: &str) {
    let (Some(one), Some(other)) = (one.as_array(), other.as_array()) else {
        panic!("{what}: no rows");
    };
    assert!(!one.is_empty(), "{what}: no row");
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(one.len(), other.len(), "{what}");
}

/// Holds the exported files of a store against the store.
fn compare(data: &Path, name: &str) -> PathBuf {
    let out = folder(&format!("{name}-parquet"));
    let written = export::parquet(data, &out, false).expect("exported");
    let store = store::open(data).expect("a store");
    let expected: Vec<Value> = SUMS.iter().map(|sql| rows(&store, sql)).collect();
    let observed = rows(&store, "SELECT count(*) FROM observations")[0][0].as_u64();
    let files = written.iter();
    let observations = files.filter(|file| file.file.starts_with("observations-"));
    assert_eq!(Some(observations.map(|file| file.rows).sum()), observed);
    for engine in ["duckdb", "clickhouse"] {
        let sums = ask(engine, &out);
        for (at, sql) in SUMS.iter().enumerate() {
            same(&sums[at], &expected[at], &format!("{engine}: {sql}"));
        }
        assert_eq!(sums.as_array().map(Vec::len), Some(SUMS.len()));
    }
    out
}

#[test]
fn exported_files_have_all_there_is() {
    let data = folder("made");
    let mut writer = store::Writer::open(&data).expect("a store");
    let begin = 49 * 365 * 24;
    for at in 0..700i64 {
        let hour = begin + at * 37;
        let entries = (0..12i64)
            .filter(|key| (key + at) % 5 > 0)
            .map(|key| Entry {
                key: format!("key {key}"),
                nodes: ((at + key) % 7 > 0).then_some((at * key) % 1000 - 3),
                status: match (at * key) % 1000 {
                    0..3 => Status::Odd,
                    rest => [Status::Live, Status::Stale, Status::Frozen][rest as usize % 3],
                },
                fetched: hour * 3600 - at,
                profile: Profile {
                    name: format!("Käse \"{key}\", {}", at / 100),
                    metacommunity: (key % 3 == 0).then(|| "Käse".into()),
                    country: (key % 2 == 0).then(|| "DE".into()),
                    latitude: (key % 4 > 0).then_some(50.0 + key as f64 / 7.0),
                    longitude: (key % 4 > 0).then_some(-10.0),
                    routing: ["Babel", "batman-adv", "OLSR"][..key as usize % 4 % 4]
                        .iter()
                        .map(|name| (*name).into())
                        .collect(),
                    ..Profile::default()
                },
            });
        let snapshot = Snapshot {
            file: format!("{at}.json"),
            hour,
            entries: entries.collect(),
            remarks: Vec::new(),
        };
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&at.to_le_bytes());
        writer.add(&snapshot, &digest).expect("added");
    }
    writer.commit().expect("committed");
    compare(&data, "made");
}

/// Imports the files at `place`.
fn import(place: &Path, data: &Path) -> read::Progress {
    let mut writer = store::Writer::open(data).expect("a store");
    let mapping = read::Mapping::named("freifunk").expect("a mapping");
    let place = place.display().to_string();
    let mut go_on = |_: &_| ControlFlow::Continue(());
    read::import(&[place], &mapping, &mut writer, &mut go_on).expect("imported")
}

#[test]
fn charts_are_what_duckdb_makes_of_the_raw_files() {
    let archive = Path::new(HERE).join("data/freifunk.tar.xz");
    let raw = folder("raw");
    let unpacked = Command::new("tar")
        .arg("xJf")
        .arg(&archive)
        .arg("-C")
        .arg(&raw)
        .status();
    assert!(unpacked.expect("tar").success());
    let data = folder("real");
    let done = import(&archive, &data);
    assert!(done.entries > 57_000, "{done:?}");
    let store = store::open(&data).expect("a store");
    // Each month: hours with a snapshot; nodes that are live, stale, frozen; entries, and odd
    // ones; and the mean, rounded half up, as the chart has it.
    let sums = "format('%04d-%02d', month / 12, month % 12 + 1), hours, live, stale, frozen,
                listed, odd, (2 * (live + stale + frozen) + hours) / (2 * hours)
                FROM month_totals ORDER BY month";
    let ours = rows(&store, &format!("SELECT {sums}"));
    assert_eq!(ours.as_array().map(Vec::len), Some(158));
    same(&ours, &ask("growth", &raw.join("history")), "growth");
    chart(&store, &ours);
    let said = ask("said", &raw.join("history"));
    by_profile(&store, &said);
    metacommunities(&store, &said);
    let parquet = compare(&data, "real");
    // As readers of docs/reference/atlas-store.md ask it.
    let documented = ask("documented", &parquet);
    let months: Value = ours
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| json!([row[0], row[7]]))
        .collect();
    same(&documented[0], &months, "DuckDB, as documented");
    same(&documented[2], &months, "ClickHouse, as documented");
    assert!(documented[1].to_string().contains("batman"), "{documented}");
}

/// Compares the chart's answers with the sums.
fn chart(store: &Connection, sums: &Value) {
    let growth = chart::find("growth").expect("a chart");
    let asked = ChartQuery::read("from=2013&to=2026&by=month").expect("a question");
    let figure = growth.figure(store, &asked).expect("a figure");
    let json = answer::json("growth", &figure).expect("an answer");
    let answer: Value = serde_json::from_str(&json).expect("JSON");
    let told: Value = answer["series"]
        .as_array()
        .expect("series")
        .iter()
        .map(|point| json!([point["t"].as_str().map(|t| &t[..7]), point["nodes"]]))
        .collect();
    let summed: Value = sums
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| json!([row[0], row[7]]))
        .collect();
    same(&told, &summed, "the chart");
}

/// Compares the charts by the communities' own profiles with the sums of `said`, by month and by
/// day.
fn by_profile(store: &Connection, sums: &Value) {
    let said = sums.as_array().expect("rows");
    for name in ["routing", "countries", "versions"] {
        let chart = chart::find(name).expect("a chart");
        let mut told = Vec::new();
        // All days at once are too many points.
        let years = (2013..=2026).map(|year| format!("from={year}&to={year}&by=day"));
        for question in ["by=month".to_owned()].into_iter().chain(years) {
            let asked = ChartQuery::read(&question).expect("a question");
            let figure = chart.figure(store, &asked).expect("a figure");
            let json = answer::json(name, &figure).expect("an answer");
            let answer: Value = serde_json::from_str(&json).expect("JSON");
            let length = if answer["by"] == "day" { 10 } else { 7 };
            let rows = answer["series"].as_array().expect("series");
            let key = figure.table.columns[1].key;
            told.extend(rows.iter().map(|row| {
                let point = row["t"].as_str().map(|t| &t[..length]);
                json!([name, point, row[key], row["nodes"], row["communities"]])
            }));
        }
        let mut summed: Vec<Value> = said.iter().filter(|row| row[0] == name).cloned().collect();
        for rows in [&mut told, &mut summed] {
            rows.sort_by_key(|row| [1, 2].map(|at| row[at].as_str().map(str::to_owned)));
        }
        same(&told.into(), &summed.into(), name);
    }
}

/// Holds the metacommunities of each month against the sums of `said`.
fn metacommunities(store: &Connection, sums: &Value) {
    let top = chart::find("top").expect("a chart");
    let rows = sums.as_array().expect("rows").iter();
    let of_months = rows.filter(|row| row[0] == "top" && row[1].as_str().map(str::len) == Some(7));
    let mut months = BTreeMap::<&str, Vec<Value>>::new();
    for row in of_months {
        // A community counted with others is in this chart if it has a number.
        if row[3] != 0 {
            let month = months.entry(row[1].as_str().expect("a month")).or_default();
            month.push(json!([row[2], row[3]]));
        }
    }
    assert_eq!(months.len(), 158);
    for (month, mut summed) in months {
        let question = format!("at={month}&group=meta&n=100");
        let figure = top.figure(store, &ChartQuery::read(&question).expect("a question"));
        let json = answer::json("top", &figure.expect("a figure")).expect("an answer");
        let answer: Value = serde_json::from_str(&json).expect("JSON");
        let rows = answer["communities"].as_array().expect("rows").iter();
        let mut told: Vec<Value> = rows
            .filter(|row| row["nodes"] != 0)
            .map(|row| json!([row["key"], row["nodes"]]))
            .collect();
        for rows in [&mut told, &mut summed] {
            rows.sort_by_key(|row| row[0].as_str().map(str::to_owned));
        }
        same(&told.into(), &summed.into(), month);
    }
}
