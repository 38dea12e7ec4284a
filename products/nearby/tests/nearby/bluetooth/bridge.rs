//! Between those of v1 and those of v2.

use lab::Error;
use serde_json::json;

use crate::scene::{Scene, tried};

#[test]
#[ignore = "needs hci_vhci and BlueZ: run by tests/vm/run"]
fn who_has_both_formats_passes_on_what_is_said_in_one_of_them() -> Result<(), Error> {
    tried("bridge", |scene: &mut Scene| {
        let old = scene.node("v1")?;
        let both = scene.node("both")?;
        let new = scene.node("v2")?;
        both.near(&[&old.id, &new.id])?;
        old.near(&[&both.id])?;
        new.near(&[&both.id])?;
        for (from, to) in [(&old, &new), (&new, &old)] {
            // A duplicate would arrive before the next text.
            for text in ["one", "two"] {
                from.say("all", text)?;
                to.told.wait_for(&json!({"event": "message", "text": text,
                    "sender": from.id, "peer": both.id}))?;
            }
            assert_eq!(to.texts(), ["one", "two"]);
            // The other way: it is not one of those.
            let near = to.peers()?;
            assert!(near.iter().all(|it| it["id"] == *both.id), "{near:?}");
        }
        Ok(())
    })
}
