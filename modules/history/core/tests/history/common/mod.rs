//! Helpers for several tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::tz::TimeZone;
use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use monitor_core::count::{Count, Counts, Traffic};
use weir_history_core::{By, Calendar, Key, Mac, Period, Query, Settings, Store, Unit};

/// 2026-11-20 12:00 UTC, a Friday.
pub const NOON: i64 = 1_795_176_000;
pub const HOUR: i64 = 3600;
pub const DAY: i64 = 86_400;

/// A directory that is removed at the end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Uses memory if possible: waiting for a real disk proves nothing here.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let path = place.join(format!("weir{}-history-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the history file.
    pub fn file(&self) -> PathBuf {
        self.0.join("history.db")
    }

    /// Names of files in it, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .expect("a directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Berlin's, without a file.
pub fn calendar() -> Calendar {
    Calendar::new(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone"))
}

pub fn open(path: &Path, now: i64) -> Store {
    open_with(path, Settings::default(), now)
}

pub fn open_with(path: &Path, settings: Settings, now: i64) -> Store {
    let (store, trouble) = Store::open(path, settings, calendar(), now).expect("a store");
    assert!(trouble.is_none(), "{}", trouble.expect("a trouble"));
    store
}

/// Builds traffic: `octets` bytes of Internet traffic down, a tenth up, and some packets; in the
/// LAN three times as much up.
pub fn traffic(octets: u64) -> Traffic {
    let count = |octets| Count {
        packets: octets / 1000 + 1,
        bytes: octets,
    };
    Traffic {
        internet: Counts {
            received: count(octets),
            sent: count(octets / 10),
        },
        lan: Counts {
            received: Count::default(),
            sent: count(3 * octets),
        },
    }
}

pub fn mac(number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    [2, 0, a, b, c, d]
}

pub fn all(unit: Unit, by: By) -> Query {
    Query {
        unit,
        from: 0,
        to: i64::MAX,
        device: None,
        by,
        parts: 100_000,
    }
}

pub fn periods(store: &Store, unit: Unit, by: By) -> Vec<Period> {
    let periods = store.query(&all(unit, by)).expect("an answer");
    for period in &periods {
        let mut sum = Traffic::default();
        period.parts.iter().for_each(|part| sum += part.traffic);
        assert_eq!(sum, period.traffic, "the parts add up");
    }
    assert!(
        periods.is_sorted_by(|a, b| a.start < b.start),
        "in order of time"
    );
    periods
}

/// All bytes received.
pub fn received(store: &Store, unit: Unit) -> u64 {
    periods(store, unit, By::Device)
        .iter()
        .map(|period| period.traffic.internet.received.bytes)
        .sum()
}

/// Start and key, and received traffic.
pub type Table = BTreeMap<(i64, String), Traffic>;

pub fn table(periods: &[Period]) -> Table {
    let mut table = Table::new();
    for period in periods {
        for part in &period.parts {
            *table.entry((period.start, key(&part.key))).or_default() += part.traffic;
        }
    }
    table
}

pub fn key(key: &Key) -> String {
    key.to_string()
}

/// The test that runs in a child of its own, and where.
const CHILD: &str = "WEIR_HISTORY_CHILD";

/// Runs a command that must succeed.
pub fn run(line: &str) {
    let mut words = line.split_whitespace();
    let done = Command::new(words.next().expect("a program"))
        .args(words)
        .status();
    assert!(
        done.as_ref().is_ok_and(std::process::ExitStatus::success),
        "{line}: {done:?}"
    );
}

/// Runs a test of this program again, with mounts of its own; returns the directory in that run.
/// Needs root.
pub fn apart(test: &str) -> Option<PathBuf> {
    if let Ok(directory) = std::env::var(CHILD) {
        return Some(directory.into());
    }
    let directory = Directory::new();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, directory.path())
        .output()
        .expect("unshare, as root");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test}: {said}"
    );
    None
}

/// Confines this thread to a folder, if present, with the daemon's permissions.
pub fn confine(folder: &Path) {
    let rights = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::RemoveFile
        | AccessFs::Truncate;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules([folder], rights)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .expect("a confinement");
    // A kernel without Landlock shows nothing; this one should have it.
    assert_ne!(
        status.ruleset,
        RulesetStatus::NotEnforced,
        "landlock is not in this kernel"
    );
}
