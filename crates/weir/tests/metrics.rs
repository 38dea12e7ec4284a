//! What Prometheus scrapes is right by OpenMetrics' own rules, bounded, and all that the dashboard
//! asks for.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use answers::{
    Cable, Carriage, Count, Device, Devices, Latency, Metered, MeteredPort, PartnerState, Path,
    PathUse, Paths, RadioPeer, RadioPeers, Status, Wifi,
};
use api::metrics::{Kind, Metric, Text};
use proptest::prelude::*;
use weir::daemon;
use weir::modules::monitor::metrics::Metrics;
use weir::modules::{cables, monitor, multipath, radio};

/// A sample: name and labels.
type Key = (String, BTreeMap<String, String>);

/// Reads a label's value up to its closing quote; gives the value and the rest.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut rest = text.char_indices();
    while let Some((index, character)) = rest.next() {
        match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => match rest.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                other => panic!("escape {other:?}"),
            },
            other => value.push(other),
        }
    }
    panic!("no end of {text:?}");
}

/// Reads a whole exposition, and insists on its grammar.
fn read(text: &str) -> BTreeMap<Key, f64> {
    let lines = text.strip_suffix("# EOF\n").expect("an end");
    assert!(!lines.contains('\r'));
    let mut samples = BTreeMap::new();
    let mut families = HashSet::new();
    let mut family = (String::new(), String::new());
    for line in lines.split_terminator('\n') {
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let (word, name, rest) = (words.next(), words.next().expect("a name"), words.next());
            let rest = rest.expect("a text");
            match word {
                Some("TYPE") => {
                    assert!(families.insert(name.to_owned()), "{name} twice");
                    assert!(matches!(rest, "counter" | "gauge"));
                    family = (name.into(), rest.into());
                }
                Some("UNIT") => assert!(name == family.0 && name.ends_with(&format!("_{rest}"))),
                Some("HELP") => assert!(name == family.0 && !rest.contains('\\')),
                other => panic!("{other:?}"),
            }
            continue;
        }
        let end = line.find(['{', ' ']).expect("a name");
        let (name, mut rest) = line.split_at(end);
        let total = if family.1 == "counter" { "_total" } else { "" };
        assert_eq!(name, format!("{}{total}", family.0), "in its family");
        let mut labels = BTreeMap::new();
        while let Some(after) = rest.strip_prefix(['{', ',']) {
            let (label, after) = after.split_once("=\"").expect("a label");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none());
            rest = after;
        }
        let rest = rest.strip_prefix('}').unwrap_or(rest);
        let value = rest
            .strip_prefix(' ')
            .expect("a value")
            .parse::<f64>()
            .expect("a number");
        let signed = name.ends_with("_dbm");
        assert!(value.is_finite() && (signed || value >= 0.0));
        assert!(
            samples.insert((name.into(), labels), value).is_none(),
            "twice: {line}"
        );
    }
    samples
}

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
        talks: 3,
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

fn get(samples: &BTreeMap<Key, f64>, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits = |(have, with): &Key| {
        have == name
            && labels
                .iter()
                .all(|(k, v)| with.get(*k).is_some_and(|have| have == v))
    };
    samples
        .iter()
        .find(|(key, _)| fits(key))
        .map(|(_, value)| *value)
}

fn bytes(samples: &BTreeMap<Key, f64>, mac: &str, direction: &str) -> Option<f64> {
    let labels = [("mac", mac), ("direction", direction)];
    get(samples, "weir_device_bytes_total", &labels)
}

/// All that are exported, but those of probes.
fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let each = [
        daemon::metrics::METRICS,
        monitor::metrics::METRICS,
        multipath::metrics::METRICS,
    ];
    each.into_iter().flatten()
}

/// As a daemon does that does all of it.
fn render(metrics: &mut Metrics, devices: &Devices, status: &Status, paths: &Paths) -> String {
    let mut text = Text::default();
    daemon::metrics::write(&mut text, status);
    metrics.devices(&mut text, devices);
    multipath::metrics::write(&mut text, paths);
    text.end()
}

#[test]
fn every_metric_has_the_labels_it_says() {
    let mut devices = all(vec![device(4, 1000, 200)]);
    let way = |n| Metered {
        talks: count(n),
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

/// Two addresses of one family at one device, one of another, and an uplink in reserve.
fn paths() -> Paths {
    Paths {
        partner: Some("203.0.113.10:9349".into()),
        state: PartnerState::Connected,
        connections: Carriage {
            open: 3,
            all: 9,
            direct: 2,
            refused: 1,
            ..Carriage::default()
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
        get(&samples, "weir_device_talks", &[("name", name)]),
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
        get(&samples, "weir_device_talks", &[("mac", "other")]),
        Some(9.0)
    );

    // A device that grows a little past another does not take its place; one that grows far past it
    // does. The others' sum only rises: by what they had while they were among them, and never by
    // what a device had before.
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
    // Gone from the list: nothing is taken back.
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
    // One that is not told by itself has no signal; nor have all others together.
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

/// Every string under this key, however deep.
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

/// Words of a query: names of metrics, labels and functions.
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
        // Each selector {…} uses labels of the metric before it, and every rate is of a counter.
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
    // Grafana wants each panel to have a number of its own.
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: HashSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
}

#[test]
fn ports_are_told_with_their_roles() {
    let cable = |device: &str, link, role: &str, decided| Cable {
        device: device.into(),
        link,
        role: role.into(),
        confidence: 90,
        evidence: Vec::new(),
        decided,
        held_by: None,
        now: "lan".into(),
        shut: link && decided.is_none(),
        moving: None,
        why: String::new(),
        would_change: String::new(),
        notices: vec!["another server".into()],
    };
    let all = [
        cable("eth0", true, "uplink", Some(2500)),
        cable("eth1", true, "unknown", None),
        cable("eth2", false, "unknown", None),
    ];
    let mut text = Text::default();
    cables::metrics::write(&mut text, &all);
    let samples = read(&text.end());
    let one = |name: &str, device| {
        get(
            &samples,
            &format!("weir_cable_{name}"),
            &[("device", device)],
        )
    };
    assert_eq!(
        (one("link", "eth0"), one("link", "eth2")),
        (Some(1.0), Some(0.0))
    );
    let role = [("device", "eth0"), ("role", "uplink")];
    assert_eq!(get(&samples, "weir_cable_role", &role), Some(1.0));
    assert_eq!(
        (one("confidence", "eth0"), one("confidence", "eth2")),
        (Some(0.9), None)
    );
    assert_eq!(one("decided_seconds", "eth0"), Some(2.5));
    assert_eq!(
        (one("decided_seconds", "eth1"), one("notices", "eth1")),
        (None, Some(1.0))
    );
    let shut = ["eth0", "eth1", "eth2"].map(|device| one("shut", device));
    assert_eq!(shut, [Some(0.0), Some(1.0), None], "of ports with a link");
    let mut none = Text::default();
    cables::metrics::write(&mut none, &[]);
    assert!(read(&none.end()).is_empty());
}

#[test]
fn peers_in_clear_are_counted_apart() {
    let peer = |state: &str, encrypted| RadioPeer {
        address: "02:00:00:00:01:00".to_owned(),
        interface: "wlan0.sta2007".to_owned(),
        state: state.to_owned(),
        waits: None,
        peer_seconds: Some(1),
        encrypted,
        clear: !encrypted,
        signal: None,
        expected_mbit: None,
    };
    let told = RadioPeers {
        device: "wlan0".to_owned(),
        peers: vec![
            peer("alive", true),
            peer("installed", true),
            peer("alive", false),
            peer("waiting", false),
        ],
        notices: Vec::new(),
    };
    let mut text = Text::default();
    radio::metrics::write_count(&mut text, &told);
    let samples = read(&text.end());
    let count = |key| {
        get(
            &samples,
            "weir_radio_peers",
            &[("device", "wlan0"), ("key", key)],
        )
    };
    assert_eq!((count("yes"), count("none")), (Some(2.0), Some(1.0)));
}

#[test]
fn a_peer_of_which_nothing_is_known_yet_is_left_out() {
    let peer = |at: u8, expected_mbit| RadioPeer {
        address: format!("02:00:00:00:{at:02x}:00"),
        interface: format!("peer-{at}"),
        state: "alive".to_owned(),
        waits: None,
        peer_seconds: Some(1),
        encrypted: true,
        clear: false,
        signal: None,
        expected_mbit,
    };
    let mut told = RadioPeers {
        device: "wlan0".to_owned(),
        peers: vec![peer(1, Some(26.5)), peer(2, None)],
        notices: Vec::new(),
    };
    let mut text = Text::default();
    radio::metrics::write_peers(&mut text, &told);
    let samples = read(&text.end());
    let name = "weir_radio_peer_expected_bits_per_second";
    let labels = [
        ("device", "wlan0"),
        ("mac", "02:00:00:00:01:00"),
        ("interface", "peer-1"),
    ];
    assert_eq!(get(&samples, name, &labels), Some(26.5e6));
    assert_eq!(samples.len(), 1);
    told.peers.clear();
    let mut none = Text::default();
    radio::metrics::write_peers(&mut none, &told);
    assert!(read(&none.end()).is_empty());
}
