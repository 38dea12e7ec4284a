//! Nodes of weir-nearby among themselves.

use lab::Error;
use serde_json::json;

use crate::scene::{Node, Scene, tried};

/// Brings two nodes near; each sends the other a message.
fn meet(one: &Node, other: &Node) -> Result<(), Error> {
    one.near(&[&other.id])?;
    other.near(&[&one.id])?;
    for (from, to) in [(one, other), (other, one)] {
        let text = format!("from {}", from.id);
        from.say("all", &text)?;
        let peer = &from.id;
        let heard = json!({"event": "message", "peer": peer, "sender": peer, "format": "v2",
            "text": text});
        to.told.wait_for(&heard)?;
        let done = json!({"event": "outcome", "number": 1, "peer": to.id, "done": true});
        from.told.wait_for(&done)?;
        assert_eq!(to.texts(), [text]);
    }
    Ok(())
}

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn who_rests_and_who_hurries_meet() -> Result<(), Error> {
    tried("power", |scene: &mut Scene| {
        let mut node = |power| scene.node_with("both", &["--power", power]);
        meet(&node("low")?, &node("fast")?)
    })
}
