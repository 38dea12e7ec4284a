//! Tests of `weir passwd`: on its own terminal, and with the password on standard input.

use crate::support;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use support::{Directory, Ran, ran, weir};

fn file(directory: &Directory) -> String {
    let file = directory.path().join("password");
    file.to_str().expect("text").to_owned()
}

fn from_stdin(file: &str, input: &[u8]) -> Ran {
    let mut child = weir(&["passwd", "--stdin", "--file", file])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("piped");
    // The command may stop reading early.
    let _ = stdin.write_all(input);
    drop(stdin);
    ran(child.wait_with_output().expect("it ends"))
}

fn fits(file: &str, password: &str) -> bool {
    let hash = fs::read_to_string(file).expect("a hash");
    web::password::verify(password, &hash).expect("a hash")
}

#[test]
fn from_standard_input() {
    let directory = Directory::new();
    let file = file(&directory);
    let set = from_stdin(&file, b"secret words\n");
    assert_eq!((set.code, set.err.as_str()), (Some(0), ""));
    assert_eq!(set.out, format!("the password is set, in {file}\n"));
    assert!(fits(&file, "secret words") && !fits(&file, "secret words\n"));
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let before = fs::read(&file).expect("a hash");
    for weak in [
        &b""[..],
        b"\n",
        b"short\n",
        b"aaaaaaaaaa\n",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\n",
    ] {
        let refused = from_stdin(&file, weak);
        assert_eq!(refused.code, Some(1), "{weak:?}");
        assert!(
            refused.err.contains("nothing was changed"),
            "{}",
            refused.err
        );
    }
    assert_eq!(fs::read(&file).expect("a hash"), before);
}

#[test]
fn says_what_stands_in_the_way() {
    let no_terminal = ran(weir(&["passwd"]).output().expect("the command runs"));
    assert_eq!(no_terminal.code, Some(2));
    assert!(no_terminal.err.contains("--stdin"), "{}", no_terminal.err);
    let nowhere = from_stdin("/proc/weir/password", b"secret words\n");
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.err.contains("Hint: "), "{}", nowhere.err);
}

/// The user's side of a terminal: screen and keyboard.
struct Person {
    screen: File,
    terminal: OwnedFd,
    child: Child,
    seen: String,
}

impl Person {
    fn sits_down(file: &str) -> Self {
        let pair = openpty(None, None).expect("a terminal");
        let side = || Stdio::from(pair.slave.try_clone().expect("another"));
        let child = weir(&["passwd", "--file", file])
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("the command runs");
        Self {
            screen: File::from(pair.master),
            terminal: pair.slave,
            child,
            seen: String::new(),
        }
    }

    /// Reads until the prompt is on the screen and the terminal no longer echoes.
    fn asked(&mut self, prompt: &str) {
        while !self.seen.ends_with(prompt) {
            let mut piece = [0; 256];
            let count = self.screen.read(&mut piece).expect("the screen");
            self.seen += std::str::from_utf8(&piece[..count]).expect("text");
        }
        while self.shows() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn shows(&self) -> bool {
        let flags = tcgetattr(&self.terminal).expect("a terminal").local_flags;
        flags.contains(LocalFlags::ECHO)
    }

    fn types(&mut self, text: &[u8]) {
        self.screen.write_all(text).expect("typed");
    }

    /// Waits for the end; returns the exit code and all output.
    fn leaves(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        assert!(self.shows(), "the terminal is as it was");
        // With the last writer gone, reading ends with an error (EIO) rather than 0.
        drop(self.terminal);
        let mut rest = Vec::new();
        let _ = self.screen.read_to_end(&mut rest);
        self.seen += &String::from_utf8_lossy(&rest);
        (code, self.seen)
    }
}

fn answers(file: &str, first: &[u8], second: &[u8]) -> (Option<i32>, String) {
    let mut person = Person::sits_down(file);
    person.asked("New password: ");
    person.types(first);
    person.asked("The same again: ");
    person.types(second);
    person.leaves()
}

#[test]
fn asks_twice_and_shows_nothing() {
    let directory = Directory::new();
    let file = file(&directory);
    let (code, seen) = answers(&file, b"secret wordz\x7fs\r", b"secret words\r");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("the password is set"), "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
    assert!(fits(&file, "secret words"));
    let (code, seen) = answers(&file, b"other secret\r", b"other secrets\r");
    assert_eq!(code, Some(1));
    assert!(seen.contains("the two passwords differ"), "{seen}");
    assert!(fits(&file, "secret words"), "nothing was changed");
}

#[test]
fn ends_without_leaving_the_terminal_silent() {
    let directory = Directory::new();
    let file = file(&directory);
    for typed in [&b"short\r"[..], b"secr\x03", b"\x04"] {
        let mut person = Person::sits_down(&file);
        person.asked("New password: ");
        person.types(typed);
        let (code, seen) = person.leaves();
        assert_eq!(code, Some(1), "{seen}");
        assert!(seen.contains("nothing was changed"), "{seen}");
    }
    assert!(!Path::new(&file).exists());
}
