//! MNDP, MikroTik's neighbour discovery: UDP to port 5678. It is not a standard; as Wireshark's
//! packet-mndp.c reads it, and MikroTik's manual names the fields ("Neighbor discovery").

use detect::Frame;
use net::Cursor;

use crate::octets::text;

const PORT: u16 = 5678;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
/// Elements that are read at most.
const MOST: usize = 64;

/// Announcement of a system. Missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mndp {
    /// Name of the system.
    pub identity: String,
    /// Maker or system.
    pub platform: String,
    /// The version of its software.
    pub version: String,
    /// Model of the device.
    pub board: String,
}

impl Mndp {
    /// Reads a frame, from the Ethernet header on. One that was cut is read up to there.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let frame = Frame::read(frame)?;
        let packet = frame.payload;
        let datagram = match frame.kind {
            IPV4 => {
                let (&first, &protocol) = (packet.first()?, packet.get(9)?);
                let header = usize::from(first & 15) * 4;
                let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff;
                let right = first >> 4 == 4 && header >= 20 && fragment == 0 && protocol == UDP;
                packet.get(header..).filter(|_| right)?
            }
            IPV6 => {
                let right = packet.first()? >> 4 == 6 && *packet.get(6)? == UDP;
                packet.get(40..).filter(|_| right)?
            }
            _ => return None,
        };
        let mut cursor = Cursor(datagram);
        cursor.u16()?;
        if cursor.u16()? != PORT {
            return None;
        }
        let length = usize::from(cursor.u16()?).checked_sub(8)?;
        cursor.u16()?;
        let mut cursor = Cursor(&cursor.0[..length.min(cursor.0.len())]);
        // A header and a number.
        cursor.take(4)?;
        let mut said = Self::default();
        for _ in 0..MOST {
            let (Some(kind), Some(length)) = (cursor.u16(), cursor.u16()) else {
                break;
            };
            let Some(value) = cursor.take(usize::from(length)) else {
                break;
            };
            match kind {
                5 => said.identity = text(value),
                7 => said.version = text(value),
                8 => said.platform = text(value),
                12 => said.board = text(value),
                _ => {}
            }
        }
        Some(said)
    }
}
