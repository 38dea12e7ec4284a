//! A store that another takes the place of while it is served.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::served::{Folder, PROGRAM, Server};

const SQL: &str = "/sql?q=SELECT+count(*)+FROM+hours&format=json";

/// A data folder with one community, which has so many nodes in one hour.
fn other(nodes: u32) -> Folder {
    let data = Folder::new();
    add(data.path(), 2, nodes);
    data
}

fn add(data: &Path, day: u32, nodes: u32) {
    let from = Folder::new();
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

fn put(from: &Folder, server: &Server) {
    let to = server.data.path().join("atlas.db");
    fs::rename(from.path().join("atlas.db"), to).expect("moved");
}

fn shows(server: &Server, day: u32, nodes: u32) {
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

fn missing(server: &Server, count: u32) {
    let line = format!("weir_atlas_store_missing {count}\n");
    for _ in 0..100 {
        let figures = server.get("/metrics");
        if figures.text().contains(&line) {
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
                        // Each of its own, so that none is answered from memory.
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
        // What is written to it is seen too.
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
