//! Shadow mode: packets that the kernel sent differently than weir would have.

use datapath::Datapath;
use net::hex;
use offload_core::Core;
use tracing::warn;

/// Differences between weir and the kernel.
#[derive(Default)]
pub(super) struct Shadow {
    /// The number of differences already in the log.
    reported: u64,
}

impl Shadow {
    /// Logs all differences, each time there is something new.
    pub fn report(&mut self, core: &Core, path: &mut Datapath) {
        let different = path.totals().map_or(0, |t| t.shadow_different);
        if different <= self.reported {
            return;
        }
        self.reported = different;
        for (id, flow) in core.flows().filter(|(_, flow)| flow.installed()) {
            for d in path.differences(id.0) {
                let tuple = if d.direction == 0 {
                    flow.original()
                } else {
                    flow.reply
                };
                warn!(
                    %tuple,
                    times = d.times,
                    weir = hex::text(&d.expected),
                    kernel = hex::text(&d.sent),
                    "the kernel sent it differently"
                );
            }
        }
    }
}
