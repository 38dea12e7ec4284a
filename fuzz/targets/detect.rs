//! Untrusted input at a router's uplink: whole frames, and messages that are valid up to the
//! sender's part. No panic, no more frames than allowed, and no control sequences or markup in
//! text.
#![no_main]

use detect::{Detection, Evidence, MOST_SENT, Options, Suggestion};
use libfuzzer_sys::fuzz_target;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const STRANGER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn harmless(evidence: &[Evidence], said: &Suggestion) {
    let fields = evidence.iter().flat_map(|it| it.fields.values().flatten());
    let details = &said.details;
    let all = fields
        .chain(evidence.iter().map(|it| &it.text))
        .chain(&said.why)
        .chain(&said.open_questions)
        .chain(&details.services)
        .chain(&details.concentrators)
        .chain(&details.aftr)
        .chain(&details.portal);
    for text in all {
        let plain = |letter: char| matches!(letter, ' '..='~') || letter.is_alphanumeric();
        assert!(text.chars().all(plain), "{text:?}");
        assert!(text.chars().count() < 20_000, "{}", text.len());
    }
}

/// Finds the untagged probe for DHCP, DHCPv6 or PPPoE by EtherType and protocol.
fn asked(sent: &[Vec<u8>], kind: [u8; 2], protocol: u8) -> Option<&[u8]> {
    let is =
        |frame: &&Vec<u8>| frame[12..14] == kind && (kind != [0x86, 0xdd] || frame[20] == protocol);
    sent.iter().find(is).map(|frame| &frame[14..])
}

fn udp(header: Vec<u8>, ports: [u8; 4], data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16 + 8).to_be_bytes();
    [&header[..], &ports, &length, &[0, 0], data].concat()
}

fn ipv6(next: u8, length: usize) -> Vec<u8> {
    let length = (length as u16).to_be_bytes();
    let mut header = vec![0x60, 0, 0, 0, length[0], length[1], next, 255];
    header.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    header.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    header
}

/// Returns a message that is valid up to its content.
fn message(how: u8, sent: &[Vec<u8>], data: &[u8]) -> Option<([u8; 2], Vec<u8>)> {
    Some(match how {
        0 => {
            let number = &asked(sent, [8, 0], 17)?[32..36];
            let mut body = [&[2, 1, 6, 0], number, &[0; 8]].concat();
            body.extend([192, 0, 2, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
            body.extend(MAC);
            body.resize(236, 0);
            body.extend([99, 130, 83, 99, 53, 1, 2]);
            body.extend(data);
            let total = (body.len() as u16 + 28).to_be_bytes();
            let mut header = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0];
            header.extend([192, 0, 2, 1, 255, 255, 255, 255]);
            ([8, 0], udp(header, [0, 67, 0, 68], &body))
        }
        1 => {
            let number = &asked(sent, [0x86, 0xdd], 17)?[49..52];
            let mut body = [&[2], number, &[0, 1, 0, 10, 0, 3, 0, 1], &MAC].concat();
            body.extend([0, 2, 0, 2, 0, 7]);
            body.extend(data);
            let header = ipv6(17, body.len() + 8);
            ([0x86, 0xdd], udp(header, [2, 0x23, 2, 0x22], &body))
        }
        2 => {
            let body = [&[134, 0, 0, 0][..], data].concat();
            ([0x86, 0xdd], [ipv6(58, body.len()), body].concat())
        }
        3 => {
            let length = (data.len() as u16).to_be_bytes();
            ([0x88, 0x63], [&[0x11, 7, 0, 0][..], &length, data].concat())
        }
        4 => ([8, 6], [&[0, 1, 8, 0, 6, 4][..], data].concat()),
        _ => return None,
    })
}

fuzz_target!(|octets: &[u8]| {
    let mut detection = Detection::new(Options {
        mac: MAC,
        lans: vec![detect::Network::new([192, 0, 2, 1].into(), 24)],
        ..Options::default()
    });
    detection.link(true, 0);
    let sent = detection.passed(0);
    let (mut now, mut evidence, mut data) = (0, detection.take_evidence(), octets);
    let mut count = sent.len();
    while let Some((&[how, length], rest)) = data.split_first_chunk() {
        let (part, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        now += u64::from(how >> 5) * 100;
        let frame = match message(how & 7, &sent, part) {
            None => part.to_vec(),
            Some((kind, body)) => {
                let tag: &[u8] = if how & 8 == 0 { &[] } else { &[0x81, 0, 0, 7] };
                [&MAC, &STRANGER, tag, &kind, &body].concat()
            }
        };
        detection.receive(&frame, now);
        count += detection.passed(now).len();
        evidence.extend(detection.take_evidence());
    }
    count += detection.passed(now + 60_000).len();
    assert!(count <= MOST_SENT as usize + 2, "{count}");
    assert!(evidence.len() <= 200, "{}", evidence.len());
    harmless(&evidence, &detection.suggestion());
});
