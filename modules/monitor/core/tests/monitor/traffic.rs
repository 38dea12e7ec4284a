//! Flows of all kinds, for the tests of IPFIX.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weir_monitor_core::ipfix::{
    EndReason, FlowCounters, FlowRecord, Icmp, Initiator, NatEvent, NatEventKind, Tcp, Translation,
};

/// Friday, 2023-11-10 09:46:40 UTC in milliseconds: flows begin within an hour after it.
pub const EPOCH: u64 = 1_699_609_600_000;

const NAMES: [Option<&str>; 3] = [None, Some("example.org"), Some("xn--bcher-kva.example")];
const APPLICATIONS: [Option<&str>; 4] = [None, Some("web"), Some("dns"), Some("vidéo")];

/// A flow as weir may hand in: with at least one packet.
pub fn flow() -> impl Strategy<Value = FlowRecord<'static>> {
    let ends = (
        any::<bool>(),
        any::<[u8; 16]>(),
        any::<[u8; 16]>(),
        any::<[u16; 2]>(),
    );
    let what = (
        0u8..5,
        any::<[u8; 2]>(),
        any::<[u32; 2]>(),
        0u16..4095,
        any::<[u8; 6]>(),
    );
    let counts = (way(), way(), 0u64..3_600_000, 0u64..600_000);
    let rest = (
        0usize..5,
        0usize..3,
        translation(),
        0usize..4,
        0usize..3,
        tcp(),
    );
    (ends, what, counts, rest).prop_map(
        |(
            (ipv6, source, destination, ports),
            (kind, icmp, devices, vlan, mac),
            (mut sent, mut received, start, lasts),
            (reason, initiator, translation, application, name, tcp),
        )| {
            let protocol = match (kind, ipv6) {
                (0 | 1, _) => 6,
                (2, _) => 17,
                (3, _) => 47,
                (_, false) => 1,
                (_, true) => 58,
            };
            let has_ports = matches!(protocol, 6 | 17);
            if protocol != 6 {
                (sent.tcp_flags, received.tcp_flags) = (0, 0);
            }
            if sent.is_empty() && received.is_empty() {
                (sent.packets, sent.octets) = (1, 40);
            }
            FlowRecord {
                source: address(ipv6, source),
                destination: address(ipv6, destination),
                source_port: if has_ports { ports[0] } else { 0 },
                destination_port: if has_ports { ports[1] } else { 0 },
                protocol,
                icmp: matches!(protocol, 1 | 58).then_some(Icmp {
                    kind: icmp[0],
                    code: icmp[1],
                }),
                ingress_port: devices[0],
                egress_port: devices[1],
                vlan,
                mac,
                sent,
                received,
                start: EPOCH + start,
                end: EPOCH + start + lasts,
                reason: [
                    EndReason::Idle,
                    EndReason::Active,
                    EndReason::EndDetected,
                    EndReason::Forced,
                    EndReason::LackOfResources,
                ][reason],
                internet: initiator == 1,
                initiator: [Initiator::Unknown, Initiator::Station, Initiator::Remote][initiator],
                translation: translation.map(|(source, port)| Translation {
                    source: address(ipv6, source),
                    destination: address(ipv6, destination),
                    source_port: if has_ports { port } else { 0 },
                    destination_port: if has_ports { ports[1] } else { 0 },
                }),
                application: APPLICATIONS[application],
                remote_name: NAMES[name],
                tcp: tcp.filter(|_| protocol == 6),
            }
        },
    )
}

fn way() -> impl Strategy<Value = FlowCounters> {
    let packets = prop_oneof![1 => Just(0u64), 4 => 1u64..2_000_000];
    (packets, 20u64..1500, 0u16..0x200, any::<u8>()).prop_map(
        |(packets, length, tcp_flags, tos)| {
            if packets == 0 {
                return FlowCounters::default();
            }
            FlowCounters {
                packets,
                octets: packets * length,
                tcp_flags,
                tos,
            }
        },
    )
}

fn tcp() -> impl Strategy<Value = Option<Tcp>> {
    let micros = || proptest::option::of(0u32..3_000_000);
    let tcp = (any::<[u32; 2]>(), micros(), micros());
    proptest::option::of(tcp.prop_map(|(again, near, far)| Tcp {
        retransmits: again,
        near,
        far,
    }))
}

fn translation() -> impl Strategy<Value = Option<([u8; 16], u16)>> {
    proptest::option::of(any::<([u8; 16], u16)>())
}

fn address(ipv6: bool, octets: [u8; 16]) -> IpAddr {
    if ipv6 {
        // A documentation prefix: no decoder takes it for a mapped or special address.
        let mut octets = octets;
        octets[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        Ipv6Addr::from(octets).into()
    } else {
        Ipv4Addr::new(10 + octets[0] % 200, octets[1], octets[2], octets[3]).into()
    }
}

/// A translation that begins or ends.
pub fn nat_event() -> impl Strategy<Value = NatEvent> {
    let end = || (any::<[u8; 4]>(), any::<u16>()).prop_map(|(a, port)| (Ipv4Addr::from(a), port));
    let what = (any::<bool>(), 0u64..3_600_000, any::<bool>(), any::<bool>());
    (what, end(), end(), end(), end()).prop_map(
        |((create, time, tcp, from_outside), source, destination, by, to)| NatEvent {
            kind: if create {
                NatEventKind::Create
            } else {
                NatEventKind::Delete
            },
            time: EPOCH + time,
            protocol: if tcp { 6 } else { 17 },
            source,
            destination,
            translated_source: by,
            translated_destination: to,
            from_outside,
        },
    )
}

/// `count` flows, the same ones each time.
pub fn flows(count: usize) -> Vec<FlowRecord<'static>> {
    let mut runner = TestRunner::deterministic();
    let strategy = flow();
    let sample = |_| strategy.new_tree(&mut runner).expect("a flow").current();
    (0..count).map(sample).collect()
}

/// `count` translations, the same ones each time.
pub fn nat_events(count: usize) -> Vec<NatEvent> {
    let mut runner = TestRunner::deterministic();
    let strategy = nat_event();
    let sample = |_| strategy.new_tree(&mut runner).expect("an event").current();
    (0..count).map(sample).collect()
}

/// Expected or actual counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Records of flows.
    pub records: u64,
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub octets: u64,
}

impl std::ops::AddAssign for Sums {
    fn add_assign(&mut self, more: Self) {
        self.records += more.records;
        self.packets += more.packets;
        self.octets += more.octets;
    }
}

/// Sums by protocol.
pub type Table = BTreeMap<u8, Sums>;

/// Returns the counts that a collector should have for these flows.
pub fn expected(flows: &[FlowRecord<'_>], biflow: bool) -> Table {
    let mut table = Table::new();
    for flow in flows {
        let sums = table.entry(flow.protocol).or_default();
        for way in [flow.sent, flow.received] {
            *sums += Sums {
                records: u64::from(way.packets > 0 && !biflow),
                packets: way.packets,
                octets: way.octets,
            };
        }
        sums.records += u64::from(biflow);
    }
    table
}

/// Sums of all protocols.
pub fn total(table: &Table) -> Sums {
    let mut total = Sums::default();
    table.values().for_each(|sums| total += *sums);
    total
}
