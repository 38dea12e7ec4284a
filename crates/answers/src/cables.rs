//! Roles of a router's ports.

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
use serde::{Deserialize, Serialize};

/// All observed ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cables {
    /// Mode: `off`, `suggest` (weir only observes) or `auto` (weir also acts).
    pub mode: String,
    /// The ports, sorted by name.
    pub cables: Vec<Cable>,
}

/// State of a port: its role, and the evidence for that role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// The device.
    pub device: String,
    /// True if the port has a link.
    pub link: bool,
    /// Role of the port: `uplink`, `mesh`, `radio`, `client`, `border`, `switch`, `loop`,
    /// `unknown`.
    pub role: String,
    /// Confidence in the role, of 100.
    pub confidence: u8,
    /// Evidence, in the order of arrival.
    pub evidence: Vec<CableEvidence>,
    /// Milliseconds from the link to the decision; `None`: not decided yet.
    pub decided: Option<u64>,
    /// Reason that the role is fixed: `administrator`, or `connection` if the administrator's own
    /// connection uses this port.
    pub held_by: Option<String>,
    /// Current use of the port: `lan`, `uplink`, `mesh`, `none`.
    pub now: String,
    /// True if the port passes nothing in or out: its role is not known yet, or it is a loop.
    #[serde(default)]
    pub shut: bool,
    /// Pending automatic move of the port, or the reason for no move, in a sentence.
    #[serde(default)]
    pub moving: Option<String>,
    /// Reason for the role, in a sentence.
    pub why: String,
    /// Condition that would change the role, in a sentence.
    pub change_condition: String,
    /// Notices for the administrator, such as a second DHCP server, in sentences.
    pub notices: Vec<String>,
}

/// An observation at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvidence {
    /// Keyword for the kind of evidence.
    pub kind: String,
    /// Milliseconds after the link.
    pub after: u64,
    /// A sentence, without a full stop.
    pub text: String,
}

/// Role that an administrator assigns to a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CableRole {
    /// Role, as in [`Cable::role`].
    pub role: String,
}

impl api::Body for CableRole {
    const EXPECTED: &'static str = "a JSON object with \"role\"";
}

/// Query of `GET /v1/cables/events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CableEventsQuery {
    /// Selects the events with greater numbers.
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

/// Events at ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvents {
    /// Number of the last event; numbers restart when weir restarts.
    pub last: u64,
    /// The events, the oldest first: 256 at most.
    pub events: Vec<CableEvent>,
}

/// An event at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CableEvent {
    /// Number of the event.
    pub number: u64,
    /// Time of the event, in seconds since 1970.
    pub when: u64,
    /// The device.
    pub device: String,
    /// `link`, `role`, or, for a port that changes its use, `moved`, `kept`, `taken-back`,
    /// `refused`, `later`.
    pub kind: String,
    /// New value: `up` or `down`; the role; the planned use.
    pub value: String,
    /// The event in a sentence.
    pub text: String,
}
