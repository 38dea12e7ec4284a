//! Routers of IPv6 (RFC 4861): a solicitation, and what is advertised.

use std::net::Ipv6Addr;

use net::Cursor;

use crate::frame::{self, Mac};
use crate::octets::page;

/// All routers of this link.
pub const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Most elements that are kept of a list.
const MOST: usize = 8;

const SOLICITATION: u8 = 133;
/// A router advertisement.
pub const ADVERTISEMENT: u8 = 134;
/// A neighbour solicitation.
pub const WHO_HAS: u8 = 135;

// Options (RFC 4861 and those named).
const SOURCE: u8 = 1;
const PREFIX: u8 = 3;
/// Name servers (RFC 8106).
const NAME_SERVERS: u8 = 25;
/// Captive portal (RFC 8910).
const PORTAL: u8 = 37;
/// The prefix of NAT64 (RFC 8781).
const NAT64: u8 = 38;

/// What a router says of its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    /// Seconds for which it is a way to everywhere; 0: it is none.
    pub lifetime: u16,
    /// Addresses come from DHCPv6 (M).
    pub managed: bool,
    /// Other facts come from DHCPv6 (O).
    pub other: bool,
    /// Prefixes, their bits, and whether a host makes itself an address of one (A).
    pub prefixes: Vec<(Ipv6Addr, u8, bool)>,
    /// Name servers.
    pub dns: Vec<Ipv6Addr>,
    /// The prefix by which IPv4 is reached without having it (NAT64), and its bits.
    pub nat64: Option<(Ipv6Addr, u8)>,
    /// Where a captive portal is.
    pub portal: Option<String>,
}

/// A solicitation as a packet of IPv6. It says the hardware address, so that who answers need not
/// ask for it.
pub fn solicit(mac: Mac, from: Ipv6Addr) -> Vec<u8> {
    let data = [&[0, 0, 0, 0, SOURCE, 1][..], &mac].concat();
    frame::icmpv6(from, ROUTERS, SOLICITATION, &data)
}

/// Reads an advertisement, from behind the checksum on.
pub fn advertisement(from: Ipv6Addr, octets: &[u8]) -> Option<Advertisement> {
    if !from.is_unicast_link_local() {
        return None;
    }
    let mut cursor = Cursor(octets);
    let [_, flags] = cursor.array()?;
    let mut heard = Advertisement {
        lifetime: cursor.u16()?,
        managed: flags & 0x80 != 0,
        other: flags & 0x40 != 0,
        ..Advertisement::default()
    };
    cursor.take(8)?;
    while let (Some(kind), Some(length)) = (cursor.u8(), cursor.u8()) {
        // RFC 4861, section 4.6: an option without length makes nothing of the whole.
        let length = (usize::from(length) * 8).checked_sub(2)?;
        let mut value = Cursor(cursor.take(length)?);
        match kind {
            PREFIX if heard.prefixes.len() < MOST => {
                heard.prefixes.extend(prefix(&mut value));
            }
            NAME_SERVERS => {
                let all = value.0.get(6..).unwrap_or_default().as_chunks::<16>().0;
                let room = MOST - heard.dns.len();
                heard
                    .dns
                    .extend(all.iter().take(room).map(|&it| Ipv6Addr::from(it)));
            }
            PORTAL => heard.portal = page(value.0),
            NAT64 => heard.nat64 = heard.nat64.or_else(|| nat64(&mut value)),
            _ => {}
        }
    }
    Some(heard)
}

fn prefix(value: &mut Cursor<'_>) -> Option<(Ipv6Addr, u8, bool)> {
    let [length, flags] = value.array()?;
    let valid = value.u32()?;
    value.take(8)?;
    let address = Ipv6Addr::from(value.array::<16>()?);
    let use_of = length <= 128 && valid > 0 && !address.is_unicast_link_local();
    use_of.then_some((address, length, flags & 0x40 != 0))
}

/// RFC 8781, section 4: 13 bits of lifetime, three of length, 96 of prefix.
fn nat64(value: &mut Cursor<'_>) -> Option<(Ipv6Addr, u8)> {
    let scaled = value.u16()?;
    let length = *[96, 64, 56, 48, 40, 32].get(usize::from(scaled & 7))?;
    let mut octets = [0; 16];
    octets[..12].copy_from_slice(value.take(12)?);
    (scaled >> 3 != 0).then_some((octets.into(), length))
}

/// Whom a neighbour solicitation asks for.
pub fn asked_for(octets: &[u8]) -> Option<Ipv6Addr> {
    let mut cursor = Cursor(octets);
    cursor.u32()?;
    Some(cursor.array::<16>()?.into())
}
