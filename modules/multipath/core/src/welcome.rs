//! Properties of a partner, in its welcome to a router.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::session::SessionId;
use crate::tlv::{self, Malformed};
use crate::traffic_policy::{Ports, Transport};

const SESSION: u8 = 1;
const ABILITIES: u8 = 2;
const TUNNEL4: u8 = 3;
const TUNNEL6: u8 = 4;
const MTU: u8 = 5;
const VERSION: u8 = 6;
const FORWARDS: u8 = 7;
const ANOTHER: u8 = 8;
const PLACES: u8 = 9;

const REACHES_IPV4: u8 = 1;
const REACHES_IPV6: u8 = 2;
const AES: u8 = 4;

/// The least MTU, which every host accepts (RFC 791).
pub const LEAST_MTU: u16 = 576;

/// The longest version text, bytes.
pub const VERSION_TEXT: usize = 64;

/// Most ranges of ports of a router.
pub const MOST_FORWARDS: usize = 32;

/// Builds the answer to a router that is not the first one with a line, instead of a [`Welcome`].
pub(crate) fn refusal() -> Vec<u8> {
    let mut list = Vec::new();
    tlv::put(&mut list, ANOTHER, &[]);
    list
}

/// Returns true if the answer is such a refusal.
pub(crate) fn is_refusal(list: &[u8]) -> Result<bool, Malformed> {
    let items: [_; ANOTHER as usize] = tlv::read(list)?;
    Ok(items.last().is_some_and(Option::is_some))
}

/// Properties of a partner that a router needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// True if the partner reaches the Internet by IPv4.
    pub ipv4: bool,
    /// True if the partner reaches the Internet by IPv6.
    pub ipv6: bool,
    /// True if the partner's processor has instructions for AES.
    pub aes: bool,
    /// The router's own IPv4 address in the tunnel, and the length of its prefix; `None` if the
    /// tunnel has no IPv4.
    pub tunnel4: Option<(Ipv4Addr, u8)>,
    /// The router's own IPv6 address in the tunnel, likewise.
    pub tunnel6: Option<(Ipv6Addr, u8)>,
    /// The longest packet for the tunnel, bytes; [`LEAST_MTU`] at least.
    pub mtu: u16,
    /// The version of the partner's weir, [`VERSION_TEXT`] printable ASCII characters at most.
    pub version: String,
    /// Ports of the partner that lead to the router, [`MOST_FORWARDS`] at most.
    pub forwards: Vec<Ports>,
    /// Most connections of the router at once, while it is alone; `None` if the partner does not
    /// say.
    pub places: Option<u32>,
}

impl Welcome {
    /// Encodes the session and the items, before encryption. Does not check the conditions of
    /// [`decode`](Self::decode).
    pub fn encode(&self, session: SessionId) -> Vec<u8> {
        let mut list = Vec::with_capacity(128);
        tlv::put(&mut list, SESSION, &session.0.to_be_bytes());
        let abilities = [
            (self.ipv4, REACHES_IPV4),
            (self.ipv6, REACHES_IPV6),
            (self.aes, AES),
        ];
        let abilities = abilities.iter().filter(|(there, _)| *there);
        let abilities = abilities.fold(0, |sum, (_, bit)| sum | bit);
        tlv::put(&mut list, ABILITIES, &[abilities]);
        if let Some((address, length)) = self.tunnel4 {
            let value = [&address.octets()[..], &[length]].concat();
            tlv::put(&mut list, TUNNEL4, &value);
        }
        if let Some((address, length)) = self.tunnel6 {
            let value = [&address.octets()[..], &[length]].concat();
            tlv::put(&mut list, TUNNEL6, &value);
        }
        tlv::put(&mut list, MTU, &self.mtu.to_be_bytes());
        let version = self.version.as_bytes();
        let version = &version[..version.len().min(VERSION_TEXT + 1)];
        tlv::put(&mut list, VERSION, version);
        if !self.forwards.is_empty() {
            // With an item too many, so that the list is refused and not silently cut off.
            let forwards = self.forwards.iter().take(MOST_FORWARDS + 1);
            let forwards = forwards.flat_map(|ports| {
                let [a, b] = ports.range.start().to_be_bytes();
                let [c, d] = ports.range.end().to_be_bytes();
                [number(ports.transport), a, b, c, d]
            });
            tlv::put(&mut list, FORWARDS, &forwards.collect::<Vec<_>>());
        }
        if let Some(places) = self.places {
            tlv::put(&mut list, PLACES, &places.to_be_bytes());
        }
        list
    }

    /// Decodes the items.
    pub fn decode(list: &[u8]) -> Result<(SessionId, Self), Malformed> {
        let [
            session,
            abilities,
            tunnel4,
            tunnel6,
            mtu,
            version,
            forwards,
            _,
            places,
        ] = tlv::read(list)?;
        let session = exact(SESSION, session)?.ok_or(Malformed::Missing(SESSION))?;
        let [abilities] = exact(ABILITIES, abilities)?.ok_or(Malformed::Missing(ABILITIES))?;
        let mtu = exact(MTU, mtu)?.ok_or(Malformed::Missing(MTU))?;
        let mtu = u16::from_be_bytes(mtu);
        if mtu < LEAST_MTU {
            return Err(Malformed::Value(MTU));
        }
        let version = version.ok_or(Malformed::Missing(VERSION))?;
        let printable = |octet: &u8| matches!(octet, b' '..=b'~');
        if version.len() > VERSION_TEXT || !version.iter().all(printable) {
            return Err(Malformed::Value(VERSION));
        }
        let welcome = Self {
            ipv4: abilities & REACHES_IPV4 != 0,
            ipv6: abilities & REACHES_IPV6 != 0,
            aes: abilities & AES != 0,
            tunnel4: prefix::<4, 5>(TUNNEL4, tunnel4)?
                .map(|(octets, length)| (octets.into(), length)),
            tunnel6: prefix::<16, 17>(TUNNEL6, tunnel6)?
                .map(|(octets, length)| (octets.into(), length)),
            mtu,
            version: String::from_utf8_lossy(version).into_owned(),
            forwards: granted(forwards.unwrap_or_default())?,
            places: exact(PLACES, places)?.map(u32::from_be_bytes),
        };
        Ok((SessionId(u64::from_be_bytes(session)), welcome))
    }
}

/// Returns the protocol's number, as in an IP header.
fn number(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp => 6,
        Transport::Udp => 17,
    }
}

fn granted(value: &[u8]) -> Result<Vec<Ports>, Malformed> {
    let wrong = Malformed::Value(FORWARDS);
    let (each, rest) = value.as_chunks::<5>();
    if !rest.is_empty() || each.len() > MOST_FORWARDS {
        return Err(wrong);
    }
    let each = each.iter().map(|&[kind, a, b, c, d]| {
        let mut known = Transport::ALL.into_iter();
        let transport = known.find(|known| number(*known) == kind)?;
        let (first, last) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        (first != 0 && first <= last).then_some(Ports {
            transport,
            range: first..=last,
        })
    });
    each.collect::<Option<_>>().ok_or(wrong)
}

/// Returns a value of exactly `N` bytes, if present.
fn exact<const N: usize>(kind: u8, value: Option<&[u8]>) -> Result<Option<[u8; N]>, Malformed> {
    value
        .map(|value| value.try_into().map_err(|_| Malformed::Value(kind)))
        .transpose()
}

/// Reads an address of `N` bytes, and the length of its prefix.
fn prefix<const N: usize, const WITH_LENGTH: usize>(
    kind: u8,
    value: Option<&[u8]>,
) -> Result<Option<([u8; N], u8)>, Malformed> {
    let Some(value) = exact::<WITH_LENGTH>(kind, value)? else {
        return Ok(None);
    };
    let (&address, rest) = value.split_first_chunk().ok_or(Malformed::Value(kind))?;
    match *rest {
        [length] if usize::from(length) <= N * 8 => Ok(Some((address, length))),
        _ => Err(Malformed::Value(kind)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn welcome() -> Welcome {
        Welcome {
            ipv4: true,
            ipv6: false,
            aes: true,
            tunnel4: Some(([10, 93, 47, 2].into(), 24)),
            tunnel6: Some((Ipv6Addr::new(0xfd93, 0x4700, 0, 0, 0, 0, 0, 2), 64)),
            mtu: 1400,
            version: "weir 0.1.0".to_owned(),
            forwards: vec!["tcp/8022".parse().expect("ports")],
            places: Some(1000),
        }
    }

    #[test]
    fn welcomes_are_read_as_written() {
        let least = Welcome {
            ipv4: false,
            ipv6: true,
            aes: false,
            tunnel4: None,
            tunnel6: None,
            mtu: LEAST_MTU,
            version: String::new(),
            forwards: Vec::new(),
            places: None,
        };
        for welcome in [welcome(), least] {
            let list = welcome.encode(SessionId(7));
            assert_eq!(Welcome::decode(&list), Ok((SessionId(7), welcome)));
        }
    }

    #[test]
    fn a_later_partner_may_say_more() {
        let mut list = welcome().encode(SessionId(7));
        tlv::put(&mut list, 99, b"more");
        assert_eq!(Welcome::decode(&list), Ok((SessionId(7), welcome())));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = |change: fn(&mut Welcome)| {
            let mut welcome = welcome();
            change(&mut welcome);
            Welcome::decode(&welcome.encode(SessionId(7))).expect_err("wrong")
        };
        let long = |welcome: &mut Welcome| welcome.version = "x".repeat(300);
        let escape = |welcome: &mut Welcome| welcome.version = "\x1b[2J".to_owned();
        let length4 = |welcome: &mut Welcome| welcome.tunnel4 = Some(([0; 4].into(), 33));
        let length6 = |welcome: &mut Welcome| welcome.tunnel6 = Some(([0_u16; 8].into(), 129));
        assert_eq!(wrong(long), Malformed::Value(VERSION));
        assert_eq!(wrong(escape), Malformed::Value(VERSION));
        assert_eq!(wrong(length4), Malformed::Value(TUNNEL4));
        assert_eq!(wrong(length6), Malformed::Value(TUNNEL6));
        assert_eq!(wrong(|welcome| welcome.mtu = 575), Malformed::Value(MTU));
        let many = |welcome: &mut Welcome| {
            welcome.forwards = vec!["udp/1-9".parse().expect("ports"); MOST_FORWARDS + 1];
        };
        let none = |welcome: &mut Welcome| {
            welcome.forwards = vec![Ports {
                transport: Transport::Tcp,
                range: 0..=9,
            }];
        };
        assert_eq!(wrong(many), Malformed::Value(FORWARDS));
        assert_eq!(wrong(none), Malformed::Value(FORWARDS));
        for value in [&[6, 0, 1, 0][..], &[1, 0, 1, 0, 2], &[6, 0, 2, 0, 1]] {
            assert_eq!(granted(value), Err(Malformed::Value(FORWARDS)));
        }
        let list = welcome().encode(SessionId(7));
        assert_eq!(
            Welcome::decode(&list[10..]),
            Err(Malformed::Missing(SESSION))
        );
        assert_eq!(Welcome::decode(&[]), Err(Malformed::Missing(SESSION)));
    }
}
