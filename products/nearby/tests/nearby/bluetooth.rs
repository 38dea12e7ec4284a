//! Messages between peers nearby.

mod bridge;
mod channel;
mod faults;
mod independent;
mod pair;
mod strangers;

use lab::Error;
use serde_json::json;

use crate::scene::Node;

/// Messages of these sizes, each with letters of its own.
fn texts(sizes: &[usize]) -> Vec<String> {
    let letters = ('a'..='z').cycle();
    let texts = sizes.iter().zip(letters);
    texts
        .map(|(size, letter)| letter.to_string().repeat(*size))
        .collect()
}

/// Waits until a node received the last text, and compares all texts so far.
fn heard(node: &Node, texts: &[String]) -> Result<(), Error> {
    let last = texts.last().cloned().unwrap_or_default();
    let waited = json!({"event": "message", "text": last});
    node.told.wait_for(&waited)?;
    let short = |all: &[String]| {
        let mut shown = Vec::new();
        for text in all {
            shown.push(format!("{} × {:.1}", text.len(), text));
        }
        shown
    };
    let (is, wanted) = (node.texts(), texts);
    assert!(is == wanted, "{:?}, not {:?}", short(&is), short(wanted));
    Ok(())
}
