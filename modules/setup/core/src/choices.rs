//! What somebody who sets a router up decides: the wizard's answers, and the document that
//! `weir setup export` writes and `weir setup import` plays on a hundred nodes.
//!
//! It says what is wanted, not which options that takes: [`crate::plan`] knows these. A part that is
//! missing is not touched, so a document may be as short as the name of a Wi-Fi network. Nor is a
//! list that is missing in a part. A list that is there is whole: an empty one means none.
//!
//! Addresses and names are text, as somebody types them: what is wrong with it is for the plan to
//! say.

mod air;
mod tunnels;

pub use air::{Mesh, MeshKind, Network, Security, Whom, Wifi};
use serde::{Deserialize, Serialize};
pub use tunnels::{OpenVpn, OpenVpnClient, WireGuard, WireGuardClient};

/// The document's format, and the only one there is.
pub const FORMAT: u32 = 1;

/// All that is decided. Every part may be missing, and is then left as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// The document's format: 1.
    pub format: u32,
    /// The router itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<Router>,
    /// Where the Internet comes from.
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
    /// Who answers questions for names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// A way in from afar, by WireGuard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wireguard: Option<WireGuard>,
    /// A way in from afar, by OpenVPN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openvpn: Option<OpenVpn>,
    /// What may come in, and who may go out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firewall: Option<Firewall>,
}

impl Choices {
    /// What another router can take over. Who may come in by OpenVPN belongs to the authority of
    /// this one.
    #[must_use]
    pub fn for_others(mut self) -> Choices {
        if let Some(vpn) = &mut self.openvpn {
            vpn.clients = None;
        }
        self
    }

    /// What another node needs to join this one's mesh, and nothing else. `None`: there is no mesh.
    pub fn to_join(&self) -> Option<Choices> {
        let mesh = self.mesh.clone()?;
        let country = self.wifi.as_ref().map(|wifi| wifi.country.clone());
        (mesh.kind != MeshKind::None).then(|| Choices {
            format: FORMAT,
            mesh: Some(Mesh {
                country: country.unwrap_or_default(),
                // The other's radios are its own, and so is its Internet.
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
    /// Its name: a host name of one label (RFC 1123). `{mac}` in it is the end of the router's
    /// hardware address. Empty: left as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Language of OpenWrt's pages: `en`, `de`… Empty: left as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// Zone of the IANA, `Europe/Berlin`. Empty: left as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timezone: String,
    /// The administrator's password, in the clear. It is never exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The same as crypt(3) has it in the shadow file: `$6$…`. This is what is exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// Where it stands, in degrees, north and east positive: `["52.5163", "13.3777"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<(String, String)>,
}

/// Where the Internet comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Internet {
    /// How.
    pub kind: Uplink,
    /// The device that the Internet is plugged into, where the router does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The provider's VLAN, 1 to 4094.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Whether IPv6 is asked for; it is where nothing is said.
    pub ipv6: bool,
    /// Of `static`: address and length, `192.0.2.5/24`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Of `static`: the router beyond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Of `static`: name servers. `None`: left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Vec<String>>,
    /// Of `pppoe` and `mobile`: the user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Of `pppoe` and `mobile`: the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Of `pppoe`: the service's name, where the provider has several.
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
    /// Of `wifi`: its key; none where it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Of `wifi`: the radio that is its client.
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

/// How the Internet comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uplink {
    /// The provider, or another router, gives an address (RFC 2131).
    #[default]
    Dhcp,
    /// The address is known.
    Static,
    /// By name and password, over Ethernet (RFC 2516).
    Pppoe,
    /// By a modem for mobile networks.
    Mobile,
    /// As a client of another router's Wi-Fi.
    Wifi,
    /// Not at all: what was there is switched off.
    None,
    /// As it is: the router has a protocol that the wizard does not offer.
    Kept,
}

/// The network inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lan {
    /// The router's address there, and the network's length: `192.168.1.1/24`. With
    /// `{mac}`, `10.23.{mac}/16`, the router takes one by its hardware address.
    pub address: String,
    /// Devices that others are plugged into, where the router does not know them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Whether it gives addresses to others.
    pub dhcp: bool,
    /// The first address that it gives, as a number in the network.
    pub first: u32,
    /// How many it gives.
    pub count: u32,
    /// For how long: `12h`, `30m`, `7d`.
    pub lease: String,
}

impl Default for Lan {
    /// As OpenWrt has it.
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

/// Who answers questions for names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// Whom the router asks.
    pub server: DnsServer,
    /// Of `own`: name servers. `None`: left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
}

/// Whom the router asks for names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DnsServer {
    /// Whom the provider names.
    #[default]
    Provider,
    /// Those named here, without encryption.
    Own,
    /// Quad9, over HTTPS.
    Quad9,
    /// Digitale Gesellschaft in Switzerland, over HTTPS.
    DigitaleGesellschaft,
    /// Mullvad, over HTTPS.
    Mullvad,
    /// Cloudflare, over HTTPS.
    Cloudflare,
    /// As they are: the router asks servers that the wizard does not offer.
    Kept,
}

/// What may come in, and who may go out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Firewall {
    /// Ports that lead to a device inside. What is not here goes. `None`: left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwards: Option<Vec<Forward>>,
    /// Devices that are kept from the Internet. What is not here may go out again. `None`: left as
    /// they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Vec<Blocked>>,
}

/// A port that leads to a device inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forward {
    /// What it is for.
    pub name: String,
    /// Of which protocol.
    pub protocol: Protocol,
    /// The port outside, or ports: `8443`, `6000-6010`.
    pub port: String,
    /// The device.
    pub to: Option<String>,
    /// The port there; the same where there is none.
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
    /// Both.
    Both,
}

/// A device that is kept from the Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blocked {
    /// Whose it is.
    pub name: String,
    /// Its hardware address.
    pub mac: String,
}
