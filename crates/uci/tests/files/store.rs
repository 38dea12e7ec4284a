//! The folder of files, and the folder of changes.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};
use testing::Directory;
use weir_uci::{Change, Error, OpenPackage, Store, Verb};

struct Place(Directory);

impl Place {
    fn new(text: &str) -> Place {
        let folder = Directory::new();
        fs::create_dir_all(folder.join("config")).expect("a folder");
        fs::write(folder.join("config/t"), text).expect("a file");
        Place(folder)
    }

    fn store(&self) -> Store {
        Store::new(self.0.join("config"), self.0.join("changes"))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a file")
    }

    fn set(&self, option: &str, value: &str) -> Result<(), Error> {
        let store = self.store();
        let mut opened = store.open("t")?;
        let change = Change {
            verb: Verb::Set,
            section: "lan".to_owned(),
            option: Some(option.to_owned()),
            value: Some(value.into()),
        };
        store.change(&mut opened, &change)
    }

    fn opened(&self) -> OpenPackage {
        self.store().open("t").expect("it is read")
    }
}

#[test]
fn a_commit_keeps_comments_and_rights() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("# top\nconfig a 'lan'  # here\n  option x 1 # why\n  option y 2\n");
    let path = place.0.join("config/t");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    place.set("x", "5").unwrap();
    assert_eq!(place.read("changes/t"), "t.lan.x='5'\n");
    // Leftover of a killed commit.
    fs::write(place.0.join("config/.t.uci-1"), "half").unwrap();
    place.store().commit("t").unwrap();
    assert_eq!(
        place.read("config/t"),
        "# top\nconfig a 'lan'  # here\n  option x '5' # why\n  option y 2\n"
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o640
    );
    assert_eq!(place.read("changes/t"), "");
    assert!(!place.0.join("config/.t.uci-1").exists());
}

#[test]
fn a_line_that_was_cut_off_does_not_spoil_the_next() {
    let place = Place::new("config a 'lan'\n");
    fs::create_dir(place.0.join("changes")).unwrap();
    fs::write(place.0.join("changes/t"), "t.lan.x='never clo").unwrap();
    place.set("y", "1").unwrap();
    place.set("z", "2").unwrap();
    assert_eq!(place.read("changes/t"), "t.lan.y='1'\nt.lan.z='2'\n");
    fs::write(
        place.0.join("changes/t"),
        "t.lan.x='1'\nt.lan.y='two\nlines'\nt.lan.z='cut\n",
    )
    .unwrap();
    place.set("w", "3").unwrap();
    assert_eq!(
        place.read("changes/t"),
        "t.lan.x='1'\nt.lan.y='two\nlines'\nt.lan.w='3'\n"
    );
}

#[test]
fn nobody_waits_for_a_pipe() {
    let place = Place::new("config a 'lan'\n\toption x '1'\n");
    fs::create_dir(place.0.join("changes")).unwrap();
    let status = std::process::Command::new("mkfifo")
        .arg(place.0.join("changes/t"))
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        place.opened().package.value("lan", "x"),
        Some(b"1".as_slice())
    );
}

/// Changes in a shared folder become configuration: only users who may change the configuration may
/// put changes there. A link may lead anywhere.
#[test]
fn changes_that_another_user_could_have_made_are_refused() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let forged = |forge: &dyn Fn(&Path)| {
        let place = Place::new("config a 'lan'\n\toption x '1'\n");
        let (folder, other) = (place.0.join("changes"), place.0.join("other"));
        for folder in [&folder, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("t"), "t.lan.x='forged'\n").unwrap();
        }
        forge(&folder);
        let store = place.store();
        let opened = store.open("t");
        assert!(matches!(opened, Err(Error::Invalid(_))), "{opened:?}");
        assert!(matches!(store.commit("t"), Err(Error::Invalid(_))));
        assert_eq!(place.read("config/t"), "config a 'lan'\n\toption x '1'\n");
        assert_eq!(place.read("other/t"), "t.lan.x='forged'\n");
    };
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // Like /var/tmp, which belongs to root and is shared.
    forged(&|folder| mode(folder, 0o1777));
    forged(&|folder| mode(&folder.join("t"), 0o666));
    forged(&|folder| chown(folder.join("t"), Some(65_534), None).unwrap());
    forged(&|folder| chown(folder, Some(65_534), None).unwrap());
    forged(&|folder| {
        fs::remove_dir_all(folder).unwrap();
        symlink("other", folder).unwrap();
    });
    forged(&|folder| {
        fs::remove_file(folder.join("t")).unwrap();
        symlink("../other/t", folder.join("t")).unwrap();
    });
    // Files of other users are not written either.
    let place = Place::new("config a 'lan'\n");
    fs::create_dir(place.0.join("other")).unwrap();
    symlink("other", place.0.join("changes")).unwrap();
    assert!(matches!(place.set("x", "2"), Err(Error::Invalid(_))));
    assert!(!place.0.join("other/t").exists());
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let place = Place::new("");
    for name in ["../changes", "a/b", ".", "", "a b", "t.x"] {
        assert!(
            matches!(place.store().open(name), Err(Error::Invalid(_))),
            "{name}"
        );
    }
    assert!(matches!(
        place.store().open("absent"),
        Err(Error::NotFound(_))
    ));
}

/// libuci would write this name, and then refuse to read it; found by fuzzing.
#[test]
fn a_name_that_another_section_would_get_is_not_written() {
    const TEXT: &str = "config a\n\toption x '1'\n\nconfig b 'first'\n";
    let place = Place::new(TEXT);
    let store = place.store();
    let change = |verb, section: &str, value: &str| {
        let mut opened = store.open("t").expect("a package");
        let change = Change {
            verb,
            section: section.to_owned(),
            option: None,
            value: Some(value.into()),
        };
        store.change(&mut opened, &change)
    };
    // The second unnamed section of type `a` would get this name.
    let second = "cfg02";
    let hash = store.open("t").expect("a package").package.sections()[0].name[5..].to_owned();
    let name = format!("{second}{hash}");
    change(Verb::Set, &name, "b").expect("a name as good as any");
    let anonymous = store.open("t").expect("a package").package.sections()[0]
        .name
        .clone();
    change(Verb::Reorder, &anonymous, "1").expect("a place");
    let error = store.commit("t").expect_err("nobody could read that");
    assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    assert_eq!(place.read("config/t"), TEXT, "the file is as it was");
    change(Verb::Rename, &name, "second").expect("another name");
    store.commit("t").expect("a file");
    assert!(place.read("config/t").contains("config b 'second'"));
}

/// Changes that others write or read during a commit are neither lost nor applied twice.
#[test]
fn what_is_set_beside_commits_is_kept_once() {
    const COUNT: usize = 200;
    let place = Place::new("config a 'lan'\n");
    let done = AtomicBool::new(false);
    let list = || -> Vec<String> {
        let opened = place.opened();
        let section = opened.package.sections().first().expect("a section");
        let list = section.options.iter().find(|option| option.name == "l");
        let values = list.map(|list| list.values()).into_iter().flatten();
        values
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect()
    };
    let meant: Vec<String> = (0..COUNT).map(|n| n.to_string()).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    place.store().commit("t").expect("a commit");
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let read = list();
                assert!(meant.starts_with(&read), "{read:?}");
            }
        });
        let written = (0..COUNT).try_for_each(|n| {
            let store = place.store();
            let change = Change {
                verb: Verb::AddList,
                section: "lan".to_owned(),
                option: Some("l".to_owned()),
                value: Some(n.to_string().into()),
            };
            store.change(&mut store.open("t")?, &change)
        });
        // Before anything may fail: the threads would run for ever.
        done.store(true, Ordering::Relaxed);
        written.expect("changes");
    });
    place.store().commit("t").expect("a commit");
    assert_eq!(list(), meant);
    assert_eq!(place.read("changes/t"), "");
}

/// As in libuci since 2025 (`uci_set_conf2dir`).
#[test]
fn a_file_elsewhere_overrides_the_one_of_its_name() {
    let place = Place::new("config a 'lan'\n\toption x '1'\n");
    let overrides = place.0.join("run");
    let store = || {
        let mut store = place.store();
        store.set_overrides(&overrides);
        store
    };
    let x = |store: &Store| {
        let opened = store.open("t").unwrap();
        let section = opened.package.section("lan").unwrap();
        section.get("x").unwrap().values().next().unwrap().to_vec()
    };
    assert_eq!(x(&store()), b"1");
    assert_eq!(store().overriding("t"), None);
    fs::create_dir(&overrides).unwrap();
    fs::write(overrides.join("t"), "config a 'lan'\n\toption x '2'\n").unwrap();
    fs::write(overrides.join("u"), "config a\n").unwrap();
    assert_eq!(x(&store()), b"2");
    assert_eq!(store().overriding("t"), Some(overrides.join("t")));
    assert_eq!(x(&place.store()), b"1");
    // A commit goes to the overriding file; a package only there can be opened, but is not listed.
    let store = store();
    let change = Change {
        verb: Verb::Set,
        section: "lan".to_owned(),
        option: Some("x".to_owned()),
        value: Some("3".into()),
    };
    store
        .change(&mut store.open("t").unwrap(), &change)
        .unwrap();
    store.commit("t").unwrap();
    assert_eq!(place.read("run/t"), "config a 'lan'\n\toption x '3'\n");
    assert_eq!(place.read("config/t"), "config a 'lan'\n\toption x '1'\n");
    assert_eq!(store.list().unwrap(), ["t"]);
    assert!(store.open("u").is_ok() && place.store().open("u").is_err());
    // An empty path means no folder.
    let mut none = store;
    none.set_overrides("");
    assert_eq!(x(&none), b"1");
    assert!(none.open("../config/t").is_err());
}
