//! Choices of a user who sets a router up: the wizard's answers, and the document that `weir setup
//! export` writes and `weir setup import` applies to a hundred nodes.
//!
//! The document states the goal, not the options for it: [`crate::plan`] knows these. A missing
//! part is left unchanged, so a document may be as short as the name of a Wi-Fi network. A missing
//! list in a part is left unchanged too. A given list is complete: an empty one removes all
//! entries.
//!
//! Addresses and names are text, as the user types them: the plan checks them.

mod tunnels;
mod wireless;

use serde::{Deserialize, Serialize};
pub use tunnels::{OpenVpn, OpenVpnClient, WireGuard, WireGuardClient};
pub use wireless::{Mesh, MeshKind, Network, NetworkUsers, Security, Wifi};

/// Version of the document's format, the only one so far.
pub const FORMAT: u32 = 1;

/// All choices. Every part may be missing, and is then unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// The document's format: 1.
    pub format: u32,
    /// The router itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<Router>,
    /// Uplink to the Internet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet: Option<Internet>,
    /// The network inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lan: Option<Lan>,
    /// Wi-Fi networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Mesh with other nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Mesh>,
    /// Name servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// Remote access by WireGuard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wireguard: Option<WireGuard>,
    /// Remote access by OpenVPN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openvpn: Option<OpenVpn>,
    /// Port forwardings and blocked devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firewall: Option<Firewall>,
}

impl Choices {
    /// Returns the choices that another router can apply. OpenVPN clients belong to the certificate
    /// authority of this one.
    #[must_use]
    pub fn for_others(mut self) -> Choices {
        if let Some(vpn) = &mut self.openvpn {
            vpn.clients = None;
        }
        self
    }

    /// Returns only the choices that another node needs to join the mesh. `None`: no mesh.
    pub fn to_join(&self) -> Option<Choices> {
        let mesh = self.mesh.clone()?;
        let country = self.wifi.as_ref().map(|wifi| wifi.country.clone());
        (mesh.kind != MeshKind::None).then(|| Choices {
            format: FORMAT,
            mesh: Some(Mesh {
                country: country.unwrap_or_default(),
                // The other node has its own radios and Internet.
                radios: Vec::new(),
                gateway: false,
                ..mesh
            }),
            ..Choices::default()
        })
    }
}

/// The router itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Router {
    /// Name of the router: a host name of one label (RFC 1123). `{mac}` is replaced by the end of
    /// the router's hardware address. Empty: unchanged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Language of OpenWrt's pages: `en`, `de`… Empty: unchanged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// Zone of the IANA, `Europe/Berlin`. Empty: unchanged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timezone: String,
    /// The administrator's password, in the clear. Never exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Hash of the password by crypt(3), as in the shadow file: `$6$…`. Exported instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// Location, in degrees, north and east positive: `["52.5163", "13.3777"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<(String, String)>,
}

/// Uplink to the Internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Internet {
    /// Kind of the uplink.
    pub kind: Uplink,
    /// Device of the uplink, if the router does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The provider's VLAN, 1 to 4094.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// True to request IPv6; the default.
    pub ipv6: bool,
    /// Of `static`: address and length, `192.0.2.5/24`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Of `static`: the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Of `static`: name servers. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Vec<String>>,
    /// Of `pppoe` and `mobile`: the user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Of `pppoe` and `mobile`: the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Of `pppoe`: the service's name, if the provider has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Of `mobile`: the access point's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apn: Option<String>,
    /// Of `mobile`: the card's PIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Of `mobile`: the modem, `/dev/cdc-wdm0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modem: Option<String>,
    /// Of `wifi`: the other router's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssid: Option<String>,
    /// Of `wifi`: the network's key; `None` if it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Of `wifi`: the router's radio for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<String>,
}

impl Default for Internet {
    fn default() -> Self {
        Self {
            kind: Uplink::default(),
            port: None,
            vlan: None,
            ipv6: true,
            address: None,
            gateway: None,
            dns: None,
            username: None,
            password: None,
            service: None,
            apn: None,
            pin: None,
            modem: None,
            ssid: None,
            key: None,
            radio: None,
        }
    }
}

/// Kinds of uplinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uplink {
    /// The provider, or another router, gives an address (RFC 2131).
    #[default]
    Dhcp,
    /// A fixed address.
    Static,
    /// Name and password, over Ethernet (RFC 2516).
    Pppoe,
    /// A modem for mobile networks.
    Mobile,
    /// A client of another router's Wi-Fi.
    Wifi,
    /// No uplink: an existing one is switched off.
    None,
    /// Unchanged: the router has a protocol that the wizard does not offer.
    Kept,
}

/// The LAN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lan {
    /// The router's address there, and the network's length: `192.168.1.1/24`. With
    /// `{mac}`, `10.23.{mac}/16`, the router takes one by its hardware address.
    pub address: String,
    /// Devices of the LAN, if the router does not know them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// True to give addresses to clients by DHCP.
    pub dhcp: bool,
    /// First address to give, as a number in the network.
    pub first: u32,
    /// Number of addresses to give.
    pub count: u32,
    /// Lease time: `12h`, `30m`, `7d`.
    pub lease: String,
}

impl Default for Lan {
    /// Returns OpenWrt's defaults.
    fn default() -> Self {
        Self {
            address: "192.168.1.1/24".to_owned(),
            ports: Vec::new(),
            dhcp: true,
            first: 100,
            count: 150,
            lease: "12h".to_owned(),
        }
    }
}

/// Name servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// Servers that the router asks.
    pub server: DnsServer,
    /// Of `own`: name servers. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
}

/// Servers that the router asks for names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DnsServer {
    /// The provider's servers.
    #[default]
    Provider,
    /// The listed servers, without encryption.
    Own,
    /// Quad9, over HTTPS.
    Quad9,
    /// Digitale Gesellschaft in Switzerland, over HTTPS.
    DigitaleGesellschaft,
    /// Mullvad, over HTTPS.
    Mullvad,
    /// Cloudflare, over HTTPS.
    Cloudflare,
    /// Unchanged: the router asks servers that the wizard does not offer.
    Kept,
}

/// Port forwardings and blocked devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Firewall {
    /// Ports forwarded to a device inside. Others are removed. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwards: Option<Vec<Forward>>,
    /// Devices without Internet access. Others are unblocked. `None`: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Vec<Blocked>>,
}

/// A port that leads to a device inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forward {
    /// Purpose.
    pub name: String,
    /// Protocol.
    pub protocol: Protocol,
    /// The port outside, or ports: `8443`, `6000-6010`.
    pub port: String,
    /// Address of the device.
    pub to: Option<String>,
    /// Port of the device; by default the port outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_port: Option<String>,
}

/// Protocols that have ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// Both protocols.
    Both,
}

/// A device that is kept from the Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blocked {
    /// Owner of the device.
    pub name: String,
    /// Hardware address of the device.
    pub mac: String,
}
