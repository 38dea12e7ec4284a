//! A conversation gets the name in its own hello, whenever the hello was read.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::ConversationKey;
use weir_monitor_core::names::{Client, FlowKey, FlowNameSource, NameObservation};
use weir_monitor_core::{Count, Counts, Monitor, Reading, core};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn key(station_port: u16) -> ConversationKey {
    ConversationKey {
        port: 3,
        vlan: 0,
        protocol: 6,
        station: address("192.0.2.7"),
        station_port,
        remote: address("198.51.100.1"),
        remote_port: 443,
    }
}

fn hello(key: &ConversationKey, name: &str) -> NameObservation {
    NameObservation::FlowName {
        key: FlowKey {
            observation_point: core::observation_point(key.port, key.vlan),
            protocol: key.protocol,
            station: key.station,
            station_port: key.station_port,
            remote: key.remote,
            remote_port: key.remote_port,
        },
        mac: MAC,
        name: name.into(),
        kind: FlowNameSource::Tls,
    }
}

/// Adds a reading that the conversation is active, with its age in seconds.
fn read(monitor: &mut Monitor, key: ConversationKey, seconds: u64, now: u64) -> Option<Arc<str>> {
    let reading = Reading {
        key,
        mac: MAC,
        delta: Counts {
            sent: Count {
                packets: 1,
                bytes: 60,
            },
            ..Counts::default()
        },
        outside: true,
        link_header: 14,
        tcp_flags: 2,
        tos: 0,
        icmp: (0, 0),
        rtt: None,
        age: Duration::from_secs(seconds),
        idle: Duration::ZERO,
    };
    monitor.add_reading(&reading, 0, now);
    monitor
        .conversation(&key)
        .expect("it is known")
        .remote_name
        .clone()
}

#[test]
fn before_it_was_known_or_after() {
    let mut monitor = Monitor::new(Default::default());
    monitor.set_port(3, "lan0", false);
    let told = NameObservation::RemoteName {
        client: Client::new(MAC, key(1).station),
        address: key(1).remote,
        name: "www.example.net".into(),
        ttl: 60,
    };
    monitor.learn(&told, 1_000);
    assert_eq!(
        read(&mut monitor, key(1), 0, 2_000).as_deref(),
        Some("www.example.net")
    );
    monitor.learn(&hello(&key(1), "shop.example.org"), 2_100);
    assert_eq!(
        read(&mut monitor, key(1), 1, 3_000).as_deref(),
        Some("shop.example.org")
    );
    // The usual order: the hello is read at once, counters once a second.
    monitor.learn(&hello(&key(2), "mail.example.org"), 3_100);
    assert_eq!(
        read(&mut monitor, key(2), 1, 4_000).as_deref(),
        Some("mail.example.org")
    );
    // A hello with equal ports whose conversation found no room.
    monitor.learn(&hello(&key(3), "old.example.org"), 4_100);
    monitor.learn(&told, 50_000);
    assert_eq!(
        read(&mut monitor, key(3), 1, 60_000).as_deref(),
        Some("www.example.net")
    );
}

/// A station that forges another's addresses sets no name.
#[test]
fn another_hardware_address_says_nothing() {
    let mut monitor = Monitor::new(Default::default());
    monitor.set_port(3, "lan0", false);
    let NameObservation::FlowName {
        key: of,
        name,
        kind,
        ..
    } = hello(&key(1), "bank.example.org")
    else {
        unreachable!();
    };
    let forged = NameObservation::FlowName {
        key: of,
        mac: [2, 0, 0, 0, 0, 9],
        name,
        kind,
    };
    // The forged hello arrives before the conversation is known, and after.
    for now in [1_000, 2_100] {
        monitor.learn(&forged, now);
        assert_eq!(read(&mut monitor, key(1), 0, now), None);
    }
}
