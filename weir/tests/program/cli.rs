//! Tests of the command line: output, streams and exit codes.

mod configuration;
mod manual;
mod partner;

use crate::support;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{Daemon, Directory, golden, ran, run, weir};

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let directory = Directory::new();
    let socket = directory.path().join("none.sock");
    let socket = socket.to_str().expect("text");
    for command in [
        &["status"][..],
        &["flows"],
        &["flows", "--json"],
        &["ports"],
        &["hops"],
        &["drops"],
        &["devices"],
        &["conversations"],
        &["history"],
        &["probes"],
        &["paths"],
        &["paths", "--watch"],
        &["capture"],
        &["reload"],
    ] {
        let ran = run(&[command, &["--socket", socket]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command:?}");
        let expected = format!(
            "weir: weir is not running in this network namespace (no answer at {socket})\n"
        );
        assert!(ran.err.starts_with(&expected), "{}", ran.err);
        assert!(
            ran.err.contains("\n  Hint: start it with `weir run`"),
            "{}",
            ran.err
        );
    }
    let variable = ran(weir(&["status"])
        .env("WEIR_SOCKET", socket)
        .output()
        .expect("runs"));
    assert!(variable.err.contains(socket), "{}", variable.err);
}

#[test]
fn tables_are_as_drawn() {
    let daemon = Daemon::start(0);
    for (name, arguments) in [
        ("status.txt", &["status"][..]),
        ("flows.txt", &["flows"]),
        (
            "flows-limit.txt",
            &["flows", "--limit", "1", "--sort", "age"],
        ),
        ("ports.txt", &["ports"]),
        ("ports-counters.txt", &["ports", "--counters"]),
        ("hops.txt", &["hops"]),
        ("drops.txt", &["drops"]),
        ("devices.txt", &["devices"]),
        ("devices-all.txt", &["devices", "--all", "--sort", "name"]),
        ("devices-equation.txt", &["devices", "--equation"]),
        ("conversations.txt", &["conversations", "--sort", "bytes"]),
        (
            "conversations-device.txt",
            &["conversations", "--device", "LAPTOP"],
        ),
        (
            "conversations-port.txt",
            &["conversations", "--port", "wan0"],
        ),
        (
            "history.txt",
            &["history", "--from", "2023-11-13", "--to", "2023-11-14"],
        ),
        (
            "history-by.txt",
            &[
                "history",
                "--from",
                "2023-11-13",
                "--by",
                "device",
                "--limit",
                "2",
                "--charset",
                "unicode",
            ],
        ),
        ("probes.txt", &["probes"]),
        ("paths.txt", &["paths"]),
        (
            "explain.txt",
            &[
                "explain",
                "udp",
                "[2001:db8::2]:5000",
                ">",
                "[2001:db8:1::1]:53",
            ],
        ),
    ] {
        let ran = daemon.run(arguments);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}");
        assert!(
            !ran.out.contains('\x1b'),
            "no colour, and no escapes of others, in a pipe"
        );
        golden(name, &ran.out);
    }
}

#[test]
fn json_is_one_document() {
    let daemon = Daemon::start(10);
    for arguments in [
        &["status"][..],
        &["flows"],
        &["flows", "--state", "declined"],
        &["ports"],
        &["hops"],
        &["drops"],
        &["devices"],
        &["conversations"],
        &["history", "--last", "100000"],
        &["probes"],
        &["probes", "qdisc-delay"],
        &["paths"],
        &["explain", "00000001"],
        &["config", "--running"],
    ] {
        let ran = daemon.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        serde_json::from_str::<serde_json::Value>(&ran.out).expect("one JSON document");
        assert!(ran.out.ends_with('\n'));
    }
    let unknown = daemon.run(&["probes", "drop"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert_eq!(
        unknown.err,
        "weir: there is no probe \"drop\"\n  Hint: valid probes: drops, qdisc-delay, other\n"
    );
    let declined = daemon.run(&["flows", "--state", "declined", "--json"]).out;
    let declined: serde_json::Value = serde_json::from_str(&declined).expect("JSON");
    assert_eq!(declined["matched"], 1);
    assert_eq!(declined["flows"][0]["reason"]["code"], "helper");
}

#[test]
fn the_pictures_of_the_documentation_are_true() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(crates.join(path)).expect(path);
    let shown = read("../docs/reference/terminal.md");
    for name in [
        "top-devices",
        "top-conversations",
        "top-conversation",
        "top-narrow",
        "devices",
        "devices-equation",
        "conversations",
        "history-by",
    ] {
        let folder = match name.starts_with("top-") {
            true => "../modules/monitor/service/",
            false => "",
        };
        let picture = read(&format!("{folder}tests/golden/{name}.txt"));
        // docs/reference/terminal.md has a single empty row for several.
        let mut rows: Vec<&str> = picture.lines().collect();
        rows.dedup_by(|next, row| next.is_empty() && row.is_empty());
        assert!(
            shown.contains(&rows.join("\n")),
            "docs/reference/terminal.md shows {name} otherwise; it is now:\n{}",
            rows.join("\n")
        );
    }
}

#[test]
fn json_of_the_monitor_has_its_fixed_names() {
    let daemon = Daemon::start(0);
    let json = |arguments: &[&str]| -> serde_json::Value {
        let ran = daemon.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        serde_json::from_str(&ran.out).expect("one JSON document")
    };
    let all = json(&["devices"]);
    let devices = all["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 4, "uplinks too");
    for device in devices {
        assert!(device["mac"].is_string() && device["addresses"].is_array());
        assert!(device.get("name").is_some(), "also where it is null");
        for way in ["received", "sent"] {
            assert!(device[way]["bytes"].is_u64() && device[way]["packets"].is_u64());
        }
    }
    let one = json(&["devices", "--device", "192.168.1.2"]);
    assert_eq!(one["devices"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["devices"][0]["name"], "laptop");
    let conversations = json(&["conversations", "--device", "laptop", "--limit", "1"]);
    assert_eq!(
        (
            &conversations["total"],
            &conversations["conversations"][0]["id"]
        ),
        (&2.into(), &1.into())
    );
    let days = json(&[
        "history",
        "--from",
        "2023-11-14",
        "--to",
        "2023-11-14",
        "--by",
        "application",
    ]);
    assert_eq!(days["periods"].as_array().map(Vec::len), Some(1));
    assert_eq!(days["periods"][0]["parts"][0]["key"], "video");
}

#[test]
fn what_people_say_of_a_device_is_told_to_the_daemon() {
    let daemon = Daemon::start(0);
    for (arguments, says) in [
        (
            &["device", "rename", "192.168.1.2", "tv \x1b[2J"][..],
            "02:00:5e:10:00:01 is called tv ?[2J\n",
        ),
        (
            &["devices", "owner", "laptop", "Anna"],
            "02:00:5e:10:00:01 has no given name, belongs to Anna\n",
        ),
        (
            &["device", "icon", "02-00-5E-10-00-77", "tv"],
            "02:00:5e:10:00:77 has no given name, is shown as tv\n",
        ),
        // `forget` keeps an icon from the configuration.
        (
            &["device", "forget", "laptop"],
            "02:00:5e:10:00:01 has no given name\n",
        ),
    ] {
        let ran = daemon.run(arguments);
        assert_eq!((ran.code, &*ran.out), (Some(0), says), "{}", ran.err);
    }
    let ran = daemon.run(&["device", "icon", "laptop", "fridge"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("appliance"), "{}", ran.err);
    let ran = daemon.run(&["device", "rename", "fridge", "x"]);
    assert!(ran.err.contains("is known"), "{}", ran.err);
}

#[test]
fn of_what_is_not_there_it_says_so() {
    let daemon = Daemon::start(0);
    for command in ["devices", "conversations", "history"] {
        let ran = daemon.run(&[command, "--device", "toaster"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command}");
        assert_eq!(
            ran.err,
            "weir: no device called `toaster` is known\n  Hint: `weir devices --all` lists all \
             devices; give a name, a hardware address or an IP address\n"
        );
    }
    let ran = daemon.run(&["devices", "--port", "lan7"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err
            .starts_with("weir: no counted port is called `lan7`\n"),
        "{}",
        ran.err
    );

    let daemon = Daemon::without_monitor();
    for command in ["devices", "conversations", "history"] {
        let ran = daemon.run(&[command]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command}");
        assert_eq!(
            ran.err,
            "weir: the monitor is off\n  \
             Hint: set `enabled = true` under [monitor] in the configuration, and restart weir\n"
        );
    }
}

#[test]
fn top_needs_a_terminal() {
    let ran = run(&["top"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("Hint: use `weir devices`"), "{}", ran.err);
}

#[test]
fn a_refused_reload_tells_every_error() {
    let ran = Daemon::start(0).run(&["reload"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.err,
        "weir: the configuration has 1 error\n  \
         weir.toml:1:1: tcp: unknown section; `tcp` belongs in [offload]\n  Hint: correct the \
         file\n"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let daemon = Daemon::start(20_000);
    for arguments in [&["flows"][..], &["flows", "--json"]] {
        let mut child = weir(&[arguments, &["--socket", daemon.socket()]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut reader, &mut first).expect("some output");
        drop(reader);
        let ran = ran(child.wait_with_output().expect("ends"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn following_goes_on_until_the_reader_leaves() {
    let daemon = Daemon::start(0);
    let mut child = weir(&[
        "flows",
        "--watch",
        "--limit",
        "1",
        "--socket",
        daemon.socket(),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let headings = lines
        .map(|line| line.expect("text"))
        .filter(|line| line.starts_with("ID "))
        .take(2)
        .count();
    assert_eq!(headings, 2);
    let ran = ran(child.wait_with_output().expect("ends"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}
