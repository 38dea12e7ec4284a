use proptest::prelude::*;

use super::*;

fn key(number: u8) -> Key {
    Key::from_seed(&[number; 32]).expect("any seed is one")
}

#[test]
fn what_is_said_to_all_is_read_and_from_whom_it_is() {
    let octets = feed(&key(1), "Guten Tag", 1_700_000_000_000);
    let Ok(Content::Feed(said)) = read(&octets) else {
        panic!("{:?}", read(&octets));
    };
    assert_eq!(said.sender, key(1).node());
    assert_eq!(
        (said.text.as_str(), said.time),
        ("Guten Tag", 1_700_000_000_000)
    );
    // Field 2, a container whose field 1 is a signature of 64 octets.
    assert_eq!((octets[0], octets[2], octets[3]), (0x12, 0x0a, 64));
}

/// Whatever octet is another one: it is not read as something else that the sender said.
#[test]
fn nobody_changes_what_another_said() {
    let octets = feed(&key(1), "Guten Tag", 1_700_000_000_000);
    for at in 0..octets.len() {
        let mut forged = octets.clone();
        forged[at] ^= 1;
        assert!(
            !matches!(read(&forged), Ok(Content::Feed(_) | Content::Direct { .. })),
            "{at}"
        );
    }
}

#[test]
fn an_id_is_the_begin_of_a_key() {
    let node = key(7).node();
    assert_eq!(node.octets().len(), 38);
    assert_eq!(node.id().0[..], node.octets()[6..14]);
    assert_eq!(Node::read(&node.octets()), Some(node));
    assert_eq!(Node::read(&node.octets()[..37]), None);
}

#[test]
fn who_asks_who_this_is_is_known_by_it() {
    let octets = identification(&key(3).node(), true);
    let node = Some(key(3).node());
    assert_eq!(
        read(&octets),
        Ok(Content::Identification { asks: true, node })
    );
}

/// Groups in groups in groups: what a parser without a bound would follow.
#[test]
fn nesting_is_bounded() {
    let deep = vec![0x0b; 60_000];
    assert!(matches!(read(&deep), Err(Error::Decode(_))));
    let deep = [vec![0x3b; 30_000], vec![0x3c; 30_000]].concat();
    assert!(matches!(read(&deep), Err(Error::Decode(_))));
    // A length that lies.
    assert!(matches!(
        read(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        Err(Error::Decode(_))
    ));
}

proptest! {
    #[test]
    fn whatever_comes_is_no_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&octets);
    }
}
