//! LLDP (IEEE 802.1AB-2016, clauses 8 and 9): the other end's own announcement.

use std::net::IpAddr;

use detect::Frame;
use net::{Cursor, mac};

use crate::octets::{address, text};

/// The EtherType.
const LLDP: u16 = 0x88cc;
/// Elements that are read at most.
const MOST: usize = 64;

/// Enabled functions of a system (IEEE 802.1AB-2016, table 8-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Bridge.
    pub bridge: bool,
    /// Access point of a wireless LAN.
    pub wlan: bool,
    /// Router.
    pub router: bool,
    /// Telephone.
    pub telephone: bool,
    /// Only a station.
    pub station: bool,
}

/// Announcement of a system. Missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lldp {
    /// Which system.
    pub chassis: String,
    /// Which port of it.
    pub port: String,
    /// Name of the system.
    pub name: String,
    /// Description of the system.
    pub description: String,
    /// Enabled functions of the system.
    pub capabilities: Capabilities,
    /// Management address.
    pub address: Option<IpAddr>,
}

impl Lldp {
    /// Reads a frame, from the Ethernet header on. One that was cut is read up to there.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let frame = Frame::read(frame)?;
        if frame.kind != LLDP {
            return None;
        }
        let mut cursor = Cursor(frame.payload);
        let mut said = Self::default();
        // The first TLV must be the chassis (8.2): anything else is not LLDP.
        let mut chassis = false;
        for _ in 0..MOST {
            let Some(head) = cursor.u16() else { break };
            let Some(value) = cursor.take(usize::from(head & 0x1ff)) else {
                break;
            };
            match head >> 9 {
                0 => break,
                1 => {
                    chassis = true;
                    said.chassis = id(value, 4, 5);
                }
                2 => said.port = id(value, 3, 4),
                5 => said.name = text(value),
                6 => said.description = text(value),
                7 => {
                    if let [_, _, high, low, ..] = *value {
                        said.capabilities = capabilities(u16::from_be_bytes([high, low]));
                    }
                }
                8 => said.address = said.address.or_else(|| managed(value)),
                _ => {}
            }
        }
        chassis.then_some(said)
    }
}

/// Returns the name of a system or port: its subtype determines whether the name is an address or
/// text.
fn id(value: &[u8], mac: u8, network: u8) -> String {
    match *value {
        [kind, a, b, c, d, e, f] if kind == mac => mac::text(&[a, b, c, d, e, f]),
        [kind, family, ref octets @ ..] if kind == network => {
            address(family, octets).map_or_else(String::new, |it| it.to_string())
        }
        [_, ref octets @ ..] => text(octets),
        [] => String::new(),
    }
}

fn capabilities(enabled: u16) -> Capabilities {
    let bit = |number: u16| enabled & (1 << number) != 0;
    Capabilities {
        bridge: bit(2),
        wlan: bit(3),
        router: bit(4),
        telephone: bit(5),
        station: bit(7),
    }
}

/// Parses an address (8.5.9): a length, which includes the family, the family and the address.
fn managed(value: &[u8]) -> Option<IpAddr> {
    let mut cursor = Cursor(value);
    let length = usize::from(cursor.u8()?).checked_sub(1)?;
    let family = cursor.u8()?;
    address(family, cursor.take(length)?)
}
