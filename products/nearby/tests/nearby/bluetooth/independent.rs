//! Tests with a peer written from the formats alone, on another stack.

use lab::Error;
use nearby::envelope::{self, Key};
use net::hex;
use serde_json::{Value, json};

use super::texts;
use crate::scene::{Node, Peer, Scene, tried, unexpected};

/// Ids below and above all others: the lower one calls.
pub const LOW: &str = "0000000000000001";
pub const HIGH: &str = "ff00000000000001";

/// Returns the bytes of all messages that a peer received, in order.
fn octets(told: &[Value]) -> Vec<String> {
    let messages = told.iter().filter(|it| it["event"] == "message");
    let octets = messages.filter_map(|it| it["hex"].as_str());
    octets.map(str::to_owned).collect()
}

/// Waits until a peer received the last of these texts. Returns the order of all, by their indexes.
pub fn peer_order(peer: &Peer, texts: &[String]) -> Result<Vec<usize>, Error> {
    // Signature, sender, time and Protobuf's overhead.
    let is = |octets: &str, text: &str| {
        octets.contains(&hex::text(text.as_bytes()))
            && (100..160).contains(&(octets.len() / 2).saturating_sub(text.len()))
    };
    let index = |octets: &String| texts.iter().position(|text| is(octets, text));
    let all = peer.told().wait("a peer's messages", |told| {
        let all: Vec<Option<usize>> = octets(told).iter().map(index).collect();
        let has_last = all.contains(&texts.len().checked_sub(1));
        (all.len() >= texts.len() && has_last).then_some(all)
    })?;
    let order: Option<Vec<usize>> = all.iter().copied().collect();
    order.ok_or_else(|| unexpected(format!("a message without a text: {all:?}")))
}

/// Waits until a peer received each of these texts once, in order.
fn peer_heard(peer: &Peer, texts: &[String]) -> Result<(), Error> {
    let order = peer_order(peer, texts)?;
    // An error and not a panic: the logs are then printed.
    match order.iter().copied().eq(0..texts.len()) {
        true => Ok(()),
        false => Err(unexpected(format!("texts came as {order:?}"))),
    }
}

/// Sends messages both ways, each once and whole.
fn speak(node: &Node, peer: &mut Peer, format: &str, sizes: &[usize]) -> Result<(), Error> {
    node.near(&[&peer.id])?;
    let texts = texts(sizes);
    for text in &texts {
        node.say("all", text)?;
    }
    for number in 1..=texts.len() {
        node.told
            .wait_for(&json!({"event": "outcome", "number": number,
            "peer": peer.id, "done": true}))?;
    }
    peer_heard(peer, &texts)?;
    // Texts of a sender whose messages the peer passes on, and one unreadable message.
    let key = Key::from_seed(&[7; 32]).ok_or_else(|| unexpected("no key"))?;
    for text in &texts {
        let message = hex::text(&envelope::feed(&key, text, 1));
        peer.ask(&format!("send {} {message}", node.id))?;
        node.told
            .wait_for(&json!({"event": "message", "text": text,
            "sender": key.node().id().to_string(), "peer": peer.id, "format": format}))?;
    }
    for size in [1, 20] {
        peer.ask(&format!("send-random {} {size}", node.id))?;
        node.told
            .wait_for(&json!({"event": "other", "octets": size, "peer": peer.id}))?;
    }
    assert!(node.texts() == texts, "not each text once");
    Ok(())
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn a_peer_of_v2_that_calls_is_understood() -> Result<(), Error> {
    tried("v2-calls", |scene: &mut Scene| {
        let node = scene.node("both")?;
        let options = ["--format", "v2", "--role", "central", "--hex"];
        let mut peer = scene.peer(LOW, &options)?;
        speak(&node, &mut peer, "v2", &[1, 20, 244, 1500, 9000])
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn a_peer_of_v2_that_is_called_is_understood() -> Result<(), Error> {
    tried("v2-called", |scene: &mut Scene| {
        let node = scene.node("both")?;
        let options = ["--format", "v2", "--role", "peripheral", "--hex"];
        let mut peer = scene.peer(HIGH, &options)?;
        speak(&node, &mut peer, "v2", &[1, 20, 244, 1500, 9000])
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn a_peer_of_v1_is_understood() -> Result<(), Error> {
    tried("v1", |scene: &mut Scene| {
        let node = scene.node("both")?;
        let mut peer = scene.peer(HIGH, &["--format", "v1", "--hex"])?;
        speak(&node, &mut peer, "v1", &[1, 20, 300])
    })
}
