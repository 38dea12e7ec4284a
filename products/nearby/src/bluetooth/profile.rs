//! Services and advertisements of both formats, and the node's own choice of them.

use std::collections::BTreeSet;

use bluer::Uuid;

use crate::Id;
use crate::machine::Format;
use crate::power::Power;

/// Services, and their characteristics: for reading the id, for writes and notifications, and for
/// the channel's number.
pub const V1: Uuid = Uuid::from_u128(0x99e91399_80ed_4943_9bcb_39c532a76023);
pub const V1_ID: Uuid = Uuid::from_u128(0x99e91401_80ed_4943_9bcb_39c532a76023);
pub const V1_MESSAGE: Uuid = Uuid::from_u128(0x99e91402_80ed_4943_9bcb_39c532a76023);
pub const V2: Uuid = Uuid::from_u128(0x4db14399_0bd0_4445_9906_47d9c4791cff);
pub const V2_ID: Uuid = Uuid::from_u128(0x4db14401_0bd0_4445_9906_47d9c4791cff);
pub const V2_MESSAGE: Uuid = Uuid::from_u128(0x4db14402_0bd0_4445_9906_47d9c4791cff);
pub const V2_CHANNEL: Uuid = Uuid::from_u128(0x4db14403_0bd0_4445_9906_47d9c4791cff);
/// Reserved company id, under which v2 advertises the start of an id.
pub const COMPANY: u16 = 0xffff;
/// Advertised name: other v1 devices reject names of another length.
pub const NAME: &str = "qaulw";
/// Longest value: longer ones were lost between two BlueZ without an error.
pub const LONGEST: usize = 244;
/// Frames queued for a connection: BlueZ takes some before the air does.
pub const AHEAD: usize = 4;

/// Returns the number of frames that may be queued.
pub fn ahead(format: Format) -> usize {
    match format {
        // Each write is acknowledged before the next.
        Format::V1 => 1,
        Format::V2 | Format::Ip => AHEAD,
    }
}

/// Identity and capabilities of this device.
#[derive(Clone, Debug)]
pub struct LocalDevice {
    /// Id of this device.
    pub own: Id,
    /// Supported formats.
    pub formats: BTreeSet<Format>,
    /// True if channels are used in addition to connections of v2.
    pub channels: bool,
    /// Power profile.
    pub power: Power,
}
