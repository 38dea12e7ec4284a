//! DHCP (RFC 2131): a DISCOVER, and the offers. No address is ever requested, so none is leased.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use net::Cursor;

use crate::frame::{self, Mac};
use crate::untrusted::{page, text};

/// Ports of server and client.
const SERVER: u16 = 67;
const CLIENT: u16 = 68;
/// Octets before the options: the header of BOOTP (RFC 951) and the cookie.
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Most stored elements of a list.
const MOST: usize = 8;

// Options (RFC 2132, or the RFC at the option).
const MASK: u8 = 1;
const ROUTERS: u8 = 3;
const NAME_SERVERS: u8 = 6;
const DOMAIN: u8 = 15;
const LEASE: u8 = 51;
const OVERLOAD: u8 = 52;
const KIND: u8 = 53;
const IDENTIFIER: u8 = 54;
const WANTED: u8 = 55;
const CLIENT_ID: u8 = 61;
/// IPv6-only preferred (RFC 8925).
const IPV6_ONLY: u8 = 108;
/// Captive portal (RFC 8910).
const PORTAL: u8 = 114;
/// Classless routes (RFC 3442).
const ROUTES: u8 = 121;
/// 6rd (RFC 5969).
const SIX_RD: u8 = 212;

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;

/// Offer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Server identifier.
    pub server: Ipv4Addr,
    /// Offered address; 0.0.0.0 if only IPv6 is to be used.
    pub address: Ipv4Addr,
    /// Prefix length of the network.
    pub length: Option<u8>,
    /// Routers.
    pub routers: Vec<Ipv4Addr>,
    /// True if a default route comes by another option than the routers.
    pub routes: bool,
    /// Name servers.
    pub dns: Vec<Ipv4Addr>,
    /// Domain name of the network.
    pub domain: String,
    /// Duration of a lease, in seconds.
    pub lease: Option<u32>,
    /// Address of a captive portal (RFC 8910).
    pub portal: Option<String>,
    /// Seconds for which a device that can do without IPv4 should do so (RFC 8925).
    pub ipv6_only: Option<u32>,
    /// True if IPv6 comes by 6rd (RFC 5969).
    pub six_rd: bool,
}

impl Offer {
    /// Returns true if the offer has a router or a default route.
    pub fn leads_out(&self) -> bool {
        self.routes || !self.routers.is_empty()
    }
}

/// Returns a DISCOVER as an IPv4 packet. It asks for a broadcast answer, because this station has
/// no address yet.
pub fn discover(mac: Mac, number: u32) -> Vec<u8> {
    let mut message = vec![1, 1, 6, 0];
    message.extend(number.to_be_bytes());
    message.extend([0, 0, 0x80, 0]);
    message.extend([0; 16]);
    message.extend(mac);
    message.resize(236, 0);
    message.extend(COOKIE);
    message.extend([KIND, 1, DISCOVER]);
    message.extend([CLIENT_ID, 7, 1]);
    message.extend(mac);
    let wanted = [
        MASK,
        ROUTERS,
        NAME_SERVERS,
        DOMAIN,
        LEASE,
        IPV6_ONLY,
        PORTAL,
        ROUTES,
        SIX_RD,
    ];
    message.extend([WANTED, wanted.len() as u8]);
    message.extend(wanted);
    message.push(255);
    // Some relays drop messages shorter than those of BOOTP (RFC 1542, section 2.1).
    message.resize(300, 0);
    frame::broadcast4(CLIENT, SERVER, &message)
}

/// Parses an offer to this station: the number of the DISCOVER, and the offer.
pub fn offer(packet: &[u8], mac: Mac) -> Option<(u32, Offer)> {
    let datagram = frame::udp4(packet)?;
    if datagram.destination != CLIENT {
        return None;
    }
    let mut cursor = Cursor(datagram.data);
    let [answer, hardware, length, _] = cursor.array()?;
    let number = cursor.u32()?;
    cursor.take(8)?;
    let address = Ipv4Addr::from(cursor.array::<4>()?);
    let next = Ipv4Addr::from(cursor.array::<4>()?);
    cursor.take(4)?;
    let client = cursor.take(16)?;
    let (name, file) = (cursor.take(64)?, cursor.take(128)?);
    if (answer, hardware, length) != (2, 1, 6)
        || client.get(..6)? != mac
        || cursor.array()? != COOKIE
    {
        return None;
    }
    let mut options = Options::default();
    options.read(cursor.0);
    // RFC 2132, section 9.3: fields that continue the options.
    let more = options.octet(OVERLOAD).unwrap_or(0);
    for (bit, field) in [(1, file), (2, name)] {
        if more & bit != 0 {
            options.read(field);
        }
    }
    if options.octet(KIND) != Some(OFFER) {
        return None;
    }
    let server = options.addresses(IDENTIFIER).first().copied();
    let length = options
        .word(MASK)
        .filter(|mask| mask.leading_ones() == mask.count_ones());
    let known = |address: &Ipv4Addr| !address.is_unspecified();
    Some((
        number,
        Offer {
            server: server.or(Some(next)).filter(known).unwrap_or(datagram.from),
            address,
            length: length.map(|mask| mask.leading_ones() as u8),
            routers: options.addresses(ROUTERS),
            routes: options.has_default_route(),
            dns: options.addresses(NAME_SERVERS),
            domain: options.get(DOMAIN).map(text).unwrap_or_default(),
            lease: options.word(LEASE),
            portal: options.get(PORTAL).and_then(page),
            ipv6_only: options.word(IPV6_ONLY),
            six_rd: options.get(SIX_RD).is_some(),
        },
    ))
}

/// Options by number; split options are joined (RFC 3396).
#[derive(Default)]
struct Options(BTreeMap<u8, Vec<u8>>);

impl Options {
    fn read(&mut self, octets: &[u8]) {
        let mut cursor = Cursor(octets);
        while let Some(number) = cursor.u8() {
            let value = match number {
                0 => continue,
                255 => return,
                _ => cursor.u8().and_then(|length| cursor.take(length.into())),
            };
            let Some(value) = value else { return };
            self.0.entry(number).or_default().extend(value);
        }
    }

    fn get(&self, number: u8) -> Option<&[u8]> {
        self.0.get(&number).map(Vec::as_slice)
    }

    fn octet(&self, number: u8) -> Option<u8> {
        self.get(number)?.first().copied()
    }

    fn word(&self, number: u8) -> Option<u32> {
        Some(u32::from_be_bytes(self.get(number)?.try_into().ok()?))
    }

    fn addresses(&self, number: u8) -> Vec<Ipv4Addr> {
        let octets = self.get(number).unwrap_or_default();
        let all = octets
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&octets| Ipv4Addr::from(octets));
        all.filter(|address| !address.is_unspecified())
            .take(MOST)
            .collect()
    }

    fn has_default_route(&self) -> bool {
        let mut cursor = Cursor(self.get(ROUTES).unwrap_or_default());
        while let Some(length @ 0..=32) = cursor.u8() {
            let network = cursor.take(usize::from(length).div_ceil(8));
            if network.is_none() || cursor.take(4).is_none() {
                return false;
            }
            if length == 0 {
                return true;
            }
        }
        false
    }
}
