//! Reads packets that real programs sent: `tests/fixtures`; their README describes their origin.

use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use weir_monitor_core::apps::Application;
use weir_monitor_core::names::packet::UDP;
use weir_monitor_core::names::quic::Initials;
use weir_monitor_core::names::{
    Client, Direction, FlowNameSource, MOST_QUESTIONS, NameObservation, Names, Outcome, PATIENCE,
    Packet, PacketMeta, Reader, Source, leases,
};

const LAPTOP: [u8; 6] = [2, 0, 0x5e, 0x10, 0, 1];

/// A frame of a file: its direction, the station's hardware address, and the bytes from the IP
/// header on.
#[derive(Clone, Debug)]
struct Frame {
    direction: Direction,
    mac: [u8; 6],
    octets: Vec<u8>,
}

fn octets(text: &str) -> Vec<u8> {
    net::hex::parse(text).expect("hexadecimal")
}

fn lines(file: &str) -> Vec<String> {
    let path = format!("{}/tests/fixtures/{file}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

fn frames(file: &str) -> Vec<Frame> {
    let frame = |line: String| {
        let fields: Vec<&str> = line.split(' ').collect();
        Frame {
            direction: match fields[0] {
                ">" => Direction::FromStation,
                _ => Direction::ToStation,
            },
            mac: octets(fields[1]).try_into().expect("six bytes"),
            octets: octets(fields[2]),
        }
    };
    lines(file).into_iter().map(frame).collect()
}

/// A reader, and the packet path's counts for it.
#[derive(Default)]
struct Path {
    reader: Reader,
    before: HashMap<(Direction, Vec<u8>), u8>,
    now: u64,
    /// True if the path reports 0 as every count.
    uncounted: bool,
}

impl Path {
    fn frame(&mut self, frame: &Frame) -> Vec<NameObservation> {
        self.now += 1;
        let Some(packet) = Packet::read(&frame.octets) else {
            return Vec::new();
        };
        let flow = format!(
            "{:?}",
            (
                packet.source,
                packet.source_port,
                packet.destination,
                packet.destination_port
            )
        );
        let before = self
            .before
            .entry((frame.direction, flow.into()))
            .or_default();
        let said = if self.uncounted { 0 } else { *before };
        let meta = PacketMeta::new(7, frame.mac, frame.direction, said, &packet);
        *before = before.saturating_add(u8::from(!packet.payload.is_empty()));
        self.reader.packet(&meta, packet.payload, self.now)
    }

    fn all(&mut self, frames: &[Frame]) -> Vec<NameObservation> {
        frames.iter().flat_map(|frame| self.frame(frame)).collect()
    }
}

/// Builds the query for this answer, over IPv4.
fn question(answer: &Frame) -> Frame {
    let from = &answer.octets;
    let message = &from[28..];
    let mut at = 12;
    while message[at] != 0 {
        at += 1 + usize::from(message[at]);
    }
    let mut octets = from[..20].to_vec();
    let length = (28 + at + 5) as u16;
    octets[2..4].copy_from_slice(&length.to_be_bytes());
    octets[12..20].copy_from_slice(&[&from[16..20], &from[12..16]].concat());
    octets.extend([&from[22..24], &from[20..22]].concat());
    octets.extend((length - 20).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(&message[..2]);
    octets.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    octets.extend(&message[12..at + 5]);
    Frame {
        direction: Direction::FromStation,
        mac: answer.mac,
        octets,
    }
}

/// Names of flows, in the order in which they were found.
fn flows(frames: &[Frame]) -> Vec<(String, FlowNameSource)> {
    let learned = Path::default().all(frames);
    let flow = |learned| match learned {
        NameObservation::FlowName { name, kind, .. } => (name.to_string(), kind),
        other => panic!("{other:?}"),
    };
    learned.into_iter().map(flow).collect()
}

fn named(names: &[(&str, FlowNameSource)]) -> Vec<(String, FlowNameSource)> {
    names
        .iter()
        .map(|&(name, kind)| (name.to_owned(), kind))
        .collect()
}

const LONG: &str = "a-name-that-is-rather-long-so-that-the-hello-is-too.example.org";

#[test]
fn answers_of_dnsmasq() {
    let frames = frames("dns");
    let mut path = Path::default();
    let mut names = Names::default();
    let mut told = Vec::new();
    let client = Client::new(LAPTOP, [192, 0, 2, 119].into());
    let asked: Vec<Frame> = frames
        .into_iter()
        .flat_map(|answer| [question(&answer), answer])
        .collect();
    for learned in path.all(&asked) {
        names.learn(&learned, path.now);
        let NameObservation::RemoteName {
            client: who,
            address,
            name,
            ttl,
        } = learned
        else {
            panic!("{learned:?}");
        };
        assert_eq!((who, ttl), (client, 300));
        told.push((name.to_string(), address.to_string()));
    }
    let pair = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    assert_eq!(told[0], pair("www.example.com", "198.51.100.10"));
    assert_eq!(told[1], pair("www.example.com", "2001:db8::10"));
    // The queried name, not the name that it is an alias of.
    assert_eq!(told[2], pair("shop.example.com", "198.51.100.11"));
    // No entry for the missing name, nor for the blocked one; the long answers up to the limit.
    assert_eq!(told.len(), 3 + 29 + 32);
    assert!(told[3..].iter().all(|(name, _)| name == "many.example.com"));
    let tally = path.reader.tally();
    // The reverse name of an address is not a host name; the server truncated one answer.
    assert_eq!((tally.names, tally.nameless, tally.malformed), (64, 2, 1));

    let far =
        |address: &str| names.remote_name(client, address.parse().expect("an address"), path.now);
    assert_eq!(
        far("198.51.100.11").map(|name| &**name),
        Some("shop.example.com")
    );
    assert_eq!(far("198.51.100.12"), None);
}

/// Any host can send a datagram from port 53.
#[test]
fn an_answer_counts_for_who_asked_and_once() {
    let answer = frames("dns").remove(0);
    let asked = question(&answer);
    let told = |frames: &[&Frame]| {
        let mut path = Path::default();
        let learned = frames.iter().flat_map(|frame| path.frame(frame)).count();
        (learned, path.reader.tally().unasked)
    };
    assert_eq!(told(&[&asked, &answer]), (1, 0));
    assert_eq!(told(&[&answer]), (0, 1));
    assert_eq!(told(&[&answer, &asked]), (0, 1));
    assert_eq!(told(&[&asked, &answer, &answer]), (1, 1));
    // Another number, name, or type; another server, another port of the station.
    for (at, octet) in [(29, 9), (42, 1), (28 + 30, 28), (15, 9), (23, 9)] {
        let mut forged = answer.clone();
        forged.octets[at] ^= octet;
        assert_eq!(told(&[&asked, &forged]), (0, 1), "{at}");
        assert_eq!(told(&[&asked, &forged, &answer]), (1, 1), "{at}");
    }
    // Another station sent the query with these addresses.
    let mut stranger = asked.clone();
    stranger.mac[5] = 9;
    assert_eq!(told(&[&stranger, &answer]), (0, 1));
    // Too late.
    let mut path = Path::default();
    path.frame(&asked);
    path.now += 11_000;
    assert_eq!(path.frame(&answer), []);
    assert_eq!(path.reader.asked(), 0);
}

#[test]
fn a_flood_of_questions_is_bounded() {
    let asked = question(&frames("dns")[0]);
    let mut path = Path::default();
    for number in 0..5_000_u16 {
        let mut one = asked.clone();
        one.octets[28..30].copy_from_slice(&number.to_be_bytes());
        path.frame(&one);
    }
    assert_eq!(path.reader.asked(), MOST_QUESTIONS);
}

#[test]
fn requests_of_udhcpc() {
    let mut path = Path::default();
    let mut names = Names::default();
    for learned in path.all(&frames("dhcp")) {
        names.learn(&learned, 0);
        assert!(
            matches!(
                learned,
                NameObservation::DeviceName {
                    source: Source::Dhcp,
                    ..
                }
            ),
            "{learned:?}"
        );
    }
    assert_eq!(names.device(&LAPTOP, &[]), Some(("Anna's", Source::Dhcp)));
    let mac = |last| [2, 0, 0x5e, 0x10, 0, last];
    // The name from a server ("television") is ignored: any host could send one.
    assert_eq!(names.device(&mac(2), &[]), Some(("tv0815", Source::Dhcp)));
    // ESC ] 0 ; gone BEL < b > U+202E
    assert_eq!(
        names.device(&mac(3), &[]),
        Some(("]0;gone<b>", Source::Dhcp))
    );
    assert_eq!(path.reader.tally().malformed, 0);
}

#[test]
fn what_the_client_says_of_itself() {
    let said = frames("dhcp")
        .into_iter()
        .filter(|frame| frame.direction == Direction::FromStation);
    let said: Vec<Frame> = said.collect();
    let names: Vec<String> = Path::default()
        .all(&said)
        .into_iter()
        .map(|learned| match learned {
            NameObservation::DeviceName { name, .. } => name,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        [
            "Anna's",
            "Anna's",
            "tv0815",
            "tv0815",
            "]0;gone<b>",
            "]0;gone<b>"
        ]
    );
    // A request for another device is ignored.
    let foreign = Frame {
        mac: [2, 0, 0x5e, 0x10, 0, 9],
        ..said[0].clone()
    };
    assert_eq!(Path::default().frame(&foreign), []);
}

#[test]
fn leases_of_dnsmasq() {
    let path = format!(
        "{}/tests/fixtures/dnsmasq.leases",
        env!("CARGO_MANIFEST_DIR")
    );
    let file = leases::dnsmasq(&std::fs::read(path).expect("the file"));
    assert_eq!((file.bad, file.more), (0, false));
    // DHCPv6 has the hardware address in the client's identifier.
    let by_six = file.entries.last().expect("a lease");
    let address = by_six.address.expect("an address");
    assert_eq!(
        (by_six.mac, address.is_ipv6(), by_six.name.as_deref()),
        (Some(LAPTOP), true, Some("laptop6"))
    );
    let mut names = Names::default();
    names.replace(Source::Lease, file.entries);
    let address = "192.0.2.102".parse().expect("an address");
    assert_eq!(names.device(&LAPTOP, &[]), Some(("laptop", Source::Lease)));
    assert_eq!(
        names.device(&[2, 0, 0x5e, 0x10, 0, 2], &[address]),
        Some(("television", Source::Lease))
    );
    assert_eq!(names.device(&[2, 0, 0x5e, 0x10, 0, 3], &[]), None);
}

#[test]
fn announcements() {
    let mut path = Path::default();
    let learned: Vec<_> = frames("mdns")
        .iter()
        .map(|frame| path.frame(frame))
        .collect();
    let name = |name: &str| {
        vec![NameObservation::DeviceName {
            mac: LAPTOP,
            name: name.to_owned(),
            source: Source::Mdns,
        }]
    };
    let laptop = || name("annas-laptop");
    let printer = || name("printer-4711");
    let nothing = Vec::new;
    let expected = [
        // Probe, then addresses and their names, each by itself.
        nothing(),
        laptop(),
        laptop(),
        laptop(),
        laptop(),
        // Goodbye; the other program's probe, its service, goodbye.
        nothing(),
        nothing(),
        printer(),
        printer(),
        nothing(),
    ];
    for (at, (learned, expected)) in learned.iter().zip(&expected).enumerate() {
        assert_eq!(learned, expected, "message {at}");
    }
    assert_eq!(learned.len(), expected.len());
    assert_eq!(path.reader.tally().malformed, 0);
}

#[test]
fn hellos_over_tcp() {
    use FlowNameSource::Tls;
    let names = [
        ("www.example.com", Tls),
        ("old.example.com", Tls),
        ("shop.example.com", Tls),
        (LONG, Tls),
        (LONG, Tls),
        (LONG, Tls),
    ];
    assert_eq!(flows(&frames("tls")), named(&names));
    let mut path = Path::default();
    path.all(&frames("tls"));
    assert_eq!(
        (path.reader.waiting(), path.reader.tally().abandoned),
        (0, 0)
    );
}

/// The flow's frames, by the station's port.
fn flow_of(file: &str, number: usize) -> Vec<Frame> {
    let mut ports = Vec::new();
    let mut of_flow = Vec::new();
    for frame in frames(file) {
        let port = Packet::read(&frame.octets).expect("a packet").source_port;
        if !ports.contains(&port) {
            ports.push(port);
        }
        if ports.len() == number + 1 && ports[number] == port {
            of_flow.push(frame);
        }
    }
    of_flow
}

#[test]
fn segments_out_of_order_and_twice() {
    // Chromium's, in two segments.
    let [first, second, ..] = &flow_of("tls", 5)[..] else {
        panic!("two segments");
    };
    let name = named(&[(LONG, FlowNameSource::Tls)]);
    for order in [
        vec![first, second],
        vec![second, first],
        vec![first, first, second],
        vec![second, second, second, first],
    ] {
        let order: Vec<Frame> = order.into_iter().cloned().collect();
        assert_eq!(flows(&order), name);
    }
    for missing in [first, second] {
        let mut path = Path::default();
        assert_eq!(path.frame(missing), []);
        assert_eq!(path.reader.waiting(), 1);
        // The wait for the missing bytes ends.
        path.now += PATIENCE + 1;
        path.all(&frames("dns")[..1]);
        assert_eq!(
            (path.reader.waiting(), path.reader.tally().abandoned),
            (0, 1)
        );
    }
}

#[test]
fn requests_of_curl() {
    assert_eq!(
        flows(&frames("http")),
        named(&[("www.example.com", FlowNameSource::Http)])
    );
}

#[test]
fn initial_packets() {
    use FlowNameSource::Quic;
    assert_eq!(
        flows(&frames("quic-aioquic")),
        named(&[("one.example.com", Quic), ("two.example.com", Quic)])
    );
    assert_eq!(
        flows(&frames("quic-go")),
        named(&[("go.example.com", Quic), ("go2.example.com", Quic)])
    );
    // For the first flow, one datagram is not enough.
    assert_eq!(
        flows(&frames("quic-chromium")),
        named(&[("quic.example.com", Quic)])
    );
    let mut path = Path::default();
    path.all(&frames("quic-chromium"));
    assert_eq!(
        (path.reader.waiting(), path.reader.tally().malformed),
        (1, 0)
    );
}

/// Packets after a hello cause neither an error nor another name, even if their number is unknown.
#[test]
fn behind_a_hello() {
    let mut path = Path {
        uncounted: true,
        ..Path::default()
    };
    let flow = flow_of("quic-chromium", 1);
    assert_eq!(path.all(&[&flow[..], &flow[..]].concat()).len(), 1);
    let tally = path.reader.tally();
    assert_eq!(
        (path.reader.waiting(), tally.malformed, tally.nameless),
        (0, 0, 4)
    );
    // The port is used again, later.
    path.now += PATIENCE + 1;
    assert_eq!(path.all(&flow).len(), 1);
}

#[test]
fn datagrams_in_any_order() {
    for file in ["quic-go", "quic-chromium"] {
        for number in 0..2 {
            let mut flow = flow_of(file, number);
            let name = flows(&flow);
            flow.reverse();
            assert_eq!(flows(&flow), name, "{file} {number}");
        }
    }
}

#[test]
fn samples_of_the_standards() {
    let samples = lines("quic-rfc");
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let mut datagram = octets(&sample);
        let Outcome::Found(hello) = Initials::default().datagram(&datagram) else {
            panic!("no name");
        };
        assert_eq!(
            (hello.name.as_str(), hello.alpn.as_deref()),
            ("example.com", Some("alpn"))
        );
        // Any byte of it is protected.
        for at in [0, 1, 10, 20, 100, datagram.len() - 1] {
            datagram[at] ^= 4;
            assert_eq!(
                Initials::default().datagram(&datagram),
                Outcome::Foreign,
                "{at}"
            );
            datagram[at] ^= 4;
        }
    }
}

#[test]
fn a_flood_is_bounded() {
    let first = flow_of("tls", 5).remove(0);
    let mut path = Path::default();
    for number in 0..2_000_u16 {
        let mut frame = first.clone();
        // The station's port.
        frame.octets[20..22].copy_from_slice(&number.to_be_bytes());
        path.frame(&frame);
        assert!(path.reader.waiting() <= weir_monitor_core::names::MOST_FLOWS);
    }
    let tally = path.reader.tally();
    assert_eq!(tally.abandoned + path.reader.waiting() as u64, 2_000);
}

#[test]
fn from_packet_to_application() {
    for (file, application) in [
        ("tls", Application::Web),
        ("quic-go", Application::Web),
        ("dns", Application::Dns),
    ] {
        let frame = &frames(file)[0];
        let packet = Packet::read(&frame.octets).expect("a packet");
        let meta = PacketMeta::new(0, frame.mac, frame.direction, 0, &packet);
        let flow = meta.flow;
        assert_eq!(
            Application::of(flow.protocol, flow.station_port, flow.remote_port, None),
            application
        );
        assert_eq!(packet.protocol == UDP, file != "tls");
    }
}

static EVERY_FRAME: LazyLock<Vec<Frame>> = LazyLock::new(|| {
    [
        "dns",
        "dhcp",
        "mdns",
        "tls",
        "http",
        "quic-go",
        "quic-aioquic",
        "quic-chromium",
    ]
    .into_iter()
    .flat_map(frames)
    .collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Damaged, cut and repeated packets of real programs: no panic, names without control
    /// characters, bounded state.
    #[test]
    fn damaged(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_u8.., prop::option::of(any::<prop::sample::Index>())), 1..40)) {
        let frames = &*EVERY_FRAME;
        let mut path = Path::default();
        for (which, at, xor, cut) in damage {
            let mut frame = frames[which.index(frames.len())].clone();
            let at = at.index(frame.octets.len());
            frame.octets[at] ^= xor;
            if let Some(cut) = cut {
                frame.octets.truncate(cut.index(frame.octets.len()));
            }
            for learned in path.frame(&frame) {
                let name = match &learned {
                    NameObservation::DeviceName { name, .. } => name.as_str(),
                    NameObservation::RemoteName { name, .. } | NameObservation::FlowName { name, .. } => name,
                };
                prop_assert!(!name.is_empty() && name.len() <= 253);
                let unseen = |char: char| char.is_control() || ('\u{202a}'..='\u{202e}').contains(&char);
                prop_assert!(!name.chars().any(unseen), "{name:?}");
            }
        }
    }
}
