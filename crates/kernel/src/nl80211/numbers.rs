//! Numbers of nl80211 that several files use (`include/uapi/linux/nl80211.h`).

pub(super) const CMD_GET_INTERFACE: u8 = 5;
pub(super) const CMD_NEW_INTERFACE: u8 = 7;
pub(super) const CMD_GET_STATION: u8 = 17;
pub(super) const CMD_SET_STATION: u8 = 18;
pub(super) const CMD_NEW_STATION: u8 = 19;
pub(super) const CMD_DEL_STATION: u8 = 20;
pub(super) const CMD_FRAME: u8 = 59;

pub(super) const ATTR_WIPHY: u16 = 1;
pub(super) const ATTR_IFINDEX: u16 = 3;
pub(super) const ATTR_IFTYPE: u16 = 5;
pub(super) const ATTR_MAC: u16 = 6;
pub(super) const ATTR_WIPHY_FREQ: u16 = 38;
pub(super) const ATTR_FRAME: u16 = 51;
