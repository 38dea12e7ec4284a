//! Services and advertisements of both formats, and the node's own choice of them.

use std::collections::BTreeSet;

use bluer::Uuid;

use crate::Id;
use crate::power::Power;
use crate::room::Format;

/// Services, and their characteristics: what is read to know who it is, what is written and notified,
/// and where there is a channel.
pub const V1: Uuid = Uuid::from_u128(0x99e91399_80ed_4943_9bcb_39c532a76023);
pub const V1_ID: Uuid = Uuid::from_u128(0x99e91401_80ed_4943_9bcb_39c532a76023);
pub const V1_MESSAGE: Uuid = Uuid::from_u128(0x99e91402_80ed_4943_9bcb_39c532a76023);
pub const V2: Uuid = Uuid::from_u128(0x4db14399_0bd0_4445_9906_47d9c4791cff);
pub const V2_ID: Uuid = Uuid::from_u128(0x4db14401_0bd0_4445_9906_47d9c4791cff);
pub const V2_MESSAGE: Uuid = Uuid::from_u128(0x4db14402_0bd0_4445_9906_47d9c4791cff);
pub const V2_CHANNEL: Uuid = Uuid::from_u128(0x4db14403_0bd0_4445_9906_47d9c4791cff);
/// Nobody's company, under which v2 says how an id begins.
pub const COMPANY: u16 = 0xffff;
/// Others of v1 take nobody whose name has another length for one of theirs.
pub const NAME: &str = "qaulw";
/// Longer values were lost between two BlueZ, without a word.
pub const LONGEST: usize = 244;
/// Frames that wait to be written to a connection: BlueZ takes some before the air does.
pub const AHEAD: usize = 4;

/// How many frames may wait to be written.
pub fn ahead(format: Format) -> usize {
    match format {
        // Each write is acknowledged before the next.
        Format::V1 => 1,
        Format::V2 | Format::Ip => AHEAD,
    }
}

/// Who this is, and what it speaks.
#[derive(Clone, Debug)]
pub struct Speaks {
    /// Its id.
    pub own: Id,
    /// Which formats.
    pub formats: BTreeSet<Format>,
    /// Channels, too, beside connections of v2.
    pub channels: bool,
    /// What may be spent for it.
    pub power: Power,
}
