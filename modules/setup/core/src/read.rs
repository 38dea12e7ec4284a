//! Reads present choices from the packages: the inverse of [`crate::plan`].

use uci::Section;

use crate::choices::{
    Choices, Dns, DnsServer, FORMAT, Firewall, Lan, Mesh, MeshKind, Network, OpenVpn,
    OpenVpnClient, Router, Security, Wifi, WireGuard, WireGuardClient,
};
use crate::openvpn::{Client, Server};
use crate::plan::{Config, Ipv4Cidr, address_in, blocked_of, forward_of, internet_of};
use crate::plan::{is_enabled, pool_of, security, simple, text, whom, words};

/// Reads a router's choices, as far as the wizard knows them, including secrets.
pub fn read(config: &Config) -> Choices {
    Choices {
        format: FORMAT,
        router: config
            .of_type("system", "system")
            .next()
            .map(|system| router(config, system)),
        internet: internet_of(config),
        lan: lan_of(config),
        wifi: config.package("wireless").map(|_| wifi_of(config)),
        mesh: config.package("wireless").map(|_| mesh_of(config)),
        dns: config
            .of_type("dhcp", "dnsmasq")
            .next()
            .map(|dnsmasq| dns_of(config, dnsmasq)),
        wireguard: config.package("network").map(|_| wireguard_of(config)),
        openvpn: config
            .package("network")
            .map(|_| openvpn_of(config).unwrap_or_default()),
        firewall: config.package("firewall").map(|_| Firewall {
            forwards: Some(values(simple(config, "redirect", forward_of))),
            blocked: Some(values(simple(config, "rule", blocked_of))),
        }),
    }
}

fn values<T>(known: Vec<(String, T)>) -> Vec<T> {
    known.into_iter().map(|(_, value)| value).collect()
}

fn router(config: &Config, system: &Section) -> Router {
    let language = config
        .get("luci", "main", "lang")
        .filter(|lang| lang != "auto");
    Router {
        name: text(system, "hostname").unwrap_or_default(),
        language: language.unwrap_or_default(),
        timezone: text(system, "zonename")
            .unwrap_or_default()
            .replace(' ', "_"),
        password: None,
        password_hash: None,
        place: text(system, "latitude").zip(text(system, "longitude")),
    }
}

/// Reads the network inside.
pub(crate) fn lan_of(config: &Config) -> Option<Lan> {
    let inside = address_in(config, "lan")?;
    let default = Lan::default();
    let dhcp = config.section_of("dhcp", &pool_of(config, "lan"));
    let number = |option| dhcp.and_then(|dhcp| text(dhcp, option)?.parse().ok());
    Some(Lan {
        address: inside.to_string(),
        ports: Vec::new(),
        dhcp: dhcp.is_some_and(|dhcp| !is_enabled(dhcp, "ignore")),
        first: number("start").unwrap_or(default.first),
        count: number("limit").unwrap_or(default.count),
        lease: dhcp
            .and_then(|dhcp| text(dhcp, "leasetime"))
            .unwrap_or(default.lease),
    })
}

/// Reads the network of a section on one radio, if the wizard knows all security options of the
/// section.
pub(crate) fn network_of(section: &Section) -> Option<Network> {
    let security = security(section)?;
    let keyed = !matches!(security, Security::Open | Security::Owe);
    Some(Network {
        ssid: text(section, "ssid").unwrap_or_default(),
        key: text(section, "key").filter(|_| keyed),
        security,
        whom: whom(section)?,
        radios: vec![text(section, "device").unwrap_or_default()],
        roaming: is_enabled(section, "ieee80211r"),
        hidden: is_enabled(section, "hidden"),
    })
}

/// Reads networks of Wi-Fi that are on air.
pub(crate) fn wifi_of(config: &Config) -> Wifi {
    let radios: Vec<&Section> = config.of_type("wireless", "wifi-device").collect();
    let mut networks: Vec<Network> = Vec::new();
    for section in config.of_type("wireless", "wifi-iface") {
        let Some(network) = network_of(section) else {
            continue;
        };
        let off = |section: &Section| is_enabled(section, "disabled");
        let device = network.radios[0].clone();
        let radio = radios.iter().find(|radio| radio.name == device);
        if off(section) || radio.is_none_or(|radio| off(radio)) {
            continue;
        }
        let same = |other: &&mut Network| {
            other.ssid == network.ssid
                && other.key == network.key
                && other.whom == network.whom
                && other.security == network.security
                && (other.roaming, other.hidden) == (network.roaming, network.hidden)
                && !other.radios.contains(&device)
        };
        match networks.iter_mut().find(same) {
            Some(other) => other.radios.push(device.clone()),
            None => networks.push(network),
        }
    }
    for network in &mut networks {
        // On all radios: so another node with other radios sends the network, too.
        if radios
            .iter()
            .all(|radio| network.radios.contains(&radio.name))
        {
            network.radios.clear();
        }
    }
    Wifi {
        country: radios
            .iter()
            .find_map(|radio| text(radio, "country"))
            .unwrap_or_default(),
        networks: Some(networks),
    }
}

/// Reads the mesh that the wizard made.
pub(crate) fn mesh_of(config: &Config) -> Mesh {
    let sections: Vec<&Section> = config
        .of_type("wireless", "wifi-iface")
        .filter(|section| is_mesh(section))
        .collect();
    let Some(first) = sections.first() else {
        return Mesh::default();
    };
    let device = text(first, "device").unwrap_or_default();
    // Each of several radios has its own.
    let channel = config
        .get("wireless", &device, "channel")
        .filter(|_| sections.len() == 1);
    let batman = text(first, "mode").as_deref() == Some("mesh");
    Mesh {
        kind: if batman {
            MeshKind::Batman
        } else {
            MeshKind::Apup
        },
        name: text(first, if batman { "mesh_id" } else { "ssid" }).unwrap_or_default(),
        key: text(first, "key"),
        radios: sections
            .iter()
            .filter_map(|section| text(section, "device"))
            .collect(),
        country: String::new(),
        channel: channel.and_then(|channel| channel.parse().ok()),
        gateway: config.get("network", "bat0", "gw_mode").as_deref() == Some("server"),
    }
}

/// Reads the name servers.
pub(crate) fn dns_of(config: &Config, dnsmasq: &Section) -> Dns {
    let known = [
        DnsServer::Quad9,
        DnsServer::DigitaleGesellschaft,
        DnsServer::Mullvad,
        DnsServer::Cloudflare,
    ];
    let url = config.get("https-dns-proxy", "weir", "resolver_url");
    let secret = url.and_then(|url| {
        let same = |server: &DnsServer| over_https(*server).is_some_and(|(known, _)| known == url);
        known.into_iter().find(same)
    });
    if let Some(server) = secret {
        return Dns {
            server,
            servers: None,
        };
    }
    let servers: Vec<_> = words(dnsmasq, "server")
        .into_iter()
        .filter(|server| is_general(server))
        .collect();
    let is_plain = |server: &String| server.parse::<std::net::IpAddr>().is_ok();
    let server = match is_enabled(dnsmasq, "noresolv") {
        false => DnsServer::Provider,
        true if !servers.is_empty() && servers.iter().all(is_plain) => DnsServer::Own,
        // Proxies, servers at other ports, or only those of single domains.
        true => DnsServer::Kept,
    };
    Dns {
        server,
        servers: (server == DnsServer::Own).then_some(servers),
    }
}

/// Reads the tunnel of `WireGuard` that the wizard made.
pub(crate) fn wireguard_of(config: &Config) -> WireGuard {
    let default = WireGuard::default();
    let name = tunnel_of(config);
    let tunnel = name
        .as_deref()
        .and_then(|name| config.section_of("network", name));
    let (Some(name), Some(tunnel)) = (&name, tunnel) else {
        return default;
    };
    let kind = peers(name);
    WireGuard {
        on: true,
        port: text(tunnel, "listen_port")
            .and_then(|port| port.parse().ok())
            .unwrap_or(default.port),
        address: words(tunnel, "addresses")
            .into_iter()
            .next()
            .unwrap_or(default.address),
        endpoint: text(tunnel, "endpoint").unwrap_or_default(),
        private_key: text(tunnel, "private_key"),
        clients: Some(config.of_type("network", &kind).map(client_of).collect()),
    }
}

/// Returns a server over HTTPS (RFC 8484): its URL, and addresses that resolve its name.
pub(crate) fn over_https(server: DnsServer) -> Option<(&'static str, &'static str)> {
    Some(match server {
        DnsServer::Provider | DnsServer::Own | DnsServer::Kept => return None,
        DnsServer::Quad9 => ("https://dns.quad9.net/dns-query", "9.9.9.9,149.112.112.112"),
        DnsServer::DigitaleGesellschaft => (
            "https://dns.digitale-gesellschaft.ch/dns-query",
            "9.9.9.9,149.112.112.112",
        ),
        DnsServer::Mullvad => (
            "https://dns.mullvad.net/dns-query",
            "9.9.9.9,149.112.112.112",
        ),
        DnsServer::Cloudflare => ("https://cloudflare-dns.com/dns-query", "1.1.1.1,1.0.0.1"),
    })
}

/// Returns true if dnsmasq asks a server for names of any domain.
pub(crate) fn is_general(server: &str) -> bool {
    !server.starts_with('/')
}

/// Returns true for a radio's part in the mesh that the wizard made.
pub(crate) fn is_mesh(part: &Section) -> bool {
    let name = text(part, "device").map(|radio| mesh_section(&radio));
    name.as_ref() == Some(&part.name) && text(part, "network") == name
}

/// Returns the section of a radio's part in the mesh, in `wireless` and in `network`.
pub(crate) fn mesh_section(radio: &str) -> String {
    format!("mesh_{radio}")
}

/// Reads the choices of the wizard's server.
pub(crate) fn openvpn_of(config: &Config) -> Option<OpenVpn> {
    let server = Server::of(config)?;
    let client = |client: Client| OpenVpnClient {
        name: client.name,
        common_name: Some(client.common_name),
    };
    Some(OpenVpn {
        on: true,
        port: server.port,
        network: server.network.to_string(),
        endpoint: server.endpoint,
        clients: Some(server.clients.into_iter().map(client).collect()),
    })
}

/// Returns the section of the rule that lets clients in. The rule distinguishes the wizard's tunnel
/// from one made by hand.
pub(crate) fn rule_of(interface: &str) -> String {
    format!("{interface}_in")
}

/// Returns the section type of an interface's peers: netifd finds the interface by this type.
pub(crate) fn peers(interface: &str) -> String {
    format!("wireguard_{interface}")
}

/// Returns names for the wizard's tunnel: the tunnel takes the first free name.
pub(crate) fn tunnel_names() -> impl Iterator<Item = String> {
    (0..100).map(|n| format!("wg{n}"))
}

/// Returns the interface of the tunnel that the wizard made.
pub(crate) fn tunnel_of(config: &Config) -> Option<String> {
    tunnel_names().find(|name| {
        config.has("firewall", &rule_of(name))
            && config.get("network", name, "proto").as_deref() == Some("wireguard")
    })
}

/// Reads a peer from its section.
pub(crate) fn client_of(section: &Section) -> WireGuardClient {
    let inside = words(section, "allowed_ips")
        .into_iter()
        .find_map(|allowed| Ipv4Cidr::read_network(&allowed).filter(|a| a.length == 32));
    WireGuardClient {
        name: text(section, "description").unwrap_or_default(),
        address: inside.map(|inside| inside.address.to_string()),
        public_key: text(section, "public_key"),
        preshared_key: text(section, "preshared_key"),
    }
}
