//! `weir-nearby chat` in a terminal and through pipes, against a simulated daemon.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::support::tmux::{Pane, has};
use crate::support::{Daemon, Directory, OWN, nearby, ran};

const ANNA: &str = "0598f7b34b75adcb";
const BEN: &str = "b0b0000000000002";
const XTERM: &str = "TERM=xterm LANG=C.UTF-8";

/// A terminal session: a program, the chat, and then a check of the terminal's state.
struct Seat {
    pane: Pane,
    directory: Directory,
}

impl Seat {
    fn script(command: &str) -> String {
        format!(
            "echo before\n\
             {command}\n\
             echo \"ended with $?\"\n\
             stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)' | tr '\\n' ' '\n\
             sleep 600\n"
        )
    }

    fn start(directory: Directory, environment: &str, columns: u16, rows: u16) -> Self {
        let program = env!("CARGO_BIN_EXE_weir-nearby");
        let path = directory.path().to_str().expect("text");
        let command = format!(
            "env -i {environment} sh -c 'echo $$ > {path}/pid; exec {program} chat --socket {path}/sock'"
        );
        Self {
            pane: Pane::start(columns, rows, &Self::script(&command)),
            directory,
        }
    }

    fn signal(&self, name: &str) {
        let pid = fs::read_to_string(self.directory.path().join("pid")).expect("a number");
        let status = std::process::Command::new("kill")
            .args([name, pid.trim()])
            .status();
        assert!(status.expect("kill runs").success());
    }

    /// Checks that the chat ended and the terminal is restored.
    fn left(&self, code: u8) {
        self.pane.wait_for(&format!("ended with {code}"));
        let screen = self.pane.wait_for("isig").join("\n");
        assert!(screen.contains("isig icanon echo"), "{screen}");
        assert!(
            screen.contains("before"),
            "what was there before is there again: {screen}"
        );
        assert_eq!(self.pane.told("alternate_on"), "0");
        assert_eq!(self.pane.told("cursor_flag"), "1");
    }
}

fn socket(directory: &Directory) -> PathBuf {
    directory.path().join("sock")
}

#[test]
fn two_talk() {
    let directory = Directory::new();
    let past = json!({"peer": null, "format": null, "sender": OWN, "text": "said before", "time": 5,
        "own": true, "number": 7, "to": 3, "done": 2, "failed": 1});
    let daemon = Daemon::start(&socket(&directory), vec![past]);
    daemon.peers(&[(ANNA, -61), (BEN, -70)]);
    let seat = Seat::start(directory, XTERM, 72, 16);
    let pane = &seat.pane;
    let screen = pane.wait_for("2 near: 0598f7b3 -61 dBm, b0b00000 -70 dBm");
    assert!(has(&screen, "you  said before  ✓ 2/3 ✗ 1"), "{screen:#?}");
    assert_eq!(pane.told("alternate_on"), "1");

    // Sends an edited message, and follows its outcome.
    pane.write("Helo Grüße 写真");
    pane.press(&["Home", "Right", "Right", "Right"]);
    pane.write("l");
    pane.press(&["End"]);
    pane.wait_for("all> Hello Grüße 写真");
    pane.press(&["Enter"]);
    pane.wait_for("you  Hello Grüße 写真  … 0/2");
    for peer in [ANNA, BEN] {
        daemon.tell(json!({"event": "outcome", "number": 1, "peer": peer, "done": true}));
    }
    pane.wait_for("you  Hello Grüße 写真  ✓ 2/2");

    // Control characters from other senders have no effect.
    daemon.hears(
        ANNA,
        9,
        "\u{1b}[2J\u{1b}]0;owned\u{7}evil\u{202e}live e\u{301}\u{301}\u{301}写",
    );
    let screen = pane.wait_for("�[2J�]0;owned�evil�live e\u{301}\u{301}写");
    assert!(has(&screen, "you  Hello Grüße 写真  ✓ 2/2"), "{screen:#?}");
    assert_ne!(pane.told("pane_title"), "owned", "nobody obeyed");
    daemon.tell(
        json!({"event": "other", "peer": ANNA, "format": "v2", "kind": "direct", "octets": 9}),
    );
    pane.wait_for("0598f7b3 sent 9 bytes that cannot be read here: direct");

    // A direct message; peers that come and go.
    pane.write("/to b0b0 psst");
    pane.press(&["Enter"]);
    pane.wait_for("you to b0b00000  psst  … 0/1");
    daemon.peers(&[(ANNA, -61)]);
    daemon.tell(json!({"event": "gone", "peer": BEN}));
    let screen = pane.wait_for("b0b00000 is no longer near");
    assert!(has(&screen, "1 near: 0598f7b3 -61 dBm"), "{screen:#?}");
    pane.write("/shout");
    pane.press(&["Enter"]);
    pane.wait_for("/shout is not a command: see /help");

    // Every size.
    for (columns, rows) in [(120, 30), (30, 8), (12, 4), (3, 2), (1, 1), (72, 16)] {
        pane.resize(columns, rows);
        pane.wait("it fits", |screen| screen.len() <= usize::from(rows));
    }
    pane.wait_for("you to b0b00000  psst");
    // Ctrl-D deletes a letter, and ends the chat in an empty line.
    pane.write("x");
    pane.press(&["Home", "C-d"]);
    pane.wait("no letter", |screen| {
        screen.iter().any(|row| row == "all> ") || has(screen, "all>")
    });
    pane.press(&["C-d"]);
    seat.left(0);
}

#[test]
fn a_daemon_that_begins_anew_is_waited_for() {
    let directory = Directory::new();
    let path = socket(&directory);
    let daemon = Daemon::start(&path, Vec::new());
    daemon.peers(&[(ANNA, -61)]);
    let seat = Seat::start(directory, "TERM=xterm NO_COLOR=1", 72, 16);
    let pane = &seat.pane;
    pane.wait_for("1 near");
    daemon.hears(ANNA, 9, "one");
    pane.wait_for("0598f7b3  one");
    pane.write("mine");
    pane.press(&["Enter"]);
    pane.wait_for("you  mine  at 0 of 1");
    drop(daemon);
    let screen = pane.wait_for("weir-nearby is not reachable");
    assert!(
        has(&screen, "weir-nearby is not reachable: trying again"),
        "{screen:#?}"
    );
    // A message that cannot be sent stays in the input line.
    pane.write("later");
    pane.press(&["Enter"]);
    pane.wait_for("not sent: no program listens at");
    pane.wait_for("all> later");
    let daemon = Daemon::start(&path, Vec::new());
    daemon.peers(&[(BEN, -50)]);
    pane.wait_for("weir-nearby is reachable again");
    pane.press(&["Enter"]);
    pane.wait_for("you  later  at 0 of 1");
    daemon.tell(json!({"event": "outcome", "number": 1, "peer": BEN, "done": false}));
    let screen = pane.wait_for("you  later  at 0 of 1, failed at 1");
    assert!(has(&screen, "you  mine  at 0 of 1") && !has(&screen, "mine  at 0 of 1,"));
    let looks = pane.looks();
    for colour in 1..=6 {
        let code = format!("\u{1b}[3{colour}m");
        assert!(!looks.contains(&code), "no colours: {looks:?}");
    }
    pane.press(&["C-c"]);
    seat.left(0);
}

#[test]
fn whatever_ends_it_leaves_the_terminal_well() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let directory = Directory::new();
        let _daemon = Daemon::start(&socket(&directory), Vec::new());
        let seat = Seat::start(directory, XTERM, 72, 16);
        seat.pane.wait_for("no peers near");
        seat.signal(signal);
        seat.left(0);
    }
    let directory = Directory::new();
    let _daemon = Daemon::start(&socket(&directory), Vec::new());
    let seat = Seat::start(directory, XTERM, 72, 16);
    seat.pane.wait_for("no peers near");
    seat.pane.write("/quit");
    seat.pane.press(&["Enter"]);
    seat.left(0);
}

/// Not a test by itself: [`a_panic_is_told_on_a_terminal_that_was_given_back`] runs this.
#[test]
fn panics_on_the_screen() {
    if std::env::var_os("WEIR_TEST_PANIC").is_none() {
        return;
    }
    let _screen = cli::screen::Screen::enter(cli::screen::Use::Write).expect("a terminal");
    panic!("on purpose");
}

#[test]
fn a_panic_is_told_on_a_terminal_that_was_given_back() {
    let myself = std::env::current_exe().expect("a path");
    let myself = myself.to_str().expect("text");
    let command = format!(
        "env -i TERM=xterm WEIR_TEST_PANIC=1 {myself} --exact chat::panics_on_the_screen --nocapture 2>&1"
    );
    let seat = Seat {
        pane: Pane::start(100, 40, &Seat::script(&command)),
        directory: Directory::new(),
    };
    let screen = seat.pane.wait_for("ended with 101");
    assert!(has(&screen, "on purpose"), "{screen:#?}");
    seat.left(101);
}

#[test]
fn it_works_through_pipes() {
    let directory = Directory::new();
    let path = socket(&directory);
    let past = json!({"peer": ANNA, "format": "v1", "sender": ANNA, "text": "old", "time": 5,
        "own": false, "number": null, "to": 0, "done": 0, "failed": 0});
    let daemon = Daemon::start(&path, vec![past]);
    daemon.peers(&[(ANNA, -61)]);
    let mut chat = nearby(&["chat", "--socket", path.to_str().expect("text")])
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = chat.stdin.take().expect("a pipe");
    let mut output = BufReader::new(chat.stdout.take().expect("a pipe"));
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        line
    };
    // The chat listens once it has the history; until then no message arrives.
    std::thread::scope(|scope| {
        let (heard, is_heard) = std::sync::mpsc::channel();
        let daemon = &daemon;
        scope.spawn(move || {
            while is_heard
                .recv_timeout(std::time::Duration::from_millis(200))
                .is_err()
            {
                daemon.hears(ANNA, 20, "one\ntwo\u{1b}[2J");
            }
        });
        assert_eq!(
            line(),
            "1970-01-01 00:00 0598f7b34b75adcb  one two\u{fffd}[2J\n"
        );
        heard.send(()).expect("it waits");
    });
    input
        .write_all("/quit is said, too\n\nGrüße".as_bytes())
        .expect("written");
    drop(input);
    let ended = ran(chat.wait_with_output().expect("it ends"));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let said = ["/quit is said, too", "Grüße"].map(|text| ["all", text].map(ToOwned::to_owned));
    assert_eq!(daemon.said(), said);

    // A failed message shows in the exit code.
    let long = "x".repeat(70_000);
    let mut chat = nearby(&["chat", "--socket", path.to_str().expect("text")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = chat.stdin.take().expect("a pipe");
    input.write_all(long.as_bytes()).expect("written");
    drop(input);
    let ended = ran(chat.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .err
            .contains("not sent: a line has more than 65407 bytes"),
        "{}",
        ended.err
    );
}
