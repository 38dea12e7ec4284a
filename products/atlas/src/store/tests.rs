//! A store has the same content however its snapshots were added.

use proptest::prelude::*;
use rusqlite::Connection;
use testing::Directory;

use super::sample::{digest, entry, sample, snapshot};
use super::*;
use crate::snapshot::{Entry, Remark, Snapshot, Status};
use crate::time::Unit;

/// Returns all rows of a query, as text.
fn rows(store: &Connection, sql: &str) -> Vec<String> {
    let mut query = store.prepare(sql).unwrap();
    let columns = query.column_count();
    let read = query.query_map([], |row| {
        let cells = (0..columns).map(|at| row.get::<_, rusqlite::types::Value>(at));
        let cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(format!("{cells:?}"))
    });
    read.unwrap().map(Result::unwrap).collect()
}

/// Everything but numbers that depend on the order of things.
fn all(store: &Connection) -> Vec<String> {
    let named = "JOIN communities c ON c.id = community JOIN profiles p ON p.id = o.profile";
    let part = "c.key, digest, live, stale, frozen, listed";
    let sum = "c.key, hours, nodes, least, most, live, stale, frozen, listed, odd, digest";
    [
        format!(
            "SELECT hour, c.key, nodes, status, counted, digest, fetched
             FROM observations o {named} ORDER BY 1, 2"
        ),
        format!("SELECT day, {sum} FROM days o {named} ORDER BY 1, 2"),
        format!("SELECT month, {sum} FROM months o {named} ORDER BY 1, 2"),
        format!("SELECT day, {part} FROM day_profiles o {named} ORDER BY 1, 2, digest"),
        format!("SELECT month, {part} FROM month_profiles o {named} ORDER BY 1, 2, digest"),
        "SELECT * FROM hour_totals".into(),
        "SELECT * FROM day_totals".into(),
        "SELECT * FROM month_totals".into(),
        "SELECT key, digest, first_hour, last_hour
         FROM communities c JOIN profiles p ON p.id = c.profile ORDER BY 1"
            .into(),
        "SELECT digest, name, hour, entries FROM files ORDER BY 1".into(),
        "SELECT file, hour, key, what, read_as FROM ledger ORDER BY 1, 2, 3, 4".into(),
    ]
    .iter()
    .flat_map(|sql| rows(store, sql))
    .collect()
}

#[test]
fn sums_of_days_and_months() {
    let begin = Unit::Month.begin(2019 * 12 + 9);
    let odd = Entry {
        status: Status::Odd,
        ..entry(begin, "c", -7)
    };
    let stale = Entry {
        status: Status::Stale,
        ..entry(begin + 1, "a", 6)
    };
    let silent = Entry {
        nodes: None,
        ..entry(begin + 1, "b", 0)
    };
    let (_folder, store) = sample(&[
        snapshot(begin, vec![entry(begin, "a", 5), entry(begin, "b", 3), odd]),
        snapshot(begin + 1, vec![stale, silent]),
        snapshot(begin + 24, vec![entry(begin + 24, "a", 9)]),
    ]);
    let day = Unit::Day.number(begin);
    let of = |sql: &str| rows(&store, sql).join("\n").replace("Integer", "");
    assert_eq!(
        of(&format!(
            "SELECT hour - {begin}, live, stale, frozen, listed, odd FROM hour_totals"
        )),
        "[(0), (8), (0), (0), (3), (1)]\n[(1), (0), (6), (0), (2), (0)]\n\
         [(24), (9), (0), (0), (1), (0)]"
    );
    assert_eq!(
        of(&format!(
            "SELECT key, hours, nodes, least, most, live, stale, frozen, listed, odd
             FROM days JOIN communities ON id = community WHERE day = {day} ORDER BY key"
        )),
        "[Text(\"a\"), (2), (11), (5), (6), (5), (6), (0), (2), (0)]\n\
         [Text(\"b\"), (1), (3), (3), (3), (3), (0), (0), (2), (0)]\n\
         [Text(\"c\"), (0), (0), Null, Null, (0), (0), (0), (1), (1)]"
    );
    assert_eq!(
        of(
            "SELECT key, hours, nodes, least, most, live, stale, listed, odd
            FROM months JOIN communities ON id = community WHERE key = 'a'"
        ),
        "[Text(\"a\"), (3), (20), (5), (9), (14), (6), (3), (0)]"
    );
    assert_eq!(
        of("SELECT * FROM month_totals"),
        "[(24237), (3), (17), (6), (0), (6), (1)]"
    );
    assert_eq!(
        of("SELECT * FROM day_totals LIMIT 1"),
        format!("[({day}), (2), (8), (6), (0), (5), (1)]")
    );
}

#[test]
fn of_two_files_of_an_hour_the_later_fetch_counts() {
    let early = snapshot(100, vec![entry(100, "a", 5), entry(100, "m", 9)]);
    let mut late = snapshot(100, vec![entry(100, "a", 7), entry(100, "b", 4)]);
    for entry in &mut late.entries {
        entry.fetched += 60;
        entry.profile.metacommunity = Some("m".into());
    }
    for order in [[&early, &late], [&late, &early]] {
        let (_folder, store) = sample(&order.map(Clone::clone));
        let sql = "SELECT key, nodes, counted FROM observations JOIN communities ON id = community
                   ORDER BY key";
        assert_eq!(
            rows(&store, sql).join(" ").replace("Integer", ""),
            r#"[Text("a"), (7), (1)] [Text("b"), (4), (1)] [Text("m"), (9), (0)]"#
        );
        assert_eq!(
            rows(&store, "SELECT live FROM hour_totals"),
            ["[Integer(11)]"]
        );
    }
}

#[test]
fn a_file_twice_changes_nothing() {
    let folder = Directory::new();
    let mut writer = Writer::open(folder.path()).unwrap();
    let mut one = snapshot(5, vec![entry(5, "a", 1)]);
    one.remarks.push(Remark {
        key: None,
        what: "ends early".into(),
        read_as: "left out".into(),
    });
    writer.add(&one, &[1; 32]).unwrap();
    assert!(writer.knows(&[1; 32]).unwrap());
    writer.commit().unwrap();
    let store = open(folder.path()).unwrap();
    let (before, first) = (all(&store), version(&store).unwrap());
    writer.add(&one, &[1; 32]).unwrap();
    writer.commit().unwrap();
    assert_eq!(
        (all(&store), version(&store).unwrap()),
        (before.clone(), first)
    );
    // A copy of the file with more white space: its hour is rewritten.
    writer.add(&one, &[2; 32]).unwrap();
    writer.commit().unwrap();
    assert!(version(&store).unwrap() > first);
    assert_eq!(all(&store).len(), before.len() + 1);
    assert_eq!(
        rows(&store, "SELECT count(*) FROM ledger"),
        ["[Integer(1)]"]
    );
}

#[test]
fn a_directory_without_entries_is_no_hour() {
    let (_folder, store) = sample(&[snapshot(5, Vec::new())]);
    assert_eq!(
        rows(&store, "SELECT count(*) FROM hour_totals"),
        ["[Integer(0)]"]
    );
    assert_eq!(
        rows(&store, "SELECT hour, entries FROM files"),
        ["[Null, Integer(0)]"]
    );
}

/// A file that another mapping can read is read, though this one could not.
#[test]
fn what_was_left_out_is_tried_again() {
    let folder = Directory::new();
    let mut writer = Writer::open(folder.path()).unwrap();
    for _ in 0..2 {
        writer.add(&snapshot(5, Vec::new()), &[1; 32]).unwrap();
        writer.commit().unwrap();
        assert!(!writer.knows(&[1; 32]).unwrap());
    }
    let found = snapshot(5, vec![entry(5, "a", 7)]);
    writer.add(&found, &[1; 32]).unwrap();
    writer.commit().unwrap();
    assert!(writer.knows(&[1; 32]).unwrap());
}

#[test]
fn what_was_not_committed_is_not_there() {
    let folder = Directory::new();
    let mut writer = Writer::open(folder.path()).unwrap();
    let one = snapshot(5, vec![entry(5, "a", 1)]);
    writer.add(&one, &[1; 32]).unwrap();
    drop(writer);
    let mut writer = Writer::open(folder.path()).unwrap();
    assert!(!writer.knows(&[1; 32]).unwrap());
    // After a failed commit, the next one writes all of it.
    let store = Connection::open(folder.path().join(FILE)).unwrap();
    store
        .execute_batch("ALTER TABLE files RENAME TO hidden")
        .unwrap();
    let mut other = Writer::open(folder.path()).unwrap();
    assert!(other.add(&one, &[1; 32]).is_err());
    store
        .execute_batch("ALTER TABLE hidden RENAME TO files")
        .unwrap();
    writer.add(&one, &[1; 32]).unwrap();
    store
        .execute_batch("ALTER TABLE hour_totals RENAME TO hidden")
        .unwrap();
    assert!(writer.commit().is_err());
    store
        .execute_batch("ALTER TABLE hidden RENAME TO hour_totals")
        .unwrap();
    writer.commit().unwrap();
    assert_eq!(
        rows(&store, "SELECT live FROM month_totals"),
        ["[Integer(1)]"]
    );
}

#[test]
fn files_of_others_are_left_alone() {
    let refused = |prepare: &dyn Fn(&std::path::Path)| {
        let folder = Directory::new();
        prepare(&folder.path().join(FILE));
        let before = std::fs::read(folder.path().join(FILE)).unwrap();
        let error = Writer::open(folder.path())
            .err()
            .expect("refused")
            .to_string();
        assert!(open(folder.path()).is_err());
        assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), before);
        error
    };
    let sql = |text: &'static str| {
        move |path: &std::path::Path| Connection::open(path).unwrap().execute_batch(text).unwrap()
    };
    let error = refused(&|path| std::fs::write(path, "not a database at all").unwrap());
    assert!(error.contains("is not a database"), "{error}");
    let error = refused(&sql("CREATE TABLE other (a)"));
    assert!(error.contains("belongs to another program"), "{error}");
    let error = refused(&sql(
        "PRAGMA application_id = 1463907436; PRAGMA user_version = 99; VACUUM",
    ));
    assert!(error.contains("newer weir-atlas"), "{error}");
    let error = refused(&sql(
        "PRAGMA application_id = 1463907436; PRAGMA user_version = 1; VACUUM",
    ));
    assert!(
        error.ends_with(
            "atlas.db has tables of version 1, this weir-atlas needs 2: move the file away and \
             import again"
        ),
        "{error}"
    );
    let nothing = Directory::new();
    let error = open(nothing.path()).unwrap_err().to_string();
    assert!(error.contains("weir-atlas import"), "{error}");
}

#[test]
fn what_is_no_file_is_refused() {
    let (pipe, under) = (Directory::new(), Directory::new());
    nix::unistd::mkfifo(&pipe.path().join(FILE), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::create_dir(under.path().join(FILE)).unwrap();
    for folder in [pipe, under] {
        let opened = open(folder.path()).map(drop);
        let written = Writer::open(folder.path()).map(drop);
        for error in [opened, written].map(|opened| opened.unwrap_err().to_string()) {
            assert!(
                error.ends_with("atlas.db is not a regular file: move it away"),
                "{error}"
            );
        }
    }
}

/// Two stores from the same backup have different versions.
#[test]
fn versions_of_two_that_were_one_differ() {
    let (one, _) = sample(&[snapshot(5, vec![entry(5, "a", 1)])]);
    let other = Directory::new();
    std::fs::copy(one.path().join(FILE), other.path().join(FILE)).unwrap();
    let versions = [(&one, 2), (&other, 3)].map(|(folder, nodes)| {
        let before = version(&open(folder.path()).unwrap()).unwrap();
        let mut writer = Writer::open(folder.path()).unwrap();
        let added = snapshot(6, vec![entry(6, "a", nodes)]);
        writer.add(&added, &digest(&added)).unwrap();
        writer.commit().unwrap();
        let after = version(&open(folder.path()).unwrap()).unwrap();
        assert!(after > before);
        after
    });
    assert_ne!(versions[0], versions[1]);
}

#[test]
fn one_writes_at_a_time() {
    let (folder, _) = sample(&[snapshot(5, vec![entry(5, "a", 1)])]);
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut writer = Writer::open(folder.path()).unwrap();
    writer
        .add(&snapshot(6, vec![entry(6, "a", 2)]), &[6; 32])
        .unwrap();
    let error = writer.commit().unwrap_err().to_string();
    assert!(error.contains("written by another weir-atlas"), "{error}");
    other.execute_batch("COMMIT").unwrap();
    writer.commit().unwrap();
    let store = open(folder.path()).unwrap();
    assert_eq!(
        rows(&store, "SELECT live FROM month_totals"),
        ["[Integer(3)]"]
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(Writer::open(&file).is_err());
}

#[test]
fn readers_read_while_one_writes_and_write_nothing() {
    let (folder, store) = sample(&[snapshot(5, vec![entry(5, "a", 1)])]);
    assert!(store.execute_batch("DELETE FROM observations").is_err());
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other
        .execute_batch("BEGIN EXCLUSIVE; DELETE FROM hour_totals")
        .unwrap();
    assert_eq!(
        rows(&store, "SELECT live FROM hour_totals"),
        ["[Integer(1)]"]
    );
}

#[test]
fn what_readers_map_has_room() {
    let (_folder, store) = sample(&[snapshot(5, vec![entry(5, "a", 1)])]);
    let mapped = store.query_row("PRAGMA mmap_size", [], |row| row.get::<_, i64>(0));
    // Mapped by a dozen readers, in half of the address space.
    assert!(mapped.unwrap() as u64 <= usize::MAX as u64 / 2 / 12);
}

prop_compose! {
    fn some_entry()(
        key in 0usize..6,
        nodes in proptest::option::of(-1i64..9),
        status in 0usize..3,
        fetched in 0i64..3,
        name in proptest::option::of(0usize..6),
        metacommunity in proptest::option::of(0usize..6),
    ) -> Entry {
        let mut entry = entry(0, &key.to_string(), 0);
        entry.nodes = nodes;
        entry.fetched = fetched;
        entry.status = match nodes {
            Some(-1) => Status::Odd,
            _ => [Status::Live, Status::Stale, Status::Frozen][status],
        };
        if let Some(name) = name {
            entry.profile.name = name.to_string();
        }
        entry.profile.metacommunity = metacommunity.map(|name| name.to_string());
        entry
    }
}

prop_compose! {
    fn some_snapshot()(
        hour in 0i64..4,
        day in 29i64..34,
        entries in proptest::collection::vec(some_entry(), 0..8),
    ) -> Snapshot {
        let mut snapshot = snapshot(day * 24 + hour, entries);
        let mut known = std::collections::HashSet::new();
        snapshot.entries.retain(|entry| known.insert(entry.key.clone()));
        snapshot
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_order_does_not_matter(
        snapshots in proptest::collection::vec(some_snapshot(), 1..12),
        turn in 0usize..12,
        batch in 1usize..4,
    ) {
        let (_folder, at_once) = sample(&snapshots);
        let mut turned = snapshots;
        let by = turn % turned.len();
        turned.rotate_left(by);
        turned.reverse();
        let folder = Directory::new();
        for some in turned.chunks(batch) {
            let mut writer = Writer::open(folder.path()).unwrap();
            for snapshot in some {
                writer.add(snapshot, &digest(snapshot)).unwrap();
            }
            writer.commit().unwrap();
        }
        let store = open(folder.path()).unwrap();
        prop_assert_eq!(all(&at_once), all(&store));
        // The sums equal those of all observations, computed in another way.
        for (unit, table) in [(Unit::Day, "days"), (Unit::Month, "months")] {
            let column = unit.word();
            let sum = |status: i64| {
                format!("coalesce(sum(nodes) FILTER (WHERE counted AND status = {status}), 0)")
            };
            let begin = "strftime('%Y', hour * 3600, 'unixepoch') * 12
                         + strftime('%m', hour * 3600, 'unixepoch') - 1";
            let number = if unit == Unit::Day { "hour / 24" } else { begin };
            let observed = format!(
                "SELECT {number}, community,
                   count(nodes) FILTER (WHERE status < 3),
                   coalesce(sum(nodes) FILTER (WHERE status < 3), 0),
                   min(nodes) FILTER (WHERE status < 3), max(nodes) FILTER (WHERE status < 3),
                   {}, {}, {}, count(*), count(*) FILTER (WHERE status = 3)
                 FROM observations GROUP BY 1, 2 ORDER BY 1, 2",
                sum(0), sum(1), sum(2)
            );
            let summed = format!(
                "SELECT {column}, community, hours, nodes, least, most, live, stale, frozen, listed,
                   odd
                 FROM {table} ORDER BY 1, 2"
            );
            prop_assert_eq!(rows(&store, &summed), rows(&store, &observed));
            let summed = format!("SELECT * FROM {column}_profiles ORDER BY 1, 2, 3");
            let observed = format!(
                "SELECT number, community, profile, live, stale, frozen, listed
                 FROM (SELECT {number} AS number, community, profile, {} AS live, {} AS stale,
                     {} AS frozen, count(*) AS listed,
                     count(*) OVER (PARTITION BY {number}, community) AS profiles
                   FROM observations GROUP BY 1, 2, 3)
                 WHERE profiles > 1 ORDER BY 1, 2, 3",
                sum(0), sum(1), sum(2)
            );
            prop_assert_eq!(rows(&store, &summed), rows(&store, &observed));
            let summed = format!("SELECT * FROM {column}_totals ORDER BY 1");
            let observed = format!(
                "SELECT {number}, count(DISTINCT hour), {}, {}, {}, count(*),
                   count(*) FILTER (WHERE status = 3)
                 FROM observations GROUP BY 1 ORDER BY 1",
                sum(0), sum(1), sum(2)
            );
            prop_assert_eq!(rows(&store, &summed), rows(&store, &observed));
        }
    }
}
