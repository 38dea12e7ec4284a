use proptest::prelude::*;

use super::super::element::{Element, Instance};
use super::super::frame::{Frame, Kind, LONGEST};
use super::super::{Beacon, Secret, secret::TooShort};
use super::air::{SSID, beacon, forged, mac, secret};

#[test]
fn a_beacon_of_hostapd() {
    let mut elements = vec![50, 3, 0x30, 0x48, 0xff];
    elements.extend([45, 26]);
    elements.extend([1; 26]);
    elements.extend([48, 2, 1, 0]);
    elements.extend([191, 12]);
    elements.extend([2; 12]);
    elements.extend([255, 23, 35]);
    elements.extend([3; 22]);
    elements.extend([255, 3, 59, 4, 5]);
    elements.extend([221, 7, 0x00, 0x50, 0xf2, 0x02, 1, 1, 0]);
    let own = Element::new(&secret(), [9; 32], Instance([8; 8]), mac(1), SSID);
    elements.extend(own.octets());
    let read = Beacon::read(&beacon(mac(1), SSID, &elements)).expect("a beacon");
    assert_eq!((read.mac, &read.ssid[..]), (mac(1), SSID));
    // 0xff is not a rate, but a requirement: only stations with HT.
    let rates = [0x82, 0x84, 0x8b, 0x96, 0x30, 0x48];
    assert_eq!(read.abilities.rates, rates);
    assert_eq!(read.abilities.ht, [1; 26]);
    assert_eq!(read.abilities.vht, [2; 12]);
    assert_eq!(read.abilities.he, [3; 22]);
    assert_eq!(read.abilities.he_6ghz, [4, 5]);
    assert!(read.abilities.wme && read.protected);
    assert_eq!(read.element, Some(own));
    assert!(own.is_proven(&secret(), mac(1), SSID));
    assert!(!own.is_proven(&secret(), mac(2), SSID));
    assert!(!own.is_proven(&secret(), mac(1), b"freifunc"));
    assert!(!forged(1, mac(1)).is_proven(&secret(), mac(1), SSID));
}

#[test]
fn what_is_no_beacon_of_somebody() {
    let whole = beacon(mac(1), SSID, &[]);
    let changed = |at: usize, to: u8| {
        let mut frame = whole.clone();
        frame[at] = to;
        Beacon::read(&frame)
    };
    assert!(Beacon::read(&whole).is_some());
    assert_eq!(changed(0, 0x50), None, "an answer to a probe");
    assert_eq!(changed(10, 3), None, "a group");
    assert_eq!(changed(21, 9), None, "another BSSID");
    assert_eq!(Beacon::read(&whole[..35]), None);
    let cut = Beacon::read(&whole[..40]).expect("as far as it goes");
    assert_eq!(cut.ssid, b"");
}

#[test]
fn the_element_octet_by_octet() {
    let own = Element::new(&secret(), [9; 32], Instance([8; 8]), mac(1), SSID);
    let octets = own.octets();
    assert_eq!(octets.len(), 63);
    assert_eq!(octets[..7], [221, 61, 0x02, b'w', b'r', 1, 1]);
    assert_eq!(octets[7..15], [8; 8]);
    assert_eq!(octets[15..47], [9; 32]);
    assert_eq!(Element::read(&octets[2..]), Some(own));
    // The element is of another version, kind or vendor, or cut short.
    for at in [2, 5, 6] {
        let mut other = octets.clone();
        other[at] ^= 2;
        assert_eq!(Element::read(&other[2..]), None, "{at}");
    }
    assert_eq!(Element::read(&octets[2..62]), None);
    let longer = [&octets[2..], &[0; 9]].concat();
    assert_eq!(Element::read(&longer), Some(own));
}

#[test]
fn a_frame_octet_by_octet() {
    let frame = Frame {
        to: mac(2),
        from: mac(1),
        kind: Kind::Hello,
        body: &[7, 7],
    };
    let octets = frame.octets();
    let expected = [
        0xd0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 4, 9, 0x02,
        b'w', b'r', 1, 1, 1, 7, 7,
    ];
    assert_eq!(octets, expected);
    assert_eq!(Frame::read(&octets), Some(frame));
    for at in [0, 24, 25, 26, 29, 30] {
        let mut other = octets.clone();
        other[at] ^= 0x40;
        assert_eq!(Frame::read(&other), None, "{at}");
    }
}

#[test]
fn a_short_secret_is_none() {
    assert_eq!(Secret::new(&[1; 15]).err(), Some(TooShort(15)));
    assert!(TooShort(15).to_string().contains("16"));
}

proptest! {
    #[test]
    fn any_octets_are_read(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Some(read) = Frame::read(&octets) {
            prop_assert!(read.body.len() <= LONGEST);
        }
        Beacon::read(&octets);
        Element::read(&octets);
    }

    #[test]
    fn any_elements_are_read(elements in prop::collection::vec(any::<u8>(), 0..600)) {
        let read = Beacon::read(&beacon(mac(1), SSID, &elements)).expect("a beacon");
        prop_assert!(read.abilities.rates.len() <= 32);
        prop_assert_eq!(read.ssid, SSID);
    }
}
