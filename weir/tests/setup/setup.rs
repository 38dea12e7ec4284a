//! Tests of `weir setup`: a change stays only if confirmed, regardless of crashes and failures.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::Directory;

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
const NETWORK: &str = "# the roof\nconfig interface 'lan'\n\toption proto 'static'   # by hand\n\toption ipaddr '192.168.1.1'\n";
const CHANGED: &str = "# the roof\nconfig interface 'lan'\n\toption proto 'static'   # by hand\n\toption ipaddr '192.168.7.1'\n";
const SYSTEM: &str = "config system\n\toption hostname 'old'\n";

/// A router's folders, inside a temporary folder.
struct Place(Directory);

impl Place {
    fn new() -> Self {
        let folder = Directory::new();
        fs::create_dir_all(folder.join("config")).expect("a folder");
        let place = Self(folder);
        place.write("config/network", NETWORK);
        place.write("config/system", SYSTEM);
        place.write(
            "reload",
            &format!(
                "#!/bin/sh\necho \"$@\" >> {}\n",
                place.path("told").display()
            ),
        );
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.path("reload"), mode).expect("a program");
        let keys = ["config", "changes", "state", "reload"]
            .map(|name| place.path(name).display().to_string());
        let [root, changes, state, reload] = keys;
        place.write(
            "weir.toml",
            &format!("[setup]\nroot = \"{root}\"\nchanges = \"{changes}\"\nstate = \"{state}\"\nreload = \"{reload}\"\n"),
        );
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the command `weir setup …`.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(WEIR);
        command
            .arg("setup")
            .args(words)
            .arg("--config")
            .arg(self.path("weir.toml"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("weir runs")
    }

    /// Runs a command that must succeed; returns its output.
    fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that must fail; returns its error.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(!output.status.success(), "{words:?} was done");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.done(words)).expect("JSON")
    }

    fn uci(&self, words: &[&str]) {
        let status = Command::new(WEIR)
            .args(["uci", "-c"])
            .arg(self.path("config"))
            .arg("-t")
            .arg(self.path("changes"))
            .args(words)
            .status();
        assert!(status.expect("weir runs").success(), "{words:?}");
    }

    /// Makes two pending changes.
    fn changed(&self) {
        self.uci(&["set", "network.lan.ipaddr=192.168.7.1"]);
        self.uci(&["set", "system.@system[0].hostname=new"]);
    }

    /// Returns the state of the files: old, new or neither.
    fn state(&self) -> &'static str {
        let hostname = self.read("config/system");
        match (
            &*self.read("config/network"),
            hostname.contains("'new'"),
            hostname == SYSTEM,
        ) {
            (CHANGED, true, _) => "new",
            (NETWORK, _, true) => "old",
            _ => "neither",
        }
    }

    /// Simulates a reboot: the boot gets another id.
    fn start(&self) {
        let file = self.path("state/pending/change.json");
        if let Ok(text) = fs::read_to_string(&file) {
            let mut change: Value = serde_json::from_str(&text).expect("a change is written whole");
            change["until"]["boot"] = "another start".into();
            // Renamed into place, because the change's guard may read the file now.
            let written = file.with_extension("new");
            fs::write(&written, change.to_string()).expect("a file");
            fs::rename(&written, &file).expect("a file");
        }
        self.done(&["recover"]);
    }

    fn wait(&self, what: &str, until: impl Fn() -> bool) {
        let begin = Instant::now();
        while !until() {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "waited for {what}"
            );
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The guard of a change ends once the change is gone.
        let _ = self.run(&["revert"]);
    }
}

#[test]
fn a_change_that_is_confirmed_stays() {
    let place = Place::new();
    assert_eq!(place.done(&["diff"]), "no changes to apply\n");
    assert!(place.refused(&["apply"]).contains("no changes to apply"));
    place.changed();
    let wanted = "- network.lan.ipaddr='192.168.1.1'\n+ network.lan.ipaddr='192.168.7.1'\n\
        - system.@system[0].hostname='old'\n+ system.@system[0].hostname='new'\n";
    assert_eq!(place.done(&["diff"]), wanted);
    assert_eq!(
        place.json(&["diff", "--json"])["lines"][1]["value"],
        "'192.168.7.1'"
    );
    assert_eq!(place.state(), "old");

    let said = place.done(&["apply", "--why", "another network"]);
    assert!(
        said.starts_with(wanted) && said.contains("weir setup confirm"),
        "{said}"
    );
    assert_eq!(place.state(), "new");
    assert_eq!(place.read("told"), "network system\n");
    assert_eq!(place.done(&["diff"]), "no changes to apply\n");
    let shown = place.json(&["show", "--json"]);
    let left = shown["pending"]["left"].as_u64().expect("seconds");
    assert!((60..=120).contains(&left), "{shown}");

    place.done(&["confirm"]);
    assert_eq!(place.state(), "new");
    let shown = place.json(&["show", "--json"]);
    assert!(shown["pending"].is_null());
    assert_eq!(shown["states"][0]["why"], "another network");
    assert_eq!(
        shown["states"][0]["lines"][1],
        "+ network.lan.ipaddr='192.168.7.1'"
    );
    place.start();
    assert_eq!(place.state(), "new");
    assert!(place.refused(&["confirm"]).contains("no change awaits"));

    // A state can be restored at any later time.
    let said = place.done(&["revert", "1"]);
    assert!(
        said.contains("+ network.lan.ipaddr='192.168.1.1'"),
        "{said}"
    );
    assert_eq!(place.state(), "old");
    place.done(&["confirm"]);
    assert_eq!(
        place.json(&["show", "--json"])["states"][0]["why"],
        "as before change 1"
    );
    assert!(
        place
            .refused(&["revert", "7"])
            .contains("no former state 7")
    );
}

#[test]
fn a_change_that_nobody_confirms_goes() {
    let place = Place::new();
    place.changed();
    place.done(&["apply", "--within", "5"]);
    assert_eq!(place.state(), "new");
    place.wait("the former files", || place.state() == "old");
    place.wait("services", || {
        place.read("told") == "network system\nnetwork system\n"
    });
    // The reverted change is pending again, for correction.
    assert!(place.done(&["diff"]).contains("192.168.7.1"));
    assert!(place.refused(&["confirm"]).contains("no change awaits"));
}

#[test]
fn the_second_administrator_is_told_of_the_first() {
    let place = Place::new();
    place.changed();
    place.done(&["apply", "--why", "the first"]);
    place.uci(&["set", "network.lan.mtu=1400"]);
    let said = place.refused(&["apply", "--why", "the second"]);
    assert!(
        said.contains("change 1 of ") && said.contains("awaits confirmation: the first"),
        "{said}"
    );
    assert_eq!(place.state(), "new");
    place.done(&["revert"]);
    assert_eq!(place.state(), "old");
}

#[test]
fn services_that_do_not_take_it_get_the_former_files() {
    let place = Place::new();
    place.write("reload", "#!/bin/sh\nexit 3\n");
    place.changed();
    let said = place.refused(&["apply"]);
    assert!(said.contains("exit status: 3"), "{said}");
    assert_eq!(place.state(), "old");
    assert!(place.json(&["show", "--json"])["pending"].is_null());
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = Place::new();
    place.write("config/foreign", "config a 'x'\n\toption y 'open\n");
    let said = place.done(&["diff"]);
    assert!(
        said.contains("no changes to apply"),
        "weir does not use this file: {said}"
    );
    place.write("config/wireless", "config a 'x'\n\toption y 'open\n");
    let said = place.refused(&["diff"]);
    assert!(
        said.contains("cannot read wireless") && said.contains("wireless:2: this quotation mark"),
        "{said}"
    );
    let empty = place.path("empty");
    fs::create_dir(&empty).expect("a folder");
    let text = place.read("weir.toml").replace("/config\"", "/empty\"");
    place.write("weir.toml", &text);
    assert!(place.refused(&["diff"]).contains("`root` under [setup]"));
}

#[test]
fn a_link_to_no_file_is_a_package_that_is_not_there() {
    let place = Place::new();
    let link = place.path("config/dhcp");
    std::os::unix::fs::symlink("../nowhere", &link).expect("a link");
    place.uci(&["set", "network.lan.ipaddr=192.168.7.1"]);
    assert!(place.done(&["diff"]).contains("192.168.7.1"));
    place.done(&["apply"]);
    place.done(&["confirm"]);
    place.done(&["export"]);
    // A change of that file is refused: the link would be lost.
    let release = "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='24.10.0'\n";
    place.write("openwrt_release", release);
    let document = place.path("document.toml");
    let text = "format = 1\n[dns]\nserver = \"own\"\nservers = [\"9.9.9.9\"]\n";
    fs::write(&document, text).expect("a document");
    let said = place.refused(&["import", &document.display().to_string()]);
    assert!(said.contains("config/dhcp: it is a broken link"), "{said}");
    assert!(link.is_symlink());
}

/// A file that meanwhile became a link stays unchanged; the other files are restored, and the start
/// continues.
#[test]
fn a_link_keeps_no_other_file_from_coming_back() {
    let place = Place::new();
    place.changed();
    place.done(&["apply"]);
    let network = place.path("config/network");
    fs::rename(&network, place.path("elsewhere")).expect("renamed");
    std::os::unix::fs::symlink("../elsewhere", &network).expect("a link");
    place.start();
    place.wait("the former file", || place.read("config/system") == SYSTEM);
    assert_eq!(place.read("elsewhere"), CHANGED);
    place.wait("the end of the change", || {
        place.path("state/refused/change.json").exists()
    });
    assert_eq!(place.done(&["recover"]), "");
}

#[test]
fn secrets_are_in_no_listing() {
    let place = Place::new();
    place.uci(&["set", "network.lan.password=geheim"]);
    let said = place.done(&["diff"]) + &place.done(&["apply"]) + &place.done(&["show", "--json"]);
    assert!(
        said.contains("network.lan.password=(secret)") && !said.contains("geheim"),
        "{said}"
    );
    let mode = fs::metadata(place.path("state"))
        .expect("a folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// System calls that change the disk, or wait for the disk.
const CALLS: &str = "openat,mkdir,rename,unlink,fsync,fdatasync,fchmod,fchown,write,flock,rmdir,unlinkat,getdents64";

fn injected(place: &Place, inject: &str, words: &[&str]) -> Output {
    let mut command = Command::new("strace");
    command.args([
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("inject={CALLS}:{inject}"),
    ]);
    let weir = place.command(words);
    command
        .arg(weir.get_program())
        .args(weir.get_args())
        .output()
        .expect("strace")
}

/// Returns the number of these calls in a run.
fn calls(place: &Place, words: &[&str]) -> u32 {
    let log = place.path("strace");
    let weir = place.command(words);
    let status = Command::new("strace")
        .args(["-qq", "-o", path(&log), "-e", &format!("trace={CALLS}")])
        .arg(weir.get_program())
        .args(weir.get_args())
        .output()
        .expect("strace");
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stderr)
    );
    let count = fs::read_to_string(&log).expect("a log").lines().count();
    u32::try_from(count).expect("some calls")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// After the kill, a user tries to confirm before the reboot. The journal's own tests stop at each
/// step; here every other call suffices.
#[test]
fn killed_at_any_call_the_next_start_finds_the_former_files_or_the_new_ones() {
    let counted = Place::new();
    counted.changed();
    let applying = calls(&counted, &["apply"]);
    let confirming = calls(&counted, &["confirm"]);
    assert!(applying > 40 && confirming > 10, "{applying} {confirming}");
    let (mut seen, mut half) = ([0; 2], 0);
    for n in (1..=applying).step_by(2) {
        let place = Place::new();
        place.changed();
        injected(&place, &format!("signal=KILL:when={n}"), &["apply"]);
        seen[usize::from(place.state() != "old")] += 1;
        // A half-made change cannot be confirmed.
        let confirmed = place.run(&["confirm"]);
        let said = String::from_utf8_lossy(&confirmed.stderr);
        let is_kept = confirmed.status.success();
        if !is_kept && !said.contains("no change awaits") {
            let told = said.contains("is not finished");
            assert!(told, "killed at call {n}: {said}");
            assert!(place.done(&["show"]).contains("is not finished"));
            half += 1;
        }
        place.start();
        let state = if is_kept { "new" } else { "old" };
        assert_eq!(place.state(), state, "killed at call {n}");
        // The next change can proceed, and the wanted one is still pending.
        if !is_kept {
            place.done(&["apply"]);
            place.done(&["confirm"]);
            assert_eq!(place.state(), "new", "after call {n}");
        }
    }
    // Some runs were stopped before the files changed, some after.
    assert!(
        seen[0] > 2 && seen[1] > 0 && half > 3,
        "{seen:?}, {half} half"
    );
    for n in (1..=confirming).step_by(2) {
        let place = Place::new();
        place.changed();
        place.done(&["apply"]);
        injected(&place, &format!("signal=KILL:when={n}"), &["confirm"]);
        let confirmed = place.json(&["show", "--json"])["pending"].is_null();
        place.start();
        assert_eq!(
            place.state(),
            if confirmed { "new" } else { "old" },
            "killed at call {n}"
        );
    }
}

#[test]
fn a_full_flash_at_any_call_changes_nothing() {
    let counted = Place::new();
    counted.changed();
    let applying = calls(&counted, &["apply"]);
    for n in 1..=applying {
        let place = Place::new();
        place.changed();
        let output = injected(&place, &format!("error=ENOSPC:when={n}"), &["apply"]);
        // Calls unrelated to the disk may succeed: the list also covers the loading of the program.
        let wanted = if output.status.success() {
            ["new", "new"]
        } else {
            ["old", "new"]
        };
        let state = place.state();
        assert!(wanted.contains(&state), "call {n}: {state}: {output:?}");
        place.start();
        assert_eq!(place.state(), "old", "call {n}");
        assert!(place.done(&["diff"]).contains("192.168.7.1"), "call {n}");
    }
}
