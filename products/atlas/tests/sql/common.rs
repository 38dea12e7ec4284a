//! A store, and queries over it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use atlas::Error;
use atlas::figure::Cell;
use atlas::snapshot::{Entry, Profile, Remark, Snapshot, Status};
use atlas::sql::{Answer, Engine, Limits, Queries, Settings};
use atlas::store::Writer;
use testing::Directory;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_weir-atlas");
/// 2019-10-01, 00:00.
pub const BEGIN: i64 = 436_080;
/// A table that takes for ever.
pub const SLOW: &str = "(WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) \
                        SELECT max(n) FROM x)";

/// A store with three communities over some hours.
pub fn sample(hours: i64) -> Directory {
    let folder = Directory::new();
    add(&folder, 0..hours);
    folder
}

/// Adds hours to it.
pub fn add(folder: &Directory, hours: std::ops::Range<i64>) {
    let mut writer = Writer::open(folder.path()).expect("a store");
    for hour in hours {
        let entry = |key: &str, name: &str, nodes, status| Entry {
            key: key.into(),
            nodes: Some(nodes),
            status,
            fetched: (BEGIN + hour) * 3600,
            profile: Profile {
                name: name.into(),
                country: Some("DE".into()),
                api: Some("0.4.17".into()),
                routing: vec!["batman-adv".into(), "OLSR".into()],
                latitude: Some(52.5),
                longitude: Some(13.4),
                ..Profile::default()
            },
        };
        let snapshot = Snapshot {
            file: format!("{hour}.json"),
            hour: BEGIN + hour,
            entries: vec![
                entry("berlin", "Freifunk Berlin", 600 + hour, Status::Live),
                entry("altdorf", "Freifunk Altdorf", 100, Status::Stale),
                entry("odd", "Freifunk <b>Odd</b>", -5, Status::Odd),
            ],
            remarks: vec![Remark {
                key: Some("odd".into()),
                what: "-5 nodes".into(),
                read_as: "odd".into(),
            }],
        };
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&hour.to_le_bytes());
        writer.add(&snapshot, &digest).expect("added");
    }
    writer.commit().expect("committed");
}

/// Settings as for untrusted users, but with another time limit, and a copy at each change of the
/// store.
pub fn settings_of(folder: &Directory, seconds: u32) -> Settings {
    let strangers = Settings::of(folder.path());
    Settings {
        program: PROGRAM.into(),
        limits: Limits {
            seconds,
            ..strangers.limits
        },
        ..strangers
    }
}

pub fn queries(folder: &Directory, seconds: u32) -> Queries {
    Queries::new(settings_of(folder, seconds))
}

/// Has the copy made.
pub fn copy(folder: &Directory) {
    atlas::sql::query(settings_of(folder, 5), "SELECT 1", Engine::Sqlite).expect("a copy");
}

/// The first cell.
pub fn first(answer: &Result<Arc<Answer>, Error>) -> String {
    let answer = answer.as_ref().expect("an answer");
    match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => text.clone(),
        Some(Cell::Whole(number)) => number.to_string(),
        Some(Cell::Real(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// Returns a worker's answer to these bytes.
pub fn worker(folder: &Directory, query: &[u8]) -> String {
    let mut child = Command::new(PROGRAM)
        .args(["sql-worker", "--seconds=1"])
        .arg(folder.path().join("public.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut to = child.stdin.take().expect("a pipe");
    // A worker reads no more than the limit of a query.
    let _ = to.write_all(query);
    drop(to);
    let output = child.wait_with_output().expect("an end");
    String::from_utf8(output.stdout).expect("text")
}

/// Processes that are about this folder.
pub fn workers(folder: &Directory) -> usize {
    let place = folder.path().to_string_lossy();
    processes(|process| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&*place)
    })
}

/// Processes of this one that ended and that it has not waited for.
fn unwaited() -> usize {
    let me = std::process::id().to_string();
    processes(|process| {
        let status = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let mut fields = status.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next() == Some("Z") && fields.next() == Some(&me)
    })
}

fn processes(is_one: impl Fn(&Path) -> bool) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let processes = processes.flatten().map(|entry| entry.path());
    processes.filter(|process| is_one(process)).count()
}

/// No process remains.
pub async fn nobody_is_left(folder: &Directory) {
    for _ in 0..100 {
        if workers(folder) + unwaited() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "{} processes remain, {} unwaited",
        workers(folder),
        unwaited()
    );
}
