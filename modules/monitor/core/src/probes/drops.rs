//! Packets that the kernel dropped, by its own reason: bpf/include/probe_drops.h.

use super::probe::{Label, LabelValues, Measure, Needs, Probe, Unit};

/// The probe.
pub const DROPS: Probe = Probe {
    name: "drops",
    help: "packets that the kernel dropped, by reason",
    measure: Measure::Counter,
    unit: Unit::Packets,
    label: Some(Label {
        name: "reason",
        words: LabelValues::Enumeration {
            name: "skb_drop_reason",
            prefix: "SKB_DROP_REASON_",
        },
    }),
    needs: Needs {
        linux: "5.17",
        tracepoints: &["kfree_skb"],
    },
};
