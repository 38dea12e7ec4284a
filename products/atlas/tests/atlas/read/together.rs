//! Two who import the same files at the same time, under other names.

use std::ops::ControlFlow;

use atlas::read::{Progress, import};
use atlas::store::{Writer, open};
use testing::Directory;

use super::{NAME, freifunk};

const LATER: &str = "20191010-01.00.00-ffSummarizedDir.json";

/// Files, known ones, entries and remarks.
fn counts(done: &Progress) -> [u64; 4] {
    [done.files, done.known, done.entries, done.remarks]
}

#[test]
fn what_another_import_has_written_meanwhile_is_known() {
    let [one, other, data] = [(); 3].map(|()| Directory::new());
    let body =
        br#"{"a":{"name":"A","state":{"nodes":"many"}},"b":{"name":"B","state":{"nodes":1}}}"#;
    // Both have the same files, the other one in a subfolder.
    for file in [NAME, LATER] {
        one.write(file, body);
        other.write(&format!("below/{file}"), body);
    }
    let [one, other] = [&one, &other].map(|folder| [folder.path().to_string_lossy().into_owned()]);
    let mut first = Writer::open(data.path()).unwrap();
    let mut second = None;
    let mut between = |_: &Progress| {
        second.get_or_insert_with(|| {
            let mut store = Writer::open(data.path()).unwrap();
            let mut go_on = |_: &Progress| ControlFlow::Continue(());
            import(&other, &freifunk(), &mut store, &mut go_on).unwrap()
        });
        ControlFlow::Continue(())
    };
    let done = import(&one, &freifunk(), &mut first, &mut between).unwrap();
    let second = second.unwrap();
    assert!(second.remarks > 0, "{second:?}");
    assert_eq!(counts(&second), [2, 0, 4, second.remarks]);
    assert_eq!(counts(&done), [0, 2, 0, 0]);

    let store = open(data.path()).unwrap();
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        let count = store.query_row(&sql, [], |row| row.get::<_, i64>(0));
        count.unwrap().cast_unsigned()
    };
    assert_eq!(count("ledger"), second.remarks);
    assert_eq!(count("files WHERE name LIKE 'below/%'"), 2);
}
