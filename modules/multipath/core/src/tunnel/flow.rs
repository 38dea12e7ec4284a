//! Properties of an IP packet for the scheduler: its flow, and its urgency.

/// Longest packet that may be urgent by its size, bytes.
const SMALL: usize = 200;
/// Code points of urgent packets: expedited forwarding (RFC 3246), and CS6 (routing).
const URGENT: [u8; 2] = [46, 48];
/// Most extension headers that are skipped.
const MOST_HEADERS: usize = 8;

/// A packet as the scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Hash of addresses, protocol and ports; of fragments, of their identification.
    pub flow: u64,
    /// Length of the whole packet, bytes.
    pub length: usize,
    /// The packet bears an urgent code point.
    pub marked: bool,
    /// The packet is small.
    pub small: bool,
}

/// Mixes bytes into a number: fast, and not predictable without the seed.
struct Mix(u64);

impl Mix {
    fn add(&mut self, octets: &[u8]) {
        for chunk in octets.chunks(8) {
            let number = chunk
                .iter()
                .fold(0u64, |number, octet| number << 8 | u64::from(*octet));
            let wide = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
            self.0 = (wide >> 64) as u64 ^ wide as u64;
        }
    }
}

fn short(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]))
}

impl Packet {
    /// Reads the headers; `None` unless these bytes are a whole IPv4 or IPv6 packet.
    pub fn read(octets: &[u8], seed: u64) -> Option<Packet> {
        let mut mix = Mix(seed | 1);
        let class = match octets.first()? >> 4 {
            4 => ipv4(octets, &mut mix)?,
            6 => ipv6(octets, &mut mix)?,
            _ => return None,
        };
        Some(Packet {
            flow: mix.0,
            length: octets.len(),
            marked: URGENT.contains(&(class >> 2)),
            small: octets.len() <= SMALL,
        })
    }
}

/// Adds the ports, for protocols that have them: TCP, UDP, UDP-Lite, SCTP, DCCP.
fn ports(protocol: u8, payload: &[u8], mix: &mut Mix) {
    mix.add(&[protocol]);
    if matches!(protocol, 6 | 17 | 33 | 132 | 136)
        && let Some(ports) = payload.get(..4)
    {
        mix.add(ports);
    }
}

/// Returns the traffic class.
fn ipv4(octets: &[u8], mix: &mut Mix) -> Option<u8> {
    let header = usize::from(octets[0] & 15) * 4;
    if header < 20 || octets.len() < header || usize::from(short(octets, 2)?) != octets.len() {
        return None;
    }
    mix.add(&octets[12..20]);
    // More fragments, or not the first.
    if short(octets, 6)? & 0x3fff != 0 {
        mix.add(&[octets[9], octets[4], octets[5]]);
    } else {
        ports(octets[9], &octets[header..], mix);
    }
    Some(octets[1])
}

fn ipv6(octets: &[u8], mix: &mut Mix) -> Option<u8> {
    if octets.len() < 40 || usize::from(short(octets, 4)?) + 40 != octets.len() {
        return None;
    }
    // The traffic class lies across the first two bytes.
    let class = (short(octets, 0)? >> 4) as u8;
    mix.add(&octets[8..40]);
    let (mut next, mut at) = (octets[6], 40);
    for _ in 0..MOST_HEADERS {
        match next {
            // Hop by hop, routing, destination options.
            0 | 43 | 60 => {
                let Some(&[behind, length]) = octets.get(at..at + 2) else {
                    break;
                };
                next = behind;
                at += 8 + usize::from(length) * 8;
            }
            44 => {
                mix.add(octets.get(at + 4..at + 8).unwrap_or_default());
                return Some(class);
            }
            _ => break,
        }
    }
    ports(next, octets.get(at..).unwrap_or_default(), mix);
    Some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet4(length: u16, tos: u8, fragment: u16, ports: [u8; 4]) -> Vec<u8> {
        let mut octets = vec![0; usize::from(length)];
        octets[..2].copy_from_slice(&[0x45, tos]);
        octets[2..4].copy_from_slice(&length.to_be_bytes());
        octets[4..6].copy_from_slice(&[7, 8]);
        octets[6..8].copy_from_slice(&fragment.to_be_bytes());
        octets[9] = 17;
        octets[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        octets[20..24].copy_from_slice(&ports);
        octets
    }

    fn packet6(next: &[u8], class: u8) -> Vec<u8> {
        let mut octets = vec![0x60 | class >> 4, class << 4, 0, 0, 0, 0, next[0], 64];
        octets[5] = (next.len() - 1) as u8;
        octets.extend([1; 32]);
        octets.extend(&next[1..]);
        octets
    }

    fn flow(octets: &[u8]) -> u64 {
        Packet::read(octets, 5).unwrap().flow
    }

    #[test]
    fn ports_tell_flows_apart_and_lengths_do_not() {
        let one = packet4(100, 0, 0, [1, 2, 3, 4]);
        assert_eq!(flow(&one), flow(&packet4(900, 0, 0x4000, [1, 2, 3, 4])));
        assert_ne!(flow(&one), flow(&packet4(100, 0, 0, [1, 2, 3, 5])));
        assert_ne!(Packet::read(&one, 5), Packet::read(&one, 9));
    }

    #[test]
    fn all_fragments_of_a_packet_are_one_flow() {
        let first = packet4(100, 0, 0x2000, [1, 2, 3, 4]);
        assert_eq!(flow(&first), flow(&packet4(100, 0, 100, [9, 9, 9, 9])));
        let first = packet6(&[44, 17, 0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 6], 0);
        let last = packet6(&[44, 17, 0, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0], 0);
        assert_eq!(flow(&first), flow(&last));
    }

    #[test]
    fn extension_headers_are_passed_over() {
        let bare = packet6(&[6, 1, 2, 3, 4], 0);
        let behind = packet6(
            &[
                0, 60, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4,
            ],
            0,
        );
        assert_eq!(flow(&bare), flow(&behind));
    }

    #[test]
    fn marks_and_size_are_seen() {
        let read = |octets: &[u8]| Packet::read(octets, 0).unwrap();
        assert!(read(&packet4(900, 46 << 2 | 1, 0, [0; 4])).marked);
        assert!(read(&packet6(&[17, 0, 0, 0, 0], 48 << 2)).marked);
        assert!(!read(&packet6(&[17, 0, 0, 0, 0], 0)).marked);
        assert!(read(&packet4(200, 0, 0, [0; 4])).small);
        assert!(!read(&packet4(201, 0, 0, [0; 4])).small);
    }

    #[test]
    fn what_is_no_packet_is_not_taken() {
        let whole = packet4(60, 0, 0, [0; 4]);
        for cut in 0..60 {
            assert_eq!(Packet::read(&whole[..cut], 0), None);
        }
        assert_eq!(Packet::read(&[0x50; 60], 0), None);
        let whole = packet6(&[0, 60], 0);
        assert!(Packet::read(&whole, 0).is_some());
        assert_eq!(Packet::read(&whole[..40], 0), None);
    }
}
