//! A store that another file takes the place of while it is written.

use std::path::Path;

use atlas::Error;
use atlas::read::{FollowResult, Follower, PERIOD, snapshot};
use atlas::store::{Writer, open};
use testing::Directory;

use super::follow::{BODY, NOW, answer, server};
use super::{NAME, freifunk};

/// Name of other files.
const OTHER: &str = "20190301-12.00.00-ffSummarizedDir.json";

fn add(store: &mut Writer, name: &str, digest: u8) -> Result<(), Error> {
    let body = BODY.replace("\"a\":", "\"other\":");
    let read = snapshot(name, body.as_bytes(), &freifunk());
    store.add(&read, &[digest; 32])?;
    store.commit().map(drop)
}

/// Replaces the store of a folder by one with a community `other`.
fn put(folder: &Path) {
    // A folder of its own, because other tests do the same concurrently.
    let from = Directory::new();
    add(&mut Writer::open(from.path()).unwrap(), OTHER, 1).unwrap();
    std::fs::rename(from.path().join("atlas.db"), folder.join("atlas.db")).unwrap();
}

fn keys(folder: &Path) -> Vec<String> {
    let store = open(folder).unwrap();
    let check = store.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.as_deref(), Ok("ok"));
    let mut keys = store
        .prepare("SELECT key FROM communities ORDER BY key")
        .unwrap();
    let keys = keys.query_map([], |row| row.get(0)).unwrap();
    keys.map(Result::unwrap).collect()
}

#[test]
fn who_follows_goes_on_with_the_file_that_is_there() {
    let etag = "etag: \"e1\"\r\n";
    let (address, asked) = server(vec![
        answer("200 OK", etag, BODY),
        answer("200 OK", etag, BODY),
    ]);
    let folder = Directory::new();
    let mut store = Writer::open(folder.path()).unwrap();
    let mut follower = Follower::new(&address, PERIOD).unwrap();
    let new = FollowResult::New {
        entries: 1,
        remarks: 0,
    };
    let told = follower.ask(&freifunk(), NOW, &mut store).unwrap();
    assert_eq!(told, new);
    put(folder.path());
    assert_eq!(keys(folder.path()), ["other"]);
    let told = follower.ask(&freifunk(), NOW, &mut store).unwrap();
    assert_eq!(told, new);
    assert_eq!(keys(folder.path()), ["a", "other"]);
    // The validators belong to the old store.
    let asked = asked.join().unwrap();
    assert!(!asked[1].contains("if-none-match"), "{}", asked[1]);
}

/// SQLite would take the journal for that of the new file.
#[test]
fn the_journal_of_the_file_before_is_not_taken_over() {
    let folder = Directory::new();
    let mut store = Writer::open(folder.path()).unwrap();
    // An open reader keeps the journal from being emptied.
    let reader = open(folder.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM meta").unwrap();
    let version = "SELECT version FROM meta";
    let read = reader.query_row(version, [], |row| row.get::<_, i64>(0));
    read.unwrap();
    add(&mut store, NAME, 2).unwrap();
    let journal = folder.path().join("atlas.db-wal");
    assert!(std::fs::metadata(journal).unwrap().len() > 0);
    put(folder.path());
    assert!(store.renew().unwrap());
    assert_eq!(keys(folder.path()), ["other"]);
    assert!(!store.renew().unwrap());
}

#[test]
fn who_follows_makes_no_store_in_the_place_of_one_that_is_gone() {
    let folder = Directory::new();
    let path = folder.path().join("atlas.db");
    let mut store = Writer::open(folder.path()).unwrap();
    let mut follower = Follower::new("http://127.0.0.1:9/", PERIOD).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut fails = |says: &str| {
        let asked = follower.ask(&freifunk(), NOW, &mut store);
        let why = asked.unwrap_err().to_string();
        assert!(why.contains("atlas.db") && why.contains(says), "{why}");
    };
    fails("has disappeared");
    assert!(!path.exists());
    for (other, says) in [
        ("", "is empty: put a store there"),
        ("no database", "choose another folder"),
    ] {
        std::fs::write(&path, other).unwrap();
        fails(says);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
    }
    put(folder.path());
    let mut damaged = std::fs::read(&path).unwrap();
    damaged[4096..].fill(0x5a);
    std::fs::write(&path, &damaged).unwrap();
    fails("is damaged");
    assert!(std::fs::read(&path).unwrap() == damaged);
}

#[test]
fn an_import_ends_where_another_file_takes_the_place() {
    let folder = Directory::new();
    let mut store = Writer::open(folder.path()).unwrap();
    add(&mut store, NAME, 2).unwrap();
    put(folder.path());
    let why = add(&mut store, "20191011-00.00.00-ffSummarizedDir.json", 3);
    let why = why.unwrap_err().to_string();
    assert!(why.contains("atlas.db was replaced"), "{why}");
    assert!(why.contains("the same command"), "{why}");
    assert_eq!(keys(folder.path()), ["other"]);
}
