use net::hex;
use proptest::prelude::*;

use super::*;

fn id() -> Id {
    "ab597ba8806c0443".parse().expect("an id")
}

/// Writes of qaul's own writers: twenty bytes each.
fn plain(frame: &[u8]) -> Vec<&[u8]> {
    frame.chunks(WRITE).collect()
}

fn heard(writes: &[&[u8]]) -> Vec<Result<(Id, Vec<u8>), Error>> {
    let mut reader = Reader::default();
    writes.iter().flat_map(|it| reader.write(it)).collect()
}

/// A receiver of qaul: hexadecimal digits of twenty bytes, zeros where fewer came. Of writes with
/// a `$` the zeros at the end are removed, also that of a `0`, which is 0x30.
fn trimming(writes: &[&[u8]]) -> Option<(Id, Vec<u8>)> {
    let mut digits = String::new();
    for write in writes {
        let mut octets = write.to_vec();
        octets.resize(WRITE, 0);
        let hex = hex::text(&octets);
        digits += match hex.contains("24") {
            true => hex.trim_end_matches('0'),
            false => &hex,
        };
    }
    let octets = hex::parse(&digits)?;
    read(octets.strip_prefix(MARK)?.strip_suffix(MARK)?).ok()
}

/// Another receiver of qaul: removes each `$$` that is whole in one write.
fn joining(writes: &[&[u8]]) -> Option<(Id, Vec<u8>)> {
    let text = |it: &&[u8]| String::from_utf8_lossy(it).replace("$$", "");
    read(writes.iter().map(text).collect::<String>().as_bytes()).ok()
}

#[test]
fn a_message_is_written_as_others_write_it() {
    let frame = frame(id(), b"hello");
    let known = r#"$${"qaul_id":[-85,89,123,-88,-128,108,4,67],"message":[104,101,108,108,111]}$$"#;
    assert_eq!(String::from_utf8_lossy(&frame), known);
    assert_eq!(heard(&plain(&frame)), [Ok((id(), b"hello".to_vec()))]);
}

#[test]
fn what_is_between_frames_is_passed_over_and_what_is_none_is_said() {
    let good = frame(id(), b"a$$b");
    let all = [b"noise$", &good[..], b"$", &good, b"$${}$$", &good].concat();
    let told = heard(&plain(&all));
    let whole: Vec<bool> = told.iter().map(Result::is_ok).collect();
    assert_eq!(whole, [true, true, false, true], "{told:?}");
    let short = br#"$${"qaul_id":[1,2,3],"message":[]}$$"#;
    assert_eq!(
        heard(&plain(short)),
        [Err(super::super::IdError::Length(3).into())]
    );
    let wide = br#"$${"qaul_id":[1,2,3,4,5,6,7,200],"message":[]}$$"#;
    assert!(matches!(heard(&plain(wide))[..], [Err(Error::Json(_))]));
    // A receiver that starts late sees the end of one frame.
    let late = [b"1,2]}$$", &good[..]].concat();
    let told = heard(&plain(&late));
    assert!(told.contains(&Ok((id(), b"a$$b".to_vec()))), "{told:?}");
}

#[test]
fn an_endless_frame_takes_bounded_memory() {
    let mut reader = Reader::default();
    let mut told = reader.write(b"$$");
    for _ in 0..30_000 {
        told.extend(reader.write(&[b'1'; 20]));
        assert!(reader.heard.len() <= MOST + WRITE);
    }
    assert!(told.contains(&Err(Error::Long)));
    let long = frame(id(), &vec![0; LONGEST + 1]);
    assert_eq!(
        reader.write(&[b"$$", &long[..]].concat()).last(),
        Some(&Err(Error::Long))
    );
}

/// Of a thousand random messages, qaul's split loses some in its own receivers; weir's split loses
/// none.
#[test]
fn receivers_that_lose_octets_lose_none_of_ours() {
    let mut lost = [0, 0];
    let mut dice = 1u32;
    let mut octet = || {
        dice = (u64::from(dice) * 48_271 % 0x7fff_ffff) as u32;
        (dice >> 8) as u8
    };
    for round in 0..2000 {
        let from = Id(std::array::from_fn(|_| octet()));
        let message: Vec<u8> = (0..round % 97).map(|_| octet()).collect();
        let frame = frame(from, &message);
        let whole = Some((from, message));
        let ours: Vec<&[u8]> = writes(&frame).collect();
        assert_eq!(trimming(&ours), whole);
        assert_eq!(joining(&ours), whole);
        lost[0] += usize::from(trimming(&plain(&frame)) != whole);
        lost[1] += usize::from(joining(&plain(&frame)) != whole);
    }
    // 6.9 and 5.0 % of them.
    assert!((80..220).contains(&lost[0]), "{lost:?}");
    assert!((50..160).contains(&lost[1]), "{lost:?}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_is_cut(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4),
        cuts in prop::collection::vec(1_usize..40, 1..40),
        from in any::<[u8; 8]>(),
    ) {
        let all: Vec<u8> = messages.iter().flat_map(|it| frame(Id(from), it)).collect();
        let mut reader = Reader::default();
        let (mut told, mut at) = (Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            let end = (at + cut).min(all.len());
            told.extend(reader.write(&all[at..end]));
            at = end;
            if at == all.len() {
                break;
            }
        }
        let whole: Vec<_> = messages.into_iter().map(|it| Ok((Id(from), it))).collect();
        prop_assert_eq!(told, whole);
        prop_assert!(reader.heard.is_empty());
    }

    #[test]
    fn whatever_is_written_is_no_panic_and_no_growth(
        writes in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'$'), any::<u8>()], 0..30), 0..60)
    ) {
        let mut reader = Reader::default();
        for write in &writes {
            reader.write(write);
        }
        prop_assert!(reader.heard.len() <= 30 * 60);
    }
}
