//! Probes of the simulated daemon.

use answers::{Probe, ProbeKind, ProbeRecord, Probes};

/// Returns a counter, a histogram and an invalid probe.
pub fn probes() -> Probes {
    let record = |port: &str, device: &str, label: &str, count| ProbeRecord {
        port: Some(port.into()),
        device: Some(device.into()).filter(|device: &String| !device.is_empty()),
        label: Some(label.into()).filter(|label: &String| !label.is_empty()),
        count,
        ..Default::default()
    };
    let station = "02:00:5e:10:00:0a";
    Probes {
        probes: vec![
            Probe {
                name: "drops".into(),
                help: "packets that the kernel dropped, by reason".into(),
                unit: "packets".into(),
                label: Some("reason".into()),
                tracepoints: vec!["kfree_skb".into()],
                linux: "5.17".into(),
                active: true,
                records: vec![
                    record("lan\u{1b}0", station, "NETFILTER_DROP", 1_234),
                    record("wan0", "", "IP_CSUM", 7),
                ],
                overflow: 12,
                ..Default::default()
            },
            Probe {
                name: "qdisc-delay".into(),
                help: "time that packets waited in the queueing discipline of a port".into(),
                kind: ProbeKind::Histogram,
                unit: "microseconds".into(),
                active: true,
                below: (0..27).map(|bucket| 1 << bucket).collect(),
                records: vec![ProbeRecord {
                    sum: Some(4_200_000),
                    buckets: [vec![0; 10], vec![700, 290, 10], vec![0; 15]].concat(),
                    ..record("wan0", station, "", 1_000)
                }],
                ..Default::default()
            },
            Probe {
                name: "other".into(),
                help: "something else".into(),
                reason: Some("this kernel has no tracepoint other\u{7}".into()),
                ..Default::default()
            },
        ],
    }
}
