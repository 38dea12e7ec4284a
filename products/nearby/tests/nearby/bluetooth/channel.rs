//! Channels (L2CAP) in addition to connections of v2.

use lab::Error;
use lab::namespace::wait_until;
use nearby::envelope::{self, Key};
use net::hex;
use serde_json::{Value, json};

use super::independent::{HIGH, LOW};
use super::{heard, texts};
use crate::scene::{Node, Peer, Scene, tried, unexpected};
use crate::teller::LIMIT;

/// Id of an unknown device.
const STRANGER: &str = "7f00000000000001";
/// First free channel number.
const NUMBER: u16 = 0x80;

/// Waits until there is a channel with a peer, or none.
fn channel(node: &Node, id: &str, wanted: bool) -> Result<(), Error> {
    let what = format!("a channel of {} with {id}: {wanted}", node.id);
    wait_until(&what, LIMIT, || {
        let is = |it: &Value| it["id"] == id && it["channel"] == wanted;
        Ok(node.peers()?.iter().any(is))
    })
}

/// Waits until a peer has all messages that a node sent so far.
fn done(node: &Node, peer: &str, count: usize) -> Result<(), Error> {
    for number in 1..=count {
        let done = json!({"event": "outcome", "number": number, "peer": peer, "done": true});
        node.told.wait_for(&done)?;
    }
    Ok(())
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn what_two_say_goes_by_a_channel_and_by_nothing_else() -> Result<(), Error> {
    tried("channel-pair", |scene: &mut Scene| {
        let pair = [scene.node("v2")?, scene.node("v2")?];
        for (from, to) in [(0, 1), (1, 0)] {
            channel(&pair[from], &pair[to].id, true)?;
        }
        // Nothing gets through without the channel.
        scene.air(
            &json!({"cmd": "rule", "kind": "drop_pdu", "every": 1, "cid": 4,
            "ops": [0x52, 0x1b, 0x23]}),
        )?;
        let texts = texts(&[1, 300, 20, 4_100, 40_000]);
        for text in &texts {
            pair[0].say("all", text)?;
            pair[1].say("all", text)?;
        }
        for (from, to) in [(0, 1), (1, 0)] {
            heard(&pair[to], &texts)?;
            done(&pair[from], &pair[to].id, texts.len())?;
        }
        let told = scene.air(&json!({"cmd": "clear"}))?;
        let tried: Vec<&Value> = told["hits"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|rule| &rule[1])
            .collect();
        assert_eq!(tried, [0], "went without the channel");
        // A device without a connection gets no channel, and does not block other devices'
        // channels.
        let options = ["--format", "v2", "--idle", "--l2cap"];
        let mut stranger = scene.peer(STRANGER, &options)?;
        stranger.ask(&format!("l2stranger {} {NUMBER}", pair[0].adapter.address))?;
        stranger.told().wait_for(&json!({"event": "l2cap"}))?;
        stranger.told().wait_for(&json!({"event": "l2closed"}))?;
        pair[0].say(&pair[1].id, "afterwards")?;
        let heard = json!({"event": "message", "text": "afterwards"});
        pair[1].told.wait_for(&heard)?;
        channel(&pair[0], &pair[1].id, true)
    })
}

/// Both sides send a message, by a channel or by GATT.
fn speak(
    node: &Node,
    peer: &mut Peer,
    sizes: [usize; 2],
    seed: u8,
    via: &str,
) -> Result<(), Error> {
    let key = Key::from_seed(&[seed; 32]).ok_or_else(|| unexpected("no key"))?;
    for size in sizes {
        let before = peer.told().count();
        let text = "x".repeat(size);
        node.say(&peer.id, &text)?;
        let wanted = hex::text(text.as_bytes());
        peer.told().wait("what was said", |told| {
            let is = |it: &&Value| {
                let octets = it["hex"].as_str().unwrap_or_default();
                it["event"] == "message" && it["via"] == via && octets.contains(&wanted)
            };
            told[before.min(told.len())..].iter().find(is).map(|_| ())
        })?;
        let message = hex::text(&envelope::feed(&key, &text, size as u64));
        peer.ask(&format!("send {} {message}", node.id))?;
        node.told
            .wait_for(&json!({"event": "message", "text": text, "peer": peer.id,
            "sender": key.node().id().to_string()}))?;
    }
    Ok(())
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn a_peer_that_is_called_and_has_a_channel_is_spoken_to_by_it_until_it_ends() -> Result<(), Error> {
    tried("channel-called", |scene: &mut Scene| {
        let node = scene.node("v2")?;
        let options = [
            "--format",
            "v2",
            "--role",
            "peripheral",
            "--hex",
            "--l2cap",
            "--l2cap-frames",
        ];
        let mut peer = scene.peer(HIGH, &options)?;
        channel(&node, HIGH, true)?;
        speak(&node, &mut peer, [1, 9_000], 1, "l2frames")?;
        peer.ask(&format!("l2close {}", node.id))?;
        channel(&node, HIGH, false)?;
        speak(&node, &mut peer, [1, 3_000], 2, "gatt")?;
        node.linked(HIGH, "v2")
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn a_peer_that_calls_may_make_a_channel_and_lies_in_vain() -> Result<(), Error> {
    tried("channel-calls", |scene: &mut Scene| {
        let mut node = scene.node("v2")?;
        let options = [
            "--format",
            "v2",
            "--role",
            "central",
            "--hex",
            "--l2cap",
            "--l2cap-frames",
        ];
        let mut peer = scene.peer(LOW, &options)?;
        node.linked(LOW, "v2")?;
        let lies = ["ffffffff", "0004000041"];
        for (seed, lie) in (1..).zip(lies) {
            peer.ask(&format!("l2open {}", node.id))?;
            channel(&node, LOW, true)?;
            speak(&node, &mut peer, [1, 5_000], seed, "l2frames")?;
            let before = peer.told().count();
            peer.ask(&format!("l2raw {} {lie}", node.id))?;
            peer.told().wait("the channel to be closed", |told| {
                let mut new = told[before.min(told.len())..].iter();
                new.find(|it| it["event"] == "l2closed").map(|_| ())
            })?;
            channel(&node, LOW, false)?;
        }
        speak(&node, &mut peer, [1, 3_000], 9, "gatt")?;
        node.linked(LOW, "v2")?;
        assert!(!node.is_over());
        Ok(())
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn who_has_a_channel_as_qaul_does_is_heard_by_it_and_spoken_to_by_gatt() -> Result<(), Error> {
    tried("channel-qaul", |scene: &mut Scene| {
        let node = scene.node("v2")?;
        let options = ["--format", "v2", "--role", "peripheral", "--hex", "--l2cap"];
        let mut peer = scene.peer(HIGH, &options)?;
        peer.told().wait_for(&json!({"event": "l2cap"}))?;
        // The peer receives only the id by it, and takes it for a message.
        let id = json!({"event": "message", "via": "l2cap", "hex": format!("01{}", node.id)});
        peer.told().wait_for(&id)?;
        node.linked(HIGH, "v2")?;
        speak(&node, &mut peer, [1, 3_000], 1, "gatt")?;
        channel(&node, HIGH, false)?;
        peer.ask(&format!("send-random {} 20000", node.id))?;
        peer.told()
            .wait_for(&json!({"event": "sent", "how": "l2cap", "length": 20_000}))?;
        node.told
            .wait_for(&json!({"event": "other", "octets": 20_000, "peer": HIGH}))?;
        Ok(())
    })
}
