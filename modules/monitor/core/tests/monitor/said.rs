//! A conversation gets the name in its own hello, whenever the hello was read.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::TalkKey;
use weir_monitor_core::names::{Client, Conversation, FlowKind, Learned};
use weir_monitor_core::{Both, Count, Monitor, Reading, core};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn key(station_port: u16) -> TalkKey {
    TalkKey {
        port: 3,
        vlan: 0,
        protocol: 6,
        station: address("192.0.2.7"),
        station_port,
        far: address("198.51.100.1"),
        far_port: 443,
    }
}

fn hello(key: &TalkKey, name: &str) -> Learned {
    Learned::FlowName {
        key: Conversation {
            place: core::place(key.port, key.vlan),
            protocol: key.protocol,
            station: key.station,
            station_port: key.station_port,
            far: key.far,
            far_port: key.far_port,
        },
        mac: MAC,
        name: name.into(),
        kind: FlowKind::Tls,
    }
}

/// Reads that it lives, for so many seconds by now.
fn read(monitor: &mut Monitor, key: TalkKey, seconds: u64, now: u64) -> Option<Arc<str>> {
    let reading = Reading {
        key,
        mac: MAC,
        grown: Both {
            sent: Count {
                packets: 1,
                octets: 60,
            },
            ..Both::default()
        },
        outside: true,
        link: 14,
        tcp_flags: 2,
        tos: 0,
        icmp: (0, 0),
        times: None,
        age: Duration::from_secs(seconds),
        idle: Duration::ZERO,
    };
    monitor.reading(&reading, 0, now);
    monitor.talk(&key).expect("it is known").far_name.clone()
}

#[test]
fn before_it_was_known_or_after() {
    let mut monitor = Monitor::new(Default::default());
    monitor.port(3, "lan0", false);
    let told = Learned::FarName {
        client: Client::new(MAC, key(1).station),
        address: key(1).far,
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
    // A hello with equal ports whose conversation found no place.
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
    monitor.port(3, "lan0", false);
    let Learned::FlowName {
        key: of,
        name,
        kind,
        ..
    } = hello(&key(1), "bank.example.org")
    else {
        unreachable!();
    };
    let forged = Learned::FlowName {
        key: of,
        mac: [2, 0, 0, 0, 0, 9],
        name,
        kind,
    };
    // The forged hello comes before the conversation is known, and after.
    for now in [1_000, 2_100] {
        monitor.learn(&forged, now);
        assert_eq!(read(&mut monitor, key(1), 0, now), None);
    }
}
