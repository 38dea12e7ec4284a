//! Parses the beacons of other access points (IEEE 802.11, 9.3.3.2), as far as a peer needs them.
//! Beacons of any sender are parsed: invalid parts are left out, and nothing is longer than a
//! frame.

use kernel::Mac;
use kernel::nl80211::Abilities;

use super::VENDOR;
use super::element::{Element, VENDOR_ELEMENT};

/// Frame control, duration, three addresses, sequence control.
const HEADER: usize = 24;
/// Timestamp, interval, capabilities.
const FIXED: usize = 12;
/// The kernel accepts at most this many (`NL80211_MAX_SUPP_RATES`).
const MOST_RATES: usize = 32;
/// Numbers from here on are not rates, but required capabilities of a station (9.4.2.3).
const SELECTORS: u8 = 122;

/// Content of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Sender of the beacon.
    pub mac: Mac,
    /// Name of the network, 32 bytes at most. Empty: hidden.
    pub ssid: Vec<u8>,
    /// Abilities of the sender.
    pub abilities: Abilities,
    /// True if stations need keys (an RSN element, 9.4.2.24).
    pub protected: bool,
    /// Our element, if the beacon has one.
    pub element: Option<Element>,
    /// True if the beacon has an element of our vendor, also of another version or cut short.
    pub ours: bool,
}

impl Beacon {
    /// Reads a whole frame. `None`: not a beacon, cut short before its elements, or without a valid
    /// sender's address.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (&[0x80, 0x00], _) = frame.split_first_chunk()? else {
            return None;
        };
        let mac: Mac = frame.get(10..16)?.try_into().ok()?;
        let bssid = frame.get(16..22)?;
        // Reject a group address and the zero address.
        if mac[0] & 1 != 0 || mac == [0; 6] || mac != bssid {
            return None;
        }
        let mut beacon = Self {
            mac,
            ssid: Vec::new(),
            abilities: Abilities::default(),
            protected: false,
            element: None,
            ours: false,
        };
        let mut rest = frame.get(HEADER + FIXED..)?;
        while let Some((&[kind, length], behind)) = rest.split_first_chunk() {
            let Some((body, next)) = behind.split_at_checked(length.into()) else {
                break;
            };
            beacon.element(kind, body);
            rest = next;
        }
        Some(beacon)
    }

    fn element(&mut self, kind: u8, body: &[u8]) {
        let abilities = &mut self.abilities;
        match (kind, body.len()) {
            (0, ..=32) if self.ssid.is_empty() => self.ssid = body.to_vec(),
            (1 | 50, _) => {
                let rates = body
                    .iter()
                    .filter(|rate| (1..SELECTORS).contains(&(*rate & 0x7f)));
                let room = MOST_RATES - abilities.rates.len();
                abilities.rates.extend(rates.take(room));
            }
            (45, 26) => abilities.ht = body.to_vec(),
            (48, _) => self.protected = true,
            (191, 12) => abilities.vht = body.to_vec(),
            // The first byte is the extension's number.
            (255, 20..=55) if body[0] == 35 => abilities.he = body[1..].to_vec(),
            (255, 3) if body[0] == 59 => abilities.he_6ghz = body[1..].to_vec(),
            (VENDOR_ELEMENT, _) => {
                // WMM's information or parameters.
                abilities.wme |= body.starts_with(&[0x00, 0x50, 0xf2, 0x02]);
                self.ours |= body.starts_with(&VENDOR);
                self.element = self.element.or_else(|| Element::read(body));
            }
            _ => {}
        }
    }
}
