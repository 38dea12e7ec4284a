//! Qdiscs that packets may bypass.

use kernel::Link;
use kernel::route::qdisc::Listed;

use super::facts::PortFacts;

/// Qdiscs that packets may bypass: none at all, or the defaults, which neither shape nor classify
/// unless the operator tuned them.
const PASSABLE: [&str; 7] = [
    "noqueue",
    "pfifo_fast",
    "mq",
    "fq_codel",
    "fq",
    "pfifo",
    "noop",
];

/// Permitted qdiscs whose kind is not sufficient: `mq` has others below it, `fq` may have a rate,
/// and the operator may have tuned the others.
const WITH_DETAILS: [&str; 4] = ["mq", "fq", "fq_codel", "pfifo"];

/// Returns true if weir must run [`shaper`]: the kind of the root qdisc does not say all.
pub fn has_details(root: &str) -> bool {
    WITH_DETAILS.contains(&root)
}

/// Names a qdisc of a device that shapes, classifies or was tuned by the operator, in words.
pub fn shaper(qdiscs: &[Listed]) -> Option<String> {
    let root = qdiscs.iter().find(|qdisc| qdisc.root);
    qdiscs.iter().find_map(|qdisc| {
        let what = match PASSABLE.contains(&qdisc.kind.as_str()) {
            _ if qdisc.rate => format!("{} with a rate", qdisc.kind),
            false => qdisc.kind.clone(),
            true if qdisc.tuned => format!("{} with options of its own", qdisc.kind),
            true => return None,
        };
        Some(match root.filter(|_| !qdisc.root) {
            Some(root) => format!("{what} below {}", root.kind),
            None => what,
        })
    })
}

/// Returns the qdisc of a device that no packet may bypass, in words; empty if unknown.
pub fn kept(link: &Link, facts: &PortFacts) -> Option<String> {
    if PASSABLE.contains(&link.qdisc.as_str()) {
        facts.shaper.clone()
    } else {
        Some(link.qdisc.clone())
    }
}
