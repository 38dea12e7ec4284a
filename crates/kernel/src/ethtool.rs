//! The generic netlink family `ethtool` (`include/uapi/linux/ethtool_netlink.h`): a device's VLAN
//! features, and its speed.

use crate::encode::{Encoder, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message};

const LINKMODES_GET: u8 = 4;
const LINKMODES_GET_REPLY: u8 = 4;
const LINKMODES_HEADER: u16 = 1;
const LINKMODES_SPEED: u16 = 5;
/// `SPEED_UNKNOWN`.
const SPEED_UNKNOWN: u32 = u32::MAX;
const FEATURES_GET: u8 = 11;
const FEATURES_GET_REPLY: u8 = 11;
const FEATURES_HEADER: u16 = 1;
const FEATURES_ACTIVE: u16 = 4;
const HEADER_DEV_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;
/// `ETHTOOL_FLAG_COMPACT_BITSETS`: without the name of each mode.
const COMPACT: u32 = 1;
const BITSET_BITS: u16 = 3;
const BITSET_BITS_BIT: u16 = 1;
const BITSET_BIT_NAME: u16 = 2;

/// VLAN tags that a device strips in hardware. They are in the skb then, and a program at XDP does
/// not see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HiddenTags {
    /// `rx-vlan-hw-parse`: strips tags of 802.1Q.
    pub customer: bool,
    /// `rx-vlan-stag-hw-parse`: strips tags of 802.1ad.
    pub service: bool,
}

/// Decodes an answer of `family`: without a mask, its lists hold the enabled features. `None`:
/// another message.
///
/// # Errors
/// Names the attribute that is cut short or missing.
pub fn decode_features(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<HiddenTags>, DecodeError> {
    let Some(attributes) = message.generic(family, FEATURES_GET_REPLY)? else {
        return Ok(None);
    };
    let mut found = None;
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind == FEATURES_ACTIVE {
            found = Some(active(&attribute)?);
        }
    }
    found
        .map(Some)
        .ok_or(DecodeError::missing("ETHTOOL_A_FEATURES_ACTIVE"))
}

fn active(set: &Attribute<'_>) -> Result<HiddenTags, DecodeError> {
    let mut tags = HiddenTags::default();
    let mut listed = false;
    for bits in set.nested("ETHTOOL_A_FEATURES_ACTIVE") {
        let bits = bits?;
        if bits.kind != BITSET_BITS {
            continue;
        }
        listed = true;
        for bit in bits.nested("ETHTOOL_A_BITSET_BITS") {
            let bit = bit?;
            if bit.kind != BITSET_BITS_BIT {
                continue;
            }
            for attribute in bit.nested("ETHTOOL_A_BITSET_BITS_BIT") {
                let attribute = attribute?;
                if attribute.kind == BITSET_BIT_NAME {
                    match attribute.text().as_str() {
                        "rx-vlan-hw-parse" => tags.customer = true,
                        "rx-vlan-stag-hw-parse" => tags.service = true,
                        _ => {}
                    }
                }
            }
        }
    }
    if listed {
        Ok(tags)
    } else {
        Err(DecodeError::missing("ETHTOOL_A_BITSET_BITS"))
    }
}

/// Decodes an answer of `family` about the speed of a device, in Mbit/s: the inner `None` if the
/// speed is unknown. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_speed(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<Option<u32>>, DecodeError> {
    let Some(attributes) = message.generic(family, LINKMODES_GET_REPLY)? else {
        return Ok(None);
    };
    let mut speed = None;
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind == LINKMODES_SPEED {
            let told = attribute.u32_native("ETHTOOL_A_LINKMODES_SPEED")?;
            speed = Some(told).filter(|speed| !matches!(*speed, 0 | SPEED_UNKNOWN));
        }
    }
    Ok(Some(speed))
}

/// Requests the speed of one device.
pub(crate) fn get_speed(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[LINKMODES_GET, 1, 0, 0]);
        e.nested(LINKMODES_HEADER, |e| {
            e.attribute(HEADER_DEV_INDEX, &link.to_ne_bytes());
            e.attribute(HEADER_FLAGS, &COMPACT.to_ne_bytes());
        });
    })
}

/// Requests the features of one device, by their names.
pub(crate) fn get_features(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[FEATURES_GET, 1, 0, 0]);
        e.nested(FEATURES_HEADER, |e| {
            e.attribute(HEADER_DEV_INDEX, &link.to_ne_bytes());
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    fn answer(command: u8, lists: &[(u16, &[&str])]) -> Vec<u8> {
        Encoder::single(21, 0, 0, |e| {
            e.fixed(&[command, 1, 0, 0]);
            for (list, names) in lists {
                e.nested(*list, |e| {
                    e.nested(BITSET_BITS, |e| {
                        for name in *names {
                            e.nested(BITSET_BITS_BIT, |e| {
                                e.attribute(1, &7u32.to_ne_bytes());
                                e.attribute(BITSET_BIT_NAME, format!("{name}\0").as_bytes());
                            });
                        }
                    });
                });
            }
        })
    }

    fn decoded(bytes: &[u8], family: u16) -> Result<Option<HiddenTags>, DecodeError> {
        decode_features(&first(bytes), family)
    }

    #[test]
    fn what_is_on_counts_not_what_could_be() {
        let hardware = ["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"];
        let of = |active: &[&str]| {
            let bytes = answer(
                11,
                &[(2, &hardware), (3, &hardware), (FEATURES_ACTIVE, active)],
            );
            decoded(&bytes, 21).expect("understood").expect("an answer")
        };
        let tags = |customer, service| HiddenTags { customer, service };
        assert_eq!(of(&[]), tags(false, false));
        assert_eq!(of(&["rx-checksum", "rx-vlan-filter"]), tags(false, false));
        assert_eq!(of(&["rx-checksum", hardware[0]]), tags(true, false));
        assert_eq!(of(&hardware), tags(true, true));
    }

    #[test]
    fn a_speed_is_known_or_not() {
        let of = |command, speeds: &[u32]| {
            let bytes = Encoder::single(21, 0, 0, |e| {
                e.fixed(&[command, 1, 0, 0]);
                for speed in speeds {
                    e.attribute(LINKMODES_SPEED, &speed.to_ne_bytes());
                }
            });
            decode_speed(&first(&bytes), 21).expect("understood")
        };
        assert_eq!(of(4, &[2_500]), Some(Some(2_500)));
        assert_eq!(of(4, &[SPEED_UNKNOWN]), Some(None));
        assert_eq!(of(4, &[0]), Some(None));
        assert_eq!(of(4, &[]), Some(None));
        assert_eq!(of(11, &[1_000]), None);
    }

    #[test]
    fn other_messages_and_other_shapes() {
        let bytes = answer(11, &[(FEATURES_ACTIVE, &[])]);
        assert_eq!(decoded(&bytes, 22), Ok(None));
        assert_eq!(
            decoded(&answer(13, &[]), 21),
            Ok(None),
            "told, not asked for"
        );
        let error = decoded(&answer(11, &[(2, &[])]), 21).unwrap_err();
        assert_eq!(error.to_string(), "ETHTOOL_A_FEATURES_ACTIVE is missing");
        // An unrequested compact list does not count as an empty one.
        let mut compact = bytes;
        let at = compact.len() - 2;
        compact[at..].copy_from_slice(&(0x8000u16 | 4).to_ne_bytes());
        let error = decoded(&compact, 21).unwrap_err();
        assert_eq!(error.to_string(), "ETHTOOL_A_BITSET_BITS is missing");
    }
}
