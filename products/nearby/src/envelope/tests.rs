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
    // Field 2, a container whose field 1 is a signature of 64 bytes.
    assert_eq!((octets[0], octets[2], octets[3]), (0x12, 0x0a, 64));
}

/// No change of an byte yields another readable message of the sender.
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

/// Nested groups, which an unbounded parser would follow.
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

/// Additions outside the signed part are removed, so the message is recognised.
#[test]
fn what_nobody_signed_is_left_away() {
    let octets = feed(&key(1), "Guten Tag", 7);
    assert_eq!(plain(&octets), Some(octets.clone()));
    let beside = [&octets[..], &[0x78, 0x01]].concat();
    assert_eq!(plain(&beside), Some(octets.clone()));
    // Additions in the container: an unknown field, a repeated one, and another order.
    let inside = &octets[2 + usize::from(octets[1] >= 0x80)..];
    let signature = inside[..66].to_vec();
    let message = &inside[66..];
    for other in [
        [inside, &[0x78, 0x01]].concat(),
        [&signature[..], inside].concat(),
        [message, &signature].concat(),
    ] {
        let kind = Some(Kind::Feed(other));
        let other = Envelope { kind }.encode_to_vec();
        assert!(matches!(read(&other), Ok(Content::Feed(_))));
        assert_ne!(other, octets);
        assert_eq!(plain(&other), Some(octets.clone()));
    }
    assert_eq!(plain(&identification(&key(1).node(), true)), None);
}

/// With R neutral and S zero a signature is valid for any message by these keys.
#[test]
fn a_key_by_which_anybody_signs_is_nobody() {
    for first in [0, 1, 0xec] {
        let mut node = Node([0; 32]);
        node.0[0] = first;
        if first == 0xec {
            node.0[1..].fill(0xff);
        }
        assert_eq!(Node::read(&node.octets()), None, "{first}");
        let message = FeedMessage {
            sender: node.octets(),
            content: "anything".to_owned(),
            time: 7,
        };
        let mut signature = vec![0; 64];
        signature[0] = 1;
        let signed = Signed {
            signature,
            message: message.encode_to_vec(),
        };
        let kind = Some(Kind::Feed(signed.encode_to_vec()));
        assert_eq!(read(&Envelope { kind }.encode_to_vec()), Err(Error::Node));
    }
}
