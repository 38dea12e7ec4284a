//! Frames of any form, from octets that a fuzzer or chance chose: tags, SNAP, options, chains of
//! extension headers, fragments, wrong lengths, missing ends, padding.

use super::sorts::*;

/// Octets, each for one choice; zeros when all are used.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Chooses one of the values.
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.octet()) % all.len()]
    }

    fn often(&mut self, of: u8) -> bool {
        !self.octet().is_multiple_of(of)
    }
}

/// A frame, with its Ethernet header at least.
pub fn frame_of(choices: &[u8]) -> Vec<u8> {
    let mut c = Choices(choices);
    let to = c.of(&[ALL, LLDP_MAC, BRIDGES, CISCO, PVST]);
    let from = c.of(&[STATION, STATION, STATION, OWN]);
    let mut frame = [to, from].concat();
    for _ in 0..c.of(&[0, 0, 0, 1, 1, 2, 2, 3, 4]) {
        let kind: u16 = c.of(&[0x8100, 0x8100, 0x88a8, 0x9100]);
        frame.extend(kind.to_be_bytes());
        frame.extend([c.octet(), c.octet()]);
    }
    if !c.often(5) {
        // A length instead of the EtherType; LLC, SNAP.
        frame.extend([c.of(&[0, 1, 5]), c.octet(), 0xaa, 0xaa, c.of(&[3, 3, 3, 1])]);
        frame.extend([0, c.of(&[0, 0, 0, 1]), c.of(&[0, 0, 0xf8, 0x0c, 1])]);
    }
    let other = u16::from_be_bytes([c.octet(), c.octet()]);
    let kind = c.of(&[
        0x86dd, 0x86dd, 0x86dd, 0x0800, 0x0800, 0x8863, 0x0806, 0x88cc, 0x4305, 0x88b5, 0x2000, 38,
        0x8100, 0x88a8, other,
    ]);
    frame.extend(kind.to_be_bytes());
    let payload = match kind {
        0x0800 => packet4(&mut c),
        0x86dd => packet6(&mut c),
        0x8863 => vec![0x11, c.of(&[7, 0x65, 9, 0x19, 0xa7]), 0, 0],
        0x88b5 => c.of(&[b"weir", b"wind"]).to_vec(),
        38 => vec![0x42, 0x42, 3, 0],
        _ => vec![c.octet(), c.octet()],
    };
    frame.extend(payload);
    match c.octet() {
        cut @ 1..=99 => frame.truncate((frame.len() - usize::from(cut).min(frame.len())).max(14)),
        100..=159 => frame.resize(frame.len() + usize::from(c.octet()), c.of(&[0, 1, 2, 134])),
        160..=170 => {
            let at = 12 + usize::from(c.octet()) % (frame.len() - 12);
            frame[at] = c.octet();
        }
        _ => {}
    }
    frame
}

/// Chooses a length field: the true length, a bit less, none, or any number.
fn length(c: &mut Choices, octets: usize) -> [u8; 2] {
    let said = match c.octet() {
        0..=180 => octets,
        181..=220 => octets.saturating_sub(usize::from(c.octet() % 24)),
        221..=240 => 0,
        _ => usize::from(c.octet()) << 4,
    };
    (said as u16).to_be_bytes()
}

fn datagram(c: &mut Choices) -> Vec<u8> {
    let other = u16::from_be_bytes([c.octet(), c.octet()]);
    let port = |c: &mut Choices| {
        c.of(&[
            67, 68, 546, 547, 68, 546, 5678, 6696, 269, 698, 520, 521, 6240, other,
        ])
    };
    udp(port(c), port(c), &[c.of(&[2, 2, 1, 0]), 1, 6])
}

fn packet4(c: &mut Choices) -> Vec<u8> {
    let words = c.of(&[5, 5, 5, 6, 15, 4]);
    let mut packet = vec![0; usize::from(words) * 4];
    packet[0] = c.of(&[0x40, 0x40, 0x40, 0x40, 0x60]) | words;
    let fragment: u16 = c.of(&[0, 0, 0, 0x4000, 0x2000, 0x2000, 1, 0x2001, 0x1fff, 0x100]);
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = c.of(&[17, 17, 17, 6, 89]);
    packet.extend(datagram(c));
    let length = length(c, packet.len());
    packet[2..4].copy_from_slice(&length);
    packet
}

fn packet6(c: &mut Choices) -> Vec<u8> {
    const EXTENSIONS: [u8; 8] = [0, 43, 44, 51, 60, 135, 139, 140];
    let mut headers = Vec::new();
    for _ in 0..c.of(&[0, 0, 0, 1, 1, 2, 3, 7, 8, 9]) {
        headers.push(c.of(&EXTENSIONS));
    }
    headers.push(c.of(&[58, 58, 58, 17, 17, 89, 6, 59, 50, 253]));
    let mut packet = vec![c.of(&[0x60, 0x60, 0x60, 0x60, 0x40]), 0, 0, 0, 0, 0];
    packet.extend([headers[0], c.of(&[255, 255, 255, 1, 254])]);
    packet.resize(40, 0);
    for pair in headers.windows(2) {
        let (header, next) = (pair[0], pair[1]);
        let size = c.of(&[0, 0, 0, 1, 2, 31]);
        let (size, third, fourth) = match header {
            // A first fragment, complete or not, or a later one.
            44 => (0, c.of(&[0, 0, 0, 1]), c.of(&[0, 1, 1, 6, 8])),
            // Words of four octets, without the first two.
            51 => (size * 2, 0, 0),
            _ => (size, 0, 0),
        };
        packet.extend([next, size, third, fourth]);
        let octets = match header {
            51 => (usize::from(size) + 2) * 4,
            _ => (usize::from(size) + 1) * 8,
        };
        packet.resize(packet.len() + octets - 4, 0);
    }
    match headers.last() {
        Some(17) => packet.extend(datagram(c)),
        _ => packet.extend([c.of(&[134, 134, 133, 128, 136]), 0, 0, 0]),
    }
    let length = length(c, packet.len() - 40);
    packet[4..6].copy_from_slice(&length);
    packet
}
