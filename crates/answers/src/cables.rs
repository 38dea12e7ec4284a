//! What a router's ports are for.

use serde::{Deserialize, Serialize};

/// All ports that are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cables {
    /// Whether it is looked at all, and whether weir acts: `off`, `suggest` or `auto`.
    pub mode: String,
    /// The ports, in the order of their names.
    pub cables: Vec<Cable>,
}

/// What is at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// The device.
    pub device: String,
    /// Whether there is a link.
    pub link: bool,
    /// What the port is for: `uplink`, `mesh`, `radio`, `client`, `border`, `switch`, `loop`,
    /// `unknown`.
    pub role: String,
    /// How sure that is, of 100.
    pub confidence: u8,
    /// What was heard, in its order.
    pub evidence: Vec<CableEvidence>,
    /// Milliseconds from the link to the decision; `None`: it is still listened.
    pub decided: Option<u64>,
    /// Who keeps the role as it is: `administrator`, or `connection`, where the administrator's own
    /// connection comes by this port.
    pub held_by: Option<String>,
    /// What the port is used for now: `lan`, `uplink`, `mesh`, `none`.
    pub now: String,
    /// Why it has this role, in a sentence.
    pub why: String,
    /// What would change it, in a sentence.
    pub would_change: String,
    /// What somebody should know, such as a second server of DHCP, in sentences.
    pub notices: Vec<String>,
}

/// Something that was heard at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvidence {
    /// A word for it.
    pub kind: String,
    /// Milliseconds after the link.
    pub after: u64,
    /// A sentence, without a full stop.
    pub text: String,
}

/// The role that somebody gives a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CableRole {
    /// As [`Cable::role`] has it.
    pub role: String,
}

impl api::Body for CableRole {
    const EXPECTED: &'static str = "a JSON object with \"role\"";
}
