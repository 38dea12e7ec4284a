//! Radio networks: Wi-Fi, and a mesh.

use serde::{Deserialize, Serialize};

/// Wi-Fi networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wifi {
    /// Country of the radio rules, two letters (ISO 3166). Empty: unchanged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub country: String,
    /// The networks. Others are removed. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<Network>>,
}

/// A Wi-Fi network, by as many radios as are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Name: 1 to 32 bytes.
    pub ssid: String,
    /// Key: 8 to 63 characters, or 64 of hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Encryption of the network.
    pub security: Security,
    /// Users of the network.
    #[serde(rename = "for")]
    pub whom: NetworkUsers,
    /// Radios; empty: all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<String>,
    /// True to help stations move from one access point to another (802.11r).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roaming: bool,
    /// True to hide the name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// Encryption of a Wi-Fi network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// WPA3 for stations that support it, otherwise WPA2.
    #[default]
    Mixed,
    /// WPA3 alone.
    Wpa3,
    /// WPA2 alone: for devices that fail with the others.
    Wpa2,
    /// No key; encrypted nevertheless if the station can (OWE).
    Owe,
    /// No key, and no encryption.
    Open,
    /// Unchanged: the network has an encryption that the wizard does not offer.
    Kept,
}

/// Users of a Wi-Fi network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkUsers {
    /// Residents: the LAN.
    #[default]
    Lan,
    /// Guests: the Internet, and nothing inside.
    Guest,
}

/// Mesh with other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mesh {
    /// Kind of the mesh.
    pub kind: MeshKind,
    /// Name, which all nodes share: 1 to 32 bytes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Key (SAE); `None`: open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Radios; empty: each that is not named elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<String>,
    /// Country of the radio rules, as for Wi-Fi. Empty: unchanged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub country: String,
    /// The channel that all nodes share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// True to share this node's own Internet: batman-adv's gateway mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gateway: bool,
}

/// Kinds of meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeshKind {
    /// No mesh.
    #[default]
    None,
    /// 802.11s below batman-adv.
    Batman,
    /// Access points that peer (APuP).
    Apup,
}
