//! An air that loses, connections that end, and BlueZ that dies.

use lab::Error;
use serde_json::{Value, json};

use super::independent::{HIGH, peer_order};
use super::{heard, texts};
use crate::scene::{Node, Scene, tried, unexpected};

/// Connects two nodes without a channel, because GATT has the losses.
fn pair(scene: &mut Scene) -> Result<[Node; 2], Error> {
    let mut node = || scene.node_with("v2", &["--no-channels"]);
    let pair = [node()?, node()?];
    for (from, to) in [(0, 1), (1, 0)] {
        pair[from].linked(&pair[to].id, "v2")?;
    }
    Ok(pair)
}

/// Returns the number of ended connections.
fn ends(told: &[Value]) -> usize {
    let is_end = |it: &&Value| it["event"] == "link-down";
    told.iter().filter(is_end).count()
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn of_each_ten_packets_one_is_lost_and_no_message() -> Result<(), Error> {
    tried("loss", |scene: &mut Scene| {
        let pair = pair(scene)?;
        let sizes = [1, 300, 20, 1500, 5, 4000, 900, 64, 2500, 8];
        let texts = texts(&sizes);
        // An unanswered request would end the connection, in each kind of write and notification.
        for (from, to) in [(0, 1), (1, 0)] {
            scene.air(
                &json!({"cmd": "rule", "kind": "drop_pdu", "every": 10, "cid": 4,
                "ops": [0x52, 0x1b, 0x23],
                "from": pair[from].adapter.address, "to": pair[to].adapter.address}),
            )?;
        }
        for text in &texts {
            pair[0].say("all", text)?;
            pair[1].say("all", text)?;
        }
        heard(&pair[1], &texts)?;
        heard(&pair[0], &texts)?;
        let told = scene.air(&json!({"cmd": "clear"}))?;
        let lost = |rule: &Value| rule[1].as_u64().unwrap_or_default();
        let lost: Vec<u64> = told["hits"]
            .as_array()
            .into_iter()
            .flatten()
            .map(lost)
            .collect();
        assert!(
            lost.len() == 2 && lost.iter().all(|it| *it >= 2),
            "lost: {lost:?}"
        );
        Ok(())
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn connections_that_end_in_the_middle_of_a_message_or_with_bluez_double_or_lose_none()
-> Result<(), Error> {
    tried("ends", |scene: &mut Scene| {
        let pair = pair(scene)?;
        // Four chunks: the first of them is lost, then the last, then the acknowledgement.
        let cases = [(0, 1, 0), (0, 1, 3), (1, 0, 0)];
        let texts = texts(&[700; 3]);
        for (number, (text, (from, to, after))) in texts.iter().zip(cases).enumerate() {
            let before = ends(&scene.air_told().all());
            scene.air(&json!({"cmd": "disconnect_after", "pdus": after,
                "a": pair[from].adapter.address, "b": pair[to].adapter.address}))?;
            pair[0].say("all", text)?;
            scene.air_told().wait("a connection to end", |told| {
                (ends(told) > before).then_some(())
            })?;
            heard(&pair[1], &texts[..=number])?;
            pair[0]
                .told
                .wait_for(&json!({"event": "outcome", "number": number + 1,
                "peer": pair[1].id, "done": true}))?;
        }
        // Both meet again after a restart of BlueZ.
        scene.bluez_again()?;
        for (from, to) in [(0, 1), (1, 0)] {
            pair[from].linked(&pair[to].id, "v2")?;
        }
        pair[0].say("all", "from 0")?;
        heard(&pair[1], &[texts, vec!["from 0".to_owned()]].concat())?;
        pair[1].say("all", "from 1")?;
        heard(&pair[0], &["from 1".to_owned()])
    })
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn messages_stay_in_order_when_the_other_side_calls_anew() -> Result<(), Error> {
    tried("order", |scene: &mut Scene| {
        let node = scene.node("v2")?;
        let mut peer = scene.peer(HIGH, &["--format", "v2", "--hex"])?;
        node.linked(HIGH, "v2")?;
        // This peer called, and cannot do so again.
        peer.told()
            .wait_for(&json!({"event": "connected", "role": "peripheral"}))?;
        peer.ask("advertise off")?;
        peer.told()
            .wait_for(&json!({"event": "ok", "cmd": "advertise"}))?;
        let before = ends(&scene.air_told().all());
        scene.air(&json!({"cmd": "disconnect_after", "pdus": 9,
            "a": node.adapter.address, "b": peer.address}))?;
        let texts = texts(&[1500, 20, 700, 1, 2000, 300]);
        for text in &texts {
            node.say("all", text)?;
        }
        scene.air_told().wait("a connection to end", |told| {
            (ends(told) > before).then_some(())
        })?;
        // The peer keeps the old connection until the event, and would use it.
        peer.told().wait_for(&json!({"event": "disconnected"}))?;
        peer.ask(&format!("connect {}", node.adapter.address))?;
        peer.told()
            .wait_for(&json!({"event": "connected", "role": "central"}))?;
        for number in 1..=texts.len() {
            node.told
                .wait_for(&json!({"event": "outcome", "number": number,
                "peer": HIGH, "done": true}))?;
        }
        // The peer does not recognize a message whose acknowledgement was lost with the connection:
        // the new connection begins with the first such message, and continues from there.
        let order = peer_order(&peer, &texts)?;
        let steps_back = order.windows(2).filter(|it| it[1] <= it[0]).count();
        let skips = order.windows(2).any(|it| it[1] > it[0] + 1);
        match order.first() == Some(&0) && steps_back <= 1 && !skips {
            true => Ok(()),
            false => Err(unexpected(format!("texts came as {order:?}"))),
        }
    })
}
