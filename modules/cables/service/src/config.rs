//! `[cables]`.

use std::path::PathBuf;

use runtime::config::{DeviceName, OptionalPath, Section, table, words};

/// Sections of this module.
pub const SECTIONS: [Section; 1] = [Section::of::<Cables>("cables")];

table! {
    /// `[cables]`: what is at the other end of a cable, and what the port is for.
    Cables {
        /// Detection of the far end of cables: "suggest" reports, and changes nothing; "auto" also
        /// moves ports between LAN, uplink and mesh.
        Restart mode: Mode = Mode::Off;
        /// Ports to examine; empty: every Ethernet socket of this machine.
        Restart ports: Vec<DeviceName> = Vec::new();
        /// Foreign servers (DHCP, PPPoE, IPv6 routers) at ports of the LAN: "tell" reports them,
        /// "shut" also blocks them.
        Restart servers: ForeignServers = ForeignServers::Tell;
        /// File with the mesh's secret in its first line, 16 bytes or more, the same at every node;
        /// "": no hello is sent, and no port is recognised as one of the mesh.
        Restart mesh: OptionalPath = OptionalPath::default();
        /// File of the roles that `weir cables set` sets.
        Restart choices: PathBuf = "/var/lib/weir/cables".into();
    }
}

/// Mode of the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Ports are ignored.
    #[default]
    Off,
    /// Ports are watched, and results are reported.
    Suggest,
    /// Ports are also moved.
    Auto,
}

impl Mode {
    /// Returns the mode's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Suggest => "suggest",
            Self::Auto => "auto",
        }
    }
}

words!(Mode, "\"off\", \"suggest\" or \"auto\"",
    "off" => Self::Off, "suggest" => Self::Suggest, "auto" => Self::Auto);

/// Treatment of foreign servers at ports of the LAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForeignServers {
    /// Foreign servers are reported.
    #[default]
    Tell,
    /// Frames of foreign servers are dropped.
    Shut,
}

impl ForeignServers {
    /// Returns the treatment's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tell => "tell",
            Self::Shut => "shut",
        }
    }
}

words!(ForeignServers, "\"tell\" or \"shut\"", "tell" => Self::Tell, "shut" => Self::Shut);
