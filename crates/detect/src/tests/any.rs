//! Arbitrary frames.

use proptest::collection::vec;
use proptest::prelude::*;

use super::answers::{MAC, Wire, advertise, advertisement, arp, offer, pado, prefix};
use crate::{Detection, Evidence, Options, Suggestion};

/// Checks that no text has control sequences or markup, and that no list grows without limit.
fn harmless(evidence: &[Evidence], said: &Suggestion) {
    let fields = evidence.iter().flat_map(|it| it.fields.values().flatten());
    let told = evidence.iter().map(|it| &it.text);
    let details = &said.details;
    let names = details
        .services
        .iter()
        .chain(&details.concentrators)
        .chain(&details.portal);
    let all: Vec<&String> = fields
        .chain(told)
        .chain(&said.why)
        .chain(&said.open_questions)
        .chain(names)
        .chain(&details.aftr)
        .collect();
    for text in all {
        let plain = |letter: char| matches!(letter, ' '..='~') || letter.is_alphanumeric();
        assert!(text.chars().all(plain), "{text:?}");
        assert!(text.chars().count() < 8000, "{}", text.len());
    }
}

fn wire() -> Wire {
    Wire::new(Options {
        mac: MAC,
        lans: vec!["192.168.1.0/24".parse().expect("a network")],
        seed: 3,
        ..Options::default()
    })
}

/// Returns valid frames of each kind, in answer to these probes.
fn right() -> Vec<Vec<u8>> {
    let wire = wire();
    let mut all = vec![
        arp([203, 0, 113, 5], [203, 0, 113, 1]),
        wire.pado_frame(Some(7), &pado("BRAS", &["a", "b"])),
        wire.pado_frame(None, &pado("BRAS", &["a", "b"])),
    ];
    let options: [(u8, &[u8]); 5] = [
        (1, &[255, 255, 255, 0]),
        (3, &[192, 168, 1, 1]),
        (108, &[0, 0, 7, 8]),
        (114, b"https://login.example/"),
        (121, &[0, 192, 168, 1, 1]),
    ];
    let number = wire.number();
    all.push(wire.offer_frame(None, &offer([192, 168, 1, 9], &options), number));
    let nat64 = [&[38, 2, 7, 8][..], &[0; 12]].concat();
    let page = [&[37, 3][..], b"http://a.example/\0\0\0\0\0"].concat();
    let first = prefix([0x20, 1, 0xd, 0xb8], 64);
    let options = [&first, &nat64, &page].map(Vec::as_slice);
    all.push(wire.router_frame(None, &advertisement(1800, 0xc0, &options)));
    let aftr: &[u8] = b"\x04aftr\x07example\0";
    all.push(wire.dhcp6_frame(None, &advertise(Some(56), &[(64, aftr), (95, b"")])));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_octets_are_no_trouble(frames in vec(vec(any::<u8>(), 0..200), 0..12)) {
        let mut detection = Detection::new(Options::default());
        detection.link(true, 0);
        for (now, frame) in frames.iter().enumerate() {
            detection.receive(frame, now as u64);
        }
        harmless(&detection.take_evidence(), &detection.suggestion());
    }

    #[test]
    fn nor_are_frames_that_are_almost_right(
        which in vec((0usize..6, vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            any::<prop::sample::Index>(), any::<bool>()), 1..8),
    ) {
        let right = right();
        let mut detection = wire().detection;
        let mut evidence = Vec::new();
        for (which, changes, cut, whole) in which {
            let mut frame = right[which % right.len()].clone();
            for (at, octet) in changes {
                let at = at.index(frame.len());
                frame[at] = octet;
            }
            if !whole {
                frame.truncate(cut.index(frame.len()));
            }
            detection.receive(&frame, 700);
            evidence.extend(detection.take_evidence());
        }
        harmless(&evidence, &detection.suggestion());
    }
}

#[test]
fn those_that_are_right_are_all_heard() {
    let mut detection = wire().detection;
    let _ = detection.take_evidence();
    for frame in right() {
        detection.receive(&frame, 700);
        assert!(!detection.take_evidence().is_empty(), "{frame:?}");
    }
}
