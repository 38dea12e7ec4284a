//! What is known of a port beforehand, and a hello.

use crate::role::Role;

/// What the configuration has a port as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Former {
    /// One of the LAN.
    Lan,
    /// The uplink.
    Uplink,
    /// One of the mesh.
    Mesh,
    /// Nothing yet.
    #[default]
    None,
}

/// What is known of a port without listening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub device: String,
    /// What the configuration has it as.
    pub former: Former,
    /// The administrator's own connection comes by it.
    pub administrator: bool,
    /// This router serves DHCP on it.
    pub own_dhcp: bool,
    /// What the administrator chose.
    pub held: Option<Role>,
}

/// A hello of another node. Whether it is proven is found out elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The node's name.
    pub node: String,
    /// Its mesh's name.
    pub mesh: String,
    /// It was made with this mesh's key, for this cable.
    pub proven: bool,
    /// The port it was sent from.
    pub port: String,
}
