//! Roles of a port.

use std::fmt;
use std::str::FromStr;

/// Role of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The Internet is there.
    Uplink,
    /// Another node of the same mesh.
    Mesh,
    /// A radio that makes a link through the air.
    Radio,
    /// A user of this router.
    Client,
    /// Another network, with routing of its own.
    Border,
    /// A switch with several stations.
    Switch,
    /// The cable leads back to this router.
    Loop,
    /// Unknown.
    Unknown,
}

impl Role {
    /// All, in order.
    pub const ALL: [Self; 8] = [
        Self::Uplink,
        Self::Mesh,
        Self::Radio,
        Self::Client,
        Self::Border,
        Self::Switch,
        Self::Loop,
        Self::Unknown,
    ];

    /// Returns the role's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Uplink => "uplink",
            Self::Mesh => "mesh",
            Self::Radio => "radio",
            Self::Client => "client",
            Self::Border => "border",
            Self::Switch => "switch",
            Self::Loop => "loop",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The name is not a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRole;

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Role::ALL.map(Role::word);
        write!(f, "valid roles: {}", words.join(", "))
    }
}

impl std::error::Error for UnknownRole {}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        let all = Self::ALL.into_iter();
        all.into_iter()
            .find(|role| role.word() == word)
            .ok_or(UnknownRole)
    }
}
