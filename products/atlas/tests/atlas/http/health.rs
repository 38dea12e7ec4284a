//! A store is damaged while it is served: its health, and the remaining functions.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use super::common::{directory, shows_what_is_followed};
use super::replaced::{add, missing, other, put, root_of, shows, told};
use crate::served::Server;

fn damaged(server: &Server, count: u32) {
    told(server, &format!("weir_atlas_store_damaged {count}\n"));
}

/// Waits until the health has this status and text.
fn healthy(server: &Server, status: u16, says: &str) {
    let mut seen = String::new();
    for _ in 0..100 {
        let answer = server.get("/healthz");
        seen = format!("{} {}", answer.status, answer.text());
        if answer.status == status && answer.text().contains(says) {
            assert!(!seen.contains("/tmp"), "{seen}");
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not {status} {says}: {seen}");
}

/// Keeps the length at least: readers map the file, and a read beyond its end kills them.
fn write_over(path: &Path, octets: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(path);
    let file = file.expect("opened");
    file.write_all_at(octets, 0).expect("written");
}

/// All but the first page is overwritten.
fn scratched(whole: &[u8]) -> Vec<u8> {
    [&whole[..4096], &vec![0x5a; whole.len() - 4096]].concat()
}

/// A store with 8 nodes from day 3 on, and much other data.
fn longer() -> Vec<u8> {
    let longer = other(7);
    for day in 3..=9 {
        add(longer.path(), day, 8);
    }
    let path = longer.path().join("atlas.db");
    let store = rusqlite::Connection::open(&path).expect("opened");
    let more = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9999)
                INSERT INTO ledger (file, what, read_as) SELECT x, 'what', 'how' FROM n;
                PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE)";
    store.execute_batch(more).expect("written");
    drop(store);
    fs::read(path).expect("read")
}

#[test]
fn a_store_that_is_written_over_is_told_until_it_is_whole_again() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    assert_eq!(server.get("/healthz").text(), "ok\n");
    // The overwriting file is longer than SQLite expects, because of a commit.
    add(server.data.path(), 3, 9);
    shows(&server, 3, 9);
    let (whole, longer) = (fs::read(&path).expect("read"), longer());
    assert!(longer.len() > whole.len());
    write_over(&path, &scratched(&whole));
    healthy(&server, 503, "atlas.db");
    for year in 2000..2003 {
        let answer = server.get(&format!("/chart/growth.json?from={year}"));
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert!(answer.header("retry-after").is_some());
    }
    damaged(&server, 1);
    write_over(&path, &longer);
    healthy(&server, 200, "ok\n");
    damaged(&server, 0);
    shows(&server, 3, 8);
    write_over(&path, &[0x5a; 4096]);
    healthy(
        &server,
        503,
        "atlas.db is not a database: put a store there",
    );
    // Only the file's own header is valid.
    write_over(&path, &[&whole[..100], &[0x5a; 4096]].concat());
    healthy(
        &server,
        503,
        "atlas.db is damaged: move an undamaged store there",
    );
    write_over(&path, &whole);
    healthy(&server, 200, "ok\n");
    shows(&server, 3, 9);
    assert_eq!(server.get("/healthz").text(), "ok\n");
}

/// A follower has the file open only while writing: SQLite keeps its cached state of a file as long
/// as a connection is open.
#[test]
fn a_store_that_is_written_over_is_read_again_beside_who_follows() {
    let server = Server::start(&["--follow", &directory()]);
    shows_what_is_followed(&server);
    let path = server.data.path().join("atlas.db");
    let longer = longer();
    assert!(longer.len() > fs::read(&path).expect("read").len());
    write_over(&path, &longer);
    // The server has checked the file by then.
    thread::sleep(Duration::from_millis(1500));
    healthy(&server, 200, "ok\n");
    shows(&server, 3, 8);
}

/// Overwrites the first page of a table; returns the file's old content.
fn scratch(path: &Path, table: &str) -> Vec<u8> {
    let whole = fs::read(path).expect("read");
    let mut broken = whole.clone();
    let root = root_of(path, table);
    broken[root..root + 4096].fill(0x5a);
    write_over(path, &broken);
    whole
}

/// Damage of a table that only some charts read.
#[test]
fn a_chart_that_meets_damage_tells_the_health_of_it() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    let whole = scratch(&path, "profile_routing");
    thread::sleep(Duration::from_millis(700));
    for _ in 0..2 {
        let answer = server.get("/chart/routing.json");
        assert_eq!(answer.status, 503, "{}", answer.text());
    }
    healthy(&server, 503, "atlas.db");
    assert_eq!(server.get("/chart/growth.json?from=2001").status, 200);
    healthy(&server, 503, "atlas.db");
    write_over(&path, &whole);
    healthy(&server, 200, "ok\n");
    assert_eq!(server.get("/chart/routing.json").status, 200);
}

#[test]
fn a_damaged_ledger_is_told_to_who_asks_for_it_alone() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    let whole = scratch(&path, "ledger");
    thread::sleep(Duration::from_millis(700));
    for year in 2001..2004 {
        let answer = server.get("/ledger?q=x");
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert!(answer.text().contains("at the moment"));
        healthy(&server, 200, "ok\n");
        let path = format!("/chart/growth.json?from={year}");
        assert_eq!(server.get(&path).status, 200);
    }
    write_over(&path, &whole);
    assert_eq!(server.get("/ledger?q=x").status, 200);
}

/// A figure of the server.
fn figure(server: &Server, name: &str) -> String {
    let figures = server.get("/metrics").text().to_owned();
    let line = figures.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name}: {figures}"))
        .trim()
        .to_owned()
}

#[test]
fn what_is_in_memory_is_answered_while_the_store_cannot_be_read() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    let asked = ["/chart/growth.json?from=2019", "/chart/top?at=2019-01"];
    let before = asked.map(|path| server.get(path).body);
    let version = figure(&server, "weir_atlas_store_version");
    let whole = scratch(&path, "hour_totals");
    healthy(&server, 503, "atlas.db");
    // Some later checks.
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(700));
        for (path, before) in asked.iter().zip(&before) {
            let answer = server.get(path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert!(answer.body == *before, "{path}");
        }
        assert_eq!(server.get("/chart/growth.json?from=2001").status, 503);
        assert_eq!(figure(&server, "weir_atlas_store_version"), version);
    }
    write_over(&path, &whole);
    healthy(&server, 200, "ok\n");
    assert_eq!(server.get("/chart/growth.json?from=2001").status, 200);
}

#[test]
fn a_damaged_store_does_not_take_the_place_of_a_whole_one() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    let whole = fs::read(other(7).path().join("atlas.db")).expect("read");
    let mut sums = whole.clone();
    let from = other(7);
    let root = root_of(&from.path().join("atlas.db"), "month_totals");
    sums[root..root + 4096].fill(0);
    let mut rows = whole.clone();
    let root = root_of(&from.path().join("atlas.db"), "observations");
    rows[root..root + 4096].fill(0x5a);
    for damaged in [scratched(&whole), sums, rows] {
        let new = server.data.path().join("new.db");
        fs::write(&new, damaged).expect("written");
        fs::rename(&new, &path).expect("moved");
        missing(&server, 1);
        for year in 2000..2010 {
            let answer = server.get(&format!("/chart/growth.json?from={year}"));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        healthy(&server, 200, "atlas.db is damaged");
        put(&other(8), &server);
        shows(&server, 2, 8);
        missing(&server, 0);
        healthy(&server, 200, "ok\n");
    }
}
