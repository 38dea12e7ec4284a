//! A history needs its directory, and nothing else of the file system.

mod common;

use common::*;
use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus,
};
use weir_history::Unit;

#[test]
fn a_confined_thread_reaches_all_it_needs() {
    let directory = Directory::new();
    let path = directory.file();
    let work = std::thread::spawn(move || {
        // What the daemon has to allow for that directory.
        let rights = AccessFs::ReadFile
            | AccessFs::ReadDir
            | AccessFs::WriteFile
            | AccessFs::MakeReg
            | AccessFs::RemoveFile
            | AccessFs::Truncate;
        let place = PathFd::new(path.parent().expect("a directory")).expect("the directory");
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI::V5))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(place, rights)))
            .and_then(landlock::RulesetCreated::restrict_self)
            .expect("a confinement");
        // A kernel without Landlock shows nothing; this one should have it.
        assert_ne!(
            status.ruleset,
            RulesetStatus::NotEnforced,
            "landlock is not in this kernel"
        );
        assert!(std::fs::read("/etc/passwd").is_err());
        let mut store = open(&path, NOON);
        for hour in 0..30 {
            store.add(NOON + hour * HOUR, Some(mac(1)), "web", &traffic(1000));
            store.flush(NOON + hour * HOUR).expect("a flush");
        }
        assert_eq!(received(&store, Unit::Month), 30_000);
        drop(store);
        std::fs::write(&path, [0xa5; 8192]).expect("damage");
        let mut store = open(&path, NOON);
        assert_eq!(store.notices().len(), 1);
        store.add(NOON, Some(mac(1)), "web", &traffic(1000));
        store.close(NOON).expect("a last flush");
    });
    work.join().expect("all of it");
}
