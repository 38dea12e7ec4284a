//! Requests of a router in front of each connection, and their answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::aead::Cipher;
use crate::tlv::{self, Malformed};

const DESTINATION: u8 = 1;
const CLIENT: u8 = 2;
const CIPHER: u8 = 3;
const AFTER: u8 = 4;

const STATUS: u8 = 1;

/// A request for a connection by the partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Destination. An IPv4 address is never written as IPv6 here, so that a rule for one holds;
    /// scope and flow label are not sent.
    pub destination: SocketAddr,
    /// Client, as the router sees it: for the partner's log and limits. IPv4 as above.
    pub client: SocketAddr,
    /// True if [`stream`](crate::stream) encrypts the payload.
    pub encrypted: bool,
    /// Port of the client's previous connection to this destination, if it began just before: the
    /// previous one connects first.
    pub after: Option<u16>,
}

impl Open {
    /// Encodes the items, before sealing. The cipher is present if the stream is encrypted.
    pub fn encode(&self, cipher: Option<Cipher>) -> Vec<u8> {
        let mut list = Vec::with_capacity(64);
        tlv::put(&mut list, DESTINATION, &address(self.destination));
        tlv::put(&mut list, CLIENT, &address(self.client));
        if let Some(cipher) = cipher {
            tlv::put(&mut list, CIPHER, &[cipher.code()]);
        }
        if let Some(after) = self.after {
            tlv::put(&mut list, AFTER, &after.to_be_bytes());
        }
        list
    }

    /// Decodes the items, and the cipher of the stream.
    pub fn decode(list: &[u8]) -> Result<(Self, Option<Cipher>), Malformed> {
        let [destination, client, cipher, after] = tlv::read(list)?;
        let cipher = match cipher {
            None => None,
            Some(&[code]) => Some(Cipher::of_code(code).ok_or(Malformed::Value(CIPHER))?),
            Some(_) => return Err(Malformed::Value(CIPHER)),
        };
        let after = after.map(|port| port.try_into().map(u16::from_be_bytes));
        let open = Self {
            destination: read_address(DESTINATION, destination)?,
            client: read_address(CLIENT, client)?,
            encrypted: cipher.is_some(),
            after: after.transpose().map_err(|_| Malformed::Value(AFTER))?,
        };
        Ok((open, cipher))
    }
}

/// Encodes an address: 4 or 16 bytes, and the port.
fn address(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => [&ip.octets()[..], &port].concat(),
        IpAddr::V6(ip) => [&ip.octets()[..], &port].concat(),
    }
}

fn read_address(kind: u8, value: Option<&[u8]>) -> Result<SocketAddr, Malformed> {
    let value = value.ok_or(Malformed::Missing(kind))?;
    let (ip, port) = value.split_last_chunk().ok_or(Malformed::Value(kind))?;
    let ip: IpAddr = match *ip {
        [a, b, c, d] => Ipv4Addr::new(a, b, c, d).into(),
        _ => <[u8; 16]>::try_from(ip)
            .map(Ipv6Addr::from)
            .map_err(|_| Malformed::Value(kind))?
            .into(),
    };
    Ok((ip.to_canonical(), u16::from_be_bytes(*port)).into())
}

/// Result of an [`Open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Connected: payload follows both ways.
    Connected,
    /// The destination refused (RST).
    Refused,
    /// The destination is unreachable (ICMP, no route).
    Unreachable,
    /// The destination did not answer.
    TimedOut,
    /// The partner's rules forbid this destination.
    Forbidden,
    /// The partner has reached its limit of connections.
    Busy,
    /// Any other failure, and codes of later versions.
    Failed,
}

impl Status {
    /// Encodes the item, before sealing.
    pub fn encode(self) -> Vec<u8> {
        let code = match self {
            Self::Connected => 0,
            Self::Refused => 1,
            Self::Unreachable => 2,
            Self::TimedOut => 3,
            Self::Forbidden => 4,
            Self::Busy => 5,
            Self::Failed => 6,
        };
        let mut list = Vec::with_capacity(32);
        tlv::put(&mut list, STATUS, &[code]);
        list
    }

    /// Decodes the item.
    pub fn decode(list: &[u8]) -> Result<Self, Malformed> {
        let [status] = tlv::read(list)?;
        let &[code] = status.ok_or(Malformed::Missing(STATUS))? else {
            return Err(Malformed::Value(STATUS));
        };
        Ok(match code {
            0 => Self::Connected,
            1 => Self::Refused,
            2 => Self::Unreachable,
            3 => Self::TimedOut,
            4 => Self::Forbidden,
            5 => Self::Busy,
            _ => Self::Failed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_are_read_as_written() {
        for (destination, encrypted, cipher, length) in [
            ("192.0.2.1:443", false, None, 16),
            (
                "[2001:db8::1]:22",
                true,
                Some(Cipher::ChaCha20Poly1305),
                2 * 20 + 3 + 4 - 12,
            ),
            ("192.0.2.1:80", true, Some(Cipher::Aes256Gcm), 23),
        ] {
            let open = Open {
                destination: destination.parse().expect("an address"),
                client: "10.0.0.2:40000".parse().expect("an address"),
                encrypted,
                after: encrypted.then_some(40001),
            };
            let list = open.encode(cipher);
            assert_eq!(list.len(), length, "{destination}");
            assert_eq!(Open::decode(&list), Ok((open, cipher)));
        }
    }

    #[test]
    fn ipv4_in_ipv6_is_ipv4() {
        let plain: SocketAddr = "127.0.0.1:25".parse().expect("an address");
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:25".parse().expect("an address");
        let open = Open {
            destination: mapped,
            client: mapped,
            encrypted: false,
            after: None,
        };
        let (read, _) = Open::decode(&open.encode(None)).expect("an open");
        assert_eq!((read.destination, read.client), (plain, plain));
        // An encoder that writes such an address nevertheless.
        let octets = "::ffff:127.0.0.1"
            .parse::<Ipv6Addr>()
            .expect("an address")
            .octets();
        let mut list = Vec::new();
        for kind in [DESTINATION, CLIENT] {
            tlv::put(&mut list, kind, &[&octets[..], &[0, 25]].concat());
        }
        let (read, _) = Open::decode(&list).expect("an open");
        assert_eq!(read.destination, plain);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let put = |items: &[(u8, &[u8])]| {
            let mut list = Vec::new();
            items
                .iter()
                .for_each(|&(kind, value)| tlv::put(&mut list, kind, value));
            Open::decode(&list).expect_err("wrong")
        };
        let right: &[u8] = &[192, 0, 2, 1, 0, 80];
        assert_eq!(put(&[(1, right)]), Malformed::Missing(2));
        assert_eq!(put(&[(2, right)]), Malformed::Missing(1));
        assert_eq!(put(&[(1, b""), (2, right)]), Malformed::Value(1));
        assert_eq!(put(&[(1, right), (2, &[0; 17])]), Malformed::Value(2));
        for cipher in [&[][..], &[0], &[3], &[1, 1]] {
            let items = [(1, right), (2, right), (3, cipher)];
            assert_eq!(put(&items), Malformed::Value(3), "{cipher:?}");
        }
        for after in [&[][..], &[1], &[1, 2, 3]] {
            let items = [(1, right), (2, right), (4, after)];
            assert_eq!(put(&items), Malformed::Value(4), "{after:?}");
        }
    }

    #[test]
    fn statuses() {
        for status in [
            Status::Connected,
            Status::Refused,
            Status::Unreachable,
            Status::TimedOut,
            Status::Forbidden,
            Status::Busy,
            Status::Failed,
        ] {
            assert_eq!(Status::decode(&status.encode()), Ok(status));
        }
        assert_eq!(
            Status::decode(&[1, 1, 77]),
            Ok(Status::Failed),
            "a later one"
        );
        assert_eq!(
            Status::decode(&[9, 1, 77]),
            Err(Malformed::Missing(1)),
            "no status at all"
        );
        assert_eq!(Status::decode(&[1, 0]), Err(Malformed::Value(1)));
    }
}
