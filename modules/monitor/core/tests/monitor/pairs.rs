//! Routed conversations are reported once, with both ports; others with one port.

use std::net::IpAddr;
use std::time::Duration;

use kernel::{ConversationKey, Endpoints};
use weir_monitor_core::{ConversationReport, Count, Counts, Limits, Monitor, Reading};

const LAN: u32 = 2;
const WAN: u32 = 3;
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn ends(protocol: u8, station: (&str, u16), far: (&str, u16)) -> Endpoints {
    Endpoints {
        protocol,
        station: address(station.0),
        station_port: station.1,
        remote: address(far.0),
        remote_port: far.1,
    }
}

fn monitor() -> Monitor {
    let mut monitor = Monitor::new(Limits::default());
    monitor.set_port(LAN, "lan0", false);
    monitor.set_port(WAN, "wan0", true);
    monitor.set_report_interval(Some(10_000));
    monitor
}

fn count(packets: u64) -> Count {
    Count {
        packets,
        bytes: packets * 100,
    }
}

/// Adds packets from the station and to the station.
fn read(monitor: &mut Monitor, key: ConversationKey, tcp_flags: u8, packets: [u64; 2], now: u64) {
    let reading = Reading {
        key,
        mac: MACS[usize::from(key.port == WAN)],
        delta: Counts {
            sent: count(packets[0]),
            received: count(packets[1]),
        },
        outside: true,
        link_header: 14,
        tcp_flags,
        tos: 0,
        icmp: (0, 0),
        rtt: None,
        age: Duration::ZERO,
        idle: Duration::ZERO,
    };
    monitor.add_reading(&reading, 0, now);
}

/// Port, the other one, packets from and to the station, and whether it is over.
fn told(monitor: &mut Monitor) -> Vec<(u32, Option<u32>, [u64; 2], bool)> {
    let line = |told: &ConversationReport| {
        let packets = [told.delta.sent.packets, told.delta.received.packets];
        (
            told.conversation.key.port,
            told.egress_port,
            packets,
            told.ended,
        )
    };
    let mut lines: Vec<_> = monitor.take_reports().iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// A client behind masquerading.
struct Masqueraded {
    inside: Endpoints,
    outside: Endpoints,
}

impl Masqueraded {
    fn new(protocol: u8) -> Self {
        Self {
            inside: ends(protocol, ("192.168.1.2", 4000), ("198.51.100.1", 80)),
            outside: ends(protocol, ("198.51.100.1", 80), ("203.0.113.1", 5000)),
        }
    }

    fn leaves(&self) -> impl Fn(&Endpoints) -> Option<Endpoints> {
        let (inside, outside) = (self.inside, self.outside);
        move |comes| match *comes {
            comes if comes == inside => Some(outside.reversed()),
            comes if comes == outside => Some(inside.reversed()),
            _ => None,
        }
    }
}

const FIN: u8 = 1;

#[test]
fn what_went_all_the_way_is_told_once() {
    for wan_first in [false, true] {
        let mut monitor = monitor();
        let who = Masqueraded::new(6);
        let mut sides = [
            (who.inside.at((LAN, 0)), [5, 4]),
            // In VLAN 7 there.
            (who.outside.at((WAN, 7)), [4, 5]),
        ];
        if wan_first {
            sides.reverse();
        }
        for (key, packets) in sides {
            read(&mut monitor, key, FIN, packets, 1000);
        }
        monitor.pair(who.leaves(), &[], 1000);
        monitor.advance(4_000);
        assert_eq!(told(&mut monitor), []);
        monitor.advance(6_000);
        assert_eq!(told(&mut monitor), [(LAN, Some(WAN), [5, 4], true)]);
        assert_eq!(monitor.conversations().count(), 0);
        assert!(monitor.devices().all(|device| device.conversations == 0));
    }
}

#[test]
fn what_is_dropped_or_answered_by_the_router_has_one_port() {
    let mut monitor = monitor();
    let who = Masqueraded::new(6);
    let [inside, outside] = [who.inside.at((LAN, 0)), who.outside.at((WAN, 0))];
    // Two are dropped, and three answered by the router itself.
    read(&mut monitor, inside, 0, [10, 8], 1_000);
    read(&mut monitor, outside, 0, [5, 8], 1_000);
    monitor.pair(who.leaves(), &[], 1_000);
    monitor.advance(2_000);
    // Packets pending at the end of the first period may still arrive.
    monitor.advance(11_000);
    assert_eq!(told(&mut monitor), [(LAN, Some(WAN), [8, 5], false)]);
    // All but one packet have arrived since.
    read(&mut monitor, outside, 0, [1, 1], 12_000);
    monitor.advance(21_500);
    assert_eq!(told(&mut monitor), [(LAN, Some(WAN), [1, 1], false)]);
    monitor.report_rest(22_000);
    assert_eq!(told(&mut monitor), [(LAN, None, [1, 2], false)]);
}

#[test]
fn what_no_one_knows_is_told_by_itself() {
    let mut monitor = monitor();
    let who = Masqueraded::new(17);
    read(&mut monitor, who.inside.at((LAN, 0)), 0, [1, 0], 1_000);
    read(&mut monitor, who.outside.at((WAN, 0)), 0, [1, 0], 1_000);
    for now in 1..6 {
        monitor.pair(|_| None, &[], now * 1_000);
    }
    // Too late: the conversation was reported alone.
    monitor.pair(who.leaves(), &[], 6_000);
    monitor.advance(40_000);
    let wanted = [(LAN, None, [1, 0], true), (WAN, None, [1, 0], true)];
    assert_eq!(told(&mut monitor), wanted);
}

#[test]
fn without_translation_nobody_has_to_tell() {
    let mut monitor = monitor();
    let inside = ends(17, ("2001:db8::2", 4000), ("2001:db8:1::1", 53));
    read(&mut monitor, inside.at((LAN, 0)), 0, [1, 1], 1_000);
    read(
        &mut monitor,
        inside.reversed().at((WAN, 0)),
        0,
        [1, 1],
        1_500,
    );
    monitor.pair(|_| None, &[], 1_500);
    monitor.report_rest(2_000);
    assert_eq!(told(&mut monitor), [(LAN, Some(WAN), [1, 1], false)]);
}

/// Pings of two clients and of the router itself are one conversation at the uplink.
#[test]
fn what_has_no_ports_shares_its_other_side() {
    let mut monitor = monitor();
    let own = address("203.0.113.1");
    let far = ("198.51.100.1", 0);
    for (client, packets) in [("192.168.1.2", 3), ("192.168.1.3", 2)] {
        let key = ends(1, (client, 0), far).at((LAN, 0));
        read(&mut monitor, key, 0, [packets, packets], 1_000);
    }
    let key = ends(1, far, ("203.0.113.1", 0)).at((WAN, 0));
    read(&mut monitor, key, 0, [9, 9], 1_000);
    monitor.pair(|_| None, &[address("192.168.1.1"), own], 1_000);
    monitor.advance(30_000);
    let wanted = [
        (LAN, Some(WAN), [2, 2], true),
        (LAN, Some(WAN), [3, 3], true),
        (WAN, None, [4, 4], true),
    ];
    assert_eq!(told(&mut monitor), wanted);
}

/// Two stations of one bridge: seen at both their ports.
#[test]
fn who_began_leads_where_both_are_inside() {
    let mut monitor = monitor();
    monitor.set_port(4, "lan1", false);
    let one = ends(6, ("192.168.1.2", 4000), ("192.168.1.3", 22));
    read(&mut monitor, one.at((4, 0)), FIN, [2, 2], 1_000);
    read(
        &mut monitor,
        one.reversed().at((LAN, 0)),
        FIN,
        [2, 2],
        1_001,
    );
    monitor.pair(|_| None, &[], 1_001);
    monitor.advance(9_000);
    assert_eq!(told(&mut monitor), [(4, Some(LAN), [2, 2], true)]);
}

#[test]
fn the_side_inside_leads_also_where_a_port_leads_out_only_later() {
    let mut monitor = monitor();
    monitor.set_port(WAN, "wan0", false);
    let who = Masqueraded::new(6);
    read(&mut monitor, who.outside.at((WAN, 0)), FIN, [1, 1], 1_000);
    read(&mut monitor, who.inside.at((LAN, 0)), FIN, [1, 1], 1_001);
    monitor.pair(who.leaves(), &[], 1_001);
    monitor.set_port(WAN, "wan0", true);
    monitor.pair(who.leaves(), &[], 1_002);
    monitor.advance(9_000);
    assert_eq!(told(&mut monitor), [(LAN, Some(WAN), [1, 1], true)]);
}
