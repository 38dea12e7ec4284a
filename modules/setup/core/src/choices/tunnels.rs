//! Remote access.

use serde::{Deserialize, Serialize};

/// Remote access by WireGuard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireGuard {
    /// True if the tunnel is on.
    pub on: bool,
    /// The UDP port.
    pub port: u16,
    /// The router's address in the tunnel, and the network's length.
    pub address: String,
    /// The name or address by which the router is found from outside: for clients' files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// The router's private key, in Base64; made if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// Permitted clients. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<WireGuardClient>>,
}

impl Default for WireGuard {
    fn default() -> Self {
        Self {
            on: false,
            port: 51820,
            address: "10.71.0.1/24".to_owned(),
            endpoint: String::new(),
            private_key: None,
            clients: None,
        }
    }
}

/// A client of WireGuard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireGuardClient {
    /// Owner of the device.
    pub name: String,
    /// Address in the tunnel; by default the next free one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The client's public key, in Base64. If missing, a pair is made, and the client's file shown
    /// once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// A preshared key, in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preshared_key: Option<String>,
}

/// Remote access by OpenVPN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenVpn {
    /// True if the tunnel is on.
    pub on: bool,
    /// The UDP port.
    pub port: u16,
    /// Network of the tunnel, and its length.
    pub network: String,
    /// The name or address by which the router is found from outside: for clients' files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Permitted clients. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<OpenVpnClient>>,
}

impl Default for OpenVpn {
    fn default() -> Self {
        Self {
            on: false,
            port: 1194,
            network: "10.72.0.0/24".to_owned(),
            endpoint: String::new(),
            clients: None,
        }
    }
}

/// A client of OpenVPN. A client that is new to the router gets a certificate, and the client's
/// file is shown once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenVpnClient {
    /// Owner of the device.
    pub name: String,
    /// Name in the certificate, unique for ever. Generated when choices are applied: documents do
    /// not have it.
    #[serde(skip)]
    pub common_name: Option<String>,
}
