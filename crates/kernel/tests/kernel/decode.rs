//! Decoders, tested with random bytes, damaged datagrams of a kernel, and, for conntrack, another
//! decoder.

use std::net::IpAddr;

use netlink_bindings::conntrack::{ConntrackAttrs, IterableTupleAttrs};
use proptest::prelude::*;
use weir_kernel::message::{Messages, Tally};
use weir_kernel::{Event, conntrack, firewall, mptcp, netdev, policy, route, subflows};

/// All datagrams of `tests/fixtures`, as a little-endian kernel sent them, and the names of their
/// files.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("fixtures") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            all.push((name.clone(), net::hex::parse(line).expect("hexadecimal")));
        }
    }
    // Directories have no order.
    all.sort();
    assert!(all.len() > 50);
    all
}

/// Runs every decoder; what is promised of any input is checked.
fn decode_all(datagram: &[u8]) {
    let messages = Messages::new(datagram).count() as u64;
    let check = |tally: Tally, out: Vec<Event>| {
        assert_eq!(tally.understood + tally.ignored + tally.malformed, messages);
        assert_eq!(tally.last_error.is_some(), tally.malformed > 0);
        assert!(out.len() as u64 <= tally.understood);
    };
    let mut out = Vec::new();
    check(conntrack::decode(datagram, 0, &mut out), out);
    let mut out = Vec::new();
    check(route::decode(datagram, &mut out), out);
    let mut out = Vec::new();
    check(firewall::decode(datagram, &mut out), out);
    for message in Messages::new(datagram).flatten() {
        let _ = netdev::decode_family(&message);
        let _ = netdev::decode_device(&message, message.kind);
        let _ = weir_kernel::ethtool::decode_features(&message, message.kind);
        let _ = route::filter::decode(&message);
        let _ = route::qdisc::decode(&message);
        let _ = route::decode_address(&message);
        let _ = policy::decode_rule(&message);
        let _ = policy::decode_route(&message);
        let _ = mptcp::decode_endpoint(&message, message.kind);
        let _ = mptcp::decode_limits(&message, message.kind);
        let _ = subflows::decode(&message);
        let _ = weir_kernel::tables::decode_table(&message);
    }
}

#[test]
fn every_fixture_is_understood_or_ignored() {
    // Generic netlink and sock_diag number their messages by themselves: 20 is an address to
    // rtnetlink.
    let elsewhere = |name: &str| name.starts_with("netdev") || name.starts_with("subflows");
    for (name, datagram) in fixtures().into_iter().filter(|(name, _)| !elsewhere(name)) {
        let mut out = Vec::new();
        for tally in [
            conntrack::decode(&datagram, 0, &mut out),
            route::decode(&datagram, &mut out),
            firewall::decode(&datagram, &mut out),
        ] {
            assert_eq!((tally.malformed, tally.last_error), (0, None), "{name}");
        }
    }
}

type Ports = (u8, u16, u16);

/// A tuple as the other decoder reads it.
fn tuple(attributes: &IterableTupleAttrs<'_>) -> Option<(IpAddr, IpAddr, Ports)> {
    let ip = attributes.get_tuple_ip().ok()?;
    let addresses = match (ip.get_ip_v4_src(), ip.get_ip_v4_dst()) {
        (Ok(source), Ok(destination)) => (source.into(), destination.into()),
        _ => (
            ip.get_ip_v6_src().ok()?.into(),
            ip.get_ip_v6_dst().ok()?.into(),
        ),
    };
    let ports = attributes.get_tuple_proto().ok()?;
    Some((
        addresses.0,
        addresses.1,
        (
            ports.get_proto_num().ok()?,
            ports.get_proto_src_port().ok()?,
            ports.get_proto_dst_port().ok()?,
        ),
    ))
}

#[test]
fn conntrack_is_read_as_another_decoder_reads_it() {
    let mut compared = 0;
    for (_, datagram) in fixtures() {
        let mut out = Vec::new();
        conntrack::decode(&datagram, 0, &mut out);
        for event in out {
            let attributes = ConntrackAttrs::new(&datagram[20..]);
            let (id, connection) = match event {
                Event::Connection(connection) => (connection.id, Some(connection)),
                Event::ConnectionGone(id) => (id, None),
                other => panic!("{other:?}"),
            };
            compared += 1;
            assert_eq!(attributes.get_id().ok(), Some(id.id));
            let same = |ours: weir_kernel::Tuple, theirs: &IterableTupleAttrs<'_>| {
                let ports = (
                    ours.protocol.number(),
                    ours.source_port,
                    ours.destination_port,
                );
                assert_eq!(tuple(theirs), Some((ours.source, ours.destination, ports)));
            };
            let original = attributes.get_tuple_orig().expect("a tuple");
            same(id.original, &original);
            let zone = attributes
                .get_zone()
                .or(original.get_tuple_zone())
                .unwrap_or(0);
            assert_eq!(zone, id.zone);
            let Some(connection) = connection else {
                continue;
            };
            same(
                connection.reply,
                &attributes.get_tuple_reply().expect("a tuple"),
            );
            assert_eq!(attributes.get_status().ok(), connection.status);
            assert_eq!(attributes.get_mark().unwrap_or(0), connection.mark);
            assert_eq!(attributes.get_timeout().ok(), connection.timeout);
            let state = attributes
                .get_protoinfo()
                .and_then(|info| info.get_protoinfo_tcp())
                .and_then(|tcp| tcp.get_tcp_state());
            assert_eq!(state.ok(), connection.tcp_state);
            assert_eq!(attributes.get_help().is_ok(), connection.helper);
        }
    }
    assert!(compared >= 10, "{compared}");
}

/// A damaged datagram of a kernel: some bytes changed, cut, another appended.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let all: Vec<_> = fixtures()
        .into_iter()
        .map(|(_, datagram)| datagram)
        .collect();
    let pick = proptest::sample::select(all);
    let changes = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8);
    (
        pick.clone(),
        pick,
        changes,
        any::<proptest::sample::Index>(),
        any::<bool>(),
    )
        .prop_map(|(mut datagram, second, changes, cut, whole)| {
            datagram.extend(second);
            for (at, octet) in changes {
                let at = at.index(datagram.len());
                datagram[at] = octet;
            }
            if !whole {
                datagram.truncate(cut.index(datagram.len()));
            }
            datagram
        })
}

/// Random bytes behind a header that leads to a decoder.
fn headed() -> impl Strategy<Value = Vec<u8>> {
    let kinds: &[u16] = &[
        16, 17, 20, 21, 24, 28, 29, 32, 36, 37, 44, 45, 104, 112, 113, 0x100, 0x102, 0xa0f,
    ];
    (
        proptest::sample::select(kinds),
        proptest::collection::vec(any::<u8>(), 0..200),
    )
        .prop_map(|(kind, payload)| {
            let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend(payload);
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_octets(datagram in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode_all(&datagram);
    }

    #[test]
    fn random_payloads(datagram in headed()) {
        decode_all(&datagram);
    }

    #[test]
    fn damaged_datagrams(datagram in damaged()) {
        decode_all(&datagram);
    }
}
