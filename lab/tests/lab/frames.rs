//! Tests of frames built from packets.

use etherparse::{PacketHeaders, TransportHeader};

use std::net::IpAddr;

use weir_lab::frame::{Body, Checksum, Packet, Tcp, flag};

fn packet(ipv6: bool, body: Body) -> Packet {
    let (from, to) = match ipv6 {
        true => ("2001:db8::1", "2001:db8::2"),
        false => ("192.0.2.1", "198.51.100.9"),
    };
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    Packet::new(([2; 6], address(from)), ([4; 6], address(to)), body)
}

fn tcp() -> Body {
    Body::Tcp(Tcp {
        from: 1000,
        to: 80,
        sequence: 7,
        acknowledgement: 9,
        flags: flag::ACK | flag::PSH,
        window: 512,
        options: vec![1, 1, 1],
        payload: b"hello".to_vec(),
        ..Tcp::default()
    })
}

/// etherparse, an independent implementation, finds equal fields and checksums.
#[test]
fn an_independent_parser_agrees() {
    for ipv6 in [false, true] {
        for body in [tcp(), Body::Udp(53, 5353, vec![1, 2, 3])] {
            let bytes = packet(ipv6, body).bytes();
            let parsed = PacketHeaders::from_ethernet_slice(&bytes).expect("a valid frame");
            let net = parsed.net.expect("a network header");
            let payload = parsed.payload.slice();
            let (ipv4_header, ipv6_header) = (net.ipv4_ref(), net.ipv6_ref());
            if let Some((header, _)) = ipv4_header {
                assert_eq!(header.header_checksum, header.calc_header_checksum());
            }
            let computed = |transport: &TransportHeader| match (transport, ipv4_header, ipv6_header)
            {
                (TransportHeader::Tcp(h), Some((ip, _)), _) => {
                    (h.checksum, h.calc_checksum_ipv4(ip, payload))
                }
                (TransportHeader::Tcp(h), _, Some((ip, _))) => {
                    (h.checksum, h.calc_checksum_ipv6(ip, payload))
                }
                (TransportHeader::Udp(h), Some((ip, _)), _) => {
                    (h.checksum, h.calc_checksum_ipv4(ip, payload))
                }
                (TransportHeader::Udp(h), _, Some((ip, _))) => {
                    (h.checksum, h.calc_checksum_ipv6(ip, payload))
                }
                other => panic!("neither TCP nor UDP: {other:?}"),
            };
            let (found, right) = computed(&parsed.transport.expect("a transport header"));
            assert_eq!(found, right.expect("a checksum"), "ipv6: {ipv6}");
        }
    }
}

#[test]
fn fragments_carry_the_whole() {
    for ipv6 in [false, true] {
        let whole = packet(ipv6, Body::Udp(1, 2, vec![9; 40]));
        let [first, second] = whole.fragments(21);
        let header = if ipv6 { 14 + 40 + 8 } else { 14 + 20 };
        assert_eq!(
            [&first[header..], &second[header..]].concat(),
            whole.layer4().1
        );
        assert_eq!(first.len(), header + 16);
    }
}

#[test]
fn lies_change_only_what_they_say() {
    let mut wrong = packet(false, tcp());
    let right = wrong.bytes();
    wrong.lies.checksum = Checksum::Wrong(0x0100);
    let differing: Vec<_> = right
        .iter()
        .zip(wrong.bytes())
        .enumerate()
        .filter(|(_, (a, b))| **a != *b)
        .map(|x| x.0)
        .collect();
    assert_eq!(differing, [14 + 20 + 16]);
}
