use proptest::prelude::*;

use super::*;

/// Returns the items if the bytes arrive in pieces of these sizes, repeatedly.
fn read(octets: &[u8], pieces: &[usize]) -> (Vec<ChannelItem>, Result<(), InvalidLength>) {
    let (mut reader, mut told, mut rest) = (Reader::default(), Vec::new(), octets);
    for piece in pieces.iter().cycle() {
        let (now, after) = rest.split_at((*piece).min(rest.len()));
        if let Err(error) = reader.read(now, &mut told) {
            assert!(!reader.waits());
            return (told, Err(error));
        }
        assert!(reader.octets.len() < LONGEST + LENGTH);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    (told, Ok(()))
}

#[test]
fn what_is_longer_than_a_frame_is_a_message() {
    let frame = vec![3; LONGEST_FRAME];
    let message = vec![4; LONGEST_FRAME + 1];
    let longest = vec![5; LONGEST];
    let octets = [written(&frame), written(&message), written(&longest)].concat();
    assert_eq!(octets[..5], [0, 0, 0x3e, 0x80, 3]);
    let told = vec![
        ChannelItem::Frame(frame),
        ChannelItem::Message(message),
        ChannelItem::Message(longest),
    ];
    for pieces in [&[usize::MAX][..], &[4096], &[3, 1000]] {
        assert_eq!(read(&octets, pieces), (told.clone(), Ok(())));
    }
}

#[test]
fn a_length_that_lies_is_told_and_nothing_is_kept_for_it() {
    for length in [0, LONGEST as u32 + 1, 1 << 24, u32::MAX] {
        let octets = [&written(b"before")[..], &length.to_be_bytes(), b"after"].concat();
        let told = vec![ChannelItem::Frame(b"before".to_vec())];
        assert_eq!(read(&octets, &[1]), (told, Err(InvalidLength(length))));
    }
    // An announcement alone takes no memory.
    let mut reader = Reader::default();
    let announced = (LONGEST as u32).to_be_bytes();
    assert_eq!(reader.read(&announced, &mut Vec::new()), Ok(()));
    assert!(reader.waits() && reader.octets.capacity() < 64);
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..600), 0..20),
        pieces in prop::collection::vec(1_usize..700, 1..10),
        lost in 0_usize..700,
    ) {
        let all: Vec<u8> = frames.iter().flat_map(|it| written(it)).collect();
        let octets = &all[..all.len().saturating_sub(lost)];
        let (told, done) = read(octets, &pieces);
        prop_assert_eq!(done, Ok(()));
        // A cut-off end loses nothing before it.
        let mut whole = 0;
        let fit = frames.iter().take_while(|it| {
            whole += LENGTH + it.len();
            whole <= octets.len()
        });
        let fit: Vec<ChannelItem> = fit.cloned().map(ChannelItem::Frame).collect();
        prop_assert_eq!(told, fit);
    }

    #[test]
    fn no_octets_are_too_bad(
        octets in prop::collection::vec(any::<u8>(), 0..2_000),
        mask in any::<u8>(),
        pieces in prop::collection::vec(1_usize..300, 1..10),
    ) {
        // Mostly small numbers, so that there are lengths among them.
        let octets: Vec<u8> = octets.iter().map(|it| it & mask).collect();
        let told = read(&octets, &pieces);
        prop_assert_eq!(&told, &read(&octets, &[octets.len().max(1)]));
    }
}
