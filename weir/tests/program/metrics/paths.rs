//! Tests of the metrics of several uplinks.

use answers::{ConnectionCounts, PartnerState, Path, PathUse, Paths, Status};
use monitor::metrics::Metrics;

use super::exposition::{Key, get, read};
use super::{all, render};

fn path(device: &str, address: &str, octets: u64) -> Path {
    Path {
        device: device.into(),
        address: address.parse().expect("an address"),
        gateway: None,
        subflows: 2,
        fell_back: 0,
        strips: false,
        used: PathUse::default(),
        in_use: true,
        answers: None,
        rests: false,
        backup: device == "lte",
        rtt: (octets > 0).then_some(octets as u32),
        sent: octets,
        received: 10 * octets,
        retransmitted: octets / 10,
        tunnel_sent: 2 * octets,
        tunnel_received: 3 * octets,
    }
}

/// Returns a device with two IPv4 addresses and one IPv6 address, and an uplink in reserve.
pub fn paths() -> Paths {
    Paths {
        partner: Some("203.0.113.10:9349".into()),
        state: PartnerState::Connected,
        connections: ConnectionCounts {
            open: 3,
            all: 9,
            direct: 2,
            refused: 1,
            ..ConnectionCounts::default()
        },
        paths: vec![
            path("dsl", "192.0.2.2", 1000),
            path("dsl", "192.0.2.3", 500),
            path("dsl", "2001:db8::2", 70),
            path("lte", "198.51.100.2", 0),
        ],
        ..Paths::default()
    }
}

#[test]
fn paths_are_told_by_device_and_family() {
    let told = |paths: &Paths| {
        let devices = all(vec![]);
        read(&render(
            &mut Metrics::default(),
            &devices,
            &Status::default(),
            paths,
        ))
    };
    let samples = told(&paths());
    let of = |name: &str, device, family, more: &[(&str, &str)]| {
        let labels = [&[("device", device), ("family", family)], more].concat();
        get(&samples, &format!("weir_path_{name}"), &labels)
    };
    let bytes = |device, family, way| of("bytes_total", device, family, &[("direction", way)]);
    assert_eq!(bytes("dsl", "ipv4", "sent"), Some(1500.0), "summed up");
    assert_eq!(bytes("dsl", "ipv4", "received"), Some(15_000.0));
    assert_eq!(bytes("dsl", "ipv6", "sent"), Some(70.0));
    assert_eq!(
        of("retransmitted_bytes_total", "dsl", "ipv4", &[]),
        Some(150.0)
    );
    assert_eq!(of("subflows", "dsl", "ipv4", &[]), Some(4.0));
    let tunnel = |way| of("tunnel_bytes_total", "dsl", "ipv4", &[("direction", way)]);
    let both = (tunnel("sent"), tunnel("received"));
    assert_eq!(both, (Some(3000.0), Some(4500.0)));
    let rtt = |device| of("rtt_seconds", device, "ipv4", &[]);
    assert_eq!((rtt("dsl"), rtt("lte")), (Some(0.0005), None), "shortest");
    let backup = |device| of("backup", device, "ipv4", &[]);
    assert_eq!((backup("dsl"), backup("lte")), (Some(0.0), Some(1.0)));
    let one = |name: &str| get(&samples, name, &[]);
    assert_eq!(one("weir_partner_connected"), Some(1.0));
    assert_eq!(one("weir_multipath_open_connections"), Some(3.0));
    for (name, number) in [("carried", 9.0), ("direct", 2.0), ("refused", 1.0)] {
        let name = format!("weir_multipath_{name}_connections_total");
        assert_eq!(one(&name), Some(number), "{name}");
    }

    let failed = told(&Paths {
        state: PartnerState::Failed,
        ..paths()
    });
    assert_eq!(get(&failed, "weir_partner_connected", &[]), Some(0.0));
    let none = told(&Paths::default());
    let of_paths = |(name, _): &&Key| name.contains("path") || name.contains("partner");
    assert_eq!(none.keys().filter(of_paths).count(), 0, "without a partner");
}
