//! `[radio.peering]`.

use std::path::PathBuf;

use radio_core::peering::attach::Mesh;

use serde_json::Value;
use toml::de::DeValue;

use runtime::config::{DeviceName, FileValue, Macs, OptionalPath, ValueError, table, words};

table! {
    /// `[radio.peering]`: access points of one network that become each other's peers.
    Peering {
        /// Device of hostapd whose access point has peers; "": none.
        Restart device: Option<DeviceName> = None;
        /// Protocol that carries frames beyond the next peer: "batman", "babel", or "bridge", where
        /// a bridge without spanning tree gets one peer only.
        Restart mesh: Mesh as MESH = Mesh::Batman;
        /// Device into which weir puts the devices of peers: batman-adv's device with "batman", a
        /// bridge with spanning tree with "bridge"; "": you do that.
        Restart into: Option<DeviceName> = None;
        /// "apup" also accepts access points with the same name and without proof, as OpenWrt's
        /// APuP does. INSECURE: traffic to them is not encrypted, and any sender of a beacon with
        /// that name gets a port. List yours in allow.
        Restart compat: Compat = Compat::Off;
        /// Beginning of the names of devices of peers in clear, at most 11 bytes; "": the access
        /// point's device, and ".sta".
        Restart prefix: Prefix = Prefix::default();
        /// Addresses of access points that may become peers; empty: all with the secret.
        Restart allow: Macs = Macs::default();
        /// Addresses of access points that may not become peers.
        Restart deny: Macs = Macs::default();
        /// File with the network's secret in its first line, 16 bytes or more, the same at every
        /// access point. With compat = "apup" the secret may be missing: then all peers are in
        /// clear.
        Restart secret: OptionalPath = OptionalPath::default();
        /// Directory of hostapd's control sockets (`ctrl_interface` in its configuration).
        Restart hostapd: PathBuf = "/var/run/hostapd".into();
        /// File of the node's own key, which is created if missing.
        Restart key: PathBuf = "/var/lib/weir/radio.key".into();
    }
}

/// Nodes that are accepted in addition to those that prove the secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// No other nodes.
    #[default]
    Off,
    /// Nodes with the network's name, in clear.
    Apup,
}

words!(Compat, "\"off\" or \"apup\"", "off" => Self::Off, "apup" => Self::Apup);

/// Prefix of the names of peers' devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix(pub String);

impl Prefix {
    /// The bytes that a number of four digits leaves of a device's name.
    const LONGEST: usize = 11;

    /// Returns the prefix for peers of this access point. A longer prefix is cut: no other access
    /// point has peers here.
    pub fn beside(&self, device: &str) -> String {
        let usual = format!("{device}.sta");
        let mut octets = if self.0.is_empty() { &usual } else { &self.0 }.chars();
        octets.by_ref().take(Self::LONGEST).collect()
    }
}

impl FileValue for Prefix {
    const ALLOWED: &'static str = "the beginning of a device's name, 11 octets at most, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let fits = |text: &&str| {
            let plain = |octet: u8| octet.is_ascii_graphic() && !b"/:%*\"\\".contains(&octet);
            text.len() <= Self::LONGEST && !text.starts_with('-') && text.bytes().all(plain)
        };
        let text = value.as_str().filter(fits).ok_or(None)?;
        Ok(Self(text.to_owned()))
    }

    fn show(&self) -> Value {
        self.0.clone().into()
    }
}

words!(const MESH: Mesh, "\"batman\", \"babel\" or \"bridge\"",
    "batman" => Mesh::Batman, "babel" => Mesh::Babel, "bridge" => Mesh::Bridge);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_peers_in_clear_have_room_for_their_number() {
        let usual = Prefix::default();
        assert_eq!(usual.beside("wlan0"), "wlan0.sta");
        assert_eq!(usual.beside("phy0-ap0"), "phy0-ap0.st");
        assert_eq!(usual.beside("fifteen-octets0"), "fifteen-oct");
        assert_eq!(Prefix("wlan0_peer".into()).beside("wlan0"), "wlan0_peer");
        let read = |text: &str| Prefix::read(&DeValue::String(text.into()));
        assert!(read("wlan0_peer").is_ok() && read("").is_ok());
        for text in [
            "twelve octet",
            "a/b",
            "a b",
            "\u{e9}",
            "a:b",
            "%d",
            "-x",
            "a*",
            "wlan0_peers0",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
