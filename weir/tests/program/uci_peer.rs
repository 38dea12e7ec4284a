//! Runs random files and commands through `weir uci` and libuci's program: output and resulting
//! files must be equal.
//!
//! `WEIR_SECONDS` is the duration (default 20), `WEIR_SEED` the seed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::random::Random;

/// Returns a file of a few sections, written as by humans, or worse.
fn document(random: &mut Random) -> String {
    const VALUES: [&str; 12] = [
        "'v1'",
        "v",
        "\"w w\"",
        r"'p'\''w'",
        "''",
        r"a\ b",
        "a#b",
        "v;",
        "'multi\nline'",
        "a\\\nb",
        "'x'y\"z\"",
        "'v2'",
    ];
    const ENDS: [&str; 11] = [
        "\n",
        "\n",
        "\n",
        "\n",
        "\n",
        " ; ",
        "; ",
        ";",
        " # comment\n",
        "  \n",
        "\r\n",
    ];
    const ODD: [&str; 14] = [
        "\n",
        "\n\n",
        "# note\n",
        "\t# deep\n",
        "   \n",
        "package t\n",
        "'",
        "\"",
        "\\",
        "#",
        ";",
        "config",
        "option\n",
        "\u{e4}",
    ];
    let mut text = String::new();
    // libuci of 2021 cannot read a section that is opened three times.
    let mut named = [0; 2];
    for _ in 0..random.below(14) {
        let end = random.pick(&ENDS);
        match random.below(20) {
            0..6 => {
                let which = random.below(4);
                let name = ["lan", "'n2'", "", ""][which];
                if let Some(count) = named.get_mut(which) {
                    *count += 1;
                    if *count > 2 {
                        continue;
                    }
                }
                let kind = ["a", "b", "zone"][if which < 2 { which } else { random.below(3) }];
                text += &format!("config {kind} {name}{end}");
            }
            6..19 => {
                let keyword = random.pick(&["option", "option", "list", "o", "l"]);
                let name = random.pick(&["x", "y", "z", "li"]);
                let value = random.pick(&VALUES);
                let indent = random.pick(&["\t", "\t", "  ", ""]);
                text += &format!("{indent}{keyword} {name} {value}{end}");
            }
            _ => text += random.pick(&ODD),
        }
    }
    text
}

fn address(random: &mut Random) -> String {
    let section = random.pick(&[
        "lan",
        "lan",
        "n2",
        "@a[0]",
        "@b[0]",
        "@[0]",
        "@[-1]",
        "@zone[-1]",
        "nope",
        "@a",
        "",
        "@a[]",
    ]);
    let option = random.pick(&["", "", ".x", ".y", ".z", ".li", ".", ".x.y", ".new"]);
    match random.below(30) {
        0 => random.pick(&["t", "u", "t.", "..", "t="]).to_owned(),
        _ => format!("t.{section}{option}"),
    }
}

/// Returns a command. Commands whose result would be unreadable are excluded: libuci accepts them,
/// weir refuses them (docs/reference/uci.md).
fn command(random: &mut Random) -> Vec<String> {
    let value = random.pick(&[
        "1",
        "v",
        "two words",
        "it's",
        "0",
        "-1",
        "",
        "#x",
        "x=y",
        "new\nline",
        "\"q\"",
        "2",
    ]);
    let name = random.pick(&[
        "set", "set", "set", "delete", "add_list", "del_list", "rename", "reorder", "add",
        "revert", "commit", "get", "show", "changes", "export",
    ]);
    let mut address = address(random);
    let fresh = format!("q{}", random.below(10_000));
    let argument = match name {
        "add" => {
            return [name, "t", random.pick(&["a", "b", "zone"])]
                .map(String::from)
                .to_vec();
        }
        "commit" | "changes" | "export" => return vec![name.to_owned(), "t".to_owned()],
        "get" | "show" | "revert" => address,
        "delete" => address + random.pick(&["", "", "", "=0", "=1", "=-1", "=x", "=9", "="]),
        "rename" => format!("{address}={fresh}"),
        "reorder" => format!(
            "{address}={}",
            random.pick(&["0", "1", "2", "9", "x", "-1"])
        ),
        _ => {
            if name != "set" && address.matches('.').count() < 2
                || name == "set" && address.contains('@')
            {
                address = "t.lan.li".to_owned();
            }
            // Types are written without quotes.
            let value = if address.matches('.').count() < 2 {
                "kind"
            } else {
                value
            };
            format!("{address}={value}")
        }
    };
    vec![name.to_owned(), argument]
}

/// A program of the two, with its own folder.
struct Program {
    program: PathBuf,
    first: Vec<String>,
    folder: PathBuf,
}

impl Program {
    fn begin(&self, text: &str) {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(self.folder.join("c")).expect("a folder");
        fs::write(self.folder.join("c/t"), text).expect("a file");
    }

    /// Returns exit code, output and error without the path. Output lines are sorted, because
    /// libuci of 2021 places a set option behind the others.
    fn run(&self, words: &[String]) -> (Option<i32>, Vec<String>, String) {
        let output = Command::new(&self.program)
            .args(&self.first)
            .args(["-c", "c", "-t", "s"])
            .args(words)
            .current_dir(&self.folder)
            .output()
            .expect("a program");
        let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(String::from)
            .collect();
        lines.sort();
        let errors = String::from_utf8_lossy(&output.stderr);
        let wrong = errors.lines().next().unwrap_or_default();
        let wrong = wrong.split(" at line").next().unwrap_or_default();
        let wrong = wrong.rsplit("uci: ").next().unwrap_or_default();
        (output.status.code(), lines, wrong.to_owned())
    }
}

#[test]
#[ignore = "needs libuci's program: run by `make uci-peer`"]
fn both_say_and_leave_the_same() {
    let peer = std::env::var_os("WEIR_UCI_PEER").expect("WEIR_UCI_PEER: see scripts/uci-peer");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = Duration::from_secs(number("WEIR_SECONDS").unwrap_or(20));
    let now = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs());
    let seed = number("WEIR_SEED").unwrap_or(now);
    println!("WEIR_SEED={seed}");
    let mut random = Random::new(seed);
    let base = std::env::temp_dir().join(format!("weir-uci-peer-{}", std::process::id()));
    let theirs = Program {
        program: peer.into(),
        first: Vec::new(),
        folder: base.join("theirs"),
    };
    let ours = Program {
        program: Path::new(env!("CARGO_BIN_EXE_weir")).to_owned(),
        first: vec!["uci".to_owned()],
        folder: base.join("ours"),
    };
    let all = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let (begin, mut cases, mut read) = (Instant::now(), 0, 0);
    while begin.elapsed() < seconds {
        let text = document(&mut random);
        theirs.begin(&text);
        ours.begin(&text);
        let mut commands = vec![all(&["show", "t"]), all(&["-n", "export"])];
        if random.one_in(6) {
            commands = vec![all(&["-S", "export", "t"])];
        }
        commands.extend((0..random.below(6)).map(|_| command(&mut random)));
        commands.extend(
            [
                &["export"][..],
                &["changes"],
                &["commit"],
                &["export"],
                &["-X", "show"],
            ]
            .map(all),
        );
        for (n, words) in commands.iter().enumerate() {
            let (wanted, said) = (theirs.run(words), ours.run(words));
            read += usize::from(n == 0 && said.0 == Some(0));
            assert_eq!(
                said,
                wanted,
                "seed {seed}, case {cases}: {text:?}: {:?}",
                &commands[..=n]
            );
        }
        cases += 1;
    }
    let _ = fs::remove_dir_all(&base);
    println!("{cases} files, of which {read} can be read");
    assert!(
        read * 4 > cases,
        "most files cannot be read: {read} of {cases}"
    );
}
