//! The decision on a port, for reports.

use crate::role::Role;

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceItem {
    /// Name of the reason's kind.
    pub kind: &'static str,
    /// Milliseconds after the link came.
    pub after: u64,
    /// A sentence without a full stop.
    pub text: String,
}

/// A notice that people should act on, whatever the role is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Name of the evidence's kind.
    pub kind: &'static str,
    /// A sentence without a full stop.
    pub text: String,
    /// Address of the device, and the VLAN if there is one.
    pub who: String,
}

/// Decision on the role of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Role of the port.
    pub role: Role,
    /// Confidence in the role, up to 100.
    pub confidence: u8,
    /// Evidence in order of arrival.
    pub evidence: Vec<EvidenceItem>,
    /// Reason, one sentence.
    pub why: String,
    /// Evidence that would change the role, one sentence.
    pub change_condition: String,
    /// Time of the decision, in milliseconds after the link came; `None`: still listening.
    pub decided: Option<u64>,
    /// Reason to keep the role against all evidence: `administrator` (chosen by hand), or
    /// `connection` (the administrator's own).
    pub held_by: Option<&'static str>,
    /// The VXLAN that the mesh has to be in at this port, as others are there too.
    pub vxlan: Option<u32>,
    /// Own frames return, whatever role is kept.
    pub looped: bool,
    /// Problems for the user.
    pub notices: Vec<Notice>,
}
