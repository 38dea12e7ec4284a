//! A store that another takes the place of while it is served.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use testing::Directory;

use crate::served::{PROGRAM, Server};

const SQL: &str = "/sql?q=SELECT+count(*)+FROM+hours&format=json";

/// Builds a data folder with one community, which has `nodes` nodes in one hour.
pub fn other(nodes: u32) -> Directory {
    let data = Directory::new();
    add(data.path(), 2, nodes);
    data
}

pub fn add(data: &Path, day: u32, nodes: u32) {
    let from = Directory::new();
    let text = format!(
        "{{\"new\":{{\"name\":\"New\",\"state\":{{\"nodes\":{nodes}}},\
         \"mtime\":\"2020-04-0{day} 10:00:00\"}}}}"
    );
    let name = format!("2020040{day}-12.00.00-ffSummarizedDir.json");
    fs::write(from.path().join(name), text).expect("written");
    let mut import = Command::new(PROGRAM);
    import
        .arg("import")
        .arg(from.path())
        .arg("--data")
        .arg(data);
    assert!(import.output().expect("the program").status.success());
}

pub fn put(from: &Directory, server: &Server) {
    let to = server.data.path().join("atlas.db");
    fs::rename(from.path().join("atlas.db"), to).expect("moved");
}

pub fn shows(server: &Server, day: u32, nodes: u32) {
    let path = "/chart/growth.json?from=2020-04&to=2020-04&by=day";
    let row = format!("\"t\":\"2020-04-0{day}T00:00:00Z\",\"nodes\":{nodes}");
    let mut seen = String::new();
    for _ in 0..100 {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{}", answer.text());
        seen = answer.text().replace(' ', "");
        if seen.contains(&row) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not {row}: {seen}");
}

pub fn missing(server: &Server, count: u32) {
    told(server, &format!("weir_atlas_store_missing {count}\n"));
}

/// Waits for a line of the figures.
pub fn told(server: &Server, line: &str) {
    for _ in 0..100 {
        let figures = server.get("/metrics");
        if figures.text().contains(line) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not {line}: {}", server.get("/metrics").text());
}

/// Has those who ask end, also where the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn another_file_is_asked_from_then_on_and_no_client_has_an_error() {
    let server = Server::start(&[]);
    let (end, server) = (AtomicBool::new(false), &server);
    thread::scope(|scope| {
        let end = &end;
        let ends = Ends(end);
        let askers: Vec<_> = (0..3)
            .map(|asker| {
                scope.spawn(move || {
                    for number in 0.. {
                        if end.load(Ordering::Relaxed) {
                            break;
                        }
                        // Each query is unique, so that no answer comes from memory.
                        let year = 1970 + (asker * 70 + number % 70);
                        let answer = server.get(&format!("/chart/growth.json?from={year}"));
                        assert_eq!(answer.status, 200, "{}", answer.text());
                    }
                })
            })
            .collect();
        for nodes in [7, 8] {
            put(&other(nodes), server);
            shows(server, 2, nodes);
        }
        // Writes to the new file are seen too.
        add(server.data.path(), 3, 9);
        shows(server, 3, 9);
        drop(ends);
        for asker in askers {
            asker.join().expect("no error");
        }
    });
    missing(server, 0);
}

/// SQLite would take the journal for that of the new file.
#[test]
fn the_journal_of_the_file_before_goes_with_it() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    let writer = rusqlite::Connection::open(&path).expect("opened");
    let written = "PRAGMA wal_autocheckpoint = 0; UPDATE meta SET version = version + 1;
                   DELETE FROM hour_totals; DELETE FROM day_totals; DELETE FROM month_totals;";
    writer.execute_batch(written).expect("written");
    drop(writer);
    let journal = server.data.path().join("atlas.db-wal");
    assert!(fs::metadata(&journal).expect("a journal").len() > 0);
    thread::sleep(Duration::from_millis(700));
    put(&other(7), &server);
    shows(&server, 2, 7);
    add(server.data.path(), 3, 9);
    shows(&server, 3, 9);
    let store = rusqlite::Connection::open(&path).expect("opened");
    let check = store.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.as_deref(), Ok("ok"));
}

#[test]
fn a_file_that_is_gone_or_none_of_ours_is_said_and_the_one_before_goes_on() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    missing(&server, 0);
    fs::remove_file(&path).expect("removed");
    missing(&server, 1);
    for year in 2000..2020 {
        let answer = server.get(&format!("/chart/growth.json?from={year}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    fs::write(&path, "no database").expect("written");
    missing(&server, 1);
    assert_eq!(server.get("/chart/growth.json?from=1999").status, 200);
    put(&other(7), &server);
    shows(&server, 2, 7);
    missing(&server, 0);
}

/// A pipe without an end that writes: who opens it waits for good.
#[test]
fn what_is_no_file_is_not_opened() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    assert_eq!(server.get(SQL).status, 200);
    let moved = server.data.path().join("moved.db");
    fs::rename(&path, &moved).expect("moved");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    missing(&server, 1);
    for year in 2000..2020 {
        let answer = server.get(&format!("/chart/growth.json?from={year}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    fs::remove_file(&path).expect("removed");
    put(&other(7), &server);
    shows(&server, 2, 7);
    missing(&server, 0);
}

fn asks_sql(server: &Server) {
    // Each query is unique, so that no answer comes from memory.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let answer =
        server.get(&format!("{SQL}&lang=en").replace("hours", &format!("hours+h{number}")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.text().contains("\"rows\":[[3]]"),
        "{}",
        answer.text()
    );
}

#[test]
fn free_queries_go_on_with_the_copy_of_the_store_that_was_there() {
    let server = Server::start(&[]);
    let path = server.data.path().join("atlas.db");
    asks_sql(&server);
    let whole = fs::read(&path).expect("read");
    let moved = server.data.path().join("moved.db");
    fs::write(&moved, &whole[..whole.len() / 2]).expect("written");
    fs::rename(&moved, &path).expect("moved");
    missing(&server, 1);
    // Longer than a cached version of the store is valid.
    for _ in 0..14 {
        asks_sql(&server);
        thread::sleep(Duration::from_millis(500));
    }
    for copy in [false, true] {
        if copy {
            fs::remove_file(server.data.path().join("public.db")).expect("removed");
        }
        fs::remove_file(&path).expect("removed");
        for there in [false, true] {
            if there {
                fs::create_dir(&path).expect("a folder");
            }
            missing(&server, 1);
            if !copy {
                asks_sql(&server);
                continue;
            }
            for _ in 0..3 {
                let answer = server.get(SQL);
                assert_eq!(answer.status, 503, "{}", answer.text());
                assert!(answer.header("retry-after").is_some());
                assert!(!answer.text().contains("/tmp"), "{}", answer.text());
            }
        }
        fs::remove_dir(&path).expect("removed");
        fs::write(&path, "no database").expect("written");
    }
    put(&other(7), &server);
    shows(&server, 2, 7);
    let answer = server.get(SQL);
    assert!(
        answer.text().contains("\"rows\":[[1]]"),
        "{}",
        answer.text()
    );
}

#[test]
fn a_copy_that_is_gone_or_damaged_is_made_anew_at_once() {
    let server = Server::start(&[]);
    let copy = server.data.path().join("public.db");
    asks_sql(&server);
    let whole = fs::read(&copy).expect("read");
    fs::remove_file(&copy).expect("removed");
    asks_sql(&server);
    let half = &whole[..whole.len() / 2];
    let broken = [&whole[..4096], &vec![0x5a; whole.len() - 4096]].concat();
    // Seems intact until more than the store's version is read.
    let mut scratched = broken.clone();
    let meta = root_of(&copy, "meta");
    scratched[meta..meta + 4096].copy_from_slice(&whole[meta..meta + 4096]);
    for damaged in [&b""[..], b"no database", half, &broken, &scratched] {
        // In its place, and as another file.
        fs::write(&copy, damaged).expect("written");
        asks_sql(&server);
        let new = server.data.path().join("new.db");
        fs::write(&new, damaged).expect("written");
        fs::rename(&new, &copy).expect("moved");
        asks_sql(&server);
    }
    fs::remove_file(&copy).expect("removed");
    nix::unistd::mkfifo(&copy, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    asks_sql(&server);
}

/// Returns the offset of a table.
pub fn root_of(path: &Path, table: &str) -> usize {
    let store = rusqlite::Connection::open(path).expect("opened");
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root = store.query_row(root, [table], |row| row.get::<_, u32>(0));
    4096 * (root.expect("a table") as usize - 1)
}
