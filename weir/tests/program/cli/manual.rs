//! Tests of weir's own documentation: help, errors for unknown lines, completions, the manual.

use std::fs;
use std::process::Command;

use crate::support::{Directory, golden, run};

const COMMANDS: &str = "run status flows explain ports hops drops probes paths multipath portal capture \
    devices conversations history top setup uci cables radio check config reload passwd bench completions man";

#[test]
fn help_is_as_written() {
    let all = run(&["--help"]);
    assert_eq!((all.code, all.err.as_str()), (Some(0), ""));
    golden("help.txt", &all.out);
    for command in COMMANDS.split(' ') {
        assert!(
            all.out.contains(&format!("\n  {command} ")),
            "{command} is listed"
        );
        let help = run(&[command, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{command}");
        golden(&format!("help-{command}.txt"), &help.out);
    }
    for side in ["serve", "pair", "forward", "list", "revoke", "rotate"] {
        let help = run(&["multipath", side, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{side}");
        golden(&format!("help-multipath-{side}.txt"), &help.out);
    }
    let help = run(&["setup", "detect", "--help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    golden("help-setup-detect.txt", &help.out);
    for what in ["lab", "compare", "radio", "send", "receive"] {
        let help = run(&["bench", what, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{what}");
        golden(&format!("help-bench-{what}.txt"), &help.out);
    }
    let help = run(&["setup", "debian", "--help"]);
    assert_eq!(
        (help.code, help.err.as_str()),
        (Some(0), ""),
        "setup debian"
    );
    golden("help-setup-debian.txt", &help.out);
    assert_eq!(
        run(&["--version"]).out,
        format!("weir {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn help_is_a_command() {
    let help = run(&["help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    assert_eq!(help.out, run(&["--help"]).out);
    for words in [
        &["radio"][..],
        &["portal", "voucher"],
        &["portal", "voucher", "add"],
    ] {
        let help = run(&[&["help"], words].concat());
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{words:?}");
        assert_eq!(help.out, run(&[words, &["--help"]].concat()).out);
    }
    let voucher = run(&["portal", "voucher", "--help"]).out;
    assert_eq!(run(&["portal", "help", "voucher"]).out, voucher);
    assert_eq!(run(&["portal", "voucher", "help"]).out, voucher);
    for words in [
        &["help", "nonsense"][..],
        &["portal", "help", "nonsense"],
        &["flows", "help"],
    ] {
        assert_eq!(run(words).code, Some(2), "{words:?}");
    }
    for line in run(&["flows", "--help"]).out.lines() {
        assert_eq!(line.trim_end(), line);
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for arguments in [
        &["nonsense"][..],
        &[],
        &["flows", "--port", "many"],
        &["flows", "--watch", "--json"],
        &["flows", "--address", "10.0.0.0/40"],
        &["explain"],
        &["explain", "hello"],
        &["devices", "--sort", "size"],
        &["devices", "--equation", "--json"],
        &["conversations", "--limit", "5001"],
        &["history", "--from", "yesterday"],
        &["history", "--from", "2023-11-15", "--to", "2023-11-14"],
        &["history", "--last", "3", "--from", "2023-11-15"],
        &["history", "--last", "0"],
        &["capture", "hello"],
        &["capture", "--snaplen", "63"],
        &["capture", "--rate", "0"],
        &["capture", "00000001", "--port", "7"],
        &["paths", "--watch", "--json"],
        &["multipath"],
        &["multipath", "pair"],
        &["multipath", "serve", "--listen", "here"],
        &["setup", "detect", "--seconds", "0"],
        &["setup", "detect", "--lan", "here"],
        &["bench", "send"],
        &["bench", "send", "pc:0"],
        &["bench", "send", "pc", "--rate", "20000001"],
        &["bench", "send", "pc", "--seconds", "61"],
        &["bench", "send", "pc", "--flows", "4097"],
        &["bench", "send", "pc", "--length", "59"],
        &["bench", "receive", "--listen", "here"],
        &["bench", "radio", "--seconds", "0"],
        &["bench", "radio", "--scenario", "moon"],
        &["bench", "radio", "--driver", "nobody"],
        &["run", "--only", "tetris"],
        &["run", "-v", "-q"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        for command in COMMANDS.split(' ') {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn the_manual_is_written_and_formats() {
    let directory = Directory::new();
    let path = directory.path().to_str().expect("text");
    let written = run(&["man", path]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    let pages: Vec<&str> = written.out.lines().collect();
    for name in [
        "man1/weir.1",
        "man1/weir-flows.1",
        "man1/weir-portal.1",
        "man1/weir-portal-voucher.1",
        "man1/weir-portal-voucher-add.1",
        "man1/weir-radio-log.1",
        "man5/weir.toml.5",
    ] {
        assert!(
            pages.contains(&directory.path().join(name).to_str().expect("text")),
            "{name}"
        );
    }
    let file = fs::read_to_string(directory.path().join("man5/weir.toml.5")).expect("a page");
    let example = run(&["config", "--example"]).out;
    let keys = example.lines().filter_map(|line| line.strip_prefix('#'));
    let keys = keys.filter(|line| !line.starts_with([' ', '[']));
    let mut named = 0;
    for key in keys.filter_map(|line| line.split(" = ").next()) {
        assert!(file.contains(&format!("\\fB{key} = ")), "{key}");
        named += 1;
    }
    assert!(named > 50, "{named}");
    assert!(file.lines().all(|line| !line.starts_with('\'')));
    let text = fs::read_to_string(directory.path().join("man1/weir.1")).expect("a page");
    for heading in ["See", "Diagnose", "Change", "\"Set up\"", "Run"] {
        assert!(
            text.contains(&format!("\n.SS {heading}\n")),
            "{heading}: {text}"
        );
    }
    assert!(!text.contains("SUBCOMMANDS"), "{text}");
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        // Each page named by a page exists.
        for name in text.lines().filter_map(|line| line.strip_suffix("(1)")) {
            let file = format!("/{}.1", name.replace('\\', ""));
            let is_there = pages.iter().any(|page| page.ends_with(&file));
            assert!(is_there || name.contains(' '), "{page}: {name}");
        }
        assert!(text.contains(".TH") && text.contains(".SH NAME"), "{page}");
        // If `man` is installed, `man` must accept the page.
        let formatted = Command::new("man")
            .args(["--warnings", "-l", page])
            .env("MANPAGER", "cat")
            .output();
        if let Ok(formatted) = formatted {
            let complaints = String::from_utf8_lossy(&formatted.stderr);
            assert!(
                formatted.status.success() && complaints.is_empty(),
                "{page}: {complaints}"
            );
        }
    }
    assert_eq!(run(&["man", "/proc/nonexistent"]).code, Some(1));
}

#[test]
fn the_example_is_what_weir_does_without_a_file() {
    let example = run(&["config", "--example"]);
    assert_eq!((example.code, example.err.as_str()), (Some(0), ""));
    golden("weir.toml", &example.out);
    let directory = Directory::new();
    let file = directory.path().join("weir.toml");
    let without = run(&["config", "--json"]).out;
    // The example is tested unchanged, and with every line uncommented that may be.
    let mut named = false;
    let uncommented = example.out.lines().map(|line| {
        named = if line.contains('[') && line.contains("NAME]") {
            true
        } else {
            named && !line.starts_with('[')
        };
        match line.strip_prefix('#') {
            Some(key) if !key.starts_with(' ') && !named => key,
            _ => line,
        }
    });
    for text in [
        example.out.clone(),
        uncommented.collect::<Vec<_>>().join("\n"),
    ] {
        fs::write(&file, &text).expect("written");
        let read = run(&["config", "--json", "--config", &file.to_string_lossy()]);
        assert_eq!((read.code, read.err.as_str()), (Some(0), ""), "{text}");
        let values = |json: &str| {
            let config: answers::Config = serde_json::from_str(json).expect("JSON");
            let entries = config.entries.into_iter();
            entries
                .map(|entry| (entry.key, entry.value))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&read.out), values(&without), "{text}");
    }
}
