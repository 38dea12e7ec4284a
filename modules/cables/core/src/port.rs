//! What is known of a port beforehand, and a hello.

use detect::Mac;

use crate::role::Role;

/// What the configuration has a port as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Use {
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
    pub former: Use,
    /// The default route leaves by it, and its gateway answers there.
    pub works: bool,
    /// The administrator's own connection comes by it.
    pub administrator: bool,
    /// This router serves DHCP on it.
    pub own_dhcp: bool,
    /// This router has a mesh's secret, by which another node can prove that it is of the same.
    pub secret: bool,
    /// This router sends frames by which a loop shows for as long as it is there.
    pub probes: bool,
    /// What the administrator chose.
    pub held: Option<Role>,
    /// Other uplinks of this router, if this port is one: name and hardware address.
    pub other_uplinks: Vec<(String, Mac)>,
}

impl Port {
    /// A frame that this router sent from another uplink is no loop: both may lead to one switch or
    /// modem, and a router passes no broadcast from one uplink on to another.
    pub(crate) fn is_other_uplink(&self, is_it: impl Fn(&(String, Mac)) -> bool) -> bool {
        self.former == Use::Uplink && self.other_uplinks.iter().any(is_it)
    }

    /// Whether hellos are said at it: not where the administrator has it for something else.
    pub fn greets(&self) -> bool {
        self.held.is_none_or(|role| role == Role::Mesh)
    }
}

/// What is proven of a hello, the better the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Nothing: it is another mesh's, or forged.
    #[default]
    None,
    /// It was made with this mesh's key, and may have been recorded: an answer is awaited.
    Awaited,
    /// It was made with this mesh's key, for this link.
    Proven,
    /// It is this router's own, of the link that the port it was sent from has now.
    Own,
}

/// A hello. What is proven of it is found out elsewhere ([`crate::hello`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The node's name.
    pub node: String,
    /// Its mesh's name.
    pub mesh: String,
    /// What is proven of it.
    pub proof: Proof,
    /// The port it was sent from.
    pub port: String,
}
