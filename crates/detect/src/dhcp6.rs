//! DHCPv6 (RFC 8415): a SOLICIT for an address and a prefix, and the advertisements. No REQUEST
//! follows, so nothing is leased.

use std::net::Ipv6Addr;

use net::Cursor;

use crate::frame::{self, Datagram, Mac};
use crate::untrusted::{name, page, text};

/// Multicast group of all servers and relays on the link.
pub const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
const SERVER: u16 = 547;
const CLIENT: u16 = 546;
/// Most stored elements of a list.
const MOST: usize = 8;

const SOLICIT: u8 = 1;
const ADVERTISE: u8 = 2;

// Options (RFC 8415, or the RFC at the option).
const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const IA_NA: u16 = 3;
const ADDRESS: u16 = 5;
const WANTED: u16 = 6;
const ELAPSED: u16 = 8;
const STATUS: u16 = 13;
/// Name servers (RFC 3646).
const NAME_SERVERS: u16 = 23;
const IA_PD: u16 = 25;
const PREFIX: u16 = 26;
/// DS-Lite's tunnel end (RFC 6334).
const AFTR: u16 = 64;
/// MAP-E, MAP-T and lightweight 4over6 (RFC 7598).
const SHARED: [(u16, &str); 3] = [(94, "MAP-E"), (95, "MAP-T"), (96, "lightweight 4over6")];
/// Captive portal (RFC 8910).
const PORTAL: u16 = 103;

/// Advertisement of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertise {
    /// DUID of the server.
    pub server: Vec<u8>,
    /// Addresses.
    pub addresses: Vec<Ipv6Addr>,
    /// Delegated prefixes, and their lengths.
    pub prefixes: Vec<(Ipv6Addr, u8)>,
    /// Name servers.
    pub dns: Vec<Ipv6Addr>,
    /// Remote end of an IPv4 tunnel (DS-Lite).
    pub aftr: Option<String>,
    /// Other ways to share an IPv4 address.
    pub shared: Vec<&'static str>,
    /// Address of a captive portal.
    pub portal: Option<String>,
    /// Status messages about missing resources.
    pub status_messages: Vec<String>,
}

/// Returns a SOLICIT as an IPv6 packet.
pub fn solicit(mac: Mac, from: Ipv6Addr, number: u32) -> Vec<u8> {
    let [_, number @ ..] = number.to_be_bytes();
    let mut message = vec![SOLICIT];
    message.extend(number);
    // A DUID from the hardware address (RFC 8415, section 11.4).
    option(&mut message, CLIENT_ID, &[&[0, 3, 0, 1][..], &mac].concat());
    option(&mut message, ELAPSED, &[0, 0]);
    // An association number from the last octets of the address, so that it is the same each time.
    let association = [&mac[2..], &[0; 8]].concat();
    option(&mut message, IA_NA, &association);
    option(&mut message, IA_PD, &association);
    let wanted = [NAME_SERVERS, AFTR, 94, 95, 96, PORTAL];
    option(&mut message, WANTED, &wanted.map(u16::to_be_bytes).concat());
    frame::datagram6(from, SERVERS, (CLIENT, SERVER), &message)
}

fn option(message: &mut Vec<u8>, number: u16, value: &[u8]) {
    message.extend(number.to_be_bytes());
    message.extend(u16::try_from(value.len()).unwrap_or(0).to_be_bytes());
    message.extend(value);
}

/// Parses an advertisement to this station: the number of the SOLICIT (24 bits), and the content.
pub fn advertise(datagram: &Datagram<'_, Ipv6Addr>, mac: Mac) -> Option<(u32, Advertise)> {
    // RFC 8415, section 7.2, leaves the source port of a server open, and WIDE's dhcp6s takes any.
    if datagram.destination != CLIENT {
        return None;
    }
    let mut cursor = Cursor(datagram.data);
    let [kind, a, b, c] = cursor.array()?;
    if kind != ADVERTISE {
        return None;
    }
    let mut heard = Advertise::default();
    let mut mine = false;
    for (number, value) in options(cursor.0) {
        match number {
            CLIENT_ID => mine = value.get(4..).is_some_and(|own| own == mac),
            SERVER_ID => heard.server = value.iter().copied().take(130).collect(),
            IA_NA | IA_PD => heard.association(value),
            STATUS => heard.status(value),
            NAME_SERVERS => {
                let all = value.as_chunks::<16>().0.iter();
                heard.dns = all.take(MOST).map(|&octets| octets.into()).collect();
            }
            AFTR => heard.aftr = name(value),
            PORTAL => heard.portal = page(value),
            _ => {
                let shared = SHARED.iter().find(|(shared, _)| *shared == number);
                let new = shared.filter(|(_, name)| !heard.shared.contains(name));
                heard.shared.extend(new.map(|(_, name)| *name));
            }
        }
    }
    (mine && !heard.server.is_empty()).then_some((u32::from_be_bytes([0, a, b, c]), heard))
}

impl Advertise {
    /// Returns true if the server has an address or a prefix to give.
    pub fn gives(&self) -> bool {
        !self.addresses.is_empty() || !self.prefixes.is_empty()
    }

    fn association(&mut self, value: &[u8]) {
        for (number, value) in options(value.get(12..).unwrap_or_default()) {
            let mut cursor = Cursor(value);
            match number {
                ADDRESS if self.addresses.len() < MOST => {
                    self.addresses
                        .extend(cursor.array::<16>().map(Ipv6Addr::from));
                }
                PREFIX if self.prefixes.len() < MOST => {
                    let prefix = || -> Option<(Ipv6Addr, u8)> {
                        cursor.take(8)?;
                        let length = cursor.u8().filter(|&length| length <= 128)?;
                        Some((cursor.array::<16>()?.into(), length))
                    };
                    self.prefixes.extend({ prefix }());
                }
                STATUS => self.status(value),
                _ => {}
            }
        }
    }

    fn status(&mut self, value: &[u8]) {
        let mut cursor = Cursor(value);
        let meaning = match cursor.u16() {
            None | Some(0) => return,
            Some(2) => "no address".to_owned(),
            Some(6) => "no prefix".to_owned(),
            Some(code) => format!("status {code}"),
        };
        let said = match text(cursor.0) {
            words if words.is_empty() => meaning,
            words => format!("{meaning} ({words})"),
        };
        if self.status_messages.len() < MOST && !self.status_messages.contains(&said) {
            self.status_messages.push(said);
        }
    }
}

/// Iterates over options; the first truncated one ends the iteration.
fn options(octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut cursor = Cursor(octets);
    std::iter::from_fn(move || {
        let number = cursor.u16()?;
        let length = cursor.u16()?;
        Some((number, cursor.take(length.into())?))
    })
}
