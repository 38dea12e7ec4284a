//! Settings of multipath.

use std::collections::BTreeMap;

use kernel::Prefix;
use multipath::hints::{Hint, Hints, Use};
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
    /// `[multipath.paths.NAME]`, by name of the device.
    pub paths: BTreeMap<String, PathSettings>,
}

impl Multipath {
    /// What is said of paths.
    pub fn hints(&self) -> Hints {
        let paths = self.paths.iter();
        paths
            .map(|(name, path)| {
                let hint = Hint {
                    used: *path.used,
                    weight: *path.weight,
                    up: path.up.map(|rate| rate.0),
                    down: path.down.map(|rate| rate.0),
                };
                (name.clone(), hint)
            })
            .collect()
    }
}

/// `[multipath.paths.NAME]`: what is said of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSettings {
    /// When it is used.
    pub used: Setting<Use>,
    /// Share of new conversations in the tunnel, percent of what its rate alone would give.
    pub weight: Setting<u8>,
    /// Most that it carries to the partner.
    pub up: Setting<Option<Rate>>,
    /// Most that it carries from there.
    pub down: Setting<Option<Rate>>,
}

impl Default for PathSettings {
    fn default() -> Self {
        Self {
            used: Setting::default(),
            weight: Setting::default_value(Hint::default().weight),
            up: Setting::default(),
            down: Setting::default(),
        }
    }
}

/// What a line carries, bit/s; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// What becomes of connections while the partner is not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// They go by the best uplink.
    #[default]
    Direct,
    /// They wait: nothing leaves but by the partner.
    Stop,
}
