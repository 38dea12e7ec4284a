//! The command line: help, lines that are not understood, completions, the manual, no daemon.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Daemon, Directory, golden, nearby, ran, run};

const COMMANDS: [&str; 8] = [
    "run",
    "village",
    "peers",
    "send",
    "watch",
    "chat",
    "completions",
    "man",
];

#[test]
fn help_is_as_written() {
    let all = run(&["--help"]);
    assert_eq!((all.code, all.err.as_str()), (Some(0), ""));
    golden("help.txt", &all.out);
    for command in COMMANDS {
        let is_listed = all.out.contains(&format!("\n  {command} "));
        assert!(is_listed, "{command} is listed");
        let help = run(&[command, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{command}");
        // For `run` only its presence is checked: its options are the daemon's.
        if command != "run" {
            golden(&format!("help-{command}.txt"), &help.out);
        }
    }
    let version = format!("weir-nearby {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]).out, version);
}

#[test]
fn usage_errors_exit_with_2() {
    for arguments in [
        &["nonsense"][..],
        &[],
        &["send"],
        &["send", "all"],
        &["send", "all", "text", "--file", "x"],
        &["run", "--links", "9"],
        &["run", "--format", "v3"],
        &["run", "--power", "most"],
        &["chat", "all"],
        &["completions", "sh"],
        &["man"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn where_nothing_runs_it_is_said_what_to_do() {
    let directory = Directory::new();
    let socket = directory.path().join("nearby.sock");
    let socket = socket.to_str().expect("text");
    for command in [
        &["peers"][..],
        &["peers", "--json"],
        &["send", "all", "Hello"],
        &["watch"],
        &["chat"],
    ] {
        let ran = run(&[&["--socket", socket], command].concat());
        let expected = format!(
            "weir-nearby: no program listens at {socket}\n  \
             hint: start `weir-nearby run`, or name its --socket\n"
        );
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command:?}");
        assert_eq!(ran.err, expected, "{command:?}");
    }
    let ran = run(&["--socket", socket, "send", "all", "--file", "/nonexistent"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("cannot read /nonexistent as text"),
        "{}",
        ran.err
    );
}

#[test]
fn errors_say_what_to_do() {
    let directory = Directory::new();
    let long = directory.path().join("x".repeat(120));
    let long = long.to_str().expect("text");
    for command in [&["peers"][..], &["chat"], &["run", "--adapter", "none"]] {
        let ran = run(&[&["--socket", long], command].concat());
        assert_eq!(ran.code, Some(1), "{command:?}");
        let told = format!("has {} bytes, but at most 107 are possible", long.len());
        assert!(ran.err.contains(&told), "{command:?}: {}", ran.err);
        assert!(ran.err.contains("hint: use a shorter one"), "{}", ran.err);
    }
    // A full disk is not a closed pipe.
    let socket = directory.path().join("sock");
    let daemon = Daemon::start(&socket, Vec::new());
    let socket = socket.to_str().expect("text");
    for command in [&["peers"][..], &["peers", "--json"], &["watch"]] {
        let full = fs::File::create("/dev/full").expect("Linux has it");
        let mut told = nearby(&[&["--socket", socket], command].concat());
        let told = told.stdout(full).stderr(Stdio::piped()).spawn();
        let told = told.expect("the command runs");
        let ended = std::thread::scope(|scope| {
            let ended = scope.spawn(|| told.wait_with_output().expect("it ends"));
            while !ended.is_finished() {
                daemon.hears("0598f7b34b75adcb", 1, "something");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            ran(ended.join().expect("no panic"))
        });
        assert_eq!(ended.code, Some(1), "{command:?}");
        assert_eq!(
            ended.err,
            "weir-nearby: cannot write the output: No space left on device (os error 28)\n  \
             hint: free space there, or write the output elsewhere\n",
            "{command:?}"
        );
    }
    let long = run(&["--socket", socket, "send", "all", &"x".repeat(65_408)]).err;
    assert!(
        long.contains("the text has more than 65407 bytes"),
        "{long}"
    );
    let usage = run(&["send", "all"]).err;
    assert!(
        usage.contains("provided:\n  <TEXT|--file <FILE>>"),
        "{usage}"
    );
    assert!(usage.contains("<PEER|all> <TEXT|--file <FILE>>"), "{usage}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        for command in COMMANDS {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
        // The other two complete no values.
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(ran.out.contains("balanced"), values, "{shell}: --power");
    }
}

#[test]
fn the_manual_is_written_and_formats() {
    let directory = Directory::new();
    let path = directory.path().to_str().expect("text");
    let written = run(&["man", path]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    let pages: Vec<&str> = written.out.lines().collect();
    // A page for each command, and one for all.
    assert_eq!(pages.len(), COMMANDS.len() + 1, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(page).expect("a page");
        assert!(text.contains(".TH") && text.contains(".SH NAME"), "{page}");
        // If man is installed, it must accept the page.
        let formatted = Command::new("man")
            .args(["--warnings", "-l", page])
            .env("MANPAGER", "cat")
            .output();
        if let Ok(formatted) = formatted {
            let complaints = String::from_utf8_lossy(&formatted.stderr);
            let is_well = formatted.status.success() && complaints.is_empty();
            assert!(is_well, "{page}: {complaints}");
        }
    }
    let failed = run(&["man", "/proc/nonexistent"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("hint: name a folder"), "{}", failed.err);
}
