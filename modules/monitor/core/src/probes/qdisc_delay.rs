//! Waiting time of packets in the root qdisc of a port: bpf/include/probe_qdisc.h.

use super::probe::{Measure, Needs, Probe, Unit};

/// The probe.
pub const QDISC_DELAY: Probe = Probe {
    name: "qdisc-delay",
    help: "time that packets waited in the queueing discipline of a port",
    measure: Measure::Histogram,
    unit: Unit::Microseconds,
    label: None,
    needs: Needs {
        linux: "5.15",
        tracepoints: &["qdisc_enqueue", "qdisc_dequeue"],
    },
};
