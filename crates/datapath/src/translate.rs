//! Converts tuples to the parts of a record: key, translation, checksum differences. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::headers;
use kernel::{Mac, Protocol, Tuple};

/// An address as it lies in a packet; IPv4 in the first word.
pub type Words = [u32; 4];

/// The words of an address, in memory order.
pub fn words(address: IpAddr) -> Words {
    let word = |octets: &[u8], i: usize| {
        u32::from_ne_bytes([octets[i], octets[i + 1], octets[i + 2], octets[i + 3]])
    };
    match address {
        IpAddr::V4(a) => [word(&a.octets(), 0), 0, 0, 0],
        IpAddr::V6(a) => {
            let o = a.octets();
            [word(&o, 0), word(&o, 4), word(&o, 8), word(&o, 12)]
        }
    }
}

/// An address by its words.
fn address(words: Words, ipv6: bool) -> IpAddr {
    if !ipv6 {
        return IpAddr::V4(Ipv4Addr::from(words[0].to_ne_bytes()));
    }
    let mut octets = [0; 16];
    for (to, word) in octets.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    IpAddr::V6(Ipv6Addr::from(octets))
}

/// Endpoints of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEndpoints {
    /// Between two hosts, by IP.
    Hosts(Tuple),
    /// Frames from one station of a bridge to another.
    Stations {
        /// Destination.
        to: Mac,
        /// Source.
        from: Mac,
    },
}

const BRIDGED: u8 = headers::FLOW_BRIDGED as u8;

/// The key of one direction, as it lies in a record and in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Source address.
    pub source: Words,
    /// Destination address.
    pub destination: Words,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// IP protocol.
    pub proto: u8,
    /// True for the tables of IPv6.
    pub ipv6: bool,
}

impl From<&Tuple> for Key {
    fn from(tuple: &Tuple) -> Self {
        Self {
            source: words(tuple.source),
            destination: words(tuple.destination),
            sport: port(tuple.source_port),
            dport: port(tuple.destination_port),
            proto: tuple.protocol.number(),
            ipv6: tuple.is_ipv6(),
        }
    }
}

impl Key {
    /// Frames of a bridge from one station to another: `bridge_key` of bpf/include/bridge.h.
    pub fn bridged(to: Mac, from: Mac) -> Self {
        Self {
            source: [u32::from_ne_bytes([to[2], to[3], to[4], to[5]]), 0, 0, 0],
            destination: [
                u32::from_ne_bytes([from[0], from[1], from[2], from[3]]),
                0,
                0,
                0,
            ],
            sport: u16::from_ne_bytes([to[0], to[1]]),
            dport: u16::from_ne_bytes([from[4], from[5]]),
            proto: BRIDGED,
            ipv6: false,
        }
    }

    /// Returns the two ends of these packets.
    pub fn endpoints(&self) -> Option<FlowEndpoints> {
        if self.proto == BRIDGED {
            let ([a, b, c, d], [e, f, g, h]) = (
                self.source[0].to_ne_bytes(),
                self.destination[0].to_ne_bytes(),
            );
            let ([i, j], [k, l]) = (self.sport.to_ne_bytes(), self.dport.to_ne_bytes());
            return Some(FlowEndpoints::Stations {
                to: [i, j, a, b, c, d],
                from: [e, f, g, h, k, l],
            });
        }
        Some(FlowEndpoints::Hosts(Tuple {
            protocol: Protocol::from_number(self.proto)?,
            source: address(self.source, self.ipv6),
            source_port: u16::from_be(self.sport),
            destination: address(self.destination, self.ipv6),
            destination_port: u16::from_be(self.dport),
        }))
    }

    /// Returns the input of the hash in 64-bit words (bpf/include/hash.h): the number of words that
    /// count, and the words.
    pub fn hashed(&self) -> (usize, [u64; 5]) {
        let pair = |first: u32, second: u32| {
            let mut octets = [0; 8];
            octets[..4].copy_from_slice(&first.to_ne_bytes());
            octets[4..].copy_from_slice(&second.to_ne_bytes());
            u64::from_ne_bytes(octets)
        };
        let mut tail = [0; 8];
        tail[..2].copy_from_slice(&self.sport.to_ne_bytes());
        tail[2..4].copy_from_slice(&self.dport.to_ne_bytes());
        tail[4] = self.proto;
        let tail = u64::from_ne_bytes(tail);
        let (s, d) = (self.source, self.destination);
        if self.ipv6 {
            let all = [
                pair(s[0], s[1]),
                pair(s[2], s[3]),
                pair(d[0], d[1]),
                pair(d[2], d[3]),
                tail,
            ];
            (5, all)
        } else {
            (2, [pair(s[0], d[0]), tail, 0, 0, 0])
        }
    }
}

/// A port as it lies in a packet.
pub fn port(number: u16) -> u16 {
    number.to_be()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// TTL_DELTA of bpf/include/flow.h: the TTL is the high byte of its word, and one lower is plus
/// the complement of 0x0100.
const TTL_DELTA: u16 = 0xfeff_u16.to_be();

/// Computes the one's complement sum of ~old + new over 16-bit words, 0 when nothing differs
/// (bpf/include/csum.h).
fn delta(old: &[u16], new: &[u16]) -> u16 {
    if old == new {
        return 0;
    }
    fold(
        old.iter().map(|w| u64::from(!w)).sum::<u64>()
            + new.iter().map(|w| u64::from(*w)).sum::<u64>(),
    )
}

fn halves(words: &Words, ipv6: bool) -> Vec<u16> {
    let n = if ipv6 { 4 } else { 1 };
    words[..n]
        .iter()
        .flat_map(|w| [*w as u16, (*w >> 16) as u16])
        .collect()
}

/// Changes to a packet with the tuple `from` so that it leaves with the tuple `to`.
#[derive(Debug, PartialEq, Eq)]
pub struct Translation {
    /// Change of an IPv4 header's checksum: addresses, and a TTL one lower.
    pub l3: u16,
    /// Change of the checksum of UDP or TCP: addresses and ports; 0 where nothing changes.
    pub l4: u16,
    /// FLOW_ADDR | FLOW_PORT.
    pub flags: u8,
}

/// A flow's flag: an address is translated.
pub const FLOW_ADDR: u8 = headers::FLOW_ADDR as u8;
/// A flow's flag: a port is translated.
pub const FLOW_PORT: u8 = headers::FLOW_PORT as u8;

/// Computes the difference between a tuple at ingress and at egress.
pub fn translation(from: &Key, to: &Key) -> Translation {
    let v6 = from.ipv6;
    let side = |k: &Key| [halves(&k.source, v6), halves(&k.destination, v6)].concat();
    let ports = |k: &Key| [k.sport, k.dport];
    let (old, new) = (side(from), side(to));
    let mut flags = 0;
    if old != new {
        flags |= FLOW_ADDR;
    }
    if ports(from) != ports(to) {
        flags |= FLOW_PORT;
    }
    let addresses = u64::from(delta(&old, &new));
    Translation {
        l3: fold(addresses + u64::from(TTL_DELTA)),
        l4: fold(addresses + u64::from(delta(&ports(from), &ports(to)))),
        flags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Protocol;

    fn tuple(source: &str, sport: u16, destination: &str, dport: u16) -> Tuple {
        Tuple {
            protocol: Protocol::Udp,
            source: source.parse().unwrap(),
            source_port: sport,
            destination: destination.parse().unwrap(),
            destination_port: dport,
        }
    }

    #[test]
    fn nothing_translated_has_no_difference() {
        let t = tuple("10.0.0.1", 1, "10.0.0.2", 2);
        assert_eq!(
            translation(&(&t).into(), &(&t).into()),
            Translation {
                l3: TTL_DELTA,
                l4: 0,
                flags: 0
            }
        );
    }

    /// Like `csum_update` of bpf/include/csum.h, which folds once.
    fn updated(check: u16, delta: u16) -> u16 {
        let sum = u32::from(!check) + u32::from(delta);
        !((sum + (sum >> 16)) as u16)
    }

    #[test]
    fn two_words_fold_at_once() {
        for check in (0..=u16::MAX).step_by(251).chain([1, 0xfffe, u16::MAX]) {
            for delta in (0..=u16::MAX).step_by(13).chain([1, 0xfffe, u16::MAX]) {
                let whole = !fold(u64::from(!check) + u64::from(delta));
                assert_eq!(updated(check, delta), whole, "{check:#x} {delta:#x}");
            }
        }
    }

    /// The checksum of the translated header, computed in full, equals the incremental one for many
    /// headers.
    #[test]
    fn differences_agree_with_full_checksums() {
        for i in 0..2000u32 {
            let from = tuple(
                &format!("10.{}.{}.1", i % 256, i / 7 % 256),
                1000 + i as u16,
                "192.0.2.7",
                53,
            );
            let to = tuple("203.0.113.9", 60000 - i as u16, "192.0.2.7", 53);
            let t = translation(&(&from).into(), &(&to).into());
            let addresses = |x: &Tuple| {
                [
                    halves(&words(x.source), false),
                    halves(&words(x.destination), false),
                ]
                .concat()
            };
            let full = |words: &[u16]| !fold(words.iter().map(|w| u64::from(*w)).sum());
            let l4 = |x: &Tuple| {
                let rest = [port(x.source_port), port(x.destination_port), 0x1234];
                full(&[addresses(x), rest.to_vec()].concat())
            };
            assert_eq!(updated(l4(&from), t.l4), l4(&to), "{from} -> {to}");
            let l3 = |x: &Tuple, ttl: u8| {
                let rest = [u16::from_ne_bytes([ttl, 17]), 0x4321];
                full(&[addresses(x), rest.to_vec()].concat())
            };
            let ttl = (i % 254) as u8 + 2;
            assert_eq!(
                updated(l3(&from, ttl), t.l3),
                l3(&to, ttl - 1),
                "{from} -> {to}, TTL {ttl}"
            );
        }
    }
}
