use std::collections::VecDeque;
use std::net::IpAddr;

/// Strangers that are in the middle of a handshake, at most.
pub const HALF_OPEN: usize = 32;
/// Largest number of them from one source.
pub const PER_SOURCE: usize = 4;

/// Limits the handshakes in progress, because any host can connect. Before any proof, the oldest
/// handshake makes room for a new one: a source at its limit drops one of its own, and otherwise
/// the source with the most drops one.
#[derive(Debug, Default)]
pub struct HalfOpenLimiter {
    /// Handshakes in order of arrival.
    inside: VecDeque<(u32, Source)>,
}

/// Source of a connection: for IPv6 a whole /64, as of one household.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Four([u8; 4]),
    Six([u8; 8]),
}

impl Source {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::Four(address.octets()),
            IpAddr::V6(address) => {
                let octets = address.octets();
                Self::Six(std::array::from_fn(|at| octets[at]))
            }
        }
    }
}

impl HalfOpenLimiter {
    /// Adds a connection. Returns the number of the one to drop for it.
    pub fn enter(&mut self, number: u32, address: IpAddr) -> Option<u32> {
        let source = Source::of(address);
        let count = |it: &Source| self.inside.iter().filter(|(_, other)| other == it).count();
        let from = if count(&source) >= PER_SOURCE {
            Some(source)
        } else if self.inside.len() >= HALF_OPEN {
            // Among sources with the same count, the oldest one.
            let most = self.inside.iter().rev().max_by_key(|(_, it)| count(it));
            most.map(|(_, source)| *source)
        } else {
            None
        };
        let oldest = from.and_then(|from| self.inside.iter().position(|(_, it)| *it == from));
        let goes = oldest.and_then(|at| self.inside.remove(at));
        self.inside.push_back((number, source));
        goes.map(|(number, _)| number)
    }

    /// Removes a connection at its end.
    pub fn leave(&mut self, number: u32) {
        self.inside.retain(|(other, _)| *other != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn of_one_source_the_oldest_goes() {
        let mut door = HalfOpenLimiter::default();
        for number in 0..4 {
            assert_eq!(
                door.enter(number, address(&format!("2001:db8::{number}"))),
                None
            );
        }
        assert_eq!(door.enter(4, address("2001:db8::1:2:3:4")), Some(0));
        assert_eq!(
            door.enter(5, address("2001:db8:0:1::1")),
            None,
            "another /64"
        );
        assert_eq!(door.enter(6, address("192.0.2.1")), None);
        for number in 7..10 {
            assert_eq!(door.enter(number, address("::ffff:192.0.2.1")), None);
        }
        assert_eq!(
            door.enter(10, address("192.0.2.1")),
            Some(6),
            "it is the same host"
        );
        door.leave(7);
        assert_eq!(door.enter(11, address("192.0.2.1")), None);
    }

    #[test]
    fn who_has_many_gives_to_who_has_none() {
        let mut door = HalfOpenLimiter::default();
        assert_eq!(
            door.enter(1000, address("198.51.100.7")),
            None,
            "a node, and slow"
        );
        let mut gone = Vec::new();
        for number in 0..1000u32 {
            let host = format!("192.0.2.{}", number % 100);
            gone.extend(door.enter(number, address(&host)));
            assert!(door.inside.len() <= HALF_OPEN);
        }
        assert_eq!(gone.len(), 1001 - HALF_OPEN);

        let mut door = HalfOpenLimiter::default();
        door.enter(1000, address("198.51.100.7"));
        for number in 0..1000u32 {
            let host = format!("192.0.2.{}", number % 12);
            assert_ne!(
                door.enter(number, address(&host)),
                Some(1000),
                "of twelve, each has more"
            );
        }
    }
}
