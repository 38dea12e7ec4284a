//! Folders of `site` and `export`: no foreign file is lost, and no file is written elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testing::Directory;

use crate::served::{self, PROGRAM};

/// A command that writes into a folder, and a file that it writes there.
const COMMANDS: [(&[&str], &str); 2] = [
    (&["site"], "chart/top.json"),
    (&["export", "--parquet"], "months.parquet"),
];

/// Runs a command, and returns its exit code and output.
fn run(command: &[&str], out: &Path, data: &Directory, more: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(PROGRAM);
    program.args(command).arg(out).arg("--data");
    let done = program.arg(data.path()).args(more).output();
    let done = done.expect("the program");
    let said = [done.stdout, done.stderr].concat();
    (
        done.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// Returns the content of a folder, by name: files with their content, links with their targets.
fn all(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_symlink() {
            let to = fs::read_link(&path).expect("a link");
            found.insert(name.into_owned(), format!("to {}", to.display()));
        } else if path.is_dir() {
            let inner = all(&path).into_iter();
            found.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
            found.insert(format!("{name}/"), String::new());
        } else {
            let octets = fs::read(&path).expect("a file");
            let text = String::from_utf8_lossy(&octets).into_owned();
            found.insert(name.into_owned(), text);
        }
    }
    found
}

/// Checks that a command fails with these texts, and leaves the folder as it is.
fn refuses(command: &[&str], out: &Path, data: &Directory, more: &[&str], says: &[&str]) {
    let before = all(out);
    let (code, said) = run(command, out, data, more);
    assert_eq!(code, Some(2), "{command:?}: {said}");
    for part in says {
        assert!(said.contains(part), "{command:?}: {said}");
    }
    assert!(all(out) == before, "{command:?} wrote: {said}");
}

#[test]
fn a_folder_of_others_is_left_alone() {
    let data = served::data();
    for (command, _) in COMMANDS {
        let out = Directory::new();
        let names = ["observations-1999.parquet", "months.parquet", "index.html"];
        for name in names {
            fs::write(out.path().join(name), "mine").expect("written");
        }
        let name = out.path().display().to_string();
        refuses(command, out.path(), &data, &[], &[&name, "--force"]);
        // Then the folder belongs to the command, and foreign files are unchanged.
        for more in [&["--force"][..], &[]] {
            let (code, said) = run(command, out.path(), &data, more);
            assert_eq!(code, Some(0), "{said}");
            let kept = fs::read(out.path().join(names[0])).expect("a file");
            assert_eq!(kept, b"mine", "{command:?}");
        }
    }
}

#[test]
fn a_file_of_others_in_an_own_folder_is_not_written_over() {
    let data = served::data();
    for (command, file) in COMMANDS {
        let out = Directory::new();
        assert_eq!(run(command, out.path(), &data, &[]).0, Some(0));
        // As if this one had not been written before.
        let list = format!(".weir-atlas-{}", command[0]);
        let list = out.path().join(list);
        let lines = fs::read_to_string(&list).expect("a list");
        let others = lines.lines().filter(|line| !line.ends_with(file));
        let others: Vec<&str> = others.collect();
        fs::write(&list, others.join("\n")).expect("written");
        let there = out.path().join(file);
        fs::write(&there, "mine").expect("written");
        refuses(command, out.path(), &data, &[], &[file, "--force"]);
        let (code, said) = run(command, out.path(), &data, &["--force"]);
        assert_eq!(code, Some(0), "{said}");
        assert_ne!(fs::read(&there).expect("a file"), b"mine");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let data = served::data();
    for (command, file) in COMMANDS {
        let list = format!(".weir-atlas-{}", command[0]);
        let new = format!("{file}.new");
        let folder = file.split('/').next().expect("a name");
        for link in [folder, file, &new, &list] {
            let (out, outside) = (Directory::new(), Directory::new());
            let from = out.path().join(link);
            fs::create_dir_all(from.parent().expect("a folder")).expect("made");
            symlink(outside.path(), &from).expect("a link");
            let says = [from.to_str().expect("text"), "is a link"];
            refuses(command, out.path(), &data, &["--force"], &says);
            assert!(all(outside.path()).is_empty(), "{link}");
        }
        // Not removed either, if it replaced a written file.
        let (out, outside) = (Directory::new(), Directory::new());
        assert_eq!(run(command, out.path(), &data, &[]).0, Some(0));
        let kept = outside.path().join("kept");
        fs::write(&kept, "My page").expect("written");
        symlink(outside.path(), out.path().join("away")).expect("a link");
        let tag = blake3::hash(b"My page").to_hex().to_string();
        let list = out.path().join(&list);
        let mut lines = fs::read_to_string(&list).expect("a list");
        lines.push_str(&format!("{} away/kept\n", &tag[..16]));
        fs::write(&list, lines).expect("written");
        let (code, said) = run(command, out.path(), &data, &[]);
        assert_eq!(code, Some(0), "{said}");
        assert!(kept.exists(), "{command:?}");
    }
}

#[test]
fn a_folder_in_the_way_is_found_before_anything_is_written() {
    let data = served::data();
    for (command, file) in COMMANDS {
        for name in [file.to_owned(), format!("{file}.new")] {
            let out = Directory::new();
            let folder = out.path().join(name);
            fs::create_dir_all(&folder).expect("made");
            let says = [folder.to_str().expect("text"), "is a folder"];
            refuses(command, out.path(), &data, &["--force"], &says);
        }
    }
    let out = Directory::new();
    fs::write(out.path().join("chart"), "mine").expect("written");
    let says = ["/chart is not a folder"];
    refuses(&["site"], out.path(), &data, &["--force"], &says);
}
