//! The generic netlink family `netdev` (Linux ≥ 6.3, `include/uapi/linux/netdev.h`): XDP features
//! of drivers.

use crate::encode::{Encoder, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};

/// `GENL_ID_CTRL`, the family that lists the others.
const CONTROL: u16 = 16;
const CTRL_CMD_NEWFAMILY: u8 = 1;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_CMD_DEV_ADD_NTF: u8 = 2;
const NETDEV_CMD_DEV_CHANGE_NTF: u8 = 4;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;

/// XDP abilities of a driver: `enum netdev_xdp_act`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct XdpFeatures(pub u64);

impl XdpFeatures {
    /// `NETDEV_XDP_ACT_BASIC`: runs programs natively: abort, drop, pass, send back.
    pub fn basic(self) -> bool {
        self.has(0)
    }

    /// `NETDEV_XDP_ACT_REDIRECT`: its programs may redirect.
    pub fn redirect(self) -> bool {
        self.has(1)
    }

    /// Returns `NETDEV_XDP_ACT_NDO_XMIT`: true if frames may be redirected to the device. Some
    /// drivers report the feature only while a program is attached, veth only while its peer polls
    /// (GRO on, or a program there).
    pub fn transmit(self) -> bool {
        self.has(2)
    }

    fn has(self, bit: u32) -> bool {
        self.0 & 1 << bit != 0
    }
}

/// The numbers that a running kernel gave to a family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Message type.
    pub id: u16,
    /// Multicast groups, which report changes: names and numbers.
    pub groups: Vec<(String, u32)>,
}

impl Family {
    /// Returns the number of a group; `None`: the kernel lacks it.
    pub fn group(&self, name: &str) -> Option<u32> {
        let found = self.groups.iter().find(|(group, _)| group == name);
        found.map(|(_, number)| *number)
    }
}

/// The features of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFeatures {
    /// Interface index.
    pub link: u32,
    /// Abilities of its driver.
    pub features: XdpFeatures,
}

/// Decodes the answer of the control family. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_family(message: &Message<'_>) -> Result<Option<Family>, DecodeError> {
    let Some(attributes) = message.generic(CONTROL, CTRL_CMD_NEWFAMILY)? else {
        return Ok(None);
    };
    let mut id = None;
    let mut groups = Vec::new();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            CTRL_ATTR_FAMILY_ID => {
                id = Some(u16::from_ne_bytes(attribute.array("CTRL_ATTR_FAMILY_ID")?));
            }
            CTRL_ATTR_MCAST_GROUPS => {
                for group in attribute.nested("CTRL_ATTR_MCAST_GROUPS") {
                    let mut name = String::new();
                    let mut number = None;
                    for attribute in group?.nested("CTRL_ATTR_MCAST_GROUPS") {
                        let attribute = attribute?;
                        match attribute.kind {
                            CTRL_ATTR_MCAST_GRP_NAME => name = attribute.text(),
                            CTRL_ATTR_MCAST_GRP_ID => {
                                number = Some(attribute.u32_native("CTRL_ATTR_MCAST_GRP_ID")?);
                            }
                            _ => {}
                        }
                    }
                    groups.extend(number.map(|number| (name, number)));
                }
            }
            _ => {}
        }
    }
    Ok(Some(Family {
        id: id.ok_or(DecodeError::missing("CTRL_ATTR_FAMILY_ID"))?,
        groups,
    }))
}

/// Decodes an answer or a change of `family`. `None`: another message, or a removed device.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_device(
    message: &Message<'_>,
    family: u16,
) -> Result<Option<DeviceFeatures>, DecodeError> {
    if message.kind != family {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<4>("genlmsghdr")?;
    if !matches!(
        fixed[0],
        NETDEV_CMD_DEV_GET | NETDEV_CMD_DEV_ADD_NTF | NETDEV_CMD_DEV_CHANGE_NTF
    ) {
        return Ok(None);
    }
    let mut link = None;
    let mut features = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NETDEV_A_DEV_IFINDEX => link = Some(attribute.u32_native("NETDEV_A_DEV_IFINDEX")?),
            NETDEV_A_DEV_XDP_FEATURES => {
                let bits = attribute.array("NETDEV_A_DEV_XDP_FEATURES")?;
                features = Some(XdpFeatures(u64::from_ne_bytes(bits)));
            }
            _ => {}
        }
    }
    Ok(Some(DeviceFeatures {
        link: link.ok_or(DecodeError::missing("NETDEV_A_DEV_IFINDEX"))?,
        features: features.ok_or(DecodeError::missing("NETDEV_A_DEV_XDP_FEATURES"))?,
    }))
}

/// Asks the control family for the family of this name.
pub(crate) fn get_family(name: &str, sequence: u32) -> Vec<u8> {
    Encoder::single(CONTROL, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[CTRL_CMD_GETFAMILY, 1, 0, 0]);
        e.attribute(CTRL_ATTR_FAMILY_NAME, format!("{name}\0").as_bytes());
    })
}

/// Requests one device.
pub(crate) fn get_device(family: u16, link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(family, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&[NETDEV_CMD_DEV_GET, 1, 0, 0]);
        e.attribute(NETDEV_A_DEV_IFINDEX, &link.to_ne_bytes());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{datagram, first};

    fn only<T>(bytes: &[u8], decode: impl Fn(&Message<'_>) -> T) -> T {
        decode(&first(bytes))
    }

    #[test]
    fn the_family_and_its_group_are_found() {
        let bytes = datagram("netdev-family");
        let found = only(&bytes, decode_family).expect("valid");
        let family = found.expect("a family");
        assert_eq!((family.id, family.group("mgmt")), (20, Some(4)));
        assert_eq!(family.group("mlme"), None);
    }

    #[test]
    fn features_of_a_veth() {
        let bytes = datagram("netdev-veth");
        let found = only(&bytes, |m| decode_device(m, 20))
            .expect("valid")
            .expect("a device");
        assert!(found.features.basic() && found.features.redirect());
        assert!(!found.features.transmit());
        assert_eq!(only(&bytes, |m| decode_device(m, 21)), Ok(None));
    }

    #[test]
    fn what_is_missing_is_named() {
        let bytes = Encoder::single(20, 0, 0, |e| e.fixed(&[NETDEV_CMD_DEV_GET, 1, 0, 0]));
        let error = only(&bytes, |m| decode_device(m, 20)).unwrap_err();
        assert_eq!(error.to_string(), "NETDEV_A_DEV_IFINDEX is missing");
    }
}
