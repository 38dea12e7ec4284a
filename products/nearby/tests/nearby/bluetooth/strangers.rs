//! Hostile devices nearby.

use lab::Error;
use serde_json::json;

use super::heard;
use super::independent::HIGH;
use crate::scene::{Scene, tried};

/// Returns malformed bytes.
fn noise(seed: u32) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 24
    };
    let size = 1 + next() % 20;
    (0..size).map(|_| format!("{:02x}", next())).collect()
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn who_lies_floods_and_sends_noise_keeps_nobody_from_the_others() -> Result<(), Error> {
    tried("strangers", |scene: &mut Scene| {
        let mut node = scene.node("v2")?;
        let other = scene.node("v2")?;
        let mut stranger = scene.peer(HIGH, &["--format", "v2", "--role", "peripheral"])?;
        node.near(&[&other.id, HIGH])?;
        node.linked(&other.id, "v2")?;
        other.linked(&node.id, "v2")?;
        stranger
            .told()
            .wait_for(&json!({"event": "identified", "id": node.id}))?;
        // A complete message of one byte under the id of another.
        let lie = format!("0800000001{}d3d99e8b{}41", "0001", other.id);
        stranger.ask(&format!("raw {} {lie}", node.id))?;
        stranger
            .told()
            .wait_for(&json!({"event": "ok", "cmd": "raw"}))?;
        let before = stranger.told().count();
        let frames: Vec<String> = (0..150).map(noise).collect();
        stranger.ask(&format!("raw {} {}", node.id, frames.join(",")))?;
        node.say(&other.id, "while there is noise")?;
        heard(&other, &["while there is noise".to_owned()])?;
        stranger.told().wait("the noise to end", |told| {
            let mut new = told[before..].iter();
            new.find(|it| {
                it["event"] == "ok" || it["event"] == "error" || it["event"] == "disconnected"
            })
            .map(|_| ())
        })?;
        // A peer that changes its id is disconnected.
        node.linked(HIGH, "v2")?;
        let before = stranger.told().count();
        stranger.ask(&format!("raw {} 01{}", node.id, other.id))?;
        stranger.told().wait("the liar to be let go", |told| {
            let mut new = told[before..].iter();
            new.find(|it| it["event"] == "disconnected").map(|_| ())
        })?;
        other.say(&node.id, "afterwards")?;
        heard(&node, &["afterwards".to_owned()])?;
        let told = node.told.all();
        let lies = told
            .iter()
            .filter(|it| it["event"] == "other" && it["peer"] == *other.id);
        assert_eq!(lies.count(), 0, "{told:?}");
        assert!(!node.is_over());
        Ok(())
    })
}
