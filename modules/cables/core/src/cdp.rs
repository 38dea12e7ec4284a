//! CDP, Cisco's discovery protocol. It is not a standard; as Wireshark's packet-cdp.c and lldpd's
//! cdp.c read it, and Cisco's "Configuring Cisco Discovery Protocol" names the fields.

use crate::lldp::Capabilities;
use detect::Frame;
use net::Cursor;

use crate::octets::text;

/// LLC and SNAP: Cisco's number, and the protocol's.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0];
/// Elements that are read at most.
const MOST: usize = 64;

/// Announcement of a system. Missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cdp {
    /// Which system.
    pub device: String,
    /// Platform of the system.
    pub platform: String,
    /// Enabled functions of the system.
    pub capabilities: Capabilities,
}

impl Cdp {
    /// Reads a frame, from the Ethernet header on. One that was cut is read up to there.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let Frame { kind, payload, .. } = Frame::read(frame)?;
        // IEEE 802.3: a length instead of an EtherType.
        let length = usize::from(kind);
        if length > 1500 {
            return None;
        }
        let mut cursor = Cursor(&payload[..length.min(payload.len())]);
        if cursor.array() != Some(SNAP) {
            return None;
        }
        // Version, time to live, checksum.
        cursor.take(4)?;
        let mut said = Self::default();
        for _ in 0..MOST {
            let (Some(kind), Some(length)) = (cursor.u16(), cursor.u16()) else {
                break;
            };
            let value = usize::from(length).checked_sub(4);
            let Some(value) = value.and_then(|length| cursor.take(length)) else {
                break;
            };
            match kind {
                1 => said.device = text(value),
                4 => {
                    if let Some(bits) = Cursor(value).u32() {
                        said.capabilities = capabilities(bits);
                    }
                }
                6 => said.platform = text(value),
                _ => {}
            }
        }
        Some(said)
    }
}

/// A router is 1, bridges are 2 and 4, a switch is 8, a host 0x10, a telephone 0x80.
fn capabilities(bits: u32) -> Capabilities {
    Capabilities {
        bridge: bits & 0x0e != 0,
        wlan: false,
        router: bits & 1 != 0,
        telephone: bits & 0x80 != 0,
        station: bits & 0x10 != 0,
    }
}
