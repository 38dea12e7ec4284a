//! Tests that `weir uci` equals libuci's `uci`: `uci/cases.txt` was recorded from libuci's program.
//!
//! With `WEIR_UCI_PEER=PROGRAM` the cases run with this program instead; with
//! `WEIR_UPDATE_GOLDEN=1` its output is recorded.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::Directory;

/// A temporary folder, with `c` for configuration and a `uci` in `bin`.
struct Place(Directory);

impl Place {
    fn new() -> Self {
        let folder = Directory::new();
        fs::create_dir_all(folder.join("bin")).expect("a folder for programs");
        fs::create_dir_all(folder.join("c")).expect("a folder for configuration");
        let program = folder.join("bin/uci");
        match peer() {
            Some(peer) => symlink(peer, &program).expect("a link to the peer"),
            None => {
                let script = format!(
                    "#!/bin/sh\nexec {} uci \"$@\"\n",
                    env!("CARGO_BIN_EXE_weir")
                );
                fs::write(&program, script).expect("a script");
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(&program, mode).expect("a script that runs");
            }
        }
        Self(folder)
    }

    /// Returns the output of a command line, and its exit code unless 0.
    fn run(&self, line: &str) -> String {
        let script = format!("exec 2>&1\nuci() {{ command uci -c c -t s \"$@\"; }}\n{line}");
        let mut path = OsString::from(self.0.join("bin"));
        path.push(":/usr/bin:/bin");
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.0.path())
            .env("PATH", path)
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        let here = self.0.to_string_lossy();
        said = said.replace(&*here, "HERE");
        if !said.is_empty() && !said.ends_with('\n') {
            said.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            code => writeln!(said, "[{}]", code.unwrap_or(-1)).expect("a string"),
        }
        said
    }
}

fn peer() -> Option<PathBuf> {
    std::env::var_os("WEIR_UCI_PEER").map(PathBuf::from)
}

/// Returns true if a shell would wait for a closing apostrophe or quotation mark.
fn is_open(command: &str) -> bool {
    let (mut within, mut escaped) = (None, false);
    for letter in command.chars() {
        match (within, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => within = Some(letter),
            (Some(mark), _) if mark == letter => within = None,
            _ => {}
        }
    }
    within.is_some()
}

/// Returns the cases with the present output of each command.
fn played(cases: &str) -> String {
    let mut lines = cases.lines().peekable();
    let mut text = String::new();
    let mut place = None;
    while let Some(line) = lines.next() {
        let mut keep = |line: &str| writeln!(text, "{line}").expect("a string");
        if line.starts_with("== ") {
            place = Some(Place::new());
            keep(line);
        } else if let Some(name) = line.strip_prefix("file ") {
            keep(line);
            let mut file = String::new();
            while lines
                .clone()
                .find(|line| !line.is_empty())
                .is_some_and(|line| line.starts_with("    "))
            {
                let line = lines.next().unwrap_or_default();
                keep(line);
                file = file + line.get(4..).unwrap_or_default() + "\n";
            }
            let place: &Place = place.as_ref().expect("a case");
            fs::write(place.0.join("c").join(name), file).expect("a file");
        } else if let Some(command) = line.strip_prefix("$ ") {
            keep(line);
            let mut command = command.to_owned();
            while is_open(&command) {
                let more = lines.next().expect("the end of a command");
                // An unmatched apostrophe would swallow the following cases.
                assert!(!more.starts_with(['$', '|', '=']), "{command:?} has no end");
                keep(more);
                command = command + "\n" + more;
            }
            let said = place.as_ref().expect("a case").run(&command);
            for line in said.lines() {
                // Marks output lines, so that no line is taken for a command.
                keep(format!("| {line}").trim_end());
            }
            while lines.next_if(|line| line.starts_with('|')).is_some() {}
        } else {
            keep(line);
        }
    }
    text
}

#[test]
fn it_says_what_libuci_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/uci/cases.txt");
    let cases = fs::read_to_string(&path).expect("the cases");
    let now = played(&cases);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        assert!(
            peer().is_some(),
            "what is right is libuci's to say: name it in WEIR_UCI_PEER"
        );
        fs::write(&path, now).expect("the cases");
        return;
    }
    let mut case = "";
    let mut command = "";
    for (n, (was, is)) in cases.lines().zip(now.lines()).enumerate() {
        if was.starts_with("== ") {
            case = was;
        }
        if was.starts_with("$ ") {
            command = was;
        }
        assert_eq!(is, was, "{case}, line {}: {command}", n + 1);
    }
    assert_eq!(now.lines().count(), cases.lines().count());
    assert!(
        cases.matches("\n$ uci").count() > 150,
        "most of the cases are gone"
    );
}

/// Compares these files with the recorded output of libuci's program: `uci/routers/RELEASE.said`.
#[test]
fn configurations_of_routers_are_read_as_libuci_reads_them() {
    let routers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/uci/routers");
    for release in ["23.05", "24.10", "25.12"] {
        let place = Place::new();
        let mut files = 0;
        for entry in fs::read_dir(routers.join(release)).expect("a router") {
            let entry = entry.expect("a file");
            fs::copy(entry.path(), place.0.join("c").join(entry.file_name())).expect("a copy");
            files += 1;
        }
        assert!(files >= 2, "{release}");
        let now = place
            .run("uci export; uci -X show; uci set network.lan.mtu=1400; uci commit; uci show");
        let said = routers.join(format!("{release}.said"));
        if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
            assert!(
                peer().is_some(),
                "what is right is libuci's to say: name it in WEIR_UCI_PEER"
            );
            fs::write(&said, now).expect("a file");
            continue;
        }
        assert_eq!(
            now,
            fs::read_to_string(&said).expect("what libuci says"),
            "{release}"
        );
        if peer().is_some() {
            continue;
        }
        // Only this line of the files differs.
        for entry in fs::read_dir(routers.join(release)).expect("a router") {
            let entry = entry.expect("a file");
            let name = entry.file_name();
            let before = fs::read_to_string(entry.path()).expect("text");
            let after = fs::read_to_string(place.0.join("c").join(&name)).expect("text");
            let after = if name == "network" {
                assert_eq!(after.matches("\toption mtu '1400'\n").count(), 1);
                after.replace("\toption mtu '1400'\n", "")
            } else {
                after
            };
            assert_eq!(after, before, "{release}/{}", name.display());
        }
    }
}
