//! Decodes datagrams of a kernel (`tests/fixtures`), and damaged ones.

use super::*;
use crate::encode::Encoder;
use crate::fixture::{datagram, datagrams, first};
use crate::message::{Messages, Problem};

fn events(name: &str) -> Vec<Event> {
    let mut out = Vec::new();
    for datagram in datagrams(name) {
        assert_eq!(decode(&datagram, 0, &mut out).malformed, 0, "{name}");
    }
    out
}

fn connection(name: &str) -> Connection {
    match events(name).remove(0) {
        Event::Connection(connection) => connection,
        other => panic!("{name} gave {other:?}"),
    }
}

fn tuple(protocol: Protocol, source: &str, destination: &str) -> Tuple {
    let (source, destination): (std::net::SocketAddr, std::net::SocketAddr) = (
        source.parse().expect("source"),
        destination.parse().expect("destination"),
    );
    Tuple {
        protocol,
        source: source.ip(),
        source_port: source.port(),
        destination: destination.ip(),
        destination_port: destination.port(),
    }
}

#[test]
fn a_tcp_connection_appears_changes_and_goes() {
    let original = tuple(Protocol::Tcp, "192.0.2.1:4000", "198.51.100.2:443");
    let made = connection("tcp");
    assert_eq!(made.id.original, original);
    assert_eq!(made.reply, original.reversed());
    assert_eq!(
        made.status,
        Some(status::SEEN_REPLY | status::ASSURED | status::CONFIRMED)
    );
    assert_eq!(
        (made.mark, made.timeout, made.tcp_state),
        (0, Some(100), Some(3))
    );
    assert_eq!(
        (made.id.zone, made.helper, made.sequence_adjusted),
        (0, false, false)
    );

    let marked = connection("tcp-mark");
    assert_eq!((marked.id, marked.mark), (made.id, 7));
    assert_eq!(events("tcp-gone"), [Event::ConnectionGone(made.id)]);
}

#[test]
fn translation_shows_in_the_reply() {
    let nat = connection("udp-nat");
    assert_eq!(
        nat.id.original,
        tuple(Protocol::Udp, "192.0.2.1:4000", "198.51.100.2:53")
    );
    assert_eq!(
        nat.reply,
        tuple(Protocol::Udp, "198.51.100.2:53", "203.0.113.9:4000")
    );
    assert_ne!(nat.status.expect("told") & status::SRC_NAT, 0);
    assert_eq!(nat.tcp_state, None);
}

#[test]
fn zones_are_those_of_the_original_direction() {
    for (name, zone) in [
        ("udp6-zone", 5),
        ("udp6-original-zone", 6),
        ("udp6-reply-zone", 0),
    ] {
        let found = connection(name);
        assert_eq!(found.id.zone, zone, "{name}");
        assert!(found.id.original.is_ipv6());
    }
}

#[test]
fn a_helper_is_seen_and_states_follow() {
    let all: Vec<_> = events("tcp-helper")
        .into_iter()
        .map(|event| match event {
            Event::Connection(connection) => connection,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(all.iter().all(|connection| connection.helper));
    let states: Vec<_> = all.iter().map(|connection| connection.tcp_state).collect();
    assert_eq!(states, [1, 2, 3, 4, 6, 7].map(Some));
}

#[test]
fn other_protocols_are_ignored() {
    let mut out = Vec::new();
    let tally = decode(&datagrams("icmp")[0], 0, &mut out);
    assert_eq!((out.len(), tally.ignored, tally.malformed), (0, 1, 0));
}

#[test]
fn our_own_echo_is_ignored_but_not_that_of_others() {
    let bytes = datagram("tcp-mark");
    let port = first(&bytes).port;
    let mut out = Vec::new();
    assert_eq!(decode(&bytes, port, &mut out).ignored, 1);
    assert!(out.is_empty());
    assert_eq!(decode(&bytes, port + 1, &mut out).understood, 1);
}

/// Appends attributes to the only message of a datagram.
fn with_attributes(name: &str, body: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let bytes = datagram(name);
    let message = first(&bytes);
    Encoder::single(message.kind, message.flags, message.sequence, |e| {
        e.fixed(message.payload);
        body(e);
    })
}

fn decoded(bytes: &[u8]) -> (Vec<Event>, Tally) {
    let mut out = Vec::new();
    let tally = decode(bytes, 0, &mut out);
    (out, tally)
}

#[test]
fn templates_are_ignored() {
    let bytes = with_attributes("tcp", |e| {
        e.attribute(CTA_STATUS, &status::TEMPLATE.to_be_bytes())
    });
    let (out, tally) = decoded(&bytes);
    assert_eq!((out.len(), tally.ignored), (0, 1));
}

#[test]
fn sequence_adjustment_shows_in_any_of_four_ways() {
    for (kind, value) in [
        (CTA_SEQ_ADJ_ORIG, vec![]),
        (CTA_SEQ_ADJ_REPLY, vec![]),
        // CTA_SYNPROXY_ISN; the fixture itself has one of zeros, which does not count.
        (CTA_SYNPROXY, vec![8, 0, 1, 0, 0, 0, 0, 1]),
        (CTA_STATUS, status::SEQ_ADJUST.to_be_bytes().to_vec()),
    ] {
        let (out, _) = decoded(&with_attributes("tcp", |e| e.attribute(kind, &value)));
        let [Event::Connection(found)] = out.as_slice() else {
            panic!("{kind}: {out:?}")
        };
        assert!(found.sequence_adjusted, "{kind}");
    }
}

#[test]
fn errors_name_the_attribute() {
    let wrong =
        |kind, value: &'static [u8]| with_attributes("tcp", move |e| e.attribute(kind, value));
    for (bytes, part, problem) in [
        (wrong(CTA_STATUS, &[1, 2]), "CTA_STATUS", Problem::Length),
        (wrong(CTA_MARK, &[]), "CTA_MARK", Problem::Length),
        (wrong(CTA_ID, &[0; 8]), "CTA_ID", Problem::Length),
        (wrong(CTA_TUPLE_ORIG, &[]), "CTA_TUPLE_IP", Problem::Missing),
        (
            wrong(CTA_TUPLE_REPLY, &[9, 0, 1, 0]),
            "CTA_TUPLE_REPLY",
            Problem::CutShort,
        ),
        (
            wrong(CTA_PROTOINFO, &[8, 0, 1, 0, 5, 0, 1, 0]),
            "CTA_PROTOINFO_TCP",
            Problem::CutShort,
        ),
    ] {
        let (out, tally) = decoded(&bytes);
        assert_eq!((out.len(), tally.malformed), (0, 1), "{part}");
        assert_eq!(tally.last_error, Some(DecodeError { part, problem }));
    }
}

#[test]
fn directions_of_different_families_are_a_contradiction() {
    let six = datagram("udp6-zone");
    let message = first(&six);
    let (_, mut attributes) = message.split::<4>("nfgenmsg").expect("whole");
    let original = attributes.next().expect("a tuple").expect("whole");
    let bytes = with_attributes("udp-nat", |e| e.attribute(CTA_TUPLE_ORIG, original.value));
    assert_eq!(
        decoded(&bytes).1.last_error,
        Some(DecodeError::new("CTA_TUPLE_REPLY", Problem::Contradiction))
    );
}

#[test]
fn a_bad_message_spoils_no_other() {
    let mut bytes = datagram("tcp");
    bytes.extend(with_attributes("tcp", |e| e.attribute(CTA_MARK, &[])));
    bytes.extend(datagram("udp-nat"));
    let (out, tally) = decoded(&bytes);
    assert_eq!((out.len(), tally.understood, tally.malformed), (2, 2, 1));
    // Cut anywhere, the messages before the cut are still understood.
    for end in 0..bytes.len() {
        let (out, tally) = decoded(&bytes[..end]);
        assert_eq!(out.len() as u64, tally.understood);
        assert!(tally.malformed <= 2, "cut at {end}");
    }
}

#[test]
fn requests_are_as_the_kernel_wants_them() {
    let id = connection("tcp").id;
    let mut encoder = Encoder::default();
    request::relax(&mut encoder, 1, &id);
    request::refresh(
        &mut encoder,
        2,
        &Refresh {
            id,
            timeout: 600,
            status: Some(status::ASSURED),
            unacknowledged: Some(false),
        },
    );
    let bytes = encoder.finish();
    let messages: Vec<_> = Messages::new(&bytes)
        .collect::<Result<_, _>>()
        .expect("whole messages");
    let [relax, refresh] = messages.as_slice() else {
        panic!("{} messages", messages.len())
    };
    for (message, sequence) in [(relax, 1), (refresh, 2)] {
        assert_eq!(
            (message.kind, message.flags, message.sequence),
            (0x100, 1, sequence)
        );
    }
    let top = |message: &Message<'_>| -> Vec<(u16, Vec<u8>)> {
        let (_, attributes) = message.split::<4>("nfgenmsg").expect("whole");
        attributes
            .map(|a| a.expect("whole"))
            .map(|a| (a.kind, a.value.to_vec()))
            .collect()
    };
    let tuple_as_sent = {
        let bytes = datagram("tcp");
        top(&first(&bytes))[0].clone()
    };
    let relax = top(relax);
    assert_eq!(relax[0], tuple_as_sent);
    assert_eq!((relax[1].0, relax[2].0), (CTA_ID, CTA_PROTOINFO));
    // Windows are not checked, and no acknowledgement of long ago counts.
    let flags = [
        20, 0, 1, 0x80, 6, 0, 4, 0, 8, 0x28, 0, 0, 6, 0, 5, 0, 8, 0x28, 0, 0,
    ];
    assert_eq!(relax[2].1, flags);
    let refresh = top(refresh);
    assert_eq!(refresh[2], (CTA_TIMEOUT, vec![0, 0, 2, 88]));
    assert_eq!(refresh[3], (CTA_STATUS, vec![0, 0, 0, 4]));
    // The mark of unacknowledged data goes, and windows stay unchecked.
    let flags = [
        20, 0, 1, 0x80, 6, 0, 4, 0, 8, 0x18, 0, 0, 6, 0, 5, 0, 8, 0x18, 0, 0,
    ];
    assert_eq!(refresh[4], (CTA_PROTOINFO, flags.to_vec()));
}

#[test]
fn what_waits_to_be_acknowledged_is_read_in_both_directions() {
    for (original, reply, waits) in [(8, 8, false), (0x18, 8, true), (8, 0x10, true)] {
        let id = connection("tcp").id;
        let mut encoder = Encoder::default();
        request::look(&mut encoder, 1, &id);
        let asked = encoder.finish();
        let asked = first(&asked);
        assert_eq!((asked.kind, asked.flags), (0x101, 1));
        let (_, attributes) = asked.split::<4>("nfgenmsg").expect("whole");
        let tuple = attributes
            .map(|attribute| attribute.expect("whole"))
            .find(|attribute| attribute.kind == CTA_TUPLE_ORIG)
            .expect("a tuple");
        let told = Encoder::single(0x100, 0, 1, |e| {
            e.fixed(&[2, 0, 0, 0]);
            for kind in [CTA_TUPLE_ORIG, CTA_TUPLE_REPLY] {
                e.attribute(kind | 0x8000, tuple.value);
            }
            e.attribute(CTA_ID, &[0, 0, 0, 1]);
            e.nested(CTA_PROTOINFO, |e| {
                e.nested(CTA_PROTOINFO_TCP, |e| {
                    e.attribute(CTA_PROTOINFO_TCP_STATE, &[3]);
                    e.attribute(CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, &[original, 0]);
                    e.attribute(CTA_PROTOINFO_TCP_FLAGS_REPLY, &[reply, 0]);
                });
            });
        });
        let message = first(&told);
        let looked = query::decode(&message).expect("whole").expect("TCP");
        assert_eq!(looked.unacknowledged, waits);
        assert_eq!(looked.connection.tcp_state, Some(3));
    }
}
