//! The transmit power of a device: reading it (`NL80211_CMD_GET_INTERFACE`), and changing it
//! (`NL80211_CMD_SET_WIPHY`, which takes a device, too); and changing the power towards one station
//! of the device (`NL80211_CMD_SET_STATION`, since Linux 5.2).

use super::numbers::{
    ATTR_IFINDEX, ATTR_MAC, ATTR_WIPHY, ATTR_WIPHY_FREQ, CMD_GET_INTERFACE, CMD_NEW_INTERFACE,
    CMD_SET_STATION,
};
use super::peer::request;
use crate::encode::{Encoder, NLM_F_REQUEST};
use crate::event::Mac;
use crate::message::{DecodeError, Message};

const CMD_SET_WIPHY: u8 = 2;

const ATTR_WIPHY_TX_POWER_SETTING: u16 = 97;
const ATTR_WIPHY_TX_POWER_LEVEL: u16 = 98;
const ATTR_STA_TX_POWER_SETTING: u16 = 275;
const ATTR_STA_TX_POWER: u16 = 276;

/// `enum nl80211_tx_power_setting`.
const AUTOMATIC: u8 = 0;
const LIMITED: u8 = 1;
const FIXED: u8 = 2;

/// Transmit power of a device. Values that the driver does not report are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Number of the radio.
    pub radio: Option<u32>,
    /// Hundredths of a dBm.
    pub level: Option<i32>,
    /// Centre of the channel, MHz.
    pub frequency: Option<u32>,
}

/// Requested transmit power of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// The maximum that rules and radio allow.
    Automatic,
    /// This power, hundredths of a dBm. The kernel cuts it to the limit of rules and radio.
    Fixed(i32),
}

/// Transmit power towards a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StationPower {
    /// Power of its device.
    Automatic,
    /// This power at most, dBm; never more than that of its device. Some drivers refuse 0 and less.
    Limited(i16),
}

/// Decodes the requested device. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_power(message: &Message<'_>, family: u16) -> Result<Option<Power>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_NEW_INTERFACE)? else {
        return Ok(None);
    };
    let mut power = Power::default();
    for attribute in attributes {
        let attribute = attribute?;
        let number = |part| attribute.u32_native(part).map(Some);
        match attribute.kind {
            ATTR_WIPHY => power.radio = number("NL80211_ATTR_WIPHY")?,
            ATTR_WIPHY_FREQ => power.frequency = number("NL80211_ATTR_WIPHY_FREQ")?,
            ATTR_WIPHY_TX_POWER_LEVEL => {
                let part = "NL80211_ATTR_WIPHY_TX_POWER_LEVEL";
                power.level = attribute.array(part).map(i32::from_ne_bytes).map(Some)?;
            }
            _ => {}
        }
    }
    Ok(Some(power))
}

/// Requests one device.
pub(crate) fn get_power(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[CMD_GET_INTERFACE, 0, 0, 0]);
        e.attribute(ATTR_IFINDEX, &link.to_ne_bytes());
    })
}

/// Sets the power of one device.
pub(crate) fn set_power(family: u16, link: u32, setting: Setting, sequence: u32) -> Vec<u8> {
    request(family, sequence, CMD_SET_WIPHY, link, |e| {
        let (kind, level) = match setting {
            Setting::Automatic => (AUTOMATIC, None),
            Setting::Fixed(level) => (FIXED, Some(level)),
        };
        e.attribute(ATTR_WIPHY_TX_POWER_SETTING, &u32::from(kind).to_ne_bytes());
        if let Some(level) = level {
            e.attribute(ATTR_WIPHY_TX_POWER_LEVEL, &level.to_ne_bytes());
        }
    })
}

/// Sets the power of one station, in octets and dBm; a device's power is in words and hundredths.
pub(crate) fn set_station_power(
    family: u16,
    link: u32,
    mac: Mac,
    power: StationPower,
    sequence: u32,
) -> Vec<u8> {
    request(family, sequence, CMD_SET_STATION, link, |e| {
        e.attribute(ATTR_MAC, &mac);
        let (kind, level) = match power {
            StationPower::Automatic => (AUTOMATIC, None),
            StationPower::Limited(level) => (LIMITED, Some(level)),
        };
        e.attribute(ATTR_STA_TX_POWER_SETTING, &[kind]);
        if let Some(level) = level {
            e.attribute(ATTR_STA_TX_POWER, &level.to_ne_bytes());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    const FAMILY: u16 = 35;

    fn decoded(bytes: &[u8]) -> Result<Option<Power>, DecodeError> {
        decode_power(&first(bytes), FAMILY)
    }

    fn answer(command: u8, body: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[command, 1, 0, 0]);
            body(e);
        })
    }

    #[test]
    fn a_power_may_be_less_than_nothing() {
        let found = decoded(&answer(CMD_NEW_INTERFACE, |e| {
            e.attribute(ATTR_WIPHY, &3u32.to_ne_bytes());
            e.attribute(ATTR_WIPHY_FREQ, &5180u32.to_ne_bytes());
            e.attribute(ATTR_WIPHY_TX_POWER_LEVEL, &(-150i32).to_ne_bytes());
        }));
        let expected = Power {
            radio: Some(3),
            level: Some(-150),
            frequency: Some(5180),
        };
        assert_eq!(found, Ok(Some(expected)));
        assert_eq!(
            decoded(&answer(CMD_NEW_INTERFACE, |_| {})),
            Ok(Some(Power::default()))
        );
        assert_eq!(decoded(&answer(19, |_| {})), Ok(None));
        let short = answer(CMD_NEW_INTERFACE, |e| {
            e.attribute(ATTR_WIPHY_TX_POWER_LEVEL, &[1])
        });
        let error = decoded(&short).unwrap_err().to_string();
        assert!(
            error.contains("NL80211_ATTR_WIPHY_TX_POWER_LEVEL"),
            "{error}"
        );
    }

    #[test]
    fn what_is_asked_for() {
        let bytes = set_power(FAMILY, 7, Setting::Fixed(1700), 1);
        let words: Vec<u32> = bytes[16..]
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(word.try_into().expect("four octets")))
            .collect();
        let attribute = |kind: u16| {
            u32::from_ne_bytes({
                let [a, b] = 8u16.to_ne_bytes();
                let [c, d] = kind.to_ne_bytes();
                [a, b, c, d]
            })
        };
        let command = u32::from_ne_bytes([2, 0, 0, 0]);
        let expected = [
            command,
            attribute(3),
            7,
            attribute(97),
            2,
            attribute(98),
            1700,
        ];
        assert_eq!(words, expected);
        // Without a level.
        assert_eq!(
            set_power(FAMILY, 7, Setting::Automatic, 1).len(),
            bytes.len() - 8
        );
        assert_eq!(get_power(FAMILY, 7, 1).len(), 16 + 4 + 8);
    }

    /// Follows `include/uapi/linux/nl80211.h` and nl80211_policy (net/wireless/nl80211.c).
    #[test]
    fn one_station_gets_a_power_of_its_own() {
        let mac = [2, 0, 0, 0, 1, 9];
        let octets = |power| set_station_power(FAMILY, 7, mac, power, 1)[16..].to_vec();
        let number = |number: u16| number.to_ne_bytes();
        let begin = [
            &[18, 0, 0, 0][..],
            &[number(8), number(3)].concat(),
            &7u32.to_ne_bytes(),
            &[number(10), number(6)].concat(),
            &mac,
            &[0, 0],
        ]
        .concat();
        let automatic = [&number(5)[..], &number(275), &[0, 0, 0, 0]].concat();
        let all = [&begin[..], &automatic].concat();
        assert_eq!(octets(StationPower::Automatic), all);
        let limited = [&number(5)[..], &number(275), &[1, 0, 0, 0]].concat();
        let level = [
            &number(6)[..],
            &number(276),
            &(-3i16).to_ne_bytes(),
            &[0, 0],
        ]
        .concat();
        let all = [&begin[..], &limited, &level].concat();
        assert_eq!(octets(StationPower::Limited(-3)), all);
    }
}
