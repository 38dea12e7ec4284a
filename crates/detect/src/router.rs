//! IPv6 routers (RFC 4861): a solicitation, and the advertisements.

use std::net::Ipv6Addr;

use net::Cursor;

use crate::frame::{self, Mac};
use crate::untrusted::page;

/// Multicast group of all routers on the link.
pub const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Most stored elements of a list.
const MOST: usize = 8;

const SOLICITATION: u8 = 133;
/// A router advertisement.
pub const ADVERTISEMENT: u8 = 134;
/// A neighbour solicitation.
pub const WHO_HAS: u8 = 135;

// Options (RFC 4861, or the RFC at the option).
const SOURCE: u8 = 1;
const PREFIX: u8 = 3;
/// Name servers (RFC 8106).
const NAME_SERVERS: u8 = 25;
/// Captive portal (RFC 8910).
const PORTAL: u8 = 37;
/// NAT64 prefix (RFC 8781).
const NAT64: u8 = 38;

/// Advertisement of a router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    /// Lifetime as a default router, in seconds; 0: not a default router.
    pub lifetime: u16,
    /// Addresses come from DHCPv6 (M).
    pub managed: bool,
    /// Other configuration comes from DHCPv6 (O).
    pub other: bool,
    /// Prefixes, their lengths, and true if hosts form an address of the prefix (A).
    pub prefixes: Vec<(Ipv6Addr, u8, bool)>,
    /// Name servers.
    pub dns: Vec<Ipv6Addr>,
    /// NAT64 prefix, which gives access to IPv4 without an IPv4 address, and its length.
    pub nat64: Option<(Ipv6Addr, u8)>,
    /// Address of a captive portal.
    pub portal: Option<String>,
}

/// Returns a solicitation as an IPv6 packet. The packet carries the hardware address, so that
/// routers need not query it.
pub fn solicit(mac: Mac, from: Ipv6Addr) -> Vec<u8> {
    let data = [&[0, 0, 0, 0, SOURCE, 1][..], &mac].concat();
    frame::icmpv6(from, ROUTERS, SOLICITATION, &data)
}

/// Parses an advertisement, from behind the checksum on.
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
        // RFC 4861, section 4.6: an option of length 0 invalidates the whole message.
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

/// Parses a NAT64 option (RFC 8781, section 4): 13 bits of lifetime, three of length, 96 of prefix.
fn nat64(value: &mut Cursor<'_>) -> Option<(Ipv6Addr, u8)> {
    let scaled = value.u16()?;
    let length = *[96, 64, 56, 48, 40, 32].get(usize::from(scaled & 7))?;
    let mut octets = [0; 16];
    octets[..12].copy_from_slice(value.take(12)?);
    (scaled >> 3 != 0).then_some((octets.into(), length))
}

/// Returns the target of a neighbour solicitation.
pub fn asked_for(octets: &[u8]) -> Option<Ipv6Addr> {
    let mut cursor = Cursor(octets);
    cursor.u32()?;
    Some(cursor.array::<16>()?.into())
}
