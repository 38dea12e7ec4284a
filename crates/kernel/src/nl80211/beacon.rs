//! Beacons of other access points that a radio receives (`NL80211_CMD_REGISTER_BEACONS`): each
//! arrives in an `NL80211_CMD_FRAME`.

use super::numbers::{ATTR_FRAME, ATTR_WIPHY, ATTR_WIPHY_FREQ, CMD_FRAME};
use crate::message::{DecodeError, Message};

const ATTR_RX_SIGNAL_DBM: u16 = 151;

/// A received beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardBeacon {
    /// Number of the radio.
    pub radio: u32,
    /// The channel's centre, MHz, if the kernel reports it.
    pub frequency: Option<u32>,
    /// dBm, if the driver reports it.
    pub signal: Option<i32>,
    /// The whole frame, from its frame control on. Untrusted.
    pub frame: Vec<u8>,
}

/// Decodes a beacon of `family`. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_beacon(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<HeardBeacon>, DecodeError> {
    let Some(attributes) = message.generic(family, CMD_FRAME)? else {
        return Ok(None);
    };
    let (mut radio, mut frame) = (None, None);
    let (mut frequency, mut signal) = (None, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            ATTR_WIPHY => radio = Some(attribute.u32_native("NL80211_ATTR_WIPHY")?),
            ATTR_WIPHY_FREQ => {
                frequency = Some(attribute.u32_native("NL80211_ATTR_WIPHY_FREQ")?);
            }
            ATTR_RX_SIGNAL_DBM => {
                let number = attribute.array("NL80211_ATTR_RX_SIGNAL_DBM")?;
                signal = Some(i32::from_ne_bytes(number));
            }
            ATTR_FRAME => frame = Some(attribute.value.to_vec()),
            _ => {}
        }
    }
    Ok(Some(HeardBeacon {
        radio: radio.ok_or(DecodeError::missing("NL80211_ATTR_WIPHY"))?,
        frequency,
        signal,
        frame: frame.ok_or(DecodeError::missing("NL80211_ATTR_FRAME"))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Encoder;
    use crate::fixture::first;

    const FAMILY: u16 = 35;

    fn beacon(command: u8, body: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        Encoder::single(FAMILY, 0, 0, |e| {
            e.fixed(&[command, 1, 0, 0]);
            body(e);
        })
    }

    fn decoded(bytes: &[u8]) -> Result<Option<HeardBeacon>, DecodeError> {
        decode_beacon(&first(bytes), FAMILY)
    }

    #[test]
    fn a_beacon_and_how_loud_it_was() {
        let whole = beacon(CMD_FRAME, |e| {
            e.attribute(ATTR_WIPHY, &3u32.to_ne_bytes());
            e.attribute(ATTR_WIPHY_FREQ, &2412u32.to_ne_bytes());
            e.attribute(ATTR_RX_SIGNAL_DBM, &(-63i32).to_ne_bytes());
            e.attribute(ATTR_FRAME, &[0x80, 0, 1]);
        });
        let expected = HeardBeacon {
            radio: 3,
            frequency: Some(2412),
            signal: Some(-63),
            frame: vec![0x80, 0, 1],
        };
        assert_eq!(decoded(&whole), Ok(Some(expected)));
        assert_eq!(decoded(&beacon(60, |_| {})), Ok(None));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let told = |bytes: Vec<u8>| decoded(&bytes).unwrap_err().to_string();
        let radio = |e: &mut Encoder| e.attribute(ATTR_WIPHY, &3u32.to_ne_bytes());
        let bare = beacon(CMD_FRAME, radio);
        assert_eq!(told(bare), "NL80211_ATTR_FRAME is missing");
        let bare = beacon(CMD_FRAME, |e| e.attribute(ATTR_FRAME, &[]));
        assert_eq!(told(bare), "NL80211_ATTR_WIPHY is missing");
        let short = beacon(CMD_FRAME, |e| e.attribute(ATTR_RX_SIGNAL_DBM, &[1]));
        let wrong = "NL80211_ATTR_RX_SIGNAL_DBM has a wrong length";
        assert_eq!(told(short), wrong);
    }
}
