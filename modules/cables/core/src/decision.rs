//! What was decided, as it is told.

use crate::role::Role;

/// Something that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// A word for what kind of thing.
    pub kind: &'static str,
    /// Milliseconds after the link came.
    pub after: u64,
    /// A sentence without a full stop.
    pub text: String,
}

/// Something that people should see to, whatever the role is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// A word for what kind of thing.
    pub kind: &'static str,
    /// A sentence without a full stop.
    pub text: String,
    /// Its address, and the VLAN where there is one.
    pub who: String,
}

/// What a port is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What it is for.
    pub role: Role,
    /// How sure that is, up to 100.
    pub confidence: u8,
    /// What was heard, in the order of its coming.
    pub evidence: Vec<Clue>,
    /// Why, in a sentence.
    pub why: String,
    /// What would change it, in a sentence.
    pub would_change: String,
    /// When it was decided, in milliseconds after the link came; `None`: still listening.
    pub decided: Option<u64>,
    /// What keeps the role whatever is heard: `administrator`, who chose it, or `connection`, the
    /// administrator's own.
    pub held_by: Option<&'static str>,
    /// The VXLAN that the mesh has to be in at this port, as others are there too.
    pub vxlan: Option<u32>,
    /// Own frames come back, whatever role is kept.
    pub looped: bool,
    /// What people should see to.
    pub notices: Vec<Notice>,
}
