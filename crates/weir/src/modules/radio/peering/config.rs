//! `[radio.peering]`.

use std::path::PathBuf;

use ::radio::peering::attach::Mesh;

use crate::config::{DeviceName, Macs, Said, table, words};

table! {
    /// `[radio.peering]`: access points of one network that become each other's peers.
    Peering {
        /// The device of hostapd whose access point has peers; "": none has.
        Restart device: Option<DeviceName> = None;
        /// What carries frames beyond the next peer: "batman", "babel", or "bridge", where a
        /// bridge without spanning tree gets one peer only.
        Restart mesh: Mesh = Mesh::Batman;
        /// What weir puts peers' devices into: batman-adv's device with "batman", a bridge with
        /// spanning tree with "bridge"; "": you do that.
        Restart into: Option<DeviceName> = None;
        /// Only access points of these addresses become peers; none: all with the secret.
        Restart allow: Macs = Macs::default();
        /// Access points of these addresses do not.
        Restart deny: Macs = Macs::default();
        /// File with the network's secret in its first line, 16 octets or more, the same at every
        /// access point.
        Restart secret: Said = Said::default();
        /// The directory of hostapd's control sockets (`ctrl_interface` there).
        Restart hostapd: PathBuf = "/var/run/hostapd".into();
        /// File with the node's own key, which is made if there is none.
        Restart key: PathBuf = "/var/lib/weir/radio.key".into();
    }
}

words!(Mesh, "\"batman\", \"babel\" or \"bridge\"",
    "batman" => Self::Batman, "babel" => Self::Babel, "bridge" => Self::Bridge);
