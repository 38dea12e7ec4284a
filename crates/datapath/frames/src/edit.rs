//! Edits of the bytes of an ordinary frame, each keeping the rest right, so that a test shows
//! exactly one thing.

use super::checksum;

/// Offset of the IP header.
pub const L3: usize = 14;

pub fn is_ipv6(frame: &[u8]) -> bool {
    frame[12..14] == [0x86, 0xdd]
}

/// Offset of TCP or UDP, without options.
pub fn l4(frame: &[u8]) -> usize {
    L3 + if is_ipv6(frame) { 40 } else { 20 }
}

pub fn is_tcp(frame: &[u8]) -> bool {
    frame[if is_ipv6(frame) { L3 + 6 } else { L3 + 9 }] == 6
}

/// Offset of the layer 4 checksum.
pub fn l4_check_at(frame: &[u8]) -> usize {
    l4(frame) + if is_tcp(frame) { 16 } else { 6 }
}

pub fn put16(frame: &mut [u8], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub fn get16(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// Corrects the IPv4 header checksum; IPv6 has none.
pub fn mend(frame: &mut [u8]) {
    if is_ipv6(frame) {
        return;
    }
    let length = usize::from(frame[L3] & 15) * 4;
    put16(frame, L3 + 10, 0);
    let end = (L3 + length.max(20)).min(frame.len());
    let sum = !checksum::sum(&frame[L3..end]);
    put16(frame, L3 + 10, sum);
}

pub fn ttl(frame: &mut [u8], value: u8) {
    let at = L3 + if is_ipv6(frame) { 7 } else { 8 };
    frame[at] = value;
    mend(frame);
}

/// TOS or traffic class.
pub fn tos(frame: &mut [u8], value: u8) {
    if is_ipv6(frame) {
        frame[L3] = frame[L3] & 0xf0 | value >> 4;
        frame[L3 + 1] = frame[L3 + 1] & 0x0f | value << 4;
    } else {
        frame[L3 + 1] = value;
        mend(frame);
    }
}

/// The protocol, or next header.
pub fn protocol(frame: &mut [u8], value: u8) {
    let at = L3 + if is_ipv6(frame) { 6 } else { 9 };
    frame[at] = value;
    mend(frame);
}

/// Sets TCP's sequence and acknowledgement numbers. The checksum stays wrong: no test checks it.
pub fn numbers(frame: &mut [u8], sequence: u32, acknowledgement: u32) {
    let at = l4(frame) + 4;
    frame[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
    frame[at + 4..at + 8].copy_from_slice(&acknowledgement.to_be_bytes());
}

/// TCP: the window, not scaled.
pub fn offered(frame: &mut [u8], window: u16) {
    let at = l4(frame) + 14;
    frame[at..at + 2].copy_from_slice(&window.to_be_bytes());
}

/// IPv4: flags and fragment offset as one word.
pub fn fragment(frame: &mut [u8], word: u16) {
    put16(frame, L3 + 6, word);
    mend(frame);
}

/// Sets the IP header's length field, without the header (IPv6) or with it (IPv4).
pub fn length(frame: &mut [u8], value: u16) {
    let at = L3 + if is_ipv6(frame) { 4 } else { 2 };
    put16(frame, at, value);
    mend(frame);
}

/// Makes the packet `octets` shorter, and leaves the rest as a trailer.
pub fn shorten(frame: &mut [u8], octets: u16) {
    let at = L3 + if is_ipv6(frame) { 4 } else { 2 };
    let value = get16(frame, at) - octets;
    length(frame, value);
    if !is_tcp(frame) {
        let at = l4(frame) + 4;
        put16(frame, at, get16(frame, at) - octets);
    }
}

/// TCP flags, all of byte 13.
pub fn flags(frame: &mut [u8], value: u8) {
    let at = l4(frame) + 13;
    frame[at] = value;
}

/// TCP data offset in words.
pub fn data_offset(frame: &mut [u8], words: u8) {
    let at = l4(frame) + 12;
    frame[at] = words << 4;
}

/// UDP length.
pub fn udp_length(frame: &mut [u8], value: u16) {
    let at = l4(frame) + 4;
    put16(frame, at, value);
}

/// Puts IPv4 options of `words` words in, all "no operation".
pub fn options(frame: &mut Vec<u8>, words: u8) {
    let options = vec![1; usize::from(words) * 4];
    let total = get16(frame, L3 + 2).wrapping_add(options.len() as u16);
    frame.splice(L3 + 20..L3 + 20, options);
    frame[L3] = 0x45 + words;
    put16(frame, L3 + 2, total);
    mend(frame);
}

/// Puts an IPv6 extension header of 8 bytes in.
pub fn extension(frame: &mut Vec<u8>, kind: u8) {
    let next = std::mem::replace(&mut frame[L3 + 6], kind);
    let payload = get16(frame, L3 + 4).wrapping_add(8);
    put16(frame, L3 + 4, payload);
    frame.splice(L3 + 40..L3 + 40, [next, 0, 0, 0, 0, 0, 0, 0]);
}

/// Puts a VLAN tag in.
pub fn tag(frame: &mut Vec<u8>, ethertype: u16, tci: u16) {
    let mut octets = ethertype.to_be_bytes().to_vec();
    octets.extend(tci.to_be_bytes());
    frame.splice(12..12, octets);
}
