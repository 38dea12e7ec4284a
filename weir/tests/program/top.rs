//! Tests of `weir top` in a terminal, with a simulated daemon.

use crate::support;
use std::fs;
use std::path::Path;

use support::tmux::{Pane, has};
use support::{Daemon, Directory};

/// Returns a shell script: text on the screen, `weir top`, then the terminal's settings after the
/// end.
fn script(environment: &str, socket: &str, pid: &Path) -> String {
    let weir = env!("CARGO_BIN_EXE_weir");
    let pid = pid.to_str().expect("text");
    format!(
        "echo before\n\
         env -i {environment} sh -c 'echo $$ > {pid}; exec {weir} top --socket {socket}'\n\
         echo \"ended with $?\"\n\
         stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)' | tr '\\n' ' '\n\
         sleep 600\n"
    )
}

const XTERM: &str = "TERM=xterm LANG=C.UTF-8";

struct Top {
    pane: Pane,
    directory: Directory,
}

impl Top {
    fn start(columns: u16, rows: u16, environment: &str, socket: &str) -> Self {
        let directory = Directory::new();
        let script = script(environment, socket, &directory.path().join("pid"));
        Self {
            pane: Pane::start(columns, rows, &script),
            directory,
        }
    }

    /// Checks the exit code, and that the terminal is restored.
    fn left(&self, code: u8) {
        let screen = self.pane.wait_for(&format!("ended with {code}"));
        let screen = self
            .pane
            .wait("how the terminal was left", |screen| has(screen, "isig"))
            .join("\n")
            + &screen.join("\n");
        assert!(screen.contains("isig icanon echo"), "{screen}");
        assert!(
            screen.contains("before"),
            "what was there before is there again: {screen}"
        );
        assert_eq!(self.pane.told("alternate_on"), "0");
        assert_eq!(self.pane.told("cursor_flag"), "1");
    }

    fn signal(&self, name: &str) {
        let pid = fs::read_to_string(self.directory.path().join("pid")).expect("a number");
        let status = std::process::Command::new("kill")
            .args([name, pid.trim()])
            .status();
        assert!(status.expect("kill runs").success());
    }
}

/// Returns the row of a text.
fn row(screen: &[String], text: &str) -> usize {
    let row = screen.iter().position(|row| row.contains(text));
    row.unwrap_or_else(|| panic!("{text} is not on\n{}", screen.join("\n")))
}

#[test]
fn a_person_looks_around() {
    let daemon = Daemon::start(0);
    let top = Top::start(120, 30, XTERM, daemon.socket());
    let pane = &top.pane;
    // Devices, the one that receives most first; the gateway is above the list, not in the list.
    let screen = pane.wait_for("> laptop");
    for text in [
        "3 devices  20 conversations",
        "wan0 down 35.0 Mbit/s",
        "wan0 up 5.2 Mbit/s",
        "34.1M",
        "3.3 GiB",
        "bufferbloat bad",
    ] {
        assert!(has(&screen, text), "{text}\n{}", screen.join("\n"));
    }
    assert!(
        row(&screen, "laptop") < row(&screen, "Zoë?[31m ?写真"),
        "hostile, and harmless"
    );
    assert!(
        row(&screen, "Zoë") < row(&screen, "192.168.1.4"),
        "without a name, by its address"
    );
    assert!(!has(&screen, "203.0.113.1"));
    assert!(has(&screen, "█"), "a chart");

    // Sort by another column, and back.
    pane.press(&["3"]);
    let screen = pane.wait("sorted by UP", |screen| {
        has(screen, "UP b/s") && row(screen, "Zoë") < row(screen, "laptop")
    });
    assert!(has(&screen, "▼UP b/s"), "{}", screen.join("\n"));
    pane.press(&["3"]);
    pane.wait("the other way around", |screen| {
        has(screen, "▲UP b/s") && row(screen, "192.168.1.4") < row(screen, "laptop")
    });
    pane.press(&["2"]);
    pane.wait_for("> laptop");

    // Show uplinks, and hide them.
    pane.press(&["u"]);
    pane.wait_for("203.0.113.1");
    pane.press(&["u"]);

    // Conversations of one device; details of one conversation; back.
    pane.press(&["Home", "Enter"]);
    let screen = pane.wait_for("video.example.org:443");
    assert!(
        has(
            &screen,
            "laptop  192.168.1.2  2001:db8::2  02:00:5e:10:00:01  at lan0"
        ),
        "{}",
        screen.join("\n")
    );
    assert!(has(&screen, "round trip 2.1 ms to it, 24 ms beyond"));
    assert!(has(&screen, "[2001:db8:1::1]:53") && !has(&screen, "evil.example"));
    pane.press(&["Enter"]);
    let screen = pane.wait_for("leaves as");
    for text in [
        "203.0.113.7:61000",
        "198.51.100.1:443",
        "weir, by XDP",
        "12 segments",
        "10m 0s ago",
    ] {
        assert!(has(&screen, text), "{text}\n{}", screen.join("\n"));
    }
    pane.press(&["Escape"]);
    pane.wait_for("[2001:db8:1::1]:53");
    pane.press(&["Escape"]);
    pane.wait_for("> laptop");

    // Conversations of all devices, with a filter and without.
    pane.press(&["c"]);
    let screen = pane.wait_for("?]0;owned?evil.example");
    assert!(
        has(&screen, "this router") && has(&screen, "198.51.100.53:53"),
        "{}",
        screen.join("\n")
    );
    assert!(!pane.told("pane_title").contains("owned"), "nobody obeyed");
    pane.press(&["/"]);
    pane.write("VIDEO");
    pane.wait("only one", |screen| {
        has(screen, "filter: VIDEO_") && has(screen, "video.example") && !has(screen, "evil")
    });
    pane.press(&["Enter"]);
    pane.wait_for("only `VIDEO`");
    pane.write("/zzz");
    pane.wait_for("nothing contains `VIDEOzzz`");
    pane.press(&["Escape"]);
    pane.wait_for("evil.example");

    // Help, pause and quit.
    pane.write("?");
    pane.wait_for("only rows that contain a text");
    pane.write("x");
    pane.wait_for("evil.example");
    pane.write("p");
    pane.wait_for("PAUSED");
    pane.write("p");
    pane.wait("it goes on", |screen| !has(screen, "PAUSED"));
    pane.write("q");
    top.left(0);
}

#[test]
fn it_fits_every_size_and_terminal() {
    let daemon = Daemon::start(0);
    for environment in [
        "TERM=linux LANG=C.UTF-8",
        "TERM=screen",
        "TERM=vt100 LC_ALL=C NO_COLOR=1",
    ] {
        let top = Top::start(60, 20, environment, daemon.socket());
        let screen = top.pane.wait_for("> laptop");
        assert!(
            has(&screen, "34.1M") && has(&screen, "CONVS"),
            "{}",
            screen.join("\n")
        );
        assert!(
            !screen.iter().any(|row| row.contains(['█', '▁', '▼'])),
            "{environment}: no blocks"
        );
        assert!(
            has(&screen, "vDOWN b/s") && has(&screen, "@"),
            "{}",
            screen.join("\n")
        );
        let looks = top.pane.looks();
        let coloured = looks.contains("\x1b[38;5;");
        assert_eq!(
            coloured,
            !environment.contains("NO_COLOR"),
            "{environment}: {looks:?}"
        );
        assert!(looks.contains("\x1b[7m"), "the chosen row is reversed");
        for (columns, rows) in [(200, 50), (40, 8), (25, 5), (90, 12), (60, 24)] {
            top.pane.resize(columns, rows);
            let expected = if columns < 40 {
                "weir top needs"
            } else {
                "laptop"
            };
            let screen = top.pane.wait(expected, |screen| {
                has(screen, expected) && screen.len() <= usize::from(rows)
            });
            let widest = screen.iter().map(|row| row.chars().count()).max();
            assert!(widest <= Some(usize::from(columns)));
            if columns == 200 {
                top.pane.wait("more columns", |screen| {
                    has(screen, "02:00:5e:10:00:01") && has(screen, "-61 dBm")
                });
            }
        }
        top.pane.press(&["C-c"]);
        top.left(0);
    }
}

#[test]
fn it_waits_for_a_daemon_that_is_gone() {
    let directory = Directory::new();
    let socket = directory.path().join("weir.sock");
    let top = Top::start(100, 24, XTERM, socket.to_str().expect("text"));
    top.pane.wait_for("trying again: weir is not running");
    let daemon = Daemon::start_at(&socket);
    top.pane.wait("it is there", |screen| {
        has(screen, "> laptop") && !has(screen, "trying again")
    });
    drop(daemon);
    let screen = top.pane.wait_for("trying again: weir is not running");
    assert!(
        has(&screen, "NO ANSWER") && has(&screen, "laptop"),
        "what was known stays: {}",
        screen.join("\n")
    );
    // Keys still work.
    top.pane.press(&["Down"]);
    top.pane.wait_for("> Zoë");
    let _daemon = Daemon::start_at(&socket);
    top.pane.wait("it goes on", |screen| {
        !has(screen, "trying again") && has(screen, "> Zoë")
    });
    top.pane.press(&["q"]);
    top.left(0);
}

#[test]
fn a_monitor_that_is_off_is_told_of() {
    let daemon = Daemon::without_monitor();
    let top = Top::start(140, 24, XTERM, daemon.socket());
    top.pane
        .wait_for("the monitor is off; set `enabled = true` under [monitor]");
    top.pane.press(&["q"]);
    top.left(0);
}

#[test]
fn signals_leave_the_terminal_well() {
    let daemon = Daemon::start(0);
    for signal in ["-TERM", "-INT", "-HUP"] {
        let top = Top::start(80, 24, XTERM, daemon.socket());
        top.pane.wait_for("> laptop");
        assert_eq!(top.pane.told("alternate_on"), "1");
        top.signal(signal);
        top.left(0);
    }
}

/// Helper that [`a_panic_is_told_on_a_terminal_that_was_given_back`] runs in a terminal.
#[test]
fn panics_on_the_screen() {
    if std::env::var_os("WEIR_TEST_PANIC").is_none() {
        return;
    }
    let _screen = cli::screen::Screen::enter(cli::screen::Use::Look).expect("a terminal");
    panic!("on purpose");
}

#[test]
fn a_panic_is_told_on_a_terminal_that_was_given_back() {
    let myself = std::env::current_exe().expect("a path");
    let myself = myself.to_str().expect("text");
    let script = format!(
        "echo before\n\
         env -i TERM=xterm WEIR_TEST_PANIC=1 {myself} --exact top::panics_on_the_screen --nocapture \
         2>&1\n\
         echo \"ended with $?\"\n\
         stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)' | tr '\\n' ' '\n\
         sleep 600\n"
    );
    let top = Top {
        pane: Pane::start(100, 40, &script),
        directory: Directory::new(),
    };
    let screen = top.pane.wait_for("ended with 101");
    assert!(has(&screen, "on purpose"), "{}", screen.join("\n"));
    top.left(101);
}
