//! The properties of a router that a plan depends on.

use std::collections::BTreeMap;

use super::{Ipv4Cidr, ProblemKind, Radio, Report};

/// Properties of the router that a plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// OpenWrt's release, as its year: 23, 24, 25. `None`: another system, whose back end reads the
    /// newest form.
    pub release: Option<u16>,
    /// Device of the Internet.
    pub wan: Option<String>,
    /// Devices of the LAN.
    pub lan: Vec<String>,
    /// The router's unique hardware address.
    pub mac: Option<[u8; 6]>,
    /// Present networks at the uplink.
    pub uplink: Vec<Ipv4Cidr>,
    /// The radios.
    pub radios: Vec<Radio>,
    /// Missing features, and the packages for them: `mobile` → `uqmi`.
    pub missing: BTreeMap<String, String>,
    /// Required strength of a password.
    pub policy: Policy,
    /// Strength of the password in the choices, 0 to 4, if it was measured.
    pub score: Option<u8>,
    /// Hash of the keys of the OpenVPN server ([`crate::openvpn::mark_of`]). Empty: no keys.
    pub openvpn_keys: String,
    /// True if these keys are not those that clients know.
    pub openvpn_anew: bool,
}

impl Facts {
    /// Returns true if the router lacks a feature, and notes the problem.
    pub(super) fn missing(&self, feature: &str, field: &str, report: &mut Report) -> bool {
        let what = self.missing.get(feature);
        if let Some(what) = what {
            report.add_problem(field, &ProblemKind::NotHere(what.clone()));
        }
        what.is_some()
    }
}

/// Required strength of a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// 8 characters, and hard to guess.
    #[default]
    Strength,
    /// 10 characters, with small and large letters, digits and others.
    Classes,
}
