//! Tests of `weir paths --watch` in a terminal, with a simulated daemon.

use crate::support;
use support::Daemon;
use support::tmux::{Pane, has};

#[test]
fn figures_are_drawn_anew_in_place() {
    let daemon = Daemon::start(0);
    let weir = env!("CARGO_BIN_EXE_weir");
    let socket = daemon.socket();
    let script =
        format!("echo before\n{weir} paths --watch --socket {socket}\necho ended\nsleep 600\n");
    let pane = Pane::start(140, 24, &script);
    let drawn = |screen: &[String]| has(screen, "Mbit/s") && !has(screen, "before");
    let screen = pane.wait("rates, in place of what was there", drawn);
    assert!(screen[0].starts_with("partner partner.example:9349: connected"));
    let rows = |screen: &[String], name: &str| {
        let of = screen.iter().filter(|row| row.starts_with(name));
        of.cloned().collect::<Vec<_>>()
    };
    let first = rows(&screen, "ppp0");
    assert_eq!(first.len(), 1, "{screen:?}");
    // ppp0 carries twice as much as the other path: 20 and 10 Mbit/s, minus the time of a query.
    let rate = |row: &str| -> f64 {
        let words: Vec<_> = row.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "Mbit/s").expect(row);
        words[at - 1].parse().expect(row)
    };
    assert!((14.0..=20.5).contains(&rate(&first[0])), "{first:?}");
    let other = rows(&screen, "wwan?0");
    assert!((7.0..=10.5).contains(&rate(&other[0])), "{other:?}");
    let later = pane.wait("more, later", |screen| rows(screen, "ppp0") != first);
    assert_eq!(rows(&later, "ppp0").len(), 1, "{later:?}");
    drop(daemon);
    let screen = pane.wait_for("ended");
    assert!(has(&screen, "weir is not running"), "{screen:?}");
}
