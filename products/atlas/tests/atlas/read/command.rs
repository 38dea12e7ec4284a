//! Errors of commands for unsuitable paths.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use atlas::read::import;
use atlas::store::{FILE, Writer};
use testing::Directory;

use super::follow::BODY;
use super::{NAME, freifunk};

/// Standard error of one that fails.
fn says(arguments: &[&str], data: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-atlas"));
    let done = command.args(arguments).arg("--data").arg(data).output();
    let done = done.unwrap();
    assert!(!done.status.success(), "{arguments:?}");
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn what_stands_in_the_way_is_named_with_the_fix() {
    let [folder, data, nothing] = [(); 3].map(|()| Directory::new());
    let file = folder.write(NAME, BODY.as_bytes());
    let [file_name, nothing_name] =
        [file.as_path(), nothing.path()].map(|path| path.to_str().unwrap());
    let mut store = Writer::open(data.path()).unwrap();
    let mut go_on = |_: &_| ControlFlow::Continue(());
    import(&[file_name.to_owned()], &freifunk(), &mut store, &mut go_on).unwrap();

    let in_the_way = format!("{file_name}: there is a file where a folder is needed");
    for (arguments, data) in [
        (["import", file_name].as_slice(), file.as_path()),
        (&["query", "SELECT 1"], file.as_path()),
        (&["site", file_name], data.path()),
        (&["export", "--parquet", file_name], data.path()),
    ] {
        let said = says(arguments, data);
        assert!(said.contains(&in_the_way), "{said}");
    }
    let said = says(&["import", ""], data.path());
    assert!(said.contains("the path is empty"), "{said}");
    let said = says(&["import", nothing_name], data.path());
    assert!(
        said.contains(&format!("{nothing_name} contains no directory file")),
        "{said}"
    );
    assert!(said.contains(".json, .csv"), "{said}");

    nothing.write(FILE, b"");
    let said = says(&["query", "SELECT 1"], nothing.path());
    assert!(said.contains("atlas.db is empty: "), "{said}");
}

/// Standard output of one that succeeds.
fn prints(arguments: &[&str], data: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-atlas"));
    let done = command.args(arguments).arg("--data").arg(data).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{arguments:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Names of files are others' texts.
#[test]
fn a_name_makes_neither_lines_nor_formulas() {
    let [folder, data] = [(); 2].map(|()| Directory::new());
    folder.write("a\nb: key: forged.json", b"no JSON");
    folder.write("=1+1.json", b"no JSON either");
    let place = folder.path().to_string_lossy().into_owned();
    let mut store = Writer::open(data.path()).unwrap();
    let mut go_on = |_: &_| ControlFlow::Continue(());
    import(&[place], &freifunk(), &mut store, &mut go_on).unwrap();

    let ledger = prints(&["ledger"], data.path());
    assert_eq!(ledger.lines().count(), 2, "{ledger}");
    assert!(
        ledger.contains("a b: key: forged.json: the file: "),
        "{ledger}"
    );
    let csv = prints(&["ledger", "--csv"], data.path());
    assert!(csv.contains("\n'=1+1.json,"), "{csv}");
    let table = prints(&["query", "SELECT 'x' AS \"a\nb\""], data.path());
    assert!(table.starts_with("a b\nx"), "{table}");
}
