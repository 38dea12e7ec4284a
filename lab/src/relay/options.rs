//! MPTCP options in TCP segments (RFC 8684 section 3), for simulated middleboxes.

use std::ops::Range;

use net::checksum::fold;

use crate::view::{View, word};

/// TCP options (RFC 9293 section 3.1): end of list and no operation, both one byte long.
const END: u8 = 0;
const NOP: u8 = 1;
/// Option kind of MPTCP, and the subtype MP_PRIO, which sets a subflow's backup flag (RFC 8684
/// sections 3 and 3.3.8).
const MPTCP: u8 = 30;
const MP_PRIO: u8 = 5;

/// Overwrites all MPTCP options of a TCP segment with NOPs, as a middlebox without MPTCP does (RFC
/// 8684 section 6). The checksum changes by the difference (RFC 1624), so a wrong checksum stays
/// wrong. Returns true if there was an MPTCP option.
pub(super) fn strip(frame: &mut [u8]) -> bool {
    let Some((begin, end)) = options(frame) else {
        return false;
    };
    let checksum_at = begin - 4;
    let before = fold(0, &frame[begin..end]);
    if !overwrite(&mut frame[begin..end]) {
        return false;
    }
    let after = fold(0, &frame[begin..end]);
    let old = word(frame, checksum_at).unwrap_or(0);
    let new = !fold(u32::from(!old) + u32::from(!before) + u32::from(after), &[]);
    frame[checksum_at..checksum_at + 2].copy_from_slice(&new.to_be_bytes());
    true
}

/// Returns true if a TCP segment carries MP_PRIO.
pub(super) fn tells_priority(frame: &[u8]) -> bool {
    let Some((begin, end)) = options(frame) else {
        return false;
    };
    let options = &frame[begin..end];
    let kind = |option: &Range<usize>| options[option.clone()].get(2).map(|octet| octet >> 4);
    mptcp(options).iter().any(|o| kind(o) == Some(MP_PRIO))
}

/// Returns the range of the options in a complete TCP header.
fn options(frame: &[u8]) -> Option<(usize, usize)> {
    let view = View::of(frame)?;
    if view.protocol != 6 || view.fragment || view.end < view.body + 20 {
        return None;
    }
    let length = usize::from(frame[view.body + 12] >> 4) * 4;
    let (begin, end) = (view.body + 20, view.body + length);
    (begin < end && end <= view.end).then_some((begin, end))
}

fn overwrite(options: &mut [u8]) -> bool {
    let found = mptcp(options);
    for option in &found {
        options[option.clone()].fill(NOP);
    }
    !found.is_empty()
}

/// Returns the ranges of the MPTCP options among a segment's options.
fn mptcp(options: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut found) = (0, Vec::new());
    while at < options.len() {
        let kind = options[at];
        let length = match kind {
            END => break,
            NOP => 1,
            _ => options.get(at + 1).map_or(0, |length| usize::from(*length)),
        };
        // An invalid length stops every parser here.
        if length == 0 || (kind != NOP && length < 2) || at + length > options.len() {
            break;
        }
        if kind == MPTCP {
            found.push(at..at + length);
        }
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::pseudo_header;

    /// Returns a SYN with these options, IPv4 or IPv6, and a right checksum.
    fn segment(ipv6: bool, options: &[u8]) -> Vec<u8> {
        let mut tcp = vec![
            0x9c, 0x40, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0, 0, 0, 0,
        ];
        tcp.extend(options);
        tcp[12] = ((tcp.len() / 4) as u8) << 4;
        tcp.extend(b"odd");
        let mut frame = vec![2; 12];
        let addresses: Vec<u8> = match ipv6 {
            true => (0..32).collect(),
            false => vec![10, 0, 0, 1, 10, 0, 0, 2],
        };
        if ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, tcp.len() as u8, 6, 64]);
        } else {
            let length = (20 + tcp.len()) as u8;
            frame.extend([8, 0, 0x45, 0, 0, length, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        }
        frame.extend(addresses);
        frame.extend(&tcp);
        let view = View::of(&frame).expect("a packet");
        let sum = !fold(pseudo_header(view.from, view.to, 6, tcp.len()), &tcp);
        frame[view.body + 16..view.body + 18].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn mptcp_options_become_nops_and_the_checksum_stays_right() {
        // MSS, then MP_CAPABLE behind a NOP, so that it begins at an odd byte; another MPTCP
        // option, then window scaling.
        let options = [2, 4, 5, 0xb4, 1, 30, 4, 0x01, 0x81, 30, 3, 0x20, 3, 3, 7, 0];
        for ipv6 in [false, true] {
            let mut frame = segment(ipv6, &options);
            let whole = frame.clone();
            assert!(strip(&mut frame));
            let view = View::of(&frame).expect("a packet");
            assert_eq!(view.residue(&frame), Some(0xffff));
            let begin = view.body + 20;
            assert_eq!(
                frame[begin..begin + 16],
                [2, 4, 5, 0xb4, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 7, 0]
            );
            assert_eq!(frame[..view.body + 16], whole[..view.body + 16]);
            assert_eq!(frame[begin + 16..], whole[begin + 16..]);
            assert!(!strip(&mut frame), "nothing is left");
        }
    }

    #[test]
    fn priority_is_seen_behind_other_options() {
        let stamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let acknowledges = [30, 12, 0x20, 3, 0, 0, 0, 0, 0, 0, 0, 9];
        for (last, expected) in [([30, 3, 0x51, 1], true), ([30, 4, 0x20, 0x51], false)] {
            let options = [&stamp[..], &acknowledges, &last].concat();
            assert_eq!(tells_priority(&segment(false, &options)), expected);
        }
        // A truncated option has no subtype.
        assert!(!tells_priority(&segment(false, &[30, 2, 0x51, 1])));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut frame = segment(false, &[30, 4, 0, 0x81]);
        frame[34 + 16] ^= 1;
        assert!(strip(&mut frame));
        let view = View::of(&frame).expect("a packet");
        assert_ne!(view.residue(&frame), Some(0xffff));
    }

    #[test]
    fn what_is_no_option_is_left_alone() {
        for options in [
            // An option behind the end; a length of 0, 1 or beyond the end; a missing length.
            [0, 30, 2, 0],
            [2, 0, 30, 2],
            [2, 1, 30, 2],
            [30, 5, 0, 0],
            [1, 1, 1, 30],
        ] {
            let mut frame = segment(false, &options);
            let whole = frame.clone();
            assert!(!strip(&mut frame), "{options:?}");
            assert_eq!(frame, whole);
        }
    }

    #[test]
    fn any_cut_of_a_frame_is_harmless() {
        let frame = segment(true, &[30, 4, 0, 0x81]);
        for length in 0..frame.len() {
            strip(&mut frame[..length].to_vec());
        }
    }
}
