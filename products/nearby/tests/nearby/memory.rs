//! Memory of a node with peers that read nothing, with whole programs that reach each other by IP.

use crate::support::village::{Folder, Node, port, until};

/// Number of stopped programs, which read nothing.
const PEERS: usize = 8;
/// Total number of messages, own and relayed: far more than fit into memory, and at most the limit
/// of the queue for each peer.
const SAID: usize = 60;
/// Length of a text, in bytes.
const LENGTH: usize = 60_000;
/// Largest growth of the memory, KiB: 2 MiB that wait, and for each peer a load, a message and the
/// messages in flight.
const GROWS: u64 = 4_096;

#[test]
fn who_reads_nothing_costs_a_node_little() {
    let folder = Folder::new("memory");
    let secret = folder.secret("secret");
    let at = port();
    let node = Node::run(&folder, "node", &secret, at, &[]);
    let peers: Vec<Node> = (0..PEERS)
        .map(|it| Node::run(&folder, &format!("{it}"), &secret, port(), &[at]))
        .collect();
    let floods = Node::run(&folder, "floods", &secret, port(), &[at]);
    until("all are there", || node.links() == PEERS + 1);
    let before = node.most_memory();
    for peer in &peers {
        peer.stop();
    }
    let text = folder.0.join("text");
    for at in 0..SAID {
        std::fs::write(&text, format!("{at:08} {}", "x".repeat(LENGTH))).expect("a text");
        let from = if at % 2 == 0 { &floods } else { &node };
        from.ask(&["send", "all", "--file", text.to_str().expect("text")]);
    }
    until("it heard all", || {
        node.said.with("\"event\":\"message\"") == SAID / 2
    });
    let after = node.most_memory();
    println!("{before} KiB, then {after} KiB");
    assert!(after <= before + GROWS, "{before} KiB, then {after} KiB");
    for peer in &peers {
        peer.go_on();
    }
    // Messages that did not fit into memory still arrive.
    for peer in &peers {
        until("it heard all", || {
            peer.said.with("\"event\":\"message\"") == SAID
        });
    }
}
