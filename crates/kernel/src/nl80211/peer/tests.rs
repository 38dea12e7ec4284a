use super::*;

const FAMILY: u16 = 35;
const LINK: u32 = 7;
const PEER: Mac = [2, 0, 0, 0, 1, 0];

/// Splits a message behind netlink's own header: the command, then attributes, octet by octet.
fn body(bytes: &[u8]) -> (u8, Vec<(u16, Vec<u8>)>) {
    let length = u32::from_ne_bytes(bytes[..4].try_into().expect("four octets"));
    assert_eq!(length as usize, bytes.len());
    assert_eq!(bytes[4..6], FAMILY.to_ne_bytes());
    // NLM_F_REQUEST and NLM_F_ACK: the kernel reports a refusal.
    assert_eq!(bytes[6..8], 5u16.to_ne_bytes());
    assert_eq!(bytes[8..12], 9u32.to_ne_bytes());
    (bytes[16], attributes(&bytes[20..]))
}

fn attributes(mut rest: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let number = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        let (length, kind) = (usize::from(number(0)), number(2));
        found.push((kind, rest[4..length].to_vec()));
        rest = &rest[length.next_multiple_of(4)..];
    }
    found
}

fn link() -> (u16, Vec<u8>) {
    (3, LINK.to_ne_bytes().to_vec())
}

fn mac() -> (u16, Vec<u8>) {
    (6, PEER.to_vec())
}

fn words(words: [u32; 2]) -> Vec<u8> {
    words.map(u32::to_ne_bytes).concat()
}

#[test]
fn a_device_for_a_peer_has_four_addresses_and_ends_with_its_owner() {
    let own = [2, 0, 0, 0, 0, 0];
    let device = NewDevice::Peer {
        link: LINK,
        mac: own,
        name: "peer-1",
    };
    let expected = vec![
        link(),
        (4, b"peer-1\0".to_vec()),
        (5, 4u32.to_ne_bytes().to_vec()),
        (83, vec![1]),
        (6, own.to_vec()),
        (204, vec![]),
    ];
    assert_eq!(body(&new_device(FAMILY, device, 9)), (7, expected));
    let device = NewDevice::Monitor {
        link: LINK,
        name: "ear",
    };
    let expected = vec![
        link(),
        (4, b"ear\0".to_vec()),
        (5, 6u32.to_ne_bytes().to_vec()),
        (204, vec![]),
    ];
    assert_eq!(body(&new_device(FAMILY, device, 9)), (7, expected));
    assert_eq!(body(&remove_device(FAMILY, LINK, 9)), (8, vec![link()]));
}

#[test]
fn a_station_comes_without_rights_and_gets_them_one_after_the_other() {
    let abilities = Abilities {
        rates: vec![2, 4, 11],
        ht: vec![1; 26],
        vht: vec![],
        he: vec![3; 19],
        he_6ghz: vec![4; 2],
        wme: true,
    };
    let expected = vec![
        link(),
        mac(),
        (18, vec![0, 0]),
        (16, 2007u16.to_ne_bytes().to_vec()),
        (19, vec![2, 4, 11]),
        (67, words([0xa0, 0])),
    ];
    let new = new_station(FAMILY, LINK, PEER, 2007, &abilities, 9);
    assert_eq!(body(&new), (19, expected));

    let expected = vec![
        link(),
        mac(),
        (31, vec![1; 26]),
        (269, vec![3; 19]),
        (293, vec![4; 2]),
        (67, words([0xa8, 0xa8])),
    ];
    let set = set_abilities(FAMILY, LINK, PEER, &abilities, 9);
    assert_eq!(body(&set), (18, expected));
    let bare = set_abilities(FAMILY, LINK, PEER, &Abilities::default(), 9);
    let expected = vec![link(), mac(), (67, words([0xa0, 0xa0]))];
    assert_eq!(body(&bare), (18, expected));

    let expected = vec![link(), mac(), (67, words([2, 2]))];
    assert_eq!(body(&authorize(FAMILY, LINK, PEER, 9)), (18, expected));
    let expected = vec![link(), mac(), (20, 12u32.to_ne_bytes().to_vec())];
    let moved = move_station(FAMILY, LINK, PEER, 12, 9);
    assert_eq!(body(&moved), (18, expected));
    let bare = vec![link(), mac()];
    assert_eq!(
        body(&remove_station(FAMILY, LINK, PEER, 9)),
        (20, bare.clone())
    );
    assert_eq!(body(&get_station(FAMILY, LINK, PEER, 9)), (17, bare));
}

#[test]
fn a_key_is_pairwise_ccmp_and_is_not_printed() {
    let key = PairwiseKey([0xab; 16]);
    let (command, told) = body(&new_key(FAMILY, LINK, PEER, &key, 9));
    assert_eq!((command, &told[..2]), (11, &[link(), mac()][..]));
    // NLA_F_NESTED.
    assert_eq!(told[2].0, 80 | 1 << 15);
    let expected = vec![
        (1, vec![0xab; 16]),
        (2, vec![0]),
        (3, 0x000f_ac04u32.to_ne_bytes().to_vec()),
        (7, 1u32.to_ne_bytes().to_vec()),
    ];
    assert_eq!(attributes(&told[2].1), expected);
    assert_eq!(format!("{key:?}"), "PairwiseKey(..)");
}

#[test]
fn frames_and_beacons() {
    let expected = vec![link(), (51, vec![0xd0, 0, 1])];
    let sent = send_frame(FAMILY, LINK, &[0xd0, 0, 1], 9);
    assert_eq!(body(&sent), (59, expected));
    let expected = vec![(1, 3u32.to_ne_bytes().to_vec())];
    assert_eq!(body(&register_beacons(FAMILY, 3, 9)), (85, expected));
}
