//! Compares the systemd units with weir's needs. Each of these failures occurred under systemd.

use std::fs;
use std::path::{Path, PathBuf};

/// systemd gives up after this many starts in ten seconds, unless the unit sets another number.
const STARTS: u32 = 5;

struct Unit {
    name: String,
    text: String,
}

impl Unit {
    fn of(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a unit");
        let name = path.display().to_string();
        Self { name, text }
    }

    fn named(name: &str) -> Self {
        Self::of(&packaging().join(name))
    }

    /// Returns the last value of a setting.
    fn last<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.values(key).last()
    }

    fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.text.lines();
        lines.filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
    }

    /// Returns true if a value of a setting contains this word.
    fn has(&self, key: &str, word: &str) -> bool {
        let mut words = self.values(key).flat_map(str::split_whitespace);
        words.any(|it| it == word)
    }
}

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

fn units() -> Vec<Unit> {
    let folders = [
        packaging(),
        packaging().join("debian"),
        packaging().join("atlas"),
        packaging().join("nearby"),
    ];
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let services = paths.filter(|path| path.extension().is_some_and(|end| end == "service"));
    services.map(|path| Unit::of(&path)).collect()
}

#[test]
fn what_restarts_does_so_for_ever() {
    let all = units();
    assert!(all.len() >= 9, "{} units", all.len());
    for unit in all.iter().filter(|unit| unit.last("Restart").is_some()) {
        let rest: u32 = unit
            .last("RestartSec")
            .and_then(|seconds| seconds.parse().ok())
            .unwrap_or(0);
        let unbound = unit.last("StartLimitIntervalSec") == Some("0");
        assert!(unbound || rest * STARTS >= 10, "{}", unit.name);
    }
}

/// weir needs the tunnel's device and the kernel's settings. The record of changed settings must
/// outlive a killed weir.
#[test]
fn multipath_has_what_it_needs() {
    let unit = Unit::named("weir.service");
    assert!(
        unit.values("DeviceAllow")
            .any(|allowed| allowed == "/dev/net/tun rw")
    );
    assert!(unit.has("ReadWritePaths", "-/proc/sys/net/mptcp"));
    assert_eq!(unit.last("RuntimeDirectoryPreserve"), Some("restart"));
}

/// Files that root obeys are next to the password's folder, not in the folder.
#[test]
fn the_daemon_writes_no_configuration() {
    let unit = Unit::named("weir.service");
    assert!(unit.has("ReadWritePaths", "-/etc/weir/page"));
    assert!(!unit.has("ReadWritePaths", "-/etc/weir"));
    assert!(unit.has("ConfigurationDirectory", "weir/page"));
}

/// A partner makes the tunnel's device, switches forwarding on, and keeps its key. At the partner's
/// end, `nft` removes its rules.
#[test]
fn a_partner_has_what_it_needs() {
    let unit = Unit::named("weir-partner.service");
    assert_eq!(unit.last("DeviceAllow"), Some("/dev/net/tun rw"));
    assert!(unit.has("ReadWritePaths", "/proc/sys/net"));
    assert!(unit.has("CapabilityBoundingSet", "CAP_NET_ADMIN"));
    assert_eq!(unit.last("StateDirectory"), Some("weir/multipath"));
    assert_eq!(unit.last("KillMode"), Some("mixed"));
}

/// The lock is set before the network starts, and after units that empty the ruleset. A stopped
/// unit keeps the lock.
#[test]
fn a_lock_comes_before_the_network() {
    let unit = Unit::named("weir-lock.service");
    assert!(unit.has("Before", "network-pre.target"));
    assert!(unit.has("After", "nftables.service"));
    assert_eq!(unit.last("DefaultDependencies"), Some("no"));
    assert_eq!(unit.last("ConditionPathExists"), Some("/etc/weir/lock.nft"));
    assert_eq!(unit.last("ExecStop"), None);
}

/// The example of `listen` under `[web]` uses port 443.
#[test]
fn the_page_may_have_port_443() {
    let unit = Unit::named("weir.service");
    assert!(unit.has("CapabilityBoundingSet", "CAP_NET_BIND_SERVICE"));
}

/// `nft` removes the rules, and the restorer of the radios' power outlives weir.
#[test]
fn what_weir_starts_for_its_end_is_not_ended_before() {
    assert_eq!(
        Unit::named("weir.service").last("KillMode"),
        Some("process")
    );
}

/// An unconfirmed change is reverted and the services are reloaded, even if the process that the
/// page queries is stopped.
#[test]
fn a_change_is_taken_back_without_the_setup_process() {
    let unit = Unit::named("weir-setup.service");
    assert_eq!(unit.last("KillMode"), Some("process"));
    assert_eq!(unit.last("RuntimeDirectoryPreserve"), Some("yes"));
}

/// The server ends the process of a free query.
#[test]
fn a_query_gets_its_answer_before_the_atlas_stops() {
    let unit = Unit::named("atlas/weir-atlas.service");
    assert_eq!(unit.last("KillMode"), Some("mixed"));
}
