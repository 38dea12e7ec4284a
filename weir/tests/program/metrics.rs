//! Tests of the metrics: valid OpenMetrics, bounded, and complete for the dashboard.

mod exposition;
mod paths;
mod ports;
mod promtool;
mod radio;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use answers::{
    Count, Device, Devices, LanTraffic, Latency, MeteredPort, Paths, PortCounters, Status, Wifi,
};
use api::metrics::{Exposition, Kind, Metric};
use monitor::metrics::Metrics;
use proptest::prelude::*;
use runtime::daemon;

use exposition::{Key, get, read};
use paths::paths;

fn count(bytes: u64) -> Count {
    Count {
        bytes,
        packets: bytes / 100,
    }
}

fn device(number: u64, received: u64, sent: u64) -> Device {
    Device {
        mac: format!("02:00:00:00:{:02x}:{:02x}", number >> 8, number & 255),
        name: Some(format!("device {number}")),
        received: count(received),
        sent: count(sent),
        lan: LanTraffic {
            received: count(7_000),
            sent: count(9_000),
            ..LanTraffic::default()
        },
        conversations: 3,
        latency: number.is_multiple_of(2).then(|| Latency {
            lan: Some(2.5),
            wan: number.is_multiple_of(4).then_some(20.0),
            ..Latency::default()
        }),
        wifi: number.is_multiple_of(2).then(|| Wifi {
            signal: Some(-61),
            rate_to: Some(54_000_000),
            rate_from: number.is_multiple_of(4).then_some(6_000_000),
            retries: Some(12),
            failed: Some(1),
            airtime: number.is_multiple_of(4).then_some(1_500_000),
        }),
        ..Device::default()
    }
}

fn all(devices: Vec<Device>) -> Devices {
    Devices {
        devices,
        ..Devices::default()
    }
}

fn bytes(samples: &BTreeMap<Key, f64>, mac: &str, direction: &str) -> Option<f64> {
    let labels = [("mac", mac), ("direction", direction)];
    get(samples, "weir_device_bytes_total", &labels)
}

/// Returns all exported metrics except for those of probes.
fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let each = [
        daemon::metrics::METRICS,
        monitor::metrics::METRICS,
        multipath::metrics::METRICS,
    ];
    each.into_iter().flatten()
}

/// Renders all metrics, as a daemon with all modules does.
fn render(metrics: &mut Metrics, devices: &Devices, status: &Status, paths: &Paths) -> String {
    let mut text = Exposition::default();
    daemon::metrics::write(&mut text, status);
    metrics.devices(&mut text, devices);
    multipath::metrics::write(&mut text, paths);
    text.end()
}

#[test]
fn every_metric_has_the_labels_it_says() {
    let mut devices = all(vec![device(4, 1000, 200)]);
    let way = |n| PortCounters {
        conversations: count(n),
        unplaced: count(n + 100),
        other: count(n + 200),
        link: n + 300,
    };
    devices.ports.push(MeteredPort {
        name: "lan0".into(),
        incoming: way(1000),
        outgoing: way(5000),
        ..MeteredPort::default()
    });
    let mut status = Status::default();
    status.flows.ipv4.known = 7;
    status.flows.ipv6.known = 1;
    status.flows.capacity = 100;
    status.packets.forwarded_tc = 9;
    status.packets.passed.insert("fragment".into(), 4);
    let samples = read(&render(
        &mut Metrics::default(),
        &devices,
        &status,
        &paths(),
    ));
    for metric in all_metrics() {
        let have: BTreeSet<_> = samples
            .keys()
            .filter(|(name, _)| name == metric.name)
            .collect();
        assert!(!have.is_empty(), "{}", metric.name);
        for (_, labels) in have {
            let labels: BTreeSet<_> = labels.keys().map(String::as_str).collect();
            assert_eq!(labels, metric.labels.iter().copied().collect());
        }
        assert_eq!(
            metric.name.ends_with("_total"),
            metric.kind == Kind::Counter
        );
    }
    assert_eq!(get(&samples, "weir_up", &[]), Some(1.0));
    assert_eq!(get(&samples, "weir_flows", &[]), Some(8.0));
    assert_eq!(get(&samples, "weir_flows_capacity", &[]), Some(100.0));
    assert_eq!(
        get(
            &samples,
            "weir_kernel_packets_total",
            &[("reason", "fragment")]
        ),
        Some(4.0)
    );
    assert_eq!(
        get(&samples, "weir_device_rtt_seconds", &[("side", "wan")]),
        Some(0.02)
    );
    let lan = |direction| {
        let name = "weir_device_lan_bytes_total";
        get(&samples, name, &[("direction", direction)])
    };
    assert_eq!((lan("received"), lan("sent")), (Some(7e3), Some(9e3)));
    let wifi = |name: &str| get(&samples, &format!("weir_device_wifi_{name}"), &[]);
    assert_eq!(wifi("signal_dbm"), Some(-61.0));
    assert_eq!(wifi("retries_total"), Some(12.0));
    assert_eq!(wifi("failed_total"), Some(1.0));
    assert_eq!(wifi("airtime_seconds_total"), Some(1.5));
    let rate = |direction| {
        let name = "weir_device_wifi_rate_bits_per_second";
        get(&samples, name, &[("direction", direction)])
    };
    assert_eq!((rate("received"), rate("sent")), (Some(54e6), Some(6e6)));
    let port = |name, direction, kind| {
        get(
            &samples,
            name,
            &[("port", "lan0"), ("direction", direction), ("kind", kind)],
        )
    };
    assert_eq!(port("weir_port_bytes_total", "out", "link"), Some(5300.0));
    assert_eq!(
        port("weir_port_packets_total", "in", "unplaced"),
        Some(11.0)
    );
    assert_eq!(port("weir_port_packets_total", "in", "link"), None);
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    let devices = all(vec![device(4, 1000, 200), device(8, 10, 20)]);
    let status = Status::default();
    promtool::check(&render(
        &mut Metrics::default(),
        &devices,
        &status,
        &paths(),
    ));
}

/// The gateway's traffic is the traffic of all devices.
#[test]
fn what_leads_out_is_no_device() {
    let gateway = Device {
        uplink: true,
        ..device(9, 1_000_000, 1_000_000)
    };
    let devices = all(vec![device(4, 1000, 200), gateway]);
    let text = render(
        &mut Metrics::default(),
        &devices,
        &Status::default(),
        &paths(),
    );
    assert!(text.contains("02:00:00:00:00:04") && !text.contains("02:00:00:00:00:09"));
}

#[test]
fn hostile_names_neither_break_out_nor_control() {
    let mut hostile = device(0, 1, 1);
    hostile.name = Some("a\"} 1\nweir_up 7\\\u{1b}[31m\u{202e}<script>".into());
    let text = render(
        &mut Metrics::default(),
        &all(vec![hostile]),
        &Status::default(),
        &Paths::default(),
    );
    let samples = read(&text);
    assert_eq!(get(&samples, "weir_up", &[]), Some(1.0));
    let name = r#"a"} 1weir_up 7\[31m<script>"#;
    assert_eq!(
        get(&samples, "weir_device_conversations", &[("name", name)]),
        Some(3.0)
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn the_busiest_are_told_and_the_rest_is_summed_up() {
    let mut metrics = Metrics::new(2);
    let status = Status::default();
    let samples = read(&render(
        &mut metrics,
        &all((1..=5).map(|n| device(n, n * 1000, n * 10)).collect()),
        &status,
        &Paths::default(),
    ));
    assert_eq!(
        bytes(&samples, "02:00:00:00:00:05", "received"),
        Some(5000.0)
    );
    assert_eq!(bytes(&samples, "02:00:00:00:00:04", "sent"), Some(40.0));
    assert_eq!(bytes(&samples, "other", "received"), Some(6000.0));
    assert_eq!(
        get(&samples, "weir_device_conversations", &[("mac", "other")]),
        Some(9.0)
    );

    // A device whose traffic slightly exceeds another's does not displace the other; a device with
    // far more traffic does. The sum of the others only rises: by the traffic of a device while
    // among the others, never by its earlier traffic.
    let samples = read(&render(
        &mut metrics,
        &all(vec![
            device(1, 1000, 10),
            device(2, 2500, 20),
            device(3, 5000, 30),
            device(4, 4000, 40),
            device(5, 5000, 50),
        ]),
        &status,
        &Paths::default(),
    ));
    assert_eq!(
        bytes(&samples, "02:00:00:00:00:04", "received"),
        Some(4000.0)
    );
    assert_eq!(
        bytes(&samples, "other", "received"),
        Some(6000.0 + 500.0 + 2000.0)
    );
    let samples = read(&render(
        &mut metrics,
        &all(vec![
            device(1, 1000, 10),
            device(2, 2500, 20),
            device(3, 9000, 30),
            device(4, 4001, 40),
            device(5, 5000, 50),
        ]),
        &status,
        &Paths::default(),
    ));
    assert_eq!(
        bytes(&samples, "02:00:00:00:00:03", "received"),
        Some(9000.0)
    );
    assert_eq!(bytes(&samples, "02:00:00:00:00:04", "received"), None);
    assert_eq!(bytes(&samples, "other", "received"), Some(8500.0 + 1.0));
    // A device that left the list keeps its bytes in the sum.
    let samples = read(&render(
        &mut metrics,
        &all(vec![device(5, 5000, 50)]),
        &status,
        &Paths::default(),
    ));
    assert_eq!(bytes(&samples, "other", "received"), Some(8501.0));
}

#[test]
fn what_a_radio_does_not_tell_is_left_out() {
    let with = |devices| {
        read(&render(
            &mut Metrics::default(),
            &all(devices),
            &Status::default(),
            &Paths::default(),
        ))
    };
    let samples = with(vec![device(1, 1000, 0), device(2, 1000, 0)]);
    let of = |name: &str, mac: &str| {
        let name = format!("weir_device_wifi_{name}");
        get(&samples, &name, &[("mac", mac)])
    };
    let (wired, wireless) = ("02:00:00:00:00:01", "02:00:00:00:00:02");
    assert_eq!(of("signal_dbm", wired), None);
    assert_eq!(of("signal_dbm", wireless), Some(-61.0));
    assert_eq!(of("airtime_seconds_total", wireless), None);
    // A device without its own row has no signal; neither has the row of all others.
    let mut one = Metrics::new(1);
    let devices = all(vec![device(4, 9000, 0), device(2, 1000, 0)]);
    let samples = read(&render(
        &mut one,
        &devices,
        &Status::default(),
        &Paths::default(),
    ));
    let signals = samples.keys();
    let signals = signals.filter(|(name, _)| name == "weir_device_wifi_signal_dbm");
    assert_eq!(signals.count(), 1);
}

#[test]
fn one_address_twice_is_one_device() {
    let samples = read(&render(
        &mut Metrics::default(),
        &all(vec![device(1, 1000, 0), device(1, 500, 0)]),
        &Status::default(),
        &Paths::default(),
    ));
    assert_eq!(
        bytes(&samples, "02:00:00:00:00:01", "received"),
        Some(1500.0)
    );
}

proptest! {
    #[test]
    fn whatever_happens_it_is_readable_bounded_and_rises(
        rounds in proptest::collection::vec(
            proptest::collection::vec((0u64..12, 0u64..1_000_000, any::<String>()), 0..10), 1..8),
        limit in 0usize..5,
    ) {
        let mut metrics = Metrics::new(limit);
        let mut totals: BTreeMap<u64, u64> = BTreeMap::new();
        let mut other = 0.0;
        for round in rounds {
            let mut devices = Vec::new();
            for (number, more, name) in round {
                let total = totals.entry(number).or_default();
                *total += more;
                devices.retain(|have: &Device| have.mac != device(number, 0, 0).mac);
                devices.push(Device { name: Some(name), ..device(number, *total, 0) });
            }
            let samples = read(&render(&mut metrics, &all(devices), &Status::default(), &Paths::default()));
            let macs: BTreeSet<_> = samples.keys().filter_map(|(_, labels)| labels.get("mac")).collect();
            prop_assert!(macs.len() <= limit + 1);
            let now = bytes(&samples, "other", "received").unwrap_or(other);
            prop_assert!(now >= other);
            other = now;
        }
    }
}

const DASHBOARD: &str = include_str!("../../../packaging/grafana/weir.json");

/// Collects every string under this key, at any depth.
fn strings<'a>(value: &'a serde_json::Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                if let (true, Some(text)) = (name == key, value.as_str()) {
                    found.push(text);
                }
                strings(value, key, found);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|v| strings(v, key, found)),
        _ => {}
    }
}

/// Returns the words of a query: names of metrics, labels and functions.
fn words(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[test]
fn the_dashboard_asks_only_for_what_there_is() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut queries = Vec::new();
    strings(&dashboard, "expr", &mut queries);
    strings(&dashboard, "query", &mut queries);
    queries.retain(|query| *query != "prometheus");
    assert!(queries.len() >= 12, "{queries:?}");
    let mut used = BTreeSet::new();
    for query in &queries {
        for word in words(query).filter(|word| word.starts_with("weir_")) {
            let metric = all_metrics().find(|metric| metric.name == word);
            assert!(metric.is_some(), "{word} in {query}");
            used.insert(word);
        }
        // Each selector {…} uses labels of the preceding metric, and every rate is of a counter.
        for (before, selector) in query.match_indices('{').map(|(at, _)| query.split_at(at)) {
            let name = words(before).last().unwrap_or_default();
            let metric = all_metrics()
                .find(|metric| metric.name == name)
                .expect("a metric");
            let (selector, after) = selector[1..].split_once('}').expect("an end");
            for matcher in selector
                .split(',')
                .filter(|matcher| !matcher.trim().is_empty())
            {
                let label = words(matcher).next().expect("a label");
                let of_scrape = matches!(label, "job" | "instance");
                assert!(
                    of_scrape || metric.labels.contains(&label),
                    "{label} in {query}"
                );
            }
            let counter = metric.kind == Kind::Counter;
            assert_eq!(after.starts_with('['), counter, "{name} in {query}");
        }
        let labels: Vec<_> = query
            .split("by (")
            .skip(1)
            .filter_map(|part| part.split(')').next())
            .collect();
        for label in labels.iter().flat_map(|labels| words(labels)) {
            let known = all_metrics().any(|metric| metric.labels.contains(&label));
            assert!(known || label == "instance", "{label} in {query}");
        }
    }
    for metric in all_metrics() {
        assert!(
            used.contains(metric.name),
            "{} is not in the dashboard",
            metric.name
        );
    }
    // Grafana needs a unique number for each panel.
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: HashSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
}
