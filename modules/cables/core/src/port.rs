//! Prior facts of a port, and a hello.

use detect::Mac;

use crate::role::Role;

/// Use of a port in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Use {
    /// Port of the LAN.
    Lan,
    /// The uplink.
    Uplink,
    /// Port of the mesh.
    Mesh,
    /// Nothing yet.
    #[default]
    None,
}

/// Facts of a port that need no listening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Name of the port.
    pub device: String,
    /// Use of the port in the configuration.
    pub former: Use,
    /// The default route leaves by it, and its gateway answers there.
    pub works: bool,
    /// The administrator's own connection uses the port.
    pub administrator: bool,
    /// True if this router serves DHCP on the port.
    pub own_dhcp: bool,
    /// True if this router has a mesh's secret, by which another node can prove its membership.
    pub secret: bool,
    /// True if this router sends probes, which show a loop for as long as it exists.
    pub probes: bool,
    /// Role chosen by the administrator.
    pub held: Option<Role>,
    /// Other uplinks of this router, if this port is one: name and hardware address.
    pub other_uplinks: Vec<(String, Mac)>,
}

impl Port {
    /// A frame that this router sent from another uplink is not a loop: both uplinks may lead to
    /// one switch or modem, and a router forwards no broadcast from one uplink to another.
    pub(crate) fn is_other_uplink(&self, is_it: impl Fn(&(String, Mac)) -> bool) -> bool {
        self.former == Use::Uplink && self.other_uplinks.iter().any(is_it)
    }

    /// Returns true if the port sends hellos: not if the administrator chose another role.
    pub fn greets(&self) -> bool {
        self.held.is_none_or(|role| role == Role::Mesh)
    }
}

/// Proof of a hello, from weakest to strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Nothing: it is another mesh's, or forged.
    #[default]
    None,
    /// The hello was made with this mesh's key, and may be a recording: an answer is pending.
    Awaited,
    /// The hello was made with this mesh's key, for this link.
    Proven,
    /// The hello is this router's own, of the current link of the sending port.
    Own,
}

/// A hello. [`crate::hello`] verifies its proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The node's name.
    pub node: String,
    /// Name of the node's mesh.
    pub mesh: String,
    /// Proof of the hello.
    pub proof: Proof,
    /// The port it was sent from.
    pub port: String,
}
