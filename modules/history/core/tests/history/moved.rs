//! A folder that changes: mounted later, unmounted and mounted again, removed and created again.
//! The thread is confined, like the daemon's. Runs in a mount namespace of a child, whose mounts
//! end with it. Needs root.

use crate::common;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::*;
use weir_history_core::{Delta, Settings, StoreThread, ThreadHost, Unit};

const LONG: Duration = Duration::from_secs(30);

fn keeper(file: &Path) -> StoreThread {
    let settings = Settings {
        flush: Duration::from_secs(1),
        ..Settings::default()
    };
    let home = ThreadHost {
        confine: Arc::new(confine),
        ..ThreadHost::plain()
    };
    StoreThread::start(file, settings, calendar(), NOON, home).expect("a keeper")
}

fn add(keeper: &mut StoreThread) {
    let delta = Delta {
        device: Some(mac(1)),
        application: "web".into(),
        traffic: traffic(1000),
    };
    keeper.add(NOON, vec![delta]);
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the traffic of the month in a file; 0 if there is no file yet.
fn written(file: &Path) -> u64 {
    let copy = file.with_extension("copy");
    if std::fs::copy(file, &copy).is_err() {
        return 0;
    }
    let sum = received(&open(&copy, NOON), Unit::Month);
    let _ = std::fs::remove_file(&copy);
    let _ = std::fs::remove_file(copy.with_file_name("history.copy-journal"));
    sum
}

#[test]
fn a_disk_that_is_mounted_later_is_written_to() {
    let Some(directory) = apart("moved::a_disk_that_is_mounted_later_is_written_to") else {
        return;
    };
    let file = directory.join("history.db");
    let mut keeper = keeper(&file);
    add(&mut keeper);
    wait("it is written", || written(&file) == 1000);
    run(&format!(
        "mount -t tmpfs -o size=8m none {}",
        directory.display()
    ));
    add(&mut keeper);
    wait("it is written", || written(&file) == 1000);
    assert_eq!(keeper.problem(), None);
    keeper.stop(NOON, LONG).expect("an end");
}

#[test]
fn a_disk_that_is_gone_is_waited_for() {
    let Some(directory) = apart("moved::a_disk_that_is_gone_is_waited_for") else {
        return;
    };
    let [disk, folder] = ["disk", "folder"].map(|name| directory.join(name));
    for made in [&disk, &folder] {
        std::fs::create_dir(made).expect("a folder");
    }
    let (disk, mounted) = (disk.display(), folder.display());
    run(&format!("mount -t tmpfs -o size=8m none {disk}"));
    run(&format!("mount --bind {disk} {mounted}"));
    let file = folder.join("history.db");
    let mut keeper = keeper(&file);
    add(&mut keeper);
    wait("it is written", || written(&file) == 1000);

    run(&format!("umount --lazy {mounted}"));
    add(&mut keeper);
    let told = |keeper: &StoreThread| {
        keeper
            .problem()
            .is_some_and(|why| why.contains("not mounted"))
    };
    wait("it is reported", || told(&keeper));
    // No file is created in its place.
    assert!(!file.exists());
    run(&format!("mount --bind {disk} {mounted}"));
    wait("what waited is written", || written(&file) == 2000);
    wait("it is reported", || keeper.problem().is_none());
    keeper.stop(NOON, LONG).expect("an end");
}

#[test]
fn a_folder_that_is_made_again_is_written_to() {
    let Some(directory) = apart("moved::a_folder_that_is_made_again_is_written_to") else {
        return;
    };
    let folder = directory.join("folder");
    let file = folder.join("history.db");
    std::fs::create_dir(&folder).expect("a folder");
    let mut keeper = keeper(&file);
    std::fs::remove_dir_all(&folder).expect("removed");
    add(&mut keeper);
    wait("it is reported", || keeper.problem().is_some());
    std::fs::create_dir(&folder).expect("a folder");
    wait("it is written", || written(&file) == 1000);
    wait("it is reported", || keeper.problem().is_none());
    keeper.stop(NOON, LONG).expect("an end");
}
