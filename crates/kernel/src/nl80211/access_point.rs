//! Properties of an access point (`NL80211_CMD_GET_INTERFACE`).

use super::interface::WirelessKind;
use super::numbers::{ATTR_IFTYPE, ATTR_MAC, ATTR_WIPHY, ATTR_WIPHY_FREQ, CMD_NEW_INTERFACE};
use crate::event::Mac;
use crate::message::{DecodeError, Message};

const ATTR_SSID: u16 = 52;

/// An access point that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// Number of its radio.
    pub radio: u32,
    /// Hardware address.
    pub mac: Mac,
    /// Name of the network.
    pub ssid: Vec<u8>,
    /// Centre of the channel, MHz.
    pub frequency: u32,
}

/// Decodes the requested device. `None`: another message; `Some(None)`: the device is not an access
/// point, or does not run.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_access_point(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<Option<AccessPoint>>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_NEW_INTERFACE)? else {
        return Ok(None);
    };
    let (mut radio, mut mac, mut ssid) = (None, None, None);
    let (mut frequency, mut kind) = (None, None);
    for attribute in attributes {
        let attribute = attribute?;
        let number = |part| attribute.u32_native(part).map(Some);
        match attribute.kind {
            ATTR_WIPHY => radio = number("NL80211_ATTR_WIPHY")?,
            ATTR_IFTYPE => kind = number("NL80211_ATTR_IFTYPE")?,
            ATTR_MAC => mac = Some(attribute.array("NL80211_ATTR_MAC")?),
            ATTR_SSID => ssid = Some(attribute.value.to_vec()),
            ATTR_WIPHY_FREQ => frequency = number("NL80211_ATTR_WIPHY_FREQ")?,
            _ => {}
        }
    }
    let is_one = kind.map(WirelessKind::from_number) == Some(WirelessKind::AccessPoint);
    let parts = radio.zip(mac).zip(ssid).zip(frequency).filter(|_| is_one);
    Ok(Some(parts.map(|(((radio, mac), ssid), frequency)| {
        AccessPoint {
            radio,
            mac,
            ssid,
            frequency,
        }
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Encoder;
    use crate::fixture::first;

    const FAMILY: u16 = 35;

    fn decoded(kind: u32, ssid: bool) -> Option<Option<AccessPoint>> {
        let bytes = Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[CMD_NEW_INTERFACE, 1, 0, 0]);
            e.attribute(ATTR_WIPHY, &3u32.to_ne_bytes());
            e.attribute(ATTR_IFTYPE, &kind.to_ne_bytes());
            e.attribute(ATTR_MAC, &[2, 0, 0, 0, 0, 1]);
            e.attribute(ATTR_WIPHY_FREQ, &2412u32.to_ne_bytes());
            if ssid {
                e.attribute(ATTR_SSID, b"mesh");
            }
        });
        decode_access_point(&first(&bytes), FAMILY).expect("valid")
    }

    #[test]
    fn one_that_runs_has_a_name_and_a_channel() {
        let expected = AccessPoint {
            radio: 3,
            mac: [2, 0, 0, 0, 0, 1],
            ssid: b"mesh".to_vec(),
            frequency: 2412,
        };
        assert_eq!(decoded(3, true), Some(Some(expected)));
        assert_eq!(decoded(3, false), Some(None), "it does not run");
        assert_eq!(decoded(2, true), Some(None), "a station");
    }
}
