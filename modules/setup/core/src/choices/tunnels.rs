//! Ways in from afar.

use serde::{Deserialize, Serialize};

/// A way in from afar, by WireGuard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireGuard {
    /// Whether there is one.
    pub on: bool,
    /// The UDP port.
    pub port: u16,
    /// The router's address there, and the network's length.
    pub address: String,
    /// The name or address by which the router is found from outside: for clients' files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Its private key, in Base64; made where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// Clients that may come in. `None`: those that may already.
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

/// Who may come in by WireGuard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireGuardClient {
    /// Whose device it is.
    pub name: String,
    /// Its address in the tunnel; the next that is free where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its public key, in Base64. Where there is none, a pair is made, and the client's file told
    /// once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// A key that both know, in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preshared_key: Option<String>,
}

/// A way in from afar, by OpenVPN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenVpn {
    /// Whether there is one.
    pub on: bool,
    /// The UDP port.
    pub port: u16,
    /// The network there, and its length.
    pub network: String,
    /// The name or address by which the router is found from outside: for clients' files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Clients that may come in. `None`: those that may already.
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

/// Who may come in by OpenVPN. One whom the router does not know gets a certificate, and the
/// client's file is told once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenVpnClient {
    /// Whose device it is.
    pub name: String,
    /// The name in its certificate, which no other ever had. Made by whoever carries choices out:
    /// no document says it.
    #[serde(skip)]
    pub common_name: Option<String>,
}
