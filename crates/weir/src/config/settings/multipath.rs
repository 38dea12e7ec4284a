//! Settings of multipath.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use kernel::Prefix;
use multipath::hints::{Hint, Hints, Use};
use multipath::{Clients, Encrypt, Forward, Pairing, Ports};

use super::{Origin, Setting};

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
    /// Destination ports that are reached directly.
    pub direct_ports: Setting<Vec<Ports>>,
    /// Clients that reach all directly.
    pub direct_devices: Setting<Vec<Clients>>,
    /// Where what comes to the partner's ports goes.
    pub forward: Setting<Vec<Forward>>,
}

impl Multipath {
    /// The file with the partner's secret, and its mode, where others can read it.
    pub fn exposed(&self) -> Option<(&str, u32)> {
        let Origin::File { name, .. } = &self.partner.origin else {
            return None;
        };
        self.partner.as_ref()?;
        let mode = fs::metadata(name).ok()?.permissions().mode() & 0o777;
        (mode & 0o044 != 0).then_some((name, mode))
    }

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
