//! Real collectors read the exported records, with equal sums.

use crate::peer;
use crate::traffic;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::peer::{Peer, directory, free_port, output};
use crate::traffic::{Sums, Table, expected, total};
use weir_monitor_core::ipfix::{Collector, Exporter, FlowRecord, Message, NatEvent, Settings};

const FLOWS: usize = 3000;

/// Sends like the daemon, but waits for the collector to keep up: losses there would prove nothing.
fn export(
    exporter: &mut Exporter,
    collector: &mut Collector,
    peer: Option<&Peer>,
    flows: &[FlowRecord<'static>],
    now: u64,
) {
    let mut send = |exporter: &mut Exporter, messages: Vec<Message>| {
        for part in messages.chunks(if peer.is_some() { 16 } else { 1 }) {
            collector.send(exporter, part.to_vec(), now, traffic::EPOCH + now);
            match peer {
                Some(peer) => peer.drain(),
                // Waits for the kernel's answer that no program listens.
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    };
    for flow in flows {
        exporter.flow(flow, traffic::EPOCH + now);
        let messages = exporter.take();
        send(exporter, messages);
    }
    let messages = exporter.tick(traffic::EPOCH + now);
    send(exporter, messages);
}

/// Commands to run and query a collector.
struct Kind {
    /// Starts it, with this directory to write to.
    start: fn(port: u16, directory: &Path) -> Peer,
    /// Stops the collector once it has written `records` records.
    stop: fn(peer: Peer, directory: &Path, records: u64),
    /// Reads the collector's counts.
    read: fn(directory: &Path) -> Table,
}

/// Flows arrive; the collector stops; further messages wait, but for those known to be lost; it
/// returns and decodes them; it restarts unnoticed by weir, and decodes after a refresh.
fn survives(name: &str, kind: &Kind, settings: Settings) -> PathBuf {
    let flows = traffic::flows(FLOWS);
    let (first, rest) = flows.split_at(FLOWS / 2);
    let (waiting, rest) = rest.split_at(FLOWS / 20);
    let (second, third) = rest.split_at(FLOWS / 4);
    let directory = directory(name);
    let port = free_port();
    let mut exporter = Exporter::new(settings);
    let mut collector = Collector::new(format!("127.0.0.1:{port}").parse().expect("a target"));
    let mut lost = Sums::default();
    for (run, (flows, now)) in [(first, 0), (second, 2_000), (third, 70_000)]
        .into_iter()
        .enumerate()
    {
        let directory = directory.join(run.to_string());
        std::fs::create_dir_all(&directory).expect("a directory");
        let peer = (kind.start)(port, &directory);
        export(&mut exporter, &mut collector, Some(&peer), flows, now);
        assert_eq!(collector.backlog(), 0);
        let mut wanted = total(&expected(flows, settings.biflow));
        if run == 1 {
            let waited = total(&expected(waiting, settings.biflow));
            let not_sent = exporter.statistics().not_sent;
            lost = Sums {
                records: not_sent.flows,
                packets: not_sent.packets,
                octets: not_sent.octets,
            };
            assert!(
                (1..waited.records / 2).contains(&lost.records),
                "{lost:?} of {waited:?}"
            );
            wanted = Sums {
                records: wanted.records + waited.records - lost.records,
                packets: wanted.packets + waited.packets - lost.packets,
                octets: wanted.octets + waited.octets - lost.octets,
            };
        }
        (kind.stop)(peer, &directory, wanted.records);
        let table = (kind.read)(&directory);
        assert_eq!(total(&table), wanted, "{name}, run {run}");
        if run == 0 {
            assert_eq!(table, expected(flows, settings.biflow), "{name}");
            export(&mut exporter, &mut collector, None, waiting, 1_000);
        }
    }
    // Nothing was lost since the collector returned.
    assert_eq!(exporter.statistics().not_sent.octets, lost.octets);
    directory
}

/// Returns how many flows of the first run have a record with a translation of IPv4.
fn translated() -> usize {
    let flows = traffic::flows(FLOWS / 2);
    let told = |flow: &&FlowRecord<'_>| {
        flow.source.is_ipv4() && flow.translation.is_some() && flow.sent.packets > 0
    };
    flows.iter().filter(told).count()
}

/// Runs a command of the documentation, at loopback, `port` and `directory`: the tests cover the
/// documented text.
fn documented(beginning: &str, port: u16, directory: &Path) -> Command {
    let text = include_str!("../../../../../docs/how-to/pipeline.md");
    let line = text.lines().find(|line| line.starts_with(beginning));
    let line = line.unwrap_or_else(|| panic!("docs/how-to/pipeline.md has no {beginning:?}"));
    let mut words = line.split(' ').map(|word| {
        word.trim_matches('\'')
            .replace("0.0.0.0", "127.0.0.1")
            .replace("4739", &port.to_string())
            .replace("/var/lib/flows", &directory.to_string_lossy())
    });
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    command
}

fn nfcapd(port: u16, directory: &Path) -> Peer {
    let mut command = documented("nfcapd ", port, directory);
    Peer::start(
        &mut command,
        port,
        "Startup nfcapd",
        &directory.with_extension("log"),
    )
}

fn nfdump(directory: &Path, arguments: &[&str]) -> String {
    output(
        Command::new("nfdump")
            .arg("-R")
            .arg(directory)
            .args(arguments),
    )
}

/// Sums by protocol, as `nfdump` prints them.
fn nfdump_table(directory: &Path) -> Table {
    let csv = output(&mut documented("nfdump -R /var/lib/flows -q", 0, directory));
    let mut lines = csv.lines().filter(|line| line.contains(','));
    let header: Vec<_> = lines.next().expect("a header").split(',').collect();
    let column = |name| {
        header
            .iter()
            .position(|have| *have == name)
            .expect("a column")
    };
    let (protocol, records, packets, octets) =
        (column("val"), column("fl"), column("pkt"), column("byt"));
    let row = |line: &str| {
        let fields: Vec<_> = line.split(',').collect();
        let number = |index: usize| fields[index].parse().expect("a number");
        let sums = Sums {
            records: number(records),
            packets: number(packets),
            octets: number(octets),
        };
        (number(protocol) as u8, sums)
    };
    lines.map(row).collect()
}

const NFDUMP: Kind = Kind {
    start: nfcapd,
    stop: |peer, _, _| {
        peer.stop("-TERM");
    },
    read: nfdump_table,
};

#[test]
fn nfdump_counts_the_same_and_misses_no_sequence_number() {
    let settings = Settings {
        // See Settings::options.
        options: false,
        ..Settings::default()
    };
    let directory = survives("nfdump", &NFDUMP, settings);
    for run in ["0", "1", "2"] {
        let summary = nfdump(&directory.join(run), &["-I"]);
        assert!(summary.contains("Sequence failures: 0"), "{summary}");
    }
    let records = nfdump(&directory.join("0"), &["-o", "raw"]);
    assert_eq!(records.matches("src xlt ip").count(), translated());
}

/// Objects one after the other: goflow2 may write two, and then the ends of both lines.
fn json_objects(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let objects = serde_json::Deserializer::from_str(&text).into_iter();
    objects.map_while(Result::ok).collect()
}

/// Waits until there are as many records as should be.
fn wait_for_objects(directory: &Path, records: u64) {
    let path = directory.join("flows.json");
    peer::wait("end of the records", || {
        std::thread::sleep(Duration::from_millis(50));
        (json_objects(&path).len() as u64 >= records).then_some(())
    });
}

fn json_table(path: &Path, protocol: &str) -> Table {
    let mut table = Table::new();
    for record in json_objects(path) {
        let number = match record[protocol]
            .as_str()
            .unwrap_or_default()
            .to_lowercase()
            .as_str()
        {
            "icmp" => 1,
            "tcp" => 6,
            "udp" => 17,
            "gre" => 47,
            "ipv6-icmp" => 58,
            other => panic!("protocol {other:?}"),
        };
        let field = |name: &str| record[name].as_u64().unwrap_or_default();
        *table.entry(number).or_default() += Sums {
            records: record["flows"].as_u64().unwrap_or(1),
            packets: field("packets"),
            octets: field("bytes"),
        };
    }
    table
}

/// Uses the configuration of the documentation, but for address, port and directory; and writes
/// records at once.
fn nfacctd(port: u16, directory: &Path) -> Peer {
    let text = std::fs::read_to_string(PIPELINE.to_owned() + "nfacctd.conf").expect("a file");
    let text = text
        .replace("0.0.0.0", "127.0.0.1")
        .replace(
            "print_refresh_time[flows]: 60",
            "print_refresh_time[flows]: 1",
        )
        .replace("plugin_buffer_size", "!")
        .replace("4739", &port.to_string())
        .replace("/var/lib/pmacct", &directory.to_string_lossy());
    let configuration = directory.join("nfacctd.conf");
    std::fs::write(&configuration, text).expect("a configuration");
    let mut command = documented("nfacctd ", port, directory);
    command.current_dir(directory);
    // Messages are lost until the second process has started.
    Peer::start(
        &mut command,
        port,
        "JSON: setting object handlers",
        &directory.join("log"),
    )
}

const PIPELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/pipeline/");

const NFACCTD: Kind = Kind {
    start: nfacctd,
    stop: |peer, directory, records| {
        wait_for_objects(directory, records);
        peer.stop("-INT");
    },
    read: |directory| json_table(&directory.join("flows.json"), "ip_proto"),
};

#[test]
fn nfacctd_counts_the_same() {
    let directory = survives("nfacctd", &NFACCTD, Settings::default());
    let records = json_objects(&directory.join("0/flows.json"));
    let told = |record: &&serde_json::Value| record["post_nat_ip_src"] != "";
    assert_eq!(records.iter().filter(told).count(), translated());
}

/// Returns the path where scripts/setup installs goflow2: next to other build results.
fn goflow2_path() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target directory");
    let script = include_str!("../../../../../scripts/setup");
    let version = script
        .lines()
        .find_map(|line| line.strip_prefix("goflow2="))
        .expect("a version");
    target.join("tools").join(format!("goflow2-{version}"))
}

const GOFLOW2: Kind = Kind {
    start: |port, directory| {
        let line = documented("goflow2 ", port, directory);
        let mut command = Command::new(goflow2_path());
        command.args(line.get_args());
        Peer::start(
            &mut command,
            port,
            "starting collection",
            &directory.join("log"),
        )
    },
    // A regular exit takes seconds, but records are written at once.
    stop: |peer, directory, records| {
        wait_for_objects(directory, records);
        peer.stop("-KILL");
    },
    read: |directory| json_table(&directory.join("flows.json"), "proto"),
};

#[test]
fn goflow2_counts_the_same() {
    survives("goflow2", &GOFLOW2, Settings::default());
}

#[test]
fn nfdump_reads_biflows() {
    let settings = Settings {
        options: false,
        biflow: true,
        ..Settings::default()
    };
    survives("biflow", &NFDUMP, settings);
}

#[test]
fn nfdump_reads_translations_that_begin_and_end() {
    let directory = directory("nat");
    let port = free_port();
    let mut exporter = Exporter::new(Settings::default());
    let mut collector = Collector::new(format!("127.0.0.1:{port}").parse().expect("a target"));
    let peer = nfcapd(port, &directory);
    let events = traffic::nat_events(100);
    for event in &events {
        exporter.nat_event(event, traffic::EPOCH);
    }
    export(&mut exporter, &mut collector, Some(&peer), &[], 0);
    peer.stop("-TERM");
    let text = nfdump(&directory, &["-o", "raw"]);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let values = |name: &[&str]| {
        let value = |line: &Vec<&str>| {
            line.strip_prefix(name)?
                .get(1)
                .map(|value| value.to_string())
        };
        lines.iter().filter_map(value).collect::<Vec<_>>()
    };
    let wanted = |field: fn(&NatEvent) -> String| events.iter().map(field).collect::<Vec<_>>();
    assert_eq!(
        values(&["nat", "event"]),
        wanted(|event| format!("{}:", event.kind as u8))
    );
    assert_eq!(
        values(&["src", "addr"]),
        wanted(|event| event.source.0.to_string())
    );
    assert_eq!(
        values(&["src", "xlt", "ip"]),
        wanted(|event| event.translated_source.0.to_string())
    );
    assert_eq!(
        values(&["src", "xlt", "port"]),
        wanted(|event| event.translated_source.1.to_string())
    );
    assert_eq!(
        values(&["dst", "xlt", "ip"]),
        wanted(|event| event.translated_destination.0.to_string())
    );
    // Names in versions of nfdump: until 1.7.1, and later.
    let times = [values(&["Event", "time"]), values(&["first"])];
    assert!(
        times.contains(&wanted(|event| event.time.to_string())),
        "{times:?}"
    );
}
