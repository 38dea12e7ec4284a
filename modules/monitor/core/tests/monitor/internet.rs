//! Internet traffic and LAN traffic of stations: each is counted once, and both add up.

use std::net::IpAddr;
use std::time::Duration;

use kernel::{ConversationKey, Endpoints, Mac};
use weir_monitor_core::{
    BridgedTraffic, Count, Counts, Destination, Device, Direction, ForwardedTraffic, Limits,
    Monitor, Networks, Reading, RttSample, Traffic, UnrecordedStationTraffic, UpperDevices,
};

const LAN1: u32 = 1;
const LAN2: u32 = 2;
const WAN: u32 = 3;
const BRIDGE: u32 = 10;

const LAPTOP: Mac = [2, 0, 0, 0, 0, 1];
const NAS: Mac = [2, 0, 0, 0, 0, 2];
const GATEWAY: Mac = [2, 0, 0, 0, 0, 9];

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A router with a bridge of two ports, and its uplink.
fn networks() -> Networks {
    let mut networks = Networks::default();
    for (to, leads) in [
        ("0.0.0.0/0", Destination::Internet),
        ("::/0", Destination::Internet),
        ("203.0.113.0/24", Destination::UplinkNetwork(WAN)),
        ("203.0.113.7", Destination::Local),
        ("192.168.1.0/24", Destination::OnLink),
        ("192.168.1.1", Destination::Local),
        ("2001:db8:1::/64", Destination::OnLink),
    ] {
        networks.route(to.parse().expect("a prefix"), leads);
    }
    for port in [LAN1, LAN2] {
        let (all, bridges) = ([port, BRIDGE].into(), [BRIDGE].into());
        networks.port(port, UpperDevices { all, bridges });
    }
    networks
}

fn monitor() -> Monitor {
    let mut monitor = Monitor::new(Limits::default());
    monitor.set_port(LAN1, "lan1", false);
    monitor.set_port(LAN2, "lan2", false);
    monitor.set_port(WAN, "wan0", true);
    monitor.set_networks(networks());
    monitor.collect_usage();
    monitor
}

fn key(port: u32, station: &str, far: &str) -> ConversationKey {
    let ends = Endpoints {
        protocol: 6,
        station: address(station),
        station_port: 4000,
        remote: address(far),
        remote_port: 443,
    };
    ends.at((port, 0))
}

/// Turns a conversation around, as seen from the other end at another port.
fn reversed(key: &ConversationKey, port: u32) -> ConversationKey {
    key.ends().reversed().at((port, 0))
}

fn count(octets: u64) -> Count {
    Count {
        packets: octets / 100,
        bytes: octets,
    }
}

/// Adds bytes from the station and to the station. Some of these may have come from an uplink.
fn read(monitor: &mut Monitor, key: ConversationKey, mac: Mac, octets: [u64; 2]) {
    read_from(monitor, key, mac, octets, true);
}

/// `outside`: see [`Reading::outside`].
fn read_from(
    monitor: &mut Monitor,
    key: ConversationKey,
    mac: Mac,
    octets: [u64; 2],
    outside: bool,
) {
    let reading = Reading {
        key,
        mac,
        delta: Counts {
            sent: count(octets[0]),
            received: count(octets[1]),
        },
        outside,
        link_header: 14,
        tcp_flags: 0,
        tos: 0,
        icmp: (0, 0),
        rtt: None,
        age: Duration::ZERO,
        idle: Duration::ZERO,
    };
    monitor.add_reading(&reading, 0, 1000);
}

fn device(monitor: &Monitor, mac: Mac) -> &Device {
    monitor.device(&mac).expect("a device")
}

/// Bytes of a device: from and to the Internet, from and to others.
fn sums(monitor: &mut Monitor, mac: Mac) -> [u64; 4] {
    monitor.pair(|_| None, &[address("203.0.113.7")], 1000);
    monitor.classify();
    let device = device(monitor, mac);
    let (internet, lan) = (device.internet, device.lan());
    let mut all = internet;
    all += lan;
    assert_eq!(all, device.total, "they add up");
    [
        internet.sent.bytes,
        internet.received.bytes,
        lan.sent.bytes,
        lan.received.bytes,
    ]
}

fn usage(monitor: &mut Monitor, mac: Mac) -> Traffic {
    let mut sum = Traffic::default();
    for ((whose, _), traffic) in monitor.take_usage() {
        if whose == mac {
            sum += traffic;
        }
    }
    sum
}

#[test]
fn a_copy_in_the_lan_is_no_internet_traffic() {
    let mut monitor = monitor();
    let copy = key(LAN1, "192.168.1.2", "192.168.1.3");
    read(&mut monitor, copy, LAPTOP, [40_000, 1_000]);
    read(&mut monitor, reversed(&copy, LAN2), NAS, [1_000, 40_000]);
    assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 40_000, 1_000]);
    assert_eq!(sums(&mut monitor, NAS), [0, 0, 1_000, 40_000]);
    let used = usage(&mut monitor, LAPTOP);
    assert_eq!(used.internet, Counts::default());
    assert_eq!(used.lan.sent.bytes, 40_000);
}

#[test]
fn the_router_itself_and_groups_are_no_internet_traffic() {
    for far in ["192.168.1.1", "203.0.113.7", "239.255.255.250", "ff02::fb"] {
        let mut monitor = monitor();
        let station = match far.contains(':') {
            true => "fe80::2",
            false => "192.168.1.2",
        };
        read(&mut monitor, key(LAN1, station, far), LAPTOP, [100, 9_000]);
        assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 100, 9_000], "{far}");
    }
}

/// With and without translation, with and without its other side, by the meter and past it.
#[test]
fn what_crosses_an_uplink_is_internet_traffic() {
    for (station, far) in [
        ("192.168.1.2", "198.51.100.1"),
        ("192.168.1.2", "203.0.113.9"),
        ("2001:db8:1::2", "2001:db8:2::1"),
    ] {
        for seen_outside in [false, true] {
            let mut monitor = monitor();
            let inside = key(LAN1, station, far);
            read(&mut monitor, inside, LAPTOP, [500, 7_000]);
            if seen_outside {
                read(&mut monitor, reversed(&inside, WAN), GATEWAY, [7_000, 500]);
            }
            let forwarded = ForwardedTraffic {
                key: inside,
                direction: Direction::Received,
                count: count(3_000),
                link_bytes: 0,
                mac: None,
                outside: true,
                xdp: false,
            };
            monitor.add_forwarded(&forwarded, 1000);
            let wanted = [500, 10_000, 0, 0];
            assert_eq!(sums(&mut monitor, LAPTOP), wanted, "{far}, {seen_outside}");
            let used = usage(&mut monitor, LAPTOP);
            assert_eq!(used.internet.received.bytes, 10_000);
            assert_eq!(used.lan, Counts::default());
            // Taken once.
            assert_eq!(usage(&mut monitor, LAPTOP), Traffic::default());
        }
    }
}

/// The router need not know the network of two stations of one bridge: another server may have
/// given the stations their addresses.
#[test]
fn what_is_bridged_stays_in_the_lan_whatever_its_addresses() {
    for (one, other) in [("10.5.5.1", "10.5.5.2"), ("fd99::1", "fd99::2")] {
        let mut monitor = monitor();
        let copy = key(LAN1, one, other);
        read(&mut monitor, copy, LAPTOP, [40_000, 0]);
        read(&mut monitor, reversed(&copy, LAN2), NAS, [0, 40_000]);
        assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 40_000, 0]);
        assert_eq!(sums(&mut monitor, NAS), [0, 0, 0, 40_000]);
    }
}

/// A station sends a packet with the ends of an answer from the Internet, at another port or at its
/// own: its conversation with the Internet does not become one of the LAN.
#[test]
fn a_forged_answer_makes_no_lan_traffic() {
    for port in [LAN1, LAN2] {
        for (station, far) in [
            ("192.168.1.2", "198.51.100.1"),
            ("2001:db8:1::2", "2001:db8:2::1"),
        ] {
            let mut monitor = monitor();
            let inside = key(LAN1, station, far);
            read(&mut monitor, inside, LAPTOP, [100, 0]);
            read(&mut monitor, reversed(&inside, port), NAS, [100, 0]);
            assert_eq!(
                sums(&mut monitor, LAPTOP),
                [100, 0, 0, 0],
                "{far} at {port}"
            );
            read(&mut monitor, inside, LAPTOP, [0, 9_000]);
            assert_eq!(
                sums(&mut monitor, LAPTOP),
                [100, 9_000, 0, 0],
                "{far} at {port}"
            );
        }
    }
}

/// A neighbour with a source address of the Internet uses up no quota; nor do two stations of one
/// bridge with addresses that the router has no route for.
#[test]
fn what_comes_in_inside_is_no_internet_traffic() {
    for (source, target) in [
        ("198.51.100.77", "192.168.1.3"),
        ("2001:db8:2::77", "2001:db8:1::3"),
        ("192.0.2.7", "192.0.2.8"),
        ("2001:db8:aaaa::7", "2001:db8:aaaa::8"),
    ] {
        let mut monitor = monitor();
        let forged = reversed(&key(LAN1, source, target), LAN2);
        read_from(&mut monitor, forged, NAS, [0, 40_000], false);
        assert_eq!(sums(&mut monitor, NAS), [0, 0, 0, 40_000], "{source}");
        let conversation = monitor.conversation(&forged);
        assert_eq!(
            conversation.and_then(|conversation| conversation.is_internet()),
            Some(false)
        );
        // The answer may leave by the uplink; the meter does not know.
        read_from(&mut monitor, forged, NAS, [500, 1_000], false);
        assert_eq!(sums(&mut monitor, NAS), [500, 0, 0, 41_000], "{source}");
        let used = usage(&mut monitor, NAS);
        assert_eq!(used.internet.received, Count::default());
        assert_eq!(used.lan.received.bytes, 41_000);
        // Packets from the uplink, and all that come with them.
        read_from(&mut monitor, forged, NAS, [0, 2_000], true);
        assert_eq!(sums(&mut monitor, NAS), [500, 2_000, 0, 41_000], "{source}");
        let forwarded = ForwardedTraffic {
            key: forged,
            direction: Direction::Received,
            count: count(3_000),
            link_bytes: 0,
            mac: None,
            outside: false,
            xdp: false,
        };
        monitor.add_forwarded(&forwarded, 1000);
        assert_eq!(sums(&mut monitor, NAS), [500, 2_000, 0, 44_000], "{source}");
    }
}

/// Packets for a station behind the uplink entered from inside: they are an upload.
#[test]
fn an_upload_is_internet_traffic_of_the_gateway() {
    let mut monitor = monitor();
    let upload = key(WAN, "198.51.100.1", "203.0.113.7");
    read_from(&mut monitor, upload, GATEWAY, [0, 8_000], false);
    assert_eq!(sums(&mut monitor, GATEWAY), [0, 8_000, 0, 0]);
    let conversation = monitor.conversation(&upload);
    assert_eq!(
        conversation.and_then(|conversation| conversation.is_internet()),
        Some(true)
    );
}

/// A bridge with the way out behind one of its ports.
#[test]
fn what_is_bridged_to_the_gateway_is_internet_traffic() {
    let mut monitor = monitor();
    monitor.set_neighbour(address("192.168.1.254"), Some(GATEWAY));
    monitor.set_gateways([address("192.168.1.254")]);
    let inside = key(LAN1, "192.168.1.2", "198.51.100.1");
    read(&mut monitor, inside, LAPTOP, [100, 8_000]);
    read(&mut monitor, reversed(&inside, LAN2), GATEWAY, [8_000, 100]);
    assert_eq!(sums(&mut monitor, LAPTOP), [100, 8_000, 0, 0]);
    for (mac, crosses) in [(GATEWAY, true), (NAS, false)] {
        assert_eq!(monitor.is_beyond(LAN2, 0, &mac), crosses);
        let bridged = BridgedTraffic {
            port: LAN1,
            mac: LAPTOP,
            direction: Direction::Received,
            count: count(1_000),
            link_bytes: 0,
            crosses_uplink: crosses,
        };
        monitor.add_bridged(&bridged, 1000);
    }
    assert_eq!(sums(&mut monitor, LAPTOP), [100, 9_000, 0, 1_000]);
}

/// The hardware address of a gateway may become known after its traffic was classified.
#[test]
fn a_gateway_that_is_known_later_changes_verdicts() {
    let mut monitor = monitor();
    let inside = key(LAN1, "192.168.1.2", "10.7.7.7");
    read(&mut monitor, inside, LAPTOP, [100, 8_000]);
    read(&mut monitor, reversed(&inside, LAN2), GATEWAY, [8_000, 100]);
    assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 100, 8_000]);
    monitor.set_gateways([address("192.168.1.254")]);
    monitor.set_neighbour(address("192.168.1.254"), Some(GATEWAY));
    for _ in 0..2 {
        monitor.set_gateways([address("192.168.1.254")]);
    }
    read(&mut monitor, inside, LAPTOP, [100, 8_000]);
    assert_eq!(sums(&mut monitor, LAPTOP), [100, 8_000, 100, 8_000]);
}

/// An address outside leads back into the LAN: its port is handed on to the NAS.
#[test]
fn what_comes_back_in_is_no_internet_traffic() {
    let asked = key(LAN1, "192.168.1.2", "198.51.100.99");
    let leaves = |far| Endpoints {
        remote: address(far),
        ..asked.ends()
    };
    let mut monitor = monitor();
    read(&mut monitor, asked, LAPTOP, [40_000, 0]);
    monitor.pair(|_| Some(leaves("192.168.1.3")), &[], 1000);
    assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 40_000, 0]);
    // Redirected to a proxy on the router, which fetches it.
    let mut monitor = self::monitor();
    read(&mut monitor, asked, LAPTOP, [100, 40_000]);
    monitor.pair(|_| Some(leaves("192.168.1.1")), &[], 1000);
    assert_eq!(sums(&mut monitor, LAPTOP), [100, 40_000, 0, 0]);
}

#[test]
fn without_an_uplink_there_is_no_internet_traffic() {
    let mut monitor = Monitor::new(Limits::default());
    monitor.set_port(LAN1, "lan1", false);
    let conversation = key(LAN1, "192.168.1.2", "198.51.100.1");
    read(&mut monitor, conversation, LAPTOP, [100, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [0, 0, 100, 0]);
    // With an uplink, traffic from then on counts.
    monitor.set_networks(networks());
    read(&mut monitor, conversation, LAPTOP, [1_000, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [1_000, 0, 100, 0]);
    // The uplink disappears for a moment: running conversations did not change direction.
    monitor.set_port(WAN, "wan0", true);
    monitor.set_networks(Networks::default());
    read(&mut monitor, conversation, LAPTOP, [1_000, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [2_000, 0, 100, 0]);
    // Without the route, the port is not an uplink either.
    monitor.set_port(WAN, "wan0", false);
    read(&mut monitor, conversation, LAPTOP, [1_000, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [3_000, 0, 100, 0]);
}

/// A forgotten verdict is there again before the conversation is exported.
#[test]
fn a_conversation_is_told_of_with_its_verdict() {
    let mut monitor = monitor();
    monitor.set_report_interval(Some(60_000));
    let conversation = key(LAN1, "192.168.1.2", "198.51.100.1");
    read(&mut monitor, conversation, LAPTOP, [100, 9_000]);
    monitor.classify();
    monitor.set_port(LAN2, "lan2", true);
    monitor.advance(61_000);
    let told = monitor.take_reports();
    let verdicts: Vec<_> = told
        .iter()
        .map(|told| told.conversation.crosses_uplink)
        .collect();
    assert_eq!(verdicts, [Some(true)]);
}

/// Packets without a record may have gone anywhere: a device that fills all records does not escape
/// its quota.
#[test]
fn what_has_no_record_counts_as_internet_traffic() {
    let mut monitor = monitor();
    let loose = UnrecordedStationTraffic {
        port: LAN1,
        vlan: 0,
        mac: LAPTOP,
        unplaced: Counts {
            sent: count(500),
            received: Count::default(),
        },
        other: Counts::default(),
    };
    monitor.add_unrecorded(&loose, 1000);
    assert_eq!(sums(&mut monitor, LAPTOP), [500, 0, 0, 0]);
    monitor.set_networks(Networks::default());
    monitor.add_unrecorded(&loose, 1000);
    assert_eq!(sums(&mut monitor, LAPTOP), [500, 0, 500, 0]);
}

/// The sums include conversations that were removed, that found no room, and those of another
/// station with equal endpoints.
#[test]
fn nothing_is_left_out() {
    let mut monitor = Monitor::new(Limits {
        conversations: 1,
        ..Limits::default()
    });
    monitor.set_port(LAN1, "lan1", false);
    monitor.set_networks(networks());
    monitor.collect_usage();
    for number in 1..=9_u8 {
        for (far, octets) in [
            (format!("198.51.100.{number}"), 100),
            (format!("192.168.1.{}", 100 + number), 200),
        ] {
            let conversation = key(LAN1, "192.168.1.2", &far);
            read(&mut monitor, conversation, LAPTOP, [octets, 0]);
        }
    }
    let conversation = key(LAN1, "192.168.1.2", "198.51.100.50");
    read(&mut monitor, conversation, LAPTOP, [500, 500]);
    read(&mut monitor, conversation, NAS, [700, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [1_400, 500, 1_800, 0]);
    assert_eq!(sums(&mut monitor, NAS), [700, 0, 0, 0]);
    let used = usage(&mut monitor, LAPTOP);
    assert_eq!(used.internet.sum().bytes, 1_900);
    assert_eq!(used.lan.sum().bytes, 1_800);
}

#[test]
fn rates_are_told_apart() {
    let mut monitor = monitor();
    let upload = key(LAN1, "192.168.1.2", "198.51.100.1");
    read(&mut monitor, upload, LAPTOP, [125_000, 0]);
    let copy = key(LAN1, "192.168.1.2", "192.168.1.3");
    read(&mut monitor, copy, LAPTOP, [0, 1_250_000]);
    monitor.advance(1000);
    let device = device(&monitor, LAPTOP);
    let (internet, lan) = (device.internet_rate, device.lan_rate());
    assert!(internet.sent > 600_000 && internet.received == 0);
    assert!(lan.received > 6_000_000 && lan.sent == 0);
}

/// Packets without a new round trip do not refresh the last round-trip time.
#[test]
fn a_wait_has_the_time_of_its_measurement() {
    let mut monitor = monitor();
    let upload = key(LAN1, "192.168.1.2", "198.51.100.1");
    read(&mut monitor, upload, LAPTOP, [100, 100]);
    let waited = RttSample {
        key: upload,
        direction: Direction::Sent,
        micros: 20_000,
    };
    monitor.add_rtt(&waited, 2_000);
    let near = RttSample {
        direction: Direction::Received,
        ..waited
    };
    monitor.add_rtt(&near, 9_000);
    let timed = monitor
        .conversation(&upload)
        .map(|conversation| conversation.rtt_measured_at);
    assert_eq!(timed, Some(2_000));
}

/// A port with the LAN in one VLAN and the uplink in another.
#[test]
fn a_vlan_of_a_port_can_lead_out() {
    let mut monitor = monitor();
    monitor.set_port_with_vlans(LAN1, "eth0", false, [2].into());
    let ends = key(LAN1, "192.168.1.2", "198.51.100.1").ends();
    read(&mut monitor, ends.at((LAN1, 1)), LAPTOP, [100, 0]);
    let outside = ends.reversed().at((LAN1, 2));
    read(&mut monitor, outside, GATEWAY, [100, 0]);
    assert_eq!(sums(&mut monitor, LAPTOP), [100, 0, 0, 0]);
    assert!(!monitor.is_uplink(device(&monitor, LAPTOP)));
    assert!(monitor.is_uplink(device(&monitor, GATEWAY)));
    // Traffic in both VLANs counts once.
    monitor.advance(1000);
    let port = monitor.ports().find(|(link, _)| *link == LAN1);
    let (_, port) = port.expect("a port");
    assert!(port.is_uplink());
    assert_eq!(port.own_rate().sent * 2, port.rate.sent);
    assert!(port.own_rate().sent > 0);
}

/// The router is not asked by stations of one bridge, so it does not know their addresses; and one
/// of many addresses does not lose its IPv4 address for those.
#[test]
fn addresses_in_the_lan_are_known_by_use() {
    let mut monitor = monitor();
    monitor.set_neighbour(address("fe80::2"), Some(LAPTOP));
    monitor.set_neighbour(address("192.168.1.9"), Some(NAS));
    for used in ["192.168.1.2", "192.168.1.9", "198.51.100.7"] {
        let conversation = key(LAN1, used, "192.168.1.3");
        read(&mut monitor, conversation, LAPTOP, [100, 0]);
    }
    let shown = |monitor: &Monitor| monitor.shown_addresses(device(monitor, LAPTOP));
    assert_eq!(
        shown(&monitor),
        [address("192.168.1.2"), address("fe80::2")]
    );
    for number in 1..300 {
        let conversation = key(LAN1, &format!("2001:db8:1::{number:x}"), "2001:db8:2::1");
        read(&mut monitor, conversation, LAPTOP, [100, 0]);
        assert_eq!(shown(&monitor)[0], address("192.168.1.2"), "{number}");
    }
}

/// IPv4 first, then global, unique local, link-local IPv6, whichever was used last.
#[test]
fn addresses_keep_their_order() {
    let mut monitor = monitor();
    let all = [
        "192.168.1.2",
        "192.168.1.10",
        "169.254.7.7",
        "2001:db8:1::2",
        "fd77::2",
        "fe80::2",
    ];
    for text in all.iter().rev() {
        monitor.set_neighbour(address(text), Some(LAPTOP));
    }
    let wanted: Vec<IpAddr> = all.iter().map(|text| address(text)).collect();
    for last in all {
        let conversation = key(LAN1, last, "198.51.100.1");
        read(&mut monitor, conversation, LAPTOP, [100, 0]);
        let found = monitor.addresses(device(&monitor, LAPTOP));
        assert_eq!(found, wanted, "after {last}");
    }
}
