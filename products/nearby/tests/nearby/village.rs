//! Whole programs that reach each other by IP, on this machine's loopback, without Bluetooth.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::support::village::{Folder, Node, PATIENCE, PROGRAM, port, until};

/// Each node sends a message: all others receive each once, checked by a last message of each.
fn all_hear_all(nodes: &[&Node], round: &str) {
    for last in ["", " and no more"] {
        for (at, node) in nodes.iter().enumerate() {
            node.say(&format!("{round} {at}{last}"));
        }
        for (at, node) in nodes.iter().enumerate() {
            for from in (0..nodes.len()).filter(|it| *it != at) {
                let text = format!("{round} {from}{last}");
                until(&format!("{at} hears {text}"), || node.heard(&text) > 0);
            }
        }
    }
    for (at, node) in nodes.iter().enumerate() {
        for from in 0..nodes.len() {
            let times = usize::from(from != at);
            assert_eq!(
                node.heard(&format!("{round} {from}")),
                times,
                "{at} of {from}"
            );
        }
    }
}

#[test]
fn in_a_chain_each_hears_each_once_also_when_one_was_killed_and_comes_back() {
    let folder = Folder::new("chain");
    let secret = folder.secret("secret");
    let ports = [port(), port(), port()];
    let one = Node::run(&folder, "1", &secret, ports[0], &[]);
    let two = Node::run(&folder, "2", &secret, ports[1], &[ports[0]]);
    let three = Node::run(&folder, "3", &secret, ports[2], &[ports[1]]);
    until("a chain", || {
        [one.links(), two.links(), three.links()] == [1, 2, 1]
    });
    all_hear_all(&[&one, &two, &three], "first");
    // The text is long enough for several records.
    let long = "long ".repeat(6_000);
    one.say(&long);
    until("what is long comes", || three.heard(&long) == 1);
    let peers = one.ask(&["peers", "--json"]);
    assert!(
        peers.contains("\"formats\":[\"ip\"]") && peers.contains("\"signal\":null"),
        "{peers}"
    );
    assert!(peers.contains("\"address\":\"127.0.0.1:"), "{peers}");

    drop(two);
    until("they lost it", || one.links() + three.links() == 0);
    let two = Node::run(&folder, "2", &secret, ports[1], &[ports[0]]);
    until("a chain again", || {
        [one.links(), two.links(), three.links()] == [1, 2, 1]
    });
    all_hear_all(&[&one, &two, &three], "second");
}

#[test]
fn in_a_ring_where_all_name_each_other_each_hears_each_once() {
    let folder = Folder::new("ring");
    let secret = folder.secret("secret");
    let ports = [port(), port(), port()];
    let run = |name: &str, at: usize| Node::run(&folder, name, &secret, ports[at], &ports);
    let nodes = [run("1", 0), run("2", 1), run("3", 2)];
    let links = || nodes.iter().map(Node::links).collect::<Vec<_>>();
    until("a ring", || links() == [2, 2, 2]);
    all_hear_all(&[&nodes[0], &nodes[1], &nodes[2]], "ring");
    for node in &nodes {
        until("it knows its own address", || {
            node.log.with("it is this node itself") > 0
        });
    }
}

#[test]
fn who_has_another_secret_gets_in_nowhere_and_both_are_told() {
    let folder = Folder::new("stranger");
    let (secret, other) = (folder.secret("secret"), folder.secret("other"));
    assert_ne!(std::fs::read(&secret).ok(), std::fs::read(&other).ok());
    let ports = [port(), port(), port()];
    let one = Node::run(&folder, "1", &secret, ports[0], &[]);
    let two = Node::run(&folder, "2", &secret, ports[1], &[ports[0]]);
    let stranger = Node::run(&folder, "3", &other, ports[2], &[ports[0], ports[1]]);
    let refused = "connection closed without an answer: it has another secret";
    until("it is reported", || stranger.log.with(refused) >= 2);
    for node in [&one, &two] {
        until("they are told", || {
            node.log.with("caller not admitted to the village") > 0
        });
        let warned = || node.log.with("WARN");
        until("it came again", || {
            node.log.with("caller not admitted to the village") > 1
        });
        assert_eq!(warned(), 1, "once for many times");
    }
    until("a link", || [one.links(), two.links()] == [1, 1]);
    let told = stranger.refuses(&["send", "all", "let me in"]);
    assert!(told.contains("no peers near"), "{told}");
    all_hear_all(&[&one, &two], "ours");
    assert_eq!([one.heard("let me in"), two.heard("let me in")], [0, 0]);
    assert_eq!(
        stranger.links() + stranger.heard("ours 0") + stranger.heard("ours 1"),
        0
    );
}

#[test]
fn who_connects_and_is_silent_or_talks_nonsense_changes_nothing() {
    let folder = Folder::new("nonsense");
    let secret = folder.secret("secret");
    let ports = [port(), port()];
    let one = Node::run(&folder, "1", &secret, ports[0], &[]);
    let connect = || TcpStream::connect(("127.0.0.1", ports[0])).expect("a connection");
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    for seed in 0..100u8 {
        let octets: Vec<u8> = (0..2_000u32).map(|at| (at * 31) as u8 ^ seed).collect();
        // The connection may close before all is written.
        let _ = connect().write_all(&octets);
        let _ = connect().write_all(&[&[0, 48][..], &octets[..48]].concat());
    }
    silent.extend((0..100).map(|_| connect()));
    // A node is admitted among all of them, and they get no answer.
    let two = Node::run(&folder, "2", &secret, ports[1], &[ports[0]]);
    until("a link", || [one.links(), two.links()] == [1, 1]);
    all_hear_all(&[&one, &two], "unmoved");
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        let mut answer = Vec::new();
        // The node closes or resets the connection in time, without an answer.
        let end = stream.read_to_end(&mut answer);
        let is_reset = |it: &std::io::Error| it.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(end.as_ref().err().is_none_or(is_reset), "{end:?}");
        assert!(answer.is_empty());
    }
}

#[test]
fn a_secret_that_others_may_read_or_that_is_damaged_is_refused() {
    let folder = Folder::new("secret");
    let secret = folder.secret("secret");
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    let made = std::fs::metadata(&secret)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(made & 0o777, 0o600);
    let run = |more: &[&str]| {
        let mut run = Command::new(PROGRAM);
        run.arg("--socket").arg(folder.0.join("socket"));
        run.args(["run", "--adapter", "none", "--state"])
            .arg(folder.0.join("state"))
            .args(more);
        let Output { status, stderr, .. } = run.output().expect("the program");
        assert!(!status.success());
        String::from_utf8(stderr).expect("text")
    };
    let path = secret.to_str().expect("text");
    std::fs::set_permissions(&secret, mode(0o640)).expect("a mode");
    let told = run(&["--village", path]);
    assert!(
        told.contains("(mode 640)") && told.contains("chmod 600"),
        "{told}"
    );
    std::fs::set_permissions(&secret, mode(0o600)).expect("a mode");
    let line = std::fs::read_to_string(&secret).expect("a line");
    std::fs::write(&secret, &line[..40]).expect("a file");
    let told = run(&["--village", path]);
    assert!(told.contains("the line is damaged"), "{told}");
    assert!(!told.contains(&line[20..40]), "a secret is not printed");
    assert!(run(&["--village", "/nowhere"]).contains("cannot read"));
    assert!(run(&[]).contains("no peer is reachable"));
    // Options that require a village.
    assert!(run(&["--node", "a:1"]).contains("--village"));
}

/// Two programs with one key and queue would lose stored messages and replace each other.
#[test]
fn one_state_has_one_program_and_its_key_is_its_owners() {
    let folder = Folder::new("alone");
    let secret = folder.secret("secret");
    let port = port();
    let node = Node::run(&folder, "first", &secret, port, &[]);
    let state = folder.0.join("first");
    let second = || {
        let mut run = Command::new(PROGRAM);
        run.arg("--socket").arg(folder.0.join("other.sock"));
        run.args([
            "run",
            "--adapter",
            "none",
            "--listen",
            "127.0.0.1:0",
            "--village",
        ]);
        run.arg(&secret).arg("--state").arg(&state);
        let Output { status, stderr, .. } = run.output().expect("the program");
        assert!(!status.success());
        String::from_utf8(stderr).expect("text")
    };
    let told = second();
    assert!(told.contains("name another --state"), "{told}");
    // A shared socket alone is refused as well.
    let mut run = Command::new(PROGRAM);
    run.arg("--socket").arg(&node.socket);
    run.args(["run", "--adapter", "none", "--listen", "127.0.0.1:0"]);
    run.arg("--village").arg(&secret);
    let ran = run.arg("--state").arg(folder.0.join("other")).output();
    let told = String::from_utf8(ran.expect("the program").stderr).expect("text");
    assert!(
        told.contains("another weir-nearby listens at") && told.contains("another --socket"),
        "{told}"
    );
    drop(node);
    let key = state.join("key");
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&key, mode).expect("a mode");
    let told = second();
    assert!(told.contains("(mode 644): run `chmod 600` on it"), "{told}");
}

/// JSON takes six characters for each of these: a log with colours is such a text.
#[test]
fn the_longest_text_comes_also_where_json_is_long() {
    let folder = Folder::new("longest");
    let secret = folder.secret("secret");
    let port = port();
    let one = Node::run(&folder, "one", &secret, port, &[]);
    let other = Node::run(&folder, "other", &secret, 0, &[port]);
    until("a link", || one.links() == 1);
    let file = folder.0.join("text");
    let path = file.to_str().expect("text");
    std::fs::write(&file, "\u{1b}".repeat(65_407)).expect("a file");
    assert_eq!(
        one.ask(&["send", "all", "--file", path]),
        "sent to 1 near\n"
    );
    let long = "\\u001b".repeat(65_407);
    until("it comes", || other.heard(&long) == 1);
    std::fs::write(&file, "ä".repeat(32_704)).expect("a file");
    let told = one.refuses(&["send", "all", "--file", path]);
    assert!(
        told.contains("the text has more than 65407 bytes"),
        "{told}"
    );
}

/// Lost events would otherwise go unnoticed.
#[test]
fn who_reads_too_slowly_is_told_what_was_missed() {
    let folder = Folder::new("slow");
    let secret = folder.secret("secret");
    let port = port();
    let one = Node::run(&folder, "one", &secret, port, &[]);
    let other = Node::run(&folder, "other", &secret, 0, &[port]);
    until("a link", || one.links() == 1);
    let client = api::Client::new(&other.socket).expect("a socket");
    let mut lines = client.open("/v1/messages").expect("a stream").lines();
    let file = folder.0.join("text");
    for number in 0..60 {
        let text = format!("{number} {}", "x".repeat(60_000));
        std::fs::write(&file, text).expect("a file");
        one.ask(&["send", "all", "--file", file.to_str().expect("text")]);
    }
    one.say("the last");
    until("all came", || other.heard("the last") == 1);
    let (mut came, mut missed) = (0, 0);
    // The last message arrives, or counts as missed.
    while came + missed < 61 {
        let line = lines.next().expect("it goes on").expect("a line");
        let Ok(said) = serde_json::from_str::<serde_json::Value>(&line) else {
            continue;
        };
        match said["event"].as_str() {
            Some("message") => came += 1,
            Some("missed") => missed += said["count"].as_u64().expect("a count"),
            _ => {}
        }
    }
    assert_eq!(came + missed, 61);
    assert!(missed > 0, "it was too slow");
}
