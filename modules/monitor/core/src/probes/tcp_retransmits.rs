//! Segments that sockets of this router sent again: bpf/include/probe_tcp.h.

use super::probe::{Label, LabelValues, Measure, Needs, Probe, Unit};

/// The probe.
pub const TCP_RETRANSMITS: Probe = Probe {
    name: "tcp-retransmits",
    help: "TCP segments that this router itself retransmitted, by the state of the connection",
    measure: Measure::Counter,
    unit: Unit::Packets,
    label: Some(Label {
        name: "state",
        // include/net/tcp_states.h; the numbers are stable, because user space sees them (struct
        // tcp_info).
        words: LabelValues::Fixed(&[
            "",
            "ESTABLISHED",
            "SYN_SENT",
            "SYN_RECV",
            "FIN_WAIT1",
            "FIN_WAIT2",
            "TIME_WAIT",
            "CLOSE",
            "CLOSE_WAIT",
            "LAST_ACK",
            "LISTEN",
            "CLOSING",
            "NEW_SYN_RECV",
        ]),
    }),
    needs: Needs {
        linux: "4.15",
        tracepoints: &["tcp_retransmit_skb"],
    },
};
