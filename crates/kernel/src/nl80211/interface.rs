//! Wireless devices, and their kinds (`NL80211_CMD_GET_INTERFACE`).

use super::numbers::{ATTR_IFINDEX, ATTR_IFTYPE, CMD_GET_INTERFACE, CMD_NEW_INTERFACE};
use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};

/// Kind of a wireless device: `enum nl80211_iftype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WirelessKind {
    /// A station of any access point.
    Station,
    /// An access point.
    AccessPoint,
    /// A part of one: a VLAN, or the link to one station that relays for others (four addresses).
    AccessPointVlan,
    /// A point of a mesh.
    Mesh,
    /// Another kind that may have stations, by its number.
    Other(u32),
    /// A device that only monitors or scans, and has no stations.
    NoStations,
}

impl WirelessKind {
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            2 => Self::Station,
            3 => Self::AccessPoint,
            4 => Self::AccessPointVlan,
            7 => Self::Mesh,
            // Monitor, P2P device, NAN.
            6 | 10 | 12 => Self::NoStations,
            other => Self::Other(other),
        }
    }
}

/// A network device that is a radio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wireless {
    /// Interface index.
    pub link: u32,
    /// Kind of the device.
    pub kind: WirelessKind,
}

/// Decodes a device of a dump of `family`. `None`: another message, or a radio's part without a
/// network device.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_interface(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<Wireless>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_NEW_INTERFACE)? else {
        return Ok(None);
    };
    let mut link = None;
    let mut kind = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_IFINDEX => link = Some(attribute.u32_native("NL80211_ATTR_IFINDEX")?),
            ATTR_IFTYPE => kind = Some(attribute.u32_native("NL80211_ATTR_IFTYPE")?),
            _ => {}
        }
    }
    let Some(link) = link else { return Ok(None) };
    let kind = kind.ok_or(DecodeError::missing("NL80211_ATTR_IFTYPE"))?;
    Ok(Some(Wireless {
        link,
        kind: WirelessKind::from_number(kind),
    }))
}

/// Requests all wireless devices.
pub(crate) fn dump_interfaces(family: u16, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&[CMD_GET_INTERFACE, 0, 0, 0]);
    })
}
