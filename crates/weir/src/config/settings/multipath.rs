//! Settings of multipath.

use kernel::Prefix;
use multipath::{Encrypt, Pairing};

use super::Setting;

/// `[multipath]`: clients get the sum of all uplinks, by way of a partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multipath {
    /// The partner; `None`: uplinks are used as routes say.
    pub partner: Setting<Option<Pairing>>,
    /// What becomes of connections while the partner is not reached.
    pub fallback: Setting<Fallback>,
    /// What is encrypted on its way to the partner.
    pub encrypt: Setting<Encrypt>,
    /// Networks that are reached directly, besides private ones.
    pub direct: Setting<Vec<Prefix>>,
}

/// What becomes of connections while the partner is not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// They go by the best uplink.
    #[default]
    Direct,
    /// They wait: nothing leaves but by the partner.
    Stop,
}
