//! Rules that look at each packet, in the log.

use offload_core::ruleset::Concern;
use tracing::{info, warn};

/// Rules that are named in the log, each with a line; `weir check` names all.
const TOLD: usize = 16;

/// Names these rules in the log. `respect`: their connections are left to the kernel.
pub(super) fn log(all: &[Concern], respect: bool) {
    let left = match respect {
        true => "connections that it may concern are left to the kernel",
        false => "it sees a sample of the packets, as each_packet says to ignore it",
    };
    for concern in all.iter().take(TOLD) {
        let Concern { rule, kind, .. } = concern;
        let whole = concern.is_everything();
        warn!(%rule, all = whole, why = kind.explain(), "a rule looks at each packet: {left}");
    }
    match all.len() {
        0 => info!("no rule looks at each packet any more"),
        more if more > TOLD => {
            warn!(
                more = more - TOLD,
                "more rules look at each packet: `weir check`"
            );
        }
        _ => {}
    }
}
