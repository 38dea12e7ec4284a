//! Total memory of the server and its queries.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use atlas::snapshot::{Entry, Profile, Snapshot, Status};
use atlas::store;
use testing::Directory;

use super::shares::connect_from;
use crate::served::Server;

/// Goal for the total, and its part for cached answers and those being sent, absent here.
const MOST: u64 = 256 << 10;
const KEPT: u64 = (32 + 8 + 24 + 8) << 10;

/// Two queries that use all their memory.
#[test]
fn the_server_and_two_large_queries_have_room_in_256_mb() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/sql?format=json&q=SELECT+1").status, 200);
    let large = "WITH+RECURSIVE+x(n)+AS+(SELECT+1+UNION+ALL+SELECT+n%2B1+FROM+x)+\
                 SELECT+n+FROM+x+ORDER+BY+printf(%27%25.*c%27,1000,char(65))||n";
    let asked = [1, 2].map(|last| {
        let mut stream = connect_from(&server, last);
        let head = format!("GET /sql?format=json&q={large} HTTP/1.1\r\nHost: a\r\n");
        let request = format!("{head}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        thread::spawn(move || {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("answered");
            answer
        })
    });
    let mut most = 0;
    while asked.iter().any(|asked| !asked.is_finished()) {
        most = most.max(together(server.child.id()));
        thread::sleep(Duration::from_millis(5));
    }
    for asked in asked {
        let answer = asked.join().expect("no panic");
        assert!(answer.contains("needs more than"), "{answer}");
    }
    assert!(most + KEPT <= MOST, "{most} KB, and {KEPT} KB of answers");
    assert!(most > 100 << 10, "{most} KB: they were not seen");
}

/// A community with twenty protocols, different in each hour.
#[test]
fn as_many_protocols_as_can_be_take_little() {
    let data = Directory::new();
    let mut writer = store::Writer::open(data.path()).expect("a store");
    let begin = 50 * 365 * 24;
    for hour in begin..begin + 500 {
        let profile = Profile {
            name: "a".into(),
            routing: (0..20).map(|at| format!("{hour}-{at}")).collect(),
            ..Profile::default()
        };
        let entry = Entry {
            key: "a".into(),
            nodes: Some(1),
            status: Status::Live,
            fetched: hour * 3600,
            profile,
        };
        let snapshot = Snapshot {
            file: format!("{hour}.json"),
            hour,
            entries: vec![entry],
            remarks: Vec::new(),
        };
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&hour.to_le_bytes());
        writer.add(&snapshot, &digest).expect("added");
    }
    writer.commit().expect("committed");
    drop(writer);
    let server = Server::of(data, &[]);
    let answer = server.get("/chart/routing.json?by=hour");
    let series = answer.json()["series"].as_array().map_or(0, Vec::len);
    assert_eq!((answer.status, series), (200, 10_000));
    let most = highest(server.child.id());
    assert!(most < 80 << 10, "{most} KB");
}

/// Kilobytes that a process had at most.
fn highest(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

/// Kilobytes of a process and its children, each shared page once.
fn together(process: u32) -> u64 {
    let folder = format!("/proc/{process}");
    let tasks = fs::read_dir(Path::new(&folder).join("task")).into_iter();
    let children = tasks.flatten().flatten().map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        let children = children.unwrap_or_default();
        let each = children.split_whitespace().filter_map(|id| id.parse().ok());
        each.map(together).sum::<u64>()
    });
    proportional(&folder) + children.sum::<u64>()
}

fn proportional(folder: &str) -> u64 {
    let sums = fs::read_to_string(format!("{folder}/smaps_rollup")).unwrap_or_default();
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
