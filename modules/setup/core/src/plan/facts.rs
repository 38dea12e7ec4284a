//! The properties of a router that a plan depends on.

use std::collections::BTreeMap;

use super::{Inside, Radio, Report, Wrong};

/// What a plan has to know of the router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// OpenWrt's release, as its year: 23, 24, 25. None: another system, whose back end reads the
    /// newest form.
    pub release: Option<u16>,
    /// The device that the Internet is plugged into.
    pub wan: Option<String>,
    /// The devices of the network inside.
    pub lan: Vec<String>,
    /// The hardware address by which nobody else goes.
    pub mac: Option<[u8; 6]>,
    /// The networks at the uplink, as the router has them at the moment.
    pub uplink: Vec<Inside>,
    /// The radios.
    pub radios: Vec<Radio>,
    /// What the router lacks, and what brings it: `mobile` → `uqmi`.
    pub lacks: BTreeMap<String, String>,
    /// How good a password has to be.
    pub policy: Policy,
    /// How hard the password of the choices is to guess, 0 to 4, where somebody judged it.
    pub score: Option<u8>,
    /// What tells the keys of its OpenVPN server from any others ([`crate::openvpn::mark_of`]).
    /// Empty: it has none.
    pub openvpn_keys: String,
    /// Whether those are others than clients know.
    pub openvpn_anew: bool,
}

impl Facts {
    /// Returns true if the router lacks a feature, and notes the problem.
    pub(super) fn lacks(&self, feature: &str, field: &str, report: &mut Report) -> bool {
        let what = self.lacks.get(feature);
        if let Some(what) = what {
            report.wrong(field, &Wrong::NotHere(what.clone()));
        }
        what.is_some()
    }
}

/// How good a password has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// 8 characters, and hard to guess.
    #[default]
    Strength,
    /// 10 characters, with small and large letters, digits and others.
    Classes,
}
