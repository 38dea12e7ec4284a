use super::{Bounds, ChangeRequest, FileChange, Journal, JournalError, States, disk::Disk};
use crate::clock::BootTime;
use std::{
    cell::Cell,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    rc::Rc,
};
use testing::Directory;

/// A folder with three files: one to change, one to remove, one to add.
struct Place(Directory);

const OLD: [Option<&str>; 3] = [Some("old one"), Some("old two"), None];
const NEW: [Option<&str>; 3] = [Some("new one"), None, Some("new three")];

impl Place {
    fn new() -> Place {
        let folder = Directory::new();
        fs::create_dir_all(folder.join("config")).expect("a folder");
        let place = Place(folder);
        place.write(OLD);
        place
    }

    fn paths(&self) -> [PathBuf; 3] {
        ["one", "two", "three"].map(|name| self.0.join("config").join(name))
    }

    fn write(&self, texts: [Option<&str>; 3]) {
        for (path, text) in self.paths().iter().zip(texts) {
            match text {
                Some(text) => fs::write(path, text).expect("a file"),
                None => fs::remove_file(path).unwrap_or(()),
            }
        }
    }

    fn says(&self) -> [Option<String>; 3] {
        self.paths().map(|path| fs::read_to_string(path).ok())
    }

    fn files(&self) -> Vec<FileChange> {
        let octets = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let all = self.paths().into_iter().zip(OLD).zip(NEW);
        all.map(|((path, before), after)| FileChange {
            path,
            before: octets(before),
            after: octets(after),
        })
        .collect()
    }

    fn journal(&self) -> Journal {
        Journal::new(self.0.join("state"), self.bounds())
    }

    fn bounds(&self) -> Bounds {
        let folders = ["config", "was", "vpn/ours", "vpn/ours/clients", "theirs"];
        Bounds::new(folders.map(|name| self.0.join(name)), [])
    }

    /// Returns a journal of a machine that loses power at a step.
    fn until(&self, step: u32) -> Journal {
        Journal {
            folder: self.0.join("state"),
            states: States::new(self.0.join("state/states")),
            bounds: self.bounds(),
            disk: Disk {
                left: Rc::new(Cell::new(Some(step))),
            },
        }
    }
}

fn wish() -> ChangeRequest {
    ChangeRequest {
        why: "a test".to_owned(),
        who: "root".to_owned(),
        within: 60,
        lines: Vec::new(),
    }
}

/// Returns a time after a reboot.
fn later() -> BootTime {
    BootTime {
        boot: "another".to_owned(),
        seconds: 5,
    }
}

fn texts(wanted: [Option<&str>; 3]) -> [Option<String>; 3] {
    wanted.map(|text| text.map(str::to_owned))
}

fn all(place: &Place, journal: &Journal) -> Result<(), JournalError> {
    let pending = journal.begin(&wish(), &place.files())?;
    journal.apply(&pending)?;
    journal.finish(pending.change.number)?;
    journal.confirm().map(|_| ())
}

#[test]
fn power_that_goes_off_at_any_step_leaves_the_former_files_or_the_new_ones() {
    let mut ended = None;
    for step in 0.. {
        let place = Place::new();
        let journal = place.until(step);
        let done = catch_unwind(AssertUnwindSafe(|| all(&place, &journal)));
        let stopped = done.is_err();
        // The power also fails during each recovery.
        for again in 0.. {
            let journal = place.until(again);
            if catch_unwind(AssertUnwindSafe(|| {
                journal.recover(&later()).expect("it is put right")
            }))
            .is_ok()
            {
                break;
            }
        }
        let says = place.says();
        if !stopped {
            assert_eq!(says, texts(NEW));
            ended = Some(step);
            break;
        }
        assert!(
            says == texts(OLD) || says == texts(NEW),
            "at step {step}: {says:?}"
        );
        // An unconfirmed change has left no state.
        let confirmed = !place.journal().states().expect("they are read").is_empty();
        assert_eq!(
            says,
            texts(if confirmed { NEW } else { OLD }),
            "at step {step}"
        );
        // And the next change can be made.
        if !confirmed {
            all(&place, &place.journal()).expect("the next change");
            assert_eq!(place.says(), texts(NEW));
        }
    }
    assert!(ended.expect("an end") > 15, "the steps are not counted");
}

#[test]
fn what_nobody_confirms_is_undone_in_time() {
    let place = Place::new();
    let journal = place.journal();
    let pending = journal
        .begin(&wish(), &place.files())
        .expect("it is written down");
    assert_eq!(place.says(), texts(OLD));
    journal.apply(&pending).expect("it is made");
    assert_eq!(place.says(), texts(NEW));
    let until = pending.change.until.clone();
    let early = BootTime {
        seconds: until.seconds - 1,
        ..until.clone()
    };
    assert!(journal.recover(&early).expect("it waits").is_none());
    assert_eq!(place.says(), texts(NEW));
    assert_eq!(
        journal
            .recover(&until)
            .expect("it is undone")
            .expect("a change")
            .why,
        "a test"
    );
    assert_eq!(place.says(), texts(OLD));
    assert!(matches!(journal.confirm(), Err(JournalError::Nothing)));
}

/// A change is found late, and before the finder has the lock it is gone and the next one waits.
#[test]
fn who_is_late_for_one_change_leaves_the_next_alone() {
    let place = Place::new();
    let journal = place.journal();
    let pending = journal
        .begin(&wish(), &place.files())
        .expect("it is written down");
    let until = pending.change.until.clone();
    let lock = journal.lock().expect("a lock");
    std::thread::scope(|scope| {
        let late = scope.spawn(|| place.journal().recover(&until).expect("nothing fails"));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let file = place.0.join("state/pending/change.json");
        let text = fs::read_to_string(&file).expect("a change");
        let mut next: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        next["number"] = 2.into();
        next["until"]["seconds"] = (until.seconds + 60).into();
        fs::write(&file, next.to_string()).expect("the next change");
        drop(lock);
        assert!(late.join().expect("it ends").is_none());
    });
    let waits = journal.pending().expect("it is read").expect("it waits");
    assert_eq!(waits.change.number, 2);
}

#[test]
fn one_change_at_a_time() {
    let place = Place::new();
    let journal = place.journal();
    journal
        .begin(&wish(), &place.files())
        .expect("it is written down");
    match journal.begin(&wish(), &place.files()) {
        Err(JournalError::Waits(change)) => {
            assert_eq!((&*change.why, &*change.who), ("a test", "root"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_others_wrote_meanwhile_is_not_overwritten() {
    let place = Place::new();
    let journal = place.journal();
    fs::write(&place.paths()[0], "theirs").unwrap();
    assert!(matches!(
        journal.begin(&wish(), &place.files()),
        Err(JournalError::Changed(_))
    ));
    assert!(journal.pending().unwrap().is_none());
    place.write(OLD);
    let pending = journal.begin(&wish(), &place.files()).unwrap();
    fs::write(&place.paths()[1], "theirs").unwrap();
    assert!(matches!(
        journal.apply(&pending),
        Err(JournalError::Changed(_))
    ));
    journal.undo().unwrap();
    assert_eq!(place.says(), texts(OLD));
    let kept = fs::read_to_string(place.0.join("state/found-1-1")).expect("what they wrote");
    assert_eq!(kept, "theirs");
}

#[test]
fn former_states_can_be_had_again() {
    let place = Place::new();
    let journal = place.journal();
    all(&place, &journal).unwrap();
    let path = place.paths()[0].clone();
    for n in 0..12 {
        let before = fs::read(&path).unwrap();
        let file = FileChange {
            path: path.clone(),
            before: Some(before),
            after: Some(format!("state {n}").into_bytes()),
        };
        let pending = journal.begin(&wish(), &[file]).unwrap();
        journal.apply(&pending).unwrap();
        journal.finish(pending.change.number).unwrap();
        journal.confirm().unwrap();
    }
    let numbers: Vec<u64> = journal
        .states()
        .unwrap()
        .iter()
        .map(|state| state.change.number)
        .collect();
    assert_eq!(numbers, (4..=13).rev().collect::<Vec<_>>());
    let files = journal.before(12, |_| true).unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].after.as_deref(), Some(b"state 9".as_slice()));
    assert!(matches!(
        journal.before(3, |_| true),
        Err(JournalError::NoState(3))
    ));
    // A file outside the selection is not checked: a user has replaced it by a link since.
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("two", &path).unwrap();
    assert!(matches!(
        journal.before(12, |_| true),
        Err(JournalError::Outside(_))
    ));
    let files = journal.before(12, |file| file != path).unwrap();
    assert!(files.is_empty());
}

#[test]
fn rights_stay() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.paths()[0].clone();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let journal = place.journal();
    let pending = journal.begin(&wish(), &place.files()).unwrap();
    journal.apply(&pending).unwrap();
    assert_eq!(mode(&path), 0o640);
    journal.undo().unwrap();
    assert_eq!(mode(&path), 0o640);
    // A new folder may hold a secret.
    assert_eq!(mode(&place.0.join("state")), 0o700);
}

#[test]
fn what_was_put_back_and_changed_again_does_not_stop_the_rest() {
    let place = Place::new();
    let journal = place.journal();
    let pending = journal.begin(&wish(), &place.files()).unwrap();
    journal.apply(&pending).unwrap();
    // The power fails after the first file is restored.
    for step in 0.. {
        let journal = place.until(step);
        let _ = catch_unwind(AssertUnwindSafe(|| journal.undo()));
        if place.says()[0].as_deref() == Some("old one") {
            break;
        }
    }
    assert!(journal.pending().unwrap().is_some() && place.says() != texts(OLD));
    fs::write(&place.paths()[0], "theirs").unwrap();
    journal.undo().unwrap();
    assert_eq!(place.says(), texts([Some("theirs"), Some("old two"), None]));
}

/// The process of a change is stopped, and the machine keeps running.
#[test]
fn what_was_stopped_half_way_cannot_be_confirmed() {
    for step in 0.. {
        let place = Place::new();
        let stopping = place.until(step);
        let made = || {
            let pending = stopping.begin(&wish(), &place.files())?;
            stopping.apply(&pending)?;
            stopping.finish(pending.change.number)
        };
        let stopped = catch_unwind(AssertUnwindSafe(made)).is_err();
        let journal = place.journal();
        let waits = journal.pending().expect("it is read");
        let finished = waits.as_ref().is_some_and(super::Pending::is_finished);
        match journal.confirm() {
            Ok(_) => assert!(finished && place.says() == texts(NEW), "at step {step}"),
            Err(JournalError::Nothing) => assert!(waits.is_none() && place.says() == texts(OLD)),
            Err(JournalError::Unfinished(_)) => {
                assert!(stopped && !finished);
                journal.undo().expect("it is taken back");
                assert_eq!(place.says(), texts(OLD), "at step {step}");
            }
            Err(other) => panic!("at step {step}: {other}"),
        }
        if !stopped {
            break;
        }
    }
}

/// A replaced private key returns while the change may be undone, and not later.
#[test]
fn former_private_keys_are_forgotten_when_a_change_stays() {
    let place = Place::new();
    let path = place.0.join("config/server.key");
    fs::write(&path, "secret").expect("a key");
    let file = || FileChange {
        path: path.clone(),
        before: Some(b"secret".to_vec()),
        after: Some(b"another".to_vec()),
    };
    let files = [place.files(), vec![file()]].concat();
    let journal = place.journal();
    let wish = ChangeRequest {
        why: String::new(),
        who: String::new(),
        within: 60,
        lines: Vec::new(),
    };
    let begin = || {
        let pending = journal.begin(&wish, &files).expect("a change");
        journal.apply(&pending).expect("applied");
        journal.finish(pending.change.number).expect("finished");
    };
    begin();
    journal.undo().expect("taken back");
    assert_eq!(fs::read(&path).expect("a key"), b"secret");
    begin();
    journal.confirm().expect("confirmed");
    let states = fs::read_dir(place.0.join("state/states")).expect("states");
    for file in states
        .flatten()
        .flat_map(|state| fs::read_dir(state.path()).expect("a state"))
    {
        let text = fs::read_to_string(file.expect("a file").path()).expect("text");
        assert!(!text.contains("secret"), "{text}");
    }
    let former = journal.before(2, |_| true).expect("a state");
    assert_eq!(former.len(), 3);
    assert!(former.iter().all(|file| file.path != path));
}

/// Files found in an undone change are named by its number.
#[test]
fn the_number_of_a_change_that_was_taken_back_is_no_others() {
    let place = Place::new();
    let begin = || {
        let pending = place.journal().begin(&wish(), &place.files());
        pending.expect("it is written down").change.number
    };
    assert_eq!(begin(), 1);
    place.journal().undo().expect("it is taken back");
    assert_eq!(begin(), 2);
    place.journal().undo().expect("it is taken back");
    all(&place, &place.journal()).expect("a change");
    assert_eq!(
        place.journal().states().expect("states")[0].change.number,
        3
    );
    // A damaged note stops nothing.
    fs::write(place.0.join("state/last"), "?").expect("a file");
    place.write(OLD);
    assert_eq!(begin(), 4);
}

/// Folders that came with a change go with it, wherever that is stopped, and no others do.
#[test]
fn folders_that_came_with_a_change_go_with_it() {
    for step in 0.. {
        let place = Place::new();
        let file = |name: &str| FileChange {
            path: place.0.join(name),
            before: None,
            after: Some(b"new".to_vec()),
        };
        fs::create_dir(place.0.join("was")).expect("a folder");
        let files = [
            "was/one",
            "vpn/ours/one",
            "vpn/ours/clients/two",
            "theirs/three",
        ]
        .map(file);
        let pending = place.journal().begin(&wish(), &files).expect("a change");
        place.journal().apply(&pending).expect("it is made");
        fs::write(place.0.join("theirs/own"), "theirs").expect("a file");
        let journal = place.until(step);
        let stopped = catch_unwind(AssertUnwindSafe(|| journal.undo())).is_err();
        if stopped && place.journal().pending().expect("it is read").is_some() {
            place.journal().undo().expect("it is taken back");
        }
        let is_there = |name: &str| place.0.join(name).exists();
        assert!(!is_there("vpn"), "at step {step}");
        assert!(is_there("was") && is_there("theirs/own") && is_there("config"));
        if !stopped {
            break;
        }
    }
}

#[test]
fn a_change_that_was_taken_back_is_told_until_another_one_stays() {
    let place = Place::new();
    let journal = place.journal();
    assert_eq!(journal.undone(), None);
    let make = || {
        let pending = journal.begin(&wish(), &place.files()).expect("begun");
        journal.apply(&pending).expect("made");
        journal.finish(pending.change.number).expect("finished");
        pending.change.number
    };
    let first = make();
    assert_eq!(journal.undone(), None, "it waits");
    journal.recover(&later()).expect("taken back");
    assert_eq!(place.says(), texts(OLD));
    let undone = journal.undone().expect("a change");
    assert_eq!((undone.number, &*undone.why), (first, "a test"));
    let second = make();
    journal.undo().expect("taken back");
    assert_eq!(journal.undone().map(|it| it.number), Some(second));
    make();
    journal.confirm().expect("confirmed");
    assert_eq!(journal.undone(), None, "the router is not as before");
}

/// Another user wrote the journal: root writes nothing out of bounds, and no other content.
#[test]
fn a_forged_journal_changes_nothing() {
    let forged = |forge: &dyn Fn(&Path, &mut serde_json::Value)| {
        let place = Place::new();
        let journal = place.journal();
        let pending = journal.begin(&wish(), &place.files()).expect("it begins");
        journal.apply(&pending).expect("it is applied");
        fs::write(place.0.join("victim"), "mine").expect("a file");
        let file = pending.folder.join("change.json");
        let text = fs::read_to_string(&file).expect("a journal");
        let mut change: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        forge(&pending.folder, &mut change);
        fs::write(&file, change.to_string()).expect("written");
        match journal.recover(&later()) {
            // Services receive the names of files that are back, and no others.
            Err(JournalError::Refused { path, change }) => {
                assert!(change.files.iter().all(|entry| entry.path != path));
            }
            other => panic!("{other:?}"),
        }
        let victim = fs::read_to_string(place.0.join("victim"));
        assert_eq!(victim.ok().as_deref(), Some("mine"));
        let [_, two, three] = place.paths();
        assert!(!three.exists(), "a file that came with the change goes");
        // Missing, as after the change, or the old content.
        match fs::symlink_metadata(&two) {
            Ok(data) => {
                assert!(data.is_file());
                assert_eq!(fs::read_to_string(two).expect("a file"), "old two");
                true
            }
            Err(_) => false,
        }
    };
    let to = |path: String| {
        move |_: &Path, change: &mut serde_json::Value| {
            change["files"][0]["path"] = path.clone().into();
        }
    };
    let folder = |place: &Path| place.parent().and_then(Path::parent).map(Path::to_owned);
    for name in [
        "victim",
        "config/../victim",
        "config/sub/victim",
        "config/-x",
        "state/change.json",
    ] {
        forged(&|pending, change| {
            let root = folder(pending).expect("a folder");
            to(root.join(name).display().to_string())(pending, change);
        });
    }
    assert!(forged(&to("/etc/ld.so.preload".to_owned())));
    assert!(forged(&to("config/one".to_owned())));
    // A link instead of a file; other rights; another content; a link in the journal.
    assert!(forged(&|pending, _| {
        let one = folder(pending).expect("a folder").join("config/one");
        fs::remove_file(&one).expect("removed");
        std::os::unix::fs::symlink("../victim", one).expect("a link");
    }));
    let stays_away = |forge: &dyn Fn(&Path, &mut serde_json::Value)| assert!(!forged(forge));
    stays_away(&|_, change| change["files"][1]["before"]["mode"] = 0o4755.into());
    stays_away(&|pending, _| fs::write(pending.join("before-1"), "forged").expect("written"));
    stays_away(&|pending, _| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(pending.join("before-1"), mode).expect("rights");
    });
    stays_away(&|pending, _| {
        let kept = pending.join("before-1");
        std::os::unix::fs::chown(kept, Some(65_534), None).expect("as root");
    });
    stays_away(&|pending, _| {
        let kept = pending.join("before-1");
        fs::remove_file(&kept).expect("removed");
        std::os::unix::fs::symlink("../../victim", kept).expect("a link");
    });
}

/// After a backup was put back, files may belong to any user: they are replaced whole.
#[test]
fn files_of_another_user_are_changed_and_put_back() {
    use std::os::unix::fs::{MetadataExt, chown};
    let place = Place::new();
    let one = &place.paths()[0];
    let owner = || fs::metadata(one).expect("a file").uid();
    chown(one, Some(65_534), None).expect("as root");
    let journal = place.journal();
    all(&place, &journal).expect("a change is made");
    assert_eq!((place.says(), owner()), (texts(NEW), 65_534));
    place.write(OLD);
    let pending = journal.begin(&wish(), &place.files()).expect("it begins");
    journal.apply(&pending).expect("it is applied");
    chown(one, Some(65_533), None).expect("as root");
    journal.undo().expect("it is taken back");
    assert_eq!((place.says(), owner()), (texts(OLD), 65_534));
}

/// The folder of the configuration may be a link, as to another disk.
#[test]
fn a_link_to_the_folder_is_followed_unless_another_user_may_change_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let (folder, disk) = (place.0.join("config"), place.0.join("disk"));
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("rights");
    };
    chmod(&place.0, 0o755);
    fs::rename(&folder, &disk).expect("renamed");
    symlink("disk", &folder).expect("a link");
    let journal = place.journal();
    let pending = journal.begin(&wish(), &place.files()).expect("it begins");
    journal.apply(&pending).expect("it is applied");
    assert_eq!(place.says(), texts(NEW));
    journal.undo().expect("it is taken back");
    assert_eq!(place.says(), texts(OLD));
    assert!(folder.is_symlink());
    let is_refused = || {
        let begun = journal.begin(&wish(), &place.files());
        assert!(matches!(begun, Err(JournalError::Outside(_))), "{begun:?}");
    };
    // Another user may write to the link's target, or replace the link.
    chmod(&disk, 0o777);
    is_refused();
    chmod(&disk, 0o755);
    chmod(&place.0, 0o777);
    is_refused();
    chmod(&place.0, 0o755);
    fs::remove_file(&folder).expect("removed");
    symlink("nowhere", &folder).expect("a link");
    is_refused();
}

/// A user who can write into the journal's folder decides which files come back.
#[test]
fn a_journal_in_a_folder_of_others_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let journal = place.journal();
    let pending = journal.begin(&wish(), &place.files()).expect("it begins");
    journal.apply(&pending).expect("it is applied");
    let state = place.0.join("state");
    let chmod = |mode| {
        fs::set_permissions(&state, fs::Permissions::from_mode(mode)).expect("rights");
    };
    let is_refused = || {
        let undone = journal.undo();
        assert!(
            matches!(&undone, Err(JournalError::Outside(path)) if *path == state),
            "{undone:?}"
        );
        assert_eq!(place.says(), texts(NEW));
    };
    chmod(0o777);
    is_refused();
    chmod(0o700);
    fs::rename(&state, place.0.join("other")).expect("renamed");
    symlink("other", &state).expect("a link");
    is_refused();
    fs::remove_file(&state).expect("removed");
    fs::rename(place.0.join("other"), &state).expect("renamed");
    journal.undo().expect("it is taken back");
    assert_eq!(place.says(), texts(OLD));
}

/// A refused file, or one with a damaged copy, does not prevent the restoration of other files.
#[test]
fn a_file_that_is_refused_does_not_keep_the_others_away() {
    type Damage = fn(&Place);
    let damages: [(Damage, [Option<&str>; 3]); 2] = [
        (
            |place| {
                let one = &place.paths()[0];
                fs::remove_file(one).expect("removed");
                std::os::unix::fs::symlink("elsewhere", one).expect("a link");
            },
            [None, Some("old two"), None],
        ),
        (
            |place| fs::write(place.0.join("state/pending/before-0"), "x").expect("written"),
            [Some("new one"), Some("old two"), None],
        ),
    ];
    for (damage, says) in damages {
        let place = Place::new();
        let journal = place.journal();
        let pending = journal.begin(&wish(), &place.files()).expect("it begins");
        journal.apply(&pending).expect("it is applied");
        damage(&place);
        let refused = journal.recover(&later());
        assert!(
            matches!(&refused, Err(JournalError::Refused { path, change })
                if *path == place.paths()[0] && change.files.len() == 2),
            "{refused:?}"
        );
        assert_eq!(place.says(), texts(says));
        assert!(place.0.join("state/refused/change.json").exists());
        assert!(journal.recover(&later()).expect("it is well").is_none());
    }
}

/// A forged journal does not prevent later changes.
#[test]
fn a_forged_journal_is_put_aside() {
    let place = Place::new();
    let journal = place.journal();
    let pending = journal.begin(&wish(), &place.files()).expect("it begins");
    let file = pending.folder.join("change.json");
    let text = fs::read_to_string(&file).expect("a journal");
    let forged = text.replace("config/one", "elsewhere");
    fs::write(&file, forged).expect("written");
    assert!(matches!(
        journal.recover(&later()),
        Err(JournalError::Refused { .. })
    ));
    assert!(journal.recover(&later()).expect("it is well").is_none());
    assert_eq!(place.says(), texts(OLD));
    all(&place, &journal).expect("a change is made");
    assert!(place.0.join("state/refused/change.json").exists());
}

/// An unreadable record is set aside with the old files, and prevents no later change.
#[test]
fn a_damaged_record_is_put_aside() {
    let place = Place::new();
    let journal = place.journal();
    let damage = || {
        let pending = journal.begin(&wish(), &place.files()).expect("it begins");
        fs::write(pending.folder.join("change.json"), "{\"number\": 1").expect("written");
    };
    damage();
    let refused = journal.recover(&later());
    assert!(
        matches!(&refused, Err(JournalError::Damaged { path, .. })
            if path.ends_with("refused/change.json")),
        "{refused:?}"
    );
    assert!(journal.recover(&later()).expect("it is well").is_none());
    assert_eq!(place.says(), texts(OLD));
    assert!(place.0.join("state/refused/before-0").exists());
    let pending = journal.begin(&wish(), &place.files()).expect("it begins");
    fs::remove_file(pending.folder.join("change.json")).expect("it was there");
    damage();
    assert!(matches!(journal.undo(), Err(JournalError::Damaged { .. })));
    assert!(matches!(journal.undo(), Err(JournalError::Nothing)));
    all(&place, &journal).expect("a change is made");
}

/// A damaged record of a saved state prevents no change; that state and older ones are refused.
#[test]
fn a_damaged_former_state_prevents_no_change() {
    let place = Place::new();
    let journal = place.journal();
    for _ in 0..3 {
        place.write(OLD);
        all(&place, &journal).expect("a change is made");
    }
    let second = place.0.join("state/states/00000002/change.json");
    fs::write(&second, "").expect("written");
    let kept: Vec<u64> = journal
        .states()
        .expect("they are read")
        .iter()
        .map(|state| state.change.number)
        .collect();
    assert_eq!(kept, [3, 1]);
    assert!(journal.before(3, |_| true).is_ok());
    for number in [1, 2] {
        let before = journal.before(number, |_| true);
        assert!(
            matches!(&before, Err(JournalError::Damaged { path, .. }) if *path == second),
            "{before:?}"
        );
    }
    place.write(OLD);
    all(&place, &journal).expect("another change is made");
}
