//! Tests of `weir setup debian`: written files and executed commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use testing::Directory;

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
const NETWORK: &str = "config device\n\toption name 'br-lan'\n\toption type 'bridge'\n\
    \tlist ports 'eth1'\n\nconfig interface 'lan'\n\toption device 'br-lan'\n\
    \toption proto 'static'\n\toption ipaddr '192.168.1.1/24'\n\toption colour 'red'\n\n\
    config interface 'wan'\n\toption device 'eth0'\n\toption proto 'pppoe'\n\
    \toption username 'me'\n\toption password 'sesame street'\n";
const SYSTEM: &str = "config system\n\toption hostname 'attic'\n";

/// A machine's folders, inside a temporary folder.
struct Place(Directory);

impl Place {
    fn new() -> Self {
        let place = Self(Directory::new());
        place.write("config/network", NETWORK);
        place.write("config/system", SYSTEM);
        let root = place.path("config").display().to_string();
        place.write("weir.toml", &format!("[setup]\nroot = \"{root}\"\n"));
        place.runner("exit 0");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text.as_bytes());
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Writes the command runner: a script that records commands, then runs `text`.
    fn runner(&self, text: &str) {
        let told = self.path("told").display().to_string();
        let script = format!("#!/bin/sh\necho \"$@\" >>{told}\n{text}\n");
        self.write("run", &script);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path("run"), mode).expect("a program");
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(WEIR);
        command.args(["setup", "debian"]).args(words);
        command.arg("--root").arg(self.path("root"));
        command.arg("--run").arg(self.path("run"));
        command.arg("--config").arg(self.path("weir.toml"));
        command.output().expect("weir runs")
    }

    /// Runs a command that must succeed; returns the recorded commands.
    fn done(&self, words: &[&str]) -> Vec<String> {
        let output = self.run(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        self.told()
    }

    /// Returns the commands recorded since the last call, without the root folder.
    fn told(&self) -> Vec<String> {
        let text = self.read("told");
        let _ = fs::remove_file(self.path("told"));
        let root = self.path("root").display().to_string();
        text.lines().map(|line| line.replace(&root, "")).collect()
    }

    fn mode(&self, name: &str) -> u32 {
        let found = fs::metadata(self.path(name)).expect("a file");
        found.permissions().mode() & 0o7777
    }
}

const ALL: [&str; 6] = [
    "sysctl -q -p /etc/sysctl.d/50-weir.conf",
    "nft -f /etc/nftables.d/weir.nft",
    "hostname attic",
    "systemctl restart systemd-networkd.service",
    "systemctl enable --quiet weir-pppoe@wan.service",
    "systemctl restart weir-pppoe@wan.service",
];

#[test]
fn what_changes_is_written_and_told_and_nothing_else() {
    let place = Place::new();
    let others = [
        "root/etc/systemd/network/10-mine.network",
        "root/etc/dnsmasq.d/mine.conf",
        "root/etc/ppp/peers/other",
    ];
    for name in others {
        place.write(name, "mine\n");
    }
    let shown = place.run(&["--dry-run"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("password (secret)") && text.contains("run: hostname attic"));
    assert!(!text.contains("sesame"), "{text}");
    assert_eq!(
        fs::read_dir(place.path("root/etc"))
            .expect("a folder")
            .count(),
        3
    );
    assert!(place.told().is_empty());

    let output = place.run(&["network"]);
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(notes, "network.lan.colour: not rendered\n");
    assert_eq!(place.told(), ALL);
    assert_eq!(place.mode("root/etc/ppp/peers/weir-wan"), 0o600);
    assert_eq!(
        place.mode("root/etc/systemd/network/50-weir-br-lan.network"),
        0o644
    );
    assert_eq!(place.read("root/etc/hostname"), "attic\n");

    // A second run changes nothing. The only unrendered part belongs to an unchanged package.
    let output = place.run(&["system"]);
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(place.told().is_empty());
    // If a file's mode or content was changed by hand, weir restores the file.
    let peer = place.path("root/etc/ppp/peers/weir-wan");
    fs::set_permissions(&peer, fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(place.done(&[]), ALL[4..]);
    assert_eq!(place.mode("root/etc/ppp/peers/weir-wan"), 0o600);

    // A removed service is stopped first, and its file is deleted; foreign files stay.
    place.write("config/network", &NETWORK.replace("pppoe", "dhcp"));
    place.write("root/etc/ppp/peers/.weir-setup-new", "half of");
    let wanted = [
        "systemctl stop weir-pppoe@wan.service",
        "nft",
        "networkctl reload",
    ];
    let told = place.done(&[]);
    assert_eq!(
        told.first().map(String::as_str),
        Some(wanted[0]),
        "{told:?}"
    );
    assert_eq!(told.last().map(String::as_str), Some(wanted[2]), "{told:?}");
    assert!(!peer.exists());
    assert!(!place.path("root/etc/ppp/peers/.weir-setup-new").exists());
    for name in others {
        assert_eq!(place.read(name), "mine\n");
    }
}

#[test]
fn what_cannot_be_rendered_is_named_and_changes_nothing() {
    let place = Place::new();
    place.done(&[]);
    let before = place.read("root/etc/ppp/peers/weir-wan");
    let wrong = NETWORK
        .replace("sesame street", "two\nlines")
        .replace("192.168.1.1/24", "192.168.1.1/240");
    place.write("config/network", &wrong);
    let output = place.run(&[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        errors.contains("network.wan.password: expected"),
        "{errors}"
    );
    assert!(errors.contains("network.lan.ipaddr: expected"), "{errors}");
    assert!(!errors.contains("lines"), "{errors}");
    assert_eq!(place.read("root/etc/ppp/peers/weir-wan"), before);
    assert!(place.told().is_empty());
    place.write("config/network", NETWORK);
    place.write(
        "config/system",
        "config system\n\toption zonename 'Mars/Olympus'\n",
    );
    let output = place.run(&[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("system.zonename"), "{errors}");
}

#[test]
fn whoever_was_not_told_is_told_by_the_next_call() {
    let place = Place::new();
    // Killed after all files are written; the files stay unchanged since.
    place.runner("kill -9 $PPID");
    assert!(!place.run(&[]).status.success());
    assert_eq!(place.told(), ALL[..1]);
    place.runner("exit 0");
    assert_eq!(place.done(&[]), ALL);
    assert!(place.done(&[]).is_empty());

    // If a command fails, the others still run, and all of them run again next time.
    place.write(
        "config/system",
        "config system\n\toption hostname 'cellar'\n",
    );
    place.write("config/network", &NETWORK.replace("sesame", "plaza"));
    place.runner("case $1 in hostname) echo 'no such luck' >&2; exit 3;; esac");
    let output = place.run(&[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        errors.contains("hostname cellar") && errors.contains("no such luck"),
        "{errors}"
    );
    let wanted = ["hostname cellar", ALL[4], ALL[5]];
    assert_eq!(place.told(), wanted);
    // With the old files restored, the failed command runs with the old value.
    place.write("config/system", SYSTEM);
    place.write("config/network", NETWORK);
    place.runner("exit 0");
    assert_eq!(
        place.done(&[]),
        ALL[2..3]
            .iter()
            .chain(&ALL[4..])
            .copied()
            .collect::<Vec<_>>()
    );
}

#[test]
fn at_the_start_of_the_machine_nobody_is_told() {
    let place = Place::new();
    assert!(place.done(&["--files"]).is_empty());
    assert_eq!(place.read("root/etc/hostname"), "attic\n");
    // Services read their files when they start.
    assert!(place.done(&[]).is_empty());
}
