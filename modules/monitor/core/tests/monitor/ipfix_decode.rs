//! An independent decoder reads all exported values.

use crate::traffic;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use netflow_parser::variable_versions::ipfix::{FlowSetBody, IPFixFieldPair, TemplateField};
use netflow_parser::{NetflowPacket, NetflowParser};
use proptest::prelude::*;
use weir_monitor_core::count::Count;
use weir_monitor_core::ipfix::{Exporter, FlowRecord, Message, NatEvent, Settings};

/// Fields of a record by number; those of the other way have 0x8000 added, ntop's 0x4000.
type Fields = BTreeMap<u16, Vec<u8>>;

const REVERSE: u16 = 0x8000;
const NTOP: u16 = 0x4000;

/// Records that a collector received.
#[derive(Default)]
struct Decoded {
    records: Vec<Fields>,
    options: Vec<Fields>,
    templates: HashMap<u16, Vec<u16>>,
    next: u32,
}

impl Decoded {
    fn read(&mut self, parser: &mut NetflowParser, message: &Message, limit: usize) {
        assert!(
            message.octets.len() <= limit,
            "{} bytes",
            message.octets.len()
        );
        let result = parser.parse_bytes(&message.octets);
        assert!(result.error.is_none(), "{:?}", result.error);
        let [NetflowPacket::IPFix(packet)] = result.packets.as_slice() else {
            panic!("not one message: {:?}", result.packets);
        };
        assert_eq!(usize::from(packet.header.length), message.octets.len());
        assert_eq!(packet.header.sequence_number, self.next, "sequence number");
        let sets: usize = packet
            .flowsets
            .iter()
            .map(|set| usize::from(set.header.length))
            .sum();
        assert_eq!(sets + 16, message.octets.len(), "lengths of sets");
        let mut flows = 0;
        for set in &packet.flowsets {
            let template = self.templates.get(&set.header.header_id);
            let template = template.map(Vec::as_slice).unwrap_or_default();
            match &set.body {
                FlowSetBody::Data(data) => {
                    assert!(data.padding.is_empty());
                    flows += data.fields.len() as u64;
                    self.next += data.fields.len() as u32;
                    self.records
                        .extend(data.fields.iter().map(|record| fields(template, record)));
                }
                FlowSetBody::OptionsData(data) => {
                    assert!(data.padding.is_empty());
                    self.next += data.fields.len() as u32;
                    self.options
                        .extend(data.fields.iter().map(|record| fields(template, record)));
                }
                FlowSetBody::Template(t) => self.learn(t.template_id, &t.fields),
                FlowSetBody::Templates(all) => all
                    .iter()
                    .for_each(|t| self.learn(t.template_id, &t.fields)),
                FlowSetBody::OptionsTemplate(t) => self.learn(t.template_id, &t.fields),
                FlowSetBody::OptionsTemplates(all) => all
                    .iter()
                    .for_each(|t| self.learn(t.template_id, &t.fields)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(message.contents.flows, flows);
    }

    fn learn(&mut self, id: u16, fields: &[TemplateField]) {
        self.templates.insert(id, numbers(fields));
    }
}

fn fields(template: &[u16], record: &[IPFixFieldPair]) -> Fields {
    assert_eq!(template.len(), record.len());
    let mut all = Fields::new();
    for (number, (_, value)) in template.iter().zip(record) {
        let octets = all.entry(*number).or_default();
        value.write_be_bytes(octets).expect("bytes of a field");
    }
    all
}

/// Returns the numbers of fields, as in [`Fields`].
fn numbers(fields: &[TemplateField]) -> Vec<u16> {
    let number = |field: &TemplateField| match field.enterprise_number {
        None => field.field_type_number,
        Some(29305) => field.field_type_number | REVERSE,
        Some(35632) => field.field_type_number | NTOP,
        Some(other) => panic!("enterprise {other}"),
    };
    fields.iter().map(number).collect()
}

fn put(fields: &mut Fields, number: u16, value: impl AsRef<[u8]>) {
    fields.insert(number, value.as_ref().to_vec());
}

fn put_address(fields: &mut Fields, ipv4: u16, ipv6: u16, address: IpAddr) {
    match address {
        IpAddr::V4(address) => put(fields, ipv4, address.octets()),
        IpAddr::V6(address) => put(fields, ipv6, address.octets()),
    }
}

/// The records that a flow should give, by the numbers of IANA's registry.
fn expected(flow: &FlowRecord<'_>, biflow: bool) -> Vec<Fields> {
    let ipv6 = flow.source.is_ipv6();
    let mut base = Fields::new();
    put(&mut base, 152, flow.start.to_be_bytes());
    put(&mut base, 153, flow.end.to_be_bytes());
    put(&mut base, 4, [flow.protocol]);
    put(&mut base, 136, [flow.reason as u8]);
    let realm = if flow.internet { "internet" } else { "lan" };
    put(&mut base, 465, realm);
    if let Some(application) = flow.application {
        put(&mut base, 96, application);
    }
    if let Some(name) = flow.remote_name {
        put(&mut base, 122 | NTOP, name);
    }
    if let Some(tcp) = flow.tcp {
        for (element, micros) in [(123, tcp.near), (124, tcp.far)] {
            let half = micros.map_or(0, |micros| {
                (f64::from(micros.max(1)) / 2000.0).ceil() as u32
            });
            put(&mut base, element | NTOP, half.to_be_bytes());
        }
    }
    let icmp = if ipv6 { 139 } else { 32 };
    let answer = flow.icmp.map(|i| i.answer(ipv6));

    let mut sent = base.clone();
    put_address(&mut sent, 8, 27, flow.source);
    put_address(&mut sent, 12, 28, flow.destination);
    put(&mut sent, 10, flow.ingress_port.to_be_bytes());
    put(&mut sent, 14, flow.egress_port.to_be_bytes());
    put(&mut sent, 58, flow.vlan.to_be_bytes());
    put(&mut sent, 56, flow.mac);
    put(&mut sent, 61, [0]);
    put(&mut sent, 5, [flow.sent.tos]);
    put(&mut sent, 1, flow.sent.octets.to_be_bytes());
    put(&mut sent, 2, flow.sent.packets.to_be_bytes());
    match flow.icmp {
        Some(i) => put(&mut sent, icmp, [i.kind, i.code]),
        None => {
            put(&mut sent, 7, flow.source_port.to_be_bytes());
            put(&mut sent, 11, flow.destination_port.to_be_bytes());
            put(&mut sent, 6, flow.sent.tcp_flags.to_be_bytes());
        }
    }
    if let Some(t) = flow.translation {
        put_address(&mut sent, 225, 281, t.source);
        put_address(&mut sent, 226, 282, t.destination);
        if flow.icmp.is_none() {
            put(&mut sent, 227, t.source_port.to_be_bytes());
            put(&mut sent, 228, t.destination_port.to_be_bytes());
        }
    }
    if let Some(tcp) = flow.tcp {
        put(&mut sent, 109 | NTOP, tcp.retransmits[0].to_be_bytes());
    }
    if biflow {
        if let Some(tcp) = flow.tcp {
            put(&mut sent, 110 | NTOP, tcp.retransmits[1].to_be_bytes());
        }
        put(&mut sent, 1 | REVERSE, flow.received.octets.to_be_bytes());
        put(&mut sent, 2 | REVERSE, flow.received.packets.to_be_bytes());
        put(&mut sent, 5 | REVERSE, [flow.received.tos]);
        match answer {
            Some(i) => put(&mut sent, icmp | REVERSE, [i.kind, i.code]),
            None => put(
                &mut sent,
                6 | REVERSE,
                flow.received.tcp_flags.to_be_bytes(),
            ),
        }
        put(&mut sent, 239, [flow.initiator as u8]);
        return vec![sent];
    }

    let mut received = base;
    put_address(&mut received, 8, 27, flow.destination);
    put_address(&mut received, 12, 28, flow.source);
    put(&mut received, 10, flow.egress_port.to_be_bytes());
    put(&mut received, 14, flow.ingress_port.to_be_bytes());
    put(&mut received, 59, flow.vlan.to_be_bytes());
    put(&mut received, 57, flow.mac);
    put(&mut received, 61, [1]);
    put(&mut received, 5, [flow.received.tos]);
    put(&mut received, 1, flow.received.octets.to_be_bytes());
    put(&mut received, 2, flow.received.packets.to_be_bytes());
    match answer {
        Some(i) => put(&mut received, icmp, [i.kind, i.code]),
        None => {
            put(&mut received, 7, flow.destination_port.to_be_bytes());
            put(&mut received, 11, flow.source_port.to_be_bytes());
            put(&mut received, 6, flow.received.tcp_flags.to_be_bytes());
        }
    }
    if let Some(tcp) = flow.tcp {
        put(&mut received, 109 | NTOP, tcp.retransmits[1].to_be_bytes());
    }
    let ways = [(flow.sent.packets, sent), (flow.received.packets, received)];
    ways.into_iter()
        .filter(|(packets, _)| *packets > 0)
        .map(|(_, record)| record)
        .collect()
}

fn expected_nat(event: &NatEvent) -> Fields {
    let mut all = Fields::new();
    put(&mut all, 323, event.time.to_be_bytes());
    put(&mut all, 230, [event.kind as u8]);
    put(&mut all, 4, [event.protocol]);
    put(&mut all, 8, event.source.0.octets());
    put(&mut all, 7, event.source.1.to_be_bytes());
    put(&mut all, 12, event.destination.0.octets());
    put(&mut all, 11, event.destination.1.to_be_bytes());
    put(&mut all, 225, event.translated_source.0.octets());
    put(&mut all, 227, event.translated_source.1.to_be_bytes());
    put(&mut all, 226, event.translated_destination.0.octets());
    put(&mut all, 228, event.translated_destination.1.to_be_bytes());
    put(&mut all, 229, [if event.from_outside { 2 } else { 1 }]);
    all
}

/// Step of a test.
#[derive(Clone, Debug)]
enum Event {
    Flow(FlowRecord<'static>),
    Nat(NatEvent),
    Tick(u64),
    Interface(u32, String),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => traffic::flow().prop_map(Event::Flow),
        2 => traffic::nat_event().prop_map(Event::Nat),
        2 => (0u64..90_000).prop_map(Event::Tick),
        1 => (0u32..50, "[a-z]{1,15}").prop_map(|(index, name)| Event::Interface(index, name)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_went_in_comes_out(
        events in proptest::collection::vec(event(), 1..120),
        message_size in 400usize..3000,
        refresh_messages in 0u32..40,
        biflow: bool,
        domain: u32,
    ) {
        let mut now = traffic::EPOCH;
        let mut exporter = Exporter::new(Settings {
            domain, message_size, refresh_messages, biflow, ..Settings::default()
        });
        let limit = message_size.max(512);
        let mut parser = NetflowParser::default();
        let mut decoded = Decoded::default();
        let mut wanted = Vec::new();
        for event in &events {
            let mut messages = Vec::new();
            match event {
                Event::Flow(flow) => {
                    exporter.flow(flow, now);
                    wanted.extend(expected(flow, biflow));
                }
                Event::Nat(event) => {
                    exporter.nat_event(event, now);
                    wanted.push(expected_nat(event));
                }
                Event::Interface(index, name) => exporter.interface(*index, name),
                Event::Tick(later) => {
                    now += later;
                    messages = exporter.tick(now);
                }
            }
            messages.extend(exporter.take());
            for message in &messages {
                decoded.read(&mut parser, message, limit);
                prop_assert_eq!(&message.octets[12..16], domain.to_be_bytes());
            }
        }
        for message in &exporter.tick(now) {
            decoded.read(&mut parser, message, limit);
        }
        decoded.records.sort();
        wanted.sort();
        prop_assert_eq!(decoded.records, wanted);
        prop_assert!(!decoded.templates.is_empty());
    }
}

fn decode(messages: &[Message]) -> Decoded {
    let mut decoded = Decoded::default();
    let mut parser = NetflowParser::default();
    for message in messages {
        decoded.read(&mut parser, message, 1400);
    }
    decoded
}

fn number(fields: &Fields, number: u16) -> u64 {
    let octets = &fields[&number];
    octets
        .iter()
        .fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

#[test]
fn statistics_and_names_come_with_each_refresh() {
    let mut exporter = Exporter::new(Settings::default());
    exporter.interface(7, "lan\u{1b}0");
    exporter.interface(8, "wan0");
    let flows = traffic::flows(40);
    let mut messages = exporter.tick(1_000_000);
    for flow in &flows {
        exporter.flow(flow, 1_001_000);
    }
    let sent = exporter.tick(1_001_000);
    exporter.unsent(sent[0].contents, sent[0].octets.len(), 1_002_000);
    let lost = sent[0].contents;
    messages.extend(sent);
    let ignored = Count {
        packets: 5,
        bytes: 700,
    };
    exporter.ignored(ignored, 1_003_000);
    exporter.ignored(ignored, 1_004_000);
    assert!(exporter.tick(1_059_999).is_empty(), "nothing is due yet");
    let refresh = exporter.tick(1_060_000);
    let after = exporter.statistics();
    let many = refresh.len();
    messages.extend(refresh);
    let options = decode(&messages).options;

    let names: Vec<_> = options.iter().filter(|o| o.contains_key(&82)).collect();
    assert_eq!(names.len(), 4);
    assert_eq!(
        (number(names[2], 10), names[2][&82].as_slice()),
        (7, b"lan0".as_slice())
    );
    let exported: Vec<_> = options.iter().filter(|o| o.contains_key(&41)).collect();
    assert_eq!(exported.len(), 2);
    assert_eq!(number(exported[0], 41), 0);
    // In one of the last messages, those before it.
    let rest = usize::try_from(after.messages - number(exported[1], 41)).expect("few");
    assert!((1..=many).contains(&rest), "{rest} of {many}");
    let (_, last) = messages.split_at(messages.len() - rest);
    let last: u64 = last.iter().map(|m| m.octets.len() as u64).sum();
    assert_eq!(number(exported[1], 42), after.exported.flows);
    assert_eq!(number(exported[1], 40), after.octets - last);
    let ignored: Vec<_> = options.iter().filter(|o| o.contains_key(&164)).collect();
    assert_eq!(ignored.len(), 1, "only once there is something");
    assert_eq!((number(ignored[0], 164), number(ignored[0], 165)), (5, 700));
    // Both times, one after the other: nothing was ignored after the first.
    assert_eq!(ignored[0][&323], [1_003_000u64.to_be_bytes(); 2].concat());
    let not_sent: Vec<_> = options.iter().filter(|o| o.contains_key(&166)).collect();
    assert_eq!(not_sent.len(), 1);
    assert_eq!(number(not_sent[0], 166), lost.flows);
    assert_eq!(number(not_sent[0], 167), lost.packets);
    assert_eq!(number(not_sent[0], 168), lost.octets);
    let all = exporter.statistics();
    assert_eq!(
        all.exported.flows + all.not_sent.flows,
        decode(&messages).records.len() as u64
    );
}

#[test]
fn a_restarted_collector_understands_after_a_refresh() {
    let mut exporter = Exporter::new(Settings::default());
    let flows = traffic::flows(50);
    for flow in &flows {
        exporter.flow(flow, 0);
    }
    exporter.tick(0);
    for flow in &flows {
        exporter.flow(flow, 59_000);
    }
    let old = exporter.tick(59_000);
    let mut parser = NetflowParser::default();
    let read = parser.parse_bytes(&old[0].octets);
    let [NetflowPacket::IPFix(packet)] = read.packets.as_slice() else {
        panic!()
    };
    let unknown = |set: &netflow_parser::variable_versions::ipfix::FlowSet| {
        matches!(set.body, FlowSetBody::NoTemplate(_))
    };
    assert!(
        packet.flowsets.iter().all(unknown),
        "no template is told twice within a refresh"
    );
    // The refresh that is due every minute.
    for flow in &flows {
        exporter.flow(flow, 60_001);
    }
    let messages = exporter.tick(60_001);
    let mut decoded = Decoded {
        next: u32::from_be_bytes(messages[0].octets[8..12].try_into().unwrap()),
        ..Decoded::default()
    };
    let mut parser = NetflowParser::default();
    for message in &messages {
        decoded.read(&mut parser, message, 1400);
    }
    let wanted: usize = flows.iter().map(|flow| expected(flow, false).len()).sum();
    assert_eq!(decoded.records.len(), wanted);
}

#[test]
fn templates_told_anew_let_a_stranger_read_on_and_take_no_number() {
    let mut exporter = Exporter::new(Settings::default());
    let flows = traffic::flows(200);
    for flow in &flows {
        exporter.flow(flow, 0);
    }
    let messages = exporter.tick(0);
    let middle = messages.len() / 2;
    let mut all = exporter.templates_before(&messages[middle], 0);
    assert!(all.len() > 1, "more than one message holds");
    all.extend_from_slice(&messages[middle..]);
    let mut parser = NetflowParser::default();
    let mut decoded = Decoded {
        next: u32::from_be_bytes(all[0].octets[8..12].try_into().expect("a number")),
        ..Decoded::default()
    };
    for message in &all {
        decoded.read(&mut parser, message, 1400);
    }
    let wanted: u64 = messages[middle..]
        .iter()
        .map(|message| message.contents.flows)
        .sum();
    assert_eq!(decoded.records.len() as u64, wanted);
}

#[test]
fn what_nobody_takes_is_bounded_and_counted() {
    let mut exporter = Exporter::new(Settings::default());
    let flows = traffic::flows(200);
    let mut records = 0;
    for round in 0..60 {
        for flow in &flows {
            exporter.flow(flow, round);
            records += expected(flow, false).len() as u64;
        }
    }
    let messages = exporter.tick(60);
    assert_eq!(messages.len(), weir_monitor_core::ipfix::QUEUE_LIMIT);
    let statistics = exporter.statistics();
    assert!(statistics.not_sent.flows > 0);
    assert_eq!(
        statistics.exported.flows + statistics.not_sent.flows,
        records
    );
    let held: u64 = messages.iter().map(|message| message.contents.flows).sum();
    assert_eq!(held, statistics.exported.flows);
}

#[test]
fn addresses_of_two_families_are_refused() {
    let mut exporter = Exporter::new(Settings::default());
    let mut flow = traffic::flows(1)[0];
    flow.source = [192, 0, 2, 1].into();
    flow.destination = [0u16; 8].into();
    exporter.flow(&flow, 0);
    assert_eq!(exporter.statistics().refused, 1);
    // Translated from one family to the other, it is exported without.
    flow.destination = [192, 0, 2, 2].into();
    flow.translation = Some(weir_monitor_core::ipfix::Translation {
        source: [0u16; 8].into(),
        destination: [0u16; 8].into(),
        source_port: 1,
        destination_port: 2,
    });
    exporter.flow(&flow, 0);
    let decoded = decode(&exporter.tick(0));
    assert!(
        decoded
            .records
            .iter()
            .all(|record| !record.contains_key(&225))
    );
    assert!(!decoded.records.is_empty());
}
