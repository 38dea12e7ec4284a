//! tshark reads the exported records, with equal sums, and misses nothing.

use crate::traffic;

use std::path::Path;
use std::process::Command;

use crate::peer::{directory, output};
use crate::traffic::{expected, total};
use weir_monitor_core::ipfix::{Exporter, FlowRecord, Message, Settings};

const FLOWS: usize = 1000;

/// A capture file of these messages, each in a datagram to IPFIX's port (pcap, LINKTYPE_RAW).
fn capture(messages: &[Message]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101u32] {
        file.extend(word.to_le_bytes());
    }
    for message in messages {
        let length = message.octets.len() as u16;
        let frame = u32::from(length) + 28;
        for word in [(traffic::EPOCH / 1000) as u32, 0, frame, frame] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend((length + 28).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        file.extend(4739u16.to_be_bytes().repeat(2));
        file.extend((length + 8).to_be_bytes());
        file.extend([0, 0]);
        file.extend(&message.octets);
    }
    file
}

/// Values of these fields in all records of a capture, and how often tshark warned.
fn tshark<const N: usize>(path: &Path, fields: [&str; N]) -> ([Vec<String>; N], usize) {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.args(["-e", "_ws.expert.severity"]);
    let text = output(&mut command);
    let mut values = [const { Vec::new() }; N];
    let mut warnings = 0;
    for line in text.lines() {
        let mut columns = line.split('\t');
        for values in &mut values {
            let column = columns.next().unwrap_or_default();
            values.extend(
                column
                    .split(',')
                    .filter(|v| !v.is_empty())
                    .map(String::from),
            );
        }
        warnings += usize::from(columns.next().is_some_and(|severity| !severity.is_empty()));
    }
    (values, warnings)
}

fn sum(values: &[String]) -> u64 {
    values
        .iter()
        .map(|value| value.parse::<u64>().expect("a number"))
        .sum()
}

#[test]
fn tshark_reads_all_kinds_of_records() {
    let directory = directory("tshark");
    let flows = traffic::flows(FLOWS);
    let events = traffic::nat_events(200);
    for biflow in [false, true] {
        let mut exporter = Exporter::new(Settings {
            biflow,
            ..Settings::default()
        });
        exporter.interface(2, "lan0");
        let mut messages = Vec::new();
        for (time, flow) in (0..).zip(&flows) {
            // Some refreshes are among them.
            let now = traffic::EPOCH + time * 200;
            exporter.flow(flow, now);
            if let Some(event) = events.get(time as usize) {
                exporter.nat_event(event, now);
            }
            messages.extend(exporter.take());
        }
        messages.extend(exporter.tick(traffic::EPOCH + 1_000_000));
        let path = directory.join(format!("{biflow}.pcap"));
        std::fs::write(&path, capture(&messages)).expect("a capture");
        let fields = [
            "cflow.octets",
            "cflow.packets",
            "cflow.nat_event",
            "cflow.post_natsource_ipv4_address",
            "cflow.pie.ntop.flow_server_name",
            "cflow.pie.ntop.client_nw_latency_ms",
            "cflow.pie.ntop.retransmitted_in_pkts",
        ];
        let (
            [
                octets,
                packets,
                nat_events,
                translations,
                names,
                waits,
                again,
            ],
            warnings,
        ) = tshark(&path, fields);
        // Neither a sequence number nor a template is missed.
        assert_eq!(warnings, 0);
        let wanted = total(&expected(&flows, biflow));
        assert_eq!(
            (sum(&octets), sum(&packets)),
            (wanted.octets, wanted.packets)
        );
        let ways = if biflow { 2 } else { 1 };
        assert_eq!(octets.len() as u64, wanted.records * ways);
        let created = events.iter().filter(|event| event.kind as u8 == 4).count();
        assert_eq!(nat_events.len(), events.len());
        assert_eq!(
            nat_events.iter().filter(|kind| *kind == "4").count(),
            created
        );
        let translated = |flow: &&FlowRecord<'_>| {
            flow.source.is_ipv4() && flow.translation.is_some() && (biflow || flow.sent.packets > 0)
        };
        let translated = flows.iter().filter(translated).count();
        assert_eq!(translations.len(), events.len() + translated);

        // Number of records of a flow.
        let records = |flow: &FlowRecord<'_>| match biflow {
            true => 1,
            false => usize::from(flow.sent.packets > 0) + usize::from(flow.received.packets > 0),
        };
        let named = flows.iter().filter(|flow| flow.remote_name.is_some());
        assert_eq!(names.len(), named.map(records).sum::<usize>());
        assert!(names.iter().any(|name| name == "example.org"), "{names:?}");
        let tcp = || flows.iter().filter_map(|flow| Some((flow, flow.tcp?)));
        let half = |micros: u32| u64::from(micros.max(1)).div_ceil(2000);
        let wanted = tcp().map(|(flow, tcp)| records(flow) as u64 * tcp.near.map_or(0, half));
        assert_eq!(sum(&waits), wanted.sum::<u64>());
        let wanted = tcp().map(|(flow, tcp)| {
            let ways = [
                flow.sent.packets > 0 || biflow,
                flow.received.packets > 0 && !biflow,
            ];
            let told = |way: usize| u64::from(ways[way]) * u64::from(tcp.retransmits[way]);
            told(0) + told(1)
        });
        assert_eq!(sum(&again), wanted.sum::<u64>());

        // The check for lost messages notices a loss.
        messages.remove(messages.len() / 2);
        std::fs::write(&path, capture(&messages)).expect("a capture");
        assert_eq!(tshark(&path, []).1, 1);
    }
}
