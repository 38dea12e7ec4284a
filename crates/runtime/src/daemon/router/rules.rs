//! Logs rules that inspect each packet.

use offload_core::ruleset::PerPacketRule;
use tracing::{info, warn};

/// Number of rules that the log names, each with a line; `weir check` names all.
const TOLD: usize = 16;

/// Logs these rules. `respect`: their connections stay with the kernel.
pub(super) fn log(all: &[PerPacketRule], respect: bool) {
    let left = match respect {
        true => "connections that it may match are left to the kernel",
        false => "it sees only a sample of the packets, because of each_packet = \"ignore\"",
    };
    for concern in all.iter().take(TOLD) {
        let PerPacketRule { rule, kind, .. } = concern;
        let whole = concern.is_everything();
        warn!(%rule, all = whole, why = kind.explain(), "a rule inspects each packet: {left}");
    }
    match all.len() {
        0 => info!("no rule inspects each packet any more"),
        more if more > TOLD => {
            warn!(
                more = more - TOLD,
                "more rules inspect each packet: see `weir check`"
            );
        }
        _ => {}
    }
}
