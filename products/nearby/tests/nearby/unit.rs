//! The systemd unit: systemd itself checks the file, and the tests check the needs of the program.
//! The unit is not started here, as that takes a machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Directory, Ran, ran, run};

const UNIT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../packaging/nearby/weir-nearby.service"
);

fn unit() -> String {
    fs::read_to_string(UNIT).expect("the unit")
}

/// Returns a setting of the unit.
fn value(name: &str) -> String {
    let unit = unit();
    let mut values = unit
        .lines()
        .filter_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    values.next().expect(name).to_owned()
}

fn analyze(arguments: &[&str], path: &Path) -> Ran {
    let mut analyze = Command::new("systemd-analyze");
    // Restricts the check to the given file, without this machine's units.
    analyze.env(
        "SYSTEMD_UNIT_PATH",
        "/lib/systemd/system:/usr/lib/systemd/system",
    );
    let told = analyze.args(arguments).arg(path).output();
    ran(told.expect("systemd-analyze: scripts/setup has it"))
}

#[test]
fn systemd_understands_it_and_finds_little_that_is_open() {
    let directory = Directory::new();
    let path = directory.path().join("weir-nearby.service");
    let program = env!("CARGO_BIN_EXE_weir-nearby");
    let text = unit().replace("/usr/bin/weir-nearby", program);
    assert!(text.contains(program));
    fs::write(&path, text).expect("written");
    let told = analyze(&["verify", "--man=no"], &path);
    assert_eq!(told.code, Some(0), "{}", told.err);
    // Messages about other units do not count.
    let of_it: Vec<&str> = told
        .err
        .lines()
        .filter(|it| it.contains("nearby"))
        .collect();
    assert!(of_it.is_empty(), "{of_it:?}");
    // 2.2 of 10 in systemd 252.
    let bound = ["security", "--offline=yes", "--no-pager", "--threshold=25"];
    let told = analyze(&bound, &path);
    assert_eq!(told.code, Some(0), "{}", told.out);
}

#[test]
fn it_may_do_what_the_program_does() {
    let families = value("RestrictAddressFamilies");
    let families: Vec<&str> = families.split(' ').collect();
    assert_eq!(families, ["AF_UNIX", "AF_BLUETOOTH", "AF_INET", "AF_INET6"]);
    // The socket is in a folder of its own, which no other program removes.
    let folder = value("RuntimeDirectory");
    let asked = format!("[default: /run/{folder}/socket]");
    let help = run(&["peers", "--help"]).out;
    assert!(help.contains(&asked), "{asked}: {help}");
    assert_eq!(folder, "weir-nearby");
    let state = format!("[default: /var/lib/{}]", value("StateDirectory"));
    let help = run(&["run", "--help"]).out;
    assert!(help.contains(&state), "{state}: {help}");
}
