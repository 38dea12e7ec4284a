use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    net::hex::parse(&digits).expect("digits")
}

/// Examples from qaul's own tests (rust/ble_protocol), the id from a telephone.
#[test]
fn frames_are_those_of_others() {
    let id = Id([0xab, 0x59, 0x7b, 0xa8, 0x80, 0x6c, 0x04, 0x43]);
    let known = [
        ("01 ab597ba8806c0443", Control::Id(id)),
        ("02 0001 0102", Control::Missing(vec![(0, 1), (0, 258)])),
        ("02 2905", Control::Missing(vec![(5, 261)])),
        ("03 07", Control::Done(7)),
        ("06", Control::Ping),
    ];
    for (text, control) in known {
        let octets = hex(text);
        assert_eq!(Frame::read(&octets), Ok(Frame::Control(control.clone())));
        assert_eq!(Frame::Control(control).octets(), octets);
    }
    let octets = hex("1d05 dead");
    let chunk = Frame::Chunk(Chunk {
        queue: 3,
        again: true,
        index: 261,
        first: None,
        octets: &[0xde, 0xad],
    });
    assert_eq!(Frame::read(&octets), Ok(chunk.clone()));
    assert_eq!(chunk.octets(), octets);
}

#[test]
fn a_first_chunk_says_what_the_message_is() {
    let octets = hex("0800 00 0005 0002 3610a686 0102030405060708 68");
    let read = Frame::read(&octets).expect("a frame");
    let Frame::Chunk(chunk) = &read else {
        panic!("{read:?}");
    };
    let first = chunk.first.expect("the first");
    assert_eq!((chunk.queue, chunk.index, chunk.octets), (1, 0, &b"h"[..]));
    assert_eq!((first.size, first.count, first.part), (5, 2, None));
    assert_eq!(first.sum, crc32fast::hash(b"hello"));
    assert_eq!(read.octets(), octets);
}

#[test]
fn four_parts_are_written_as_none() {
    for (octet, part) in [
        (0x00, None),
        (0x1a, Some((1, 2, 2))),
        (0x16, None),
        (0x12, Some((1, 4, 2))),
        (0x30, Some((3, 4, 0))),
    ] {
        let read = Part::read(octet);
        match part {
            Some((of, count, index)) if count > index => {
                let part = Part { of, count, index };
                assert_eq!(read, Ok(Some(part)));
                assert_eq!(part.octet(), octet);
            }
            Some(_) => assert!(read.is_err()),
            None => assert!(octet == 0 && read == Ok(None) || read.is_err()),
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for text in [
        "",
        "08",
        "0800",
        "0800 00 0005 0000 3610a686 0102030405060708",
        "0800 00 0005 0400 3610a686 0102030405060708",
        "0800 04 0005 0001 3610a686 0102030405060708",
        "0800 00 0005 0001 3610a686 01020304050607",
        "0001",
        "01 ab597ba8806c04",
        "01 ab597ba8806c044300",
        "02",
        "02 00",
        "02 000100",
        "03",
        "03 0101",
        "06 00",
    ] {
        assert!(Frame::read(&hex(text)).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(octets in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(frame) = Frame::read(&octets) {
            let again = frame.octets();
            let read = Frame::read(&again);
            prop_assert_eq!(read, Ok(frame));
            prop_assert_eq!(again.len(), octets.len());
        }
    }
}
