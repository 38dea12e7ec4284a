//! weir counts and times packets like other tools that capture the same packets.

mod forwarded;
mod frames;
mod interfaces;
mod peers;
mod slow;
mod translations;

use std::thread;
use std::time::Duration;

use answers::{Conversation, ConversationsQuery, Count, Devices};
use frames::{Connection, Connections, Ends};
use lab::gateway::{CLIENT, CLIENT6};
use lab::generate::Side;
use lab::namespace::wait_until;
use lab::{Error, Lab, Namespace, Options, unexpected};
use peers::{Capture, Key, Table};
use testing::Directory;
use weir_tests::{LIMIT, Weir};

/// Tolerated difference between weir's times and tshark's, in milliseconds.
const NEAR: f64 = 1.0;

/// Returns the conversations at the LAN.
fn conversations(weir: &Weir) -> Result<Vec<Conversation>, Error> {
    let asked = ConversationsQuery {
        port: Some("lan0".into()),
        limit: 5000,
        ..Default::default()
    };
    Ok(weir
        .client()?
        .conversations(&asked)
        .map_err(unexpected)?
        .conversations)
}

fn devices(weir: &Weir) -> Result<Devices, Error> {
    weir.client()?.devices().map_err(unexpected)
}

/// Reads a value twice a second until it stays equal for some seconds.
fn at_rest<T: PartialEq>(mut look: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let (mut before, mut quiet) = (look()?, 0);
    for _ in 0..60 {
        thread::sleep(Duration::from_millis(500));
        let now = look()?;
        quiet = if now == before { quiet + 1 } else { 0 };
        if quiet == 5 {
            return Ok(now);
        }
        before = now;
    }
    Err(Error::Unexpected("it is never quiet".into()))
}

/// Returns the sums of all devices and ports: [`Devices`] without its changing fields.
fn sums(devices: &Devices) -> Vec<(String, [Count; 2])> {
    let stations = devices.devices.iter();
    let ports = devices.ports.iter();
    stations
        .map(|device| {
            let [received, sent] = device.all();
            (device.mac.clone(), [sent, received])
        })
        .chain(ports.map(|port| {
            (
                port.name.clone(),
                [port.incoming.conversations, port.outgoing.conversations],
            )
        }))
        .collect()
}

/// A router for frames that runs only the monitor, with a capture of its LAN port.
struct Replay {
    lab: Lab,
    weir: Weir,
    capture: Capture,
    folder: Directory,
}

impl Replay {
    fn begin() -> Result<Self, Error> {
        let lab = Lab::gateway(&Options {
            plain_offloads: true,
            nat: false,
            raw: true,
            ..Options::default()
        })?;
        let router = lab.node("router")?;
        let weir = Weir::start(router, "", &["--only", "monitor"])?;
        wait_until("ports are counted", LIMIT, || {
            let ports = devices(&weir)?.ports;
            Ok(ports.iter().filter(|port| port.name != "lo").count() >= 2)
        })?;
        let folder = Directory::new();
        // Captures at weir's place, not at the other end of the wire, so that times are comparable.
        let capture = Capture::begin(router, "lan0", folder.join("capture.pcap"))?;
        Ok(Self {
            lab,
            weir,
            capture,
            folder,
        })
    }

    fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Returns weir's counts at the end, when the capture is complete.
    fn end(&self) -> Result<Vec<Conversation>, Error> {
        at_rest(|| Ok((sums(&devices(&self.weir)?), self.capture.octets())))?;
        let conversations = conversations(&self.weir)?;
        self.capture.end();
        Ok(conversations)
    }
}

/// Returns conversations as packets one way, in the tools' form.
fn one_way(conversations: &[Conversation]) -> Table {
    let mut table = Table::new();
    for conversation in conversations {
        let bare = matches!(conversation.protocol_number, frames::ICMP | frames::ICMP6);
        let end = |address: &str, port: u16| {
            let address = address.parse().expect("weir tells an address");
            (address, if bare { 0 } else { port })
        };
        let station = end(&conversation.station, conversation.station_port);
        let far = end(&conversation.remote, conversation.remote_port);
        for (from, to, count) in [
            (station, far, conversation.sent),
            (far, station, conversation.received),
        ] {
            let key = Key {
                protocol: conversation.protocol_number,
                from,
                to,
            };
            if count != Count::default() {
                peers::add(&mut table, key, count);
            }
        }
    }
    table
}

/// Keeps entries that all tools name alike: names differ for later fragments and for protocols
/// below layer 4. Keeps the client's traffic only, as the router sends packets to all neighbours
/// now and then.
fn common(table: &Table) -> Table {
    let mut common = Table::new();
    for (key, count) in table {
        let mut key = *key;
        if ![CLIENT, CLIENT6]
            .iter()
            .any(|own| [key.from.0, key.to.0].contains(own))
        {
            continue;
        }
        let ports = [key.from.1, key.to.1];
        let ipv6 = key.from.0.is_ipv6();
        // Later fragments: weir reports UDP without ports, nfpcapd its own protocol for IPv6,
        // softflowd protocol 0.
        let piece = ports.contains(&frames::FRAGMENTED)
            || (key.protocol == frames::UDP && ports == [0, 0])
            || (ipv6 && matches!(key.protocol, 0 | frames::IPV6_FRAGMENT));
        // nfpcapd parses only the first header.
        let extended = ports.contains(&frames::EXTENDED) || key.protocol == frames::IPV6_OPTIONS;
        let stands_for = match (piece, extended) {
            (true, _) => Some(frames::FRAGMENTED),
            (_, true) => Some(frames::EXTENDED),
            _ => None,
        };
        if let Some(port) = stands_for {
            key.protocol = frames::UDP;
            (key.from.1, key.to.1) = (port, port);
        }
        peers::add(&mut common, key, *count);
    }
    common
}

fn without(table: &Table, left_out: impl Fn(&Key) -> bool) -> Table {
    let stays = table.iter().filter(|(key, _)| !left_out(key));
    stays.map(|(key, count)| (*key, *count)).collect()
}

fn same(name: &str, weir: &Table, other: &Table) -> Result<(), Error> {
    if weir == other {
        return Ok(());
    }
    let keys = weir
        .keys()
        .chain(other.keys())
        .collect::<std::collections::BTreeSet<_>>();
    let differ = keys
        .into_iter()
        .filter(|key| weir.get(key) != other.get(key));
    let lines = differ.map(|key| {
        format!(
            "{key:?}: weir {:?}, {name} {:?}",
            weir.get(key),
            other.get(key)
        )
    });
    Err(Error::Unexpected(lines.collect::<Vec<_>>().join("\n")))
}

/// weir counts each conversation of a capture, both ways, to the packet and byte like softflowd and
/// nfpcapd.
#[test]
fn a_capture_is_counted_as_others_count_it() -> Result<(), Error> {
    let replay = Replay::begin()?;
    let ends = Ends::of(&replay.lab)?;
    ends.mixture()?;
    let none = Duration::ZERO;
    let mut connections = Connections {
        ends: &ends,
        all: vec![
            Connection::new(frames::CLIENTS, false),
            Connection::new(frames::CLIENTS + 1, true),
        ],
    };
    connections.open(none, none)?;
    for side in [Side::Client, Side::Server] {
        connections.say(side, none)?;
    }
    let conversations = replay.end()?;

    // All packets were in conversations, so the comparison covers everything.
    let told = one_way(&conversations);
    let port = devices(&replay.weir)?
        .ports
        .into_iter()
        .find(|port| port.name == "lan0");
    let port = port.ok_or_else(|| Error::Unexpected("no lan0".into()))?;
    let counted = [port.incoming.conversations, port.outgoing.conversations];
    let all = peers::sum(&told, |_| true);
    assert_eq!(
        counted[0].packets + counted[1].packets,
        all.packets,
        "{told:#?}"
    );
    assert_eq!(counted[0].bytes + counted[1].bytes, all.bytes, "{told:#?}");
    let unplaced = [port.incoming.unplaced, port.outgoing.unplaced];
    assert_eq!(unplaced, [Count::default(); 2]);

    let weir = common(&told);
    // TCP; UDP whole, padded, in fragments, extended; ICMP; GRE: of both families, both ways.
    assert_eq!(weir.len(), 7 * 2 * 2, "{weir:#?}");
    let (router, file) = (replay.router()?, &replay.capture.file);
    let softflowd = common(&peers::softflowd(router, file, &replay.folder)?);
    let nfpcapd = common(&peers::nfpcapd(router, file, &replay.folder)?);
    // softflowd 1.1 counts all bytes after the frame's header as the length of an IP packet,
    // including padding.
    let padded = |key: &Key| [key.from.1, key.to.1].contains(&frames::PADDED);
    same(
        "softflowd",
        &without(&weir, padded),
        &without(&softflowd, padded),
    )?;
    // nfpcapd 1.7 reassembles IPv4 fragments and counts one packet with one header. For GRE,
    // nfpcapd counts the inner packet if it is IP.
    let own_way = |key: &Key| {
        let piece = [key.from.1, key.to.1].contains(&frames::FRAGMENTED) && key.from.0.is_ipv4();
        piece || key.protocol == frames::GRE
    };
    same(
        "nfpcapd",
        &without(&weir, own_way),
        &without(&nfpcapd, own_way),
    )?;
    let packets = |table: &Table| peers::sum(table, padded).packets;
    assert_eq!(packets(&weir), packets(&softflowd));
    Ok(())
}

/// Compares TCP's round-trip times on either side, of handshake and data, with tshark's.
#[test]
fn round_trips_are_timed_as_tshark_times_them() -> Result<(), Error> {
    let replay = Replay::begin()?;
    let ends = Ends::of(&replay.lab)?;
    let all = (0..8).map(|number| Connection::new(frames::CLIENTS + number, number % 2 == 1));
    let mut connections = Connections {
        ends: &ends,
        all: all.collect(),
    };
    let wait = Duration::from_millis;
    connections.open(wait(40), wait(15))?;
    let opened = at_rest(|| {
        let times = conversations(&replay.weir)?
            .into_iter()
            .map(|conversation| (conversation.station_port, conversation.latency));
        Ok(times.collect::<Vec<_>>())
    })?;
    // The minimum is neither the first nor the last.
    for (wan, lan) in [(20, 5), (30, 10)] {
        connections.say(Side::Client, wait(wan))?;
        connections.say(Side::Server, wait(lan))?;
    }
    let conversations = replay.end()?;
    let waits = peers::tshark(replay.router()?, &replay.capture.file)?;

    let (mut compared, mut apart) = (0, Vec::new());
    for connection in &connections.all {
        let missing =
            || Error::Unexpected(format!("{}: {conversations:#?} {waits:?}", connection.port));
        let conversation = conversations
            .iter()
            .find(|conversation| conversation.station_port == connection.port);
        let now = conversation
            .and_then(|conversation| conversation.latency.clone())
            .ok_or_else(missing)?;
        let then = opened.iter().find(|(port, _)| *port == connection.port);
        let then = then
            .and_then(|(_, latency)| latency.clone())
            .ok_or_else(missing)?;
        let tshark = |waiter, other| waits.get(&(waiter, other)).ok_or_else(missing);
        let wan = tshark(connection.port, frames::WEB)?;
        let lan = tshark(frames::WEB, connection.port)?;
        // Expects the handshake and two data exchanges each way, without retransmissions.
        if [wan.len(), lan.len()] != [3, 3] || now.retransmissions != 0 {
            return Err(missing());
        }
        let least = |waits: &[f64]| waits.iter().copied().fold(f64::MAX, f64::min);
        for (what, weir, tshark) in [
            ("wan, handshake", then.wan, wan[0]),
            ("lan, handshake", then.lan, lan[0]),
            ("wan, last", now.wan, wan[2]),
            ("lan, last", now.lan, lan[2]),
            ("wan, least", now.wan_min, least(wan)),
            ("lan, least", now.lan_min, least(lan)),
        ] {
            let weir = weir.ok_or_else(missing)?;
            compared += 1;
            if (weir - tshark).abs() > NEAR {
                apart.push(format!(
                    "{}: {what}: weir {weir}, tshark {tshark}",
                    connection.port
                ));
            }
        }
        assert!(wan[0] >= 40.0 && lan[0] >= 15.0, "{wan:?} {lan:?}");
    }
    println!("{compared} compared, {apart:?}");
    // A virtual processor may pause between the two tools' clocks; a real mistake would show
    // everywhere.
    assert!(compared == 48 && apart.len() <= 4, "{apart:#?}");
    Ok(())
}
