//! What goes through the air: networks of Wi-Fi, and a mesh.

use serde::{Deserialize, Serialize};

/// Wi-Fi networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wifi {
    /// The country whose rules hold, two letters (ISO 3166). Empty: left as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub country: String,
    /// The networks. What is not here goes. `None`: left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<Network>>,
}

/// A Wi-Fi network, by as many radios as are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Its name: 1 to 32 bytes.
    pub ssid: String,
    /// Its key: 8 to 63 characters, or 64 of hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How it is kept.
    pub security: Security,
    /// For whom it is.
    #[serde(rename = "for")]
    pub whom: Whom,
    /// By which radios; by all where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<String>,
    /// Whether stations are helped to move from one access point to another (802.11r).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roaming: bool,
    /// Whether it does not tell its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// How a Wi-Fi network is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// WPA3 for who knows it, else WPA2.
    #[default]
    Mixed,
    /// WPA3 alone.
    Wpa3,
    /// WPA2 alone: for devices that stumble over the others.
    Wpa2,
    /// No key; encrypted all the same where the station can (OWE).
    Owe,
    /// No key, and nothing encrypted.
    Open,
    /// As it is: the network has an encryption that the wizard does not offer.
    Kept,
}

/// For whom a Wi-Fi network is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whom {
    /// Who lives here: the network inside.
    #[default]
    Lan,
    /// Guests: the Internet, and nothing inside.
    Guest,
}

/// Mesh with other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mesh {
    /// By what.
    pub kind: MeshKind,
    /// Its name, which all nodes share: 1 to 32 bytes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its key (SAE); none: open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// By which radio; by each that is not named elsewhere where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<String>,
    /// The country whose rules hold, as of Wi-Fi. Empty: left as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub country: String,
    /// The channel that all nodes share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// Whether this node shares its own Internet: batman-adv's gateway mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gateway: bool,
}

/// What a mesh is made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeshKind {
    /// None.
    #[default]
    None,
    /// 802.11s below batman-adv.
    Batman,
    /// Access points that peer (APuP).
    Apup,
}
