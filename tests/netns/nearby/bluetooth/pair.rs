//! Those who run weir-nearby, among themselves.

use lab::Error;
use serde_json::json;

use crate::scene::{Scene, tried};

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn two_know_each_other_and_each_hears_what_the_other_says() -> Result<(), Error> {
    tried("pair", |scene: &mut Scene| {
        let one = scene.node("both")?;
        let other = scene.node("both")?;
        one.near(&[&other.id])?;
        other.near(&[&one.id])?;
        for (from, to) in [(&one, &other), (&other, &one)] {
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
    })
}
