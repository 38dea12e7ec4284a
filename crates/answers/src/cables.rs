//! What a router's ports are for.

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
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
    /// Nothing passes, in or out: it is not known yet what it is for, or it is a loop.
    #[serde(default)]
    pub shut: bool,
    /// Where it goes by itself, or why not, in a sentence.
    #[serde(default)]
    pub moving: Option<String>,
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

/// From which event on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CableEventsQuery {
    /// Those with greater numbers.
    pub after: u64,
}

impl Query for CableEventsQuery {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "after" => {
                    let number = number(value);
                    query.after = number.ok_or_else(|| wrong(name, value, "a whole number"))?;
                }
                other => {
                    return Err(unknown(
                        "/v1/cables/events",
                        other,
                        "the parameter is after",
                    ));
                }
            }
        }
        Ok(query)
    }

    fn to_query(&self) -> String {
        query::encode([("after", Some(self.after.to_string()))])
    }
}

/// What happened at ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvents {
    /// The number of the last one; they begin anew when weir does.
    pub last: u64,
    /// They, the oldest first: of 256 at most.
    pub events: Vec<CableEvent>,
}

/// Something that happened at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvent {
    /// Its number.
    pub number: u64,
    /// When, in seconds since 1970.
    pub when: u64,
    /// The device.
    pub device: String,
    /// `link`, `role`, or of a port that goes somewhere `moved`, `kept`, `taken-back`, `refused`,
    /// `later`.
    pub kind: String,
    /// `up` or `down`; the role; what it is to be used for.
    pub value: String,
    /// A sentence.
    pub text: String,
}
