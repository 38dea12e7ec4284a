//! What is decided already, read from the packages: the other way of [`crate::plan`].

use uci::Section;

use crate::choices::{
    Choices, Dns, DnsServer, FORMAT, Firewall, Internet, Lan, Mesh, MeshKind, Network, Router,
    Security, Uplink, Wifi, WireGuard,
};
use crate::plan::{Config, Inside, blocked_of, client_of, forward_of, openvpn_of, over_https};
use crate::plan::{simple, text, whom, words, yes};

/// Reads what a router has, as far as the wizard knows it: secrets too.
pub fn read(config: &Config) -> Choices {
    Choices {
        format: FORMAT,
        router: config
            .of_type("system", "system")
            .next()
            .map(|system| router(config, system)),
        internet: section(config, "network", "wan").map(|wan| internet(config, wan)),
        lan: lan(config),
        wifi: config.package("wireless").map(|_| wifi(config)),
        mesh: config.package("wireless").map(|_| mesh(config)),
        dns: config
            .of_type("dhcp", "dnsmasq")
            .next()
            .map(|dnsmasq| dns(config, dnsmasq)),
        wireguard: config.package("network").map(|_| wireguard(config)),
        openvpn: config
            .package("network")
            .map(|_| openvpn_of(config).unwrap_or_default()),
        firewall: config.package("firewall").map(|_| Firewall {
            forwards: values(simple(config, "redirect", forward_of)),
            blocked: values(simple(config, "rule", blocked_of)),
        }),
    }
}

fn values<T>(known: Vec<(String, T)>) -> Vec<T> {
    known.into_iter().map(|(_, value)| value).collect()
}

fn section<'a>(config: &'a Config, package: &str, name: &str) -> Option<&'a Section> {
    config.package(package)?.section(name)
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

fn internet(config: &Config, wan: &Section) -> Internet {
    let proto = text(wan, "proto").unwrap_or_default();
    let client = section(config, "wireless", "wifi_uplink");
    let kind = match &*proto {
        _ if client.is_some() => Uplink::Wifi,
        "static" => Uplink::Static,
        "pppoe" => Uplink::Pppoe,
        "qmi" | "mbim" | "ncm" | "3g" | "modemmanager" => Uplink::Mobile,
        "none" => Uplink::None,
        _ => Uplink::Dhcp,
    };
    let ipv6 = section(config, "network", "wan6").is_some_and(|wan6| !yes(wan6, "disabled"));
    let mut internet = Internet {
        kind,
        // Which they are is the router's own affair: another one has others.
        port: None,
        vlan: vlan(config, wan),
        ipv6,
        ..Internet::default()
    };
    let inside = text(wan, "ipaddr").and_then(|address| {
        Inside::read_network(&address).or_else(|| Inside::of_mask(&address, &text(wan, "netmask")?))
    });
    match kind {
        Uplink::Static => {
            internet.address = inside.map(|inside| inside.to_string());
            internet.gateway = text(wan, "gateway");
            internet.dns = words(wan, "dns");
        }
        Uplink::Pppoe => {
            internet.username = text(wan, "username");
            internet.password = text(wan, "password");
            internet.service = text(wan, "service");
        }
        Uplink::Mobile => {
            internet.apn = text(wan, "apn");
            internet.pin = text(wan, "pincode");
            internet.modem = text(wan, "device");
            internet.username = text(wan, "username");
            internet.password = text(wan, "password");
        }
        Uplink::Wifi => {
            internet.ssid = client.and_then(|client| text(client, "ssid"));
            internet.key = client.and_then(|client| text(client, "key"));
            internet.radio = client.and_then(|client| text(client, "device"));
        }
        Uplink::Dhcp | Uplink::None => {}
    }
    internet
}

/// The VLAN that the uplink is in.
fn vlan(config: &Config, wan: &Section) -> Option<u16> {
    let device = text(wan, "device")?;
    let tagged = config.of_type("network", "device").find(|section| {
        text(section, "name").as_deref() == Some(&device)
            && text(section, "type").as_deref() == Some("8021q")
    });
    match tagged {
        Some(section) => text(section, "vid")?.parse().ok(),
        None => device.rsplit_once('.')?.1.parse().ok(),
    }
}

fn lan(config: &Config) -> Option<Lan> {
    let lan = section(config, "network", "lan")?;
    let address = text(lan, "ipaddr")?;
    let inside = Inside::read_network(&address)
        .or_else(|| Inside::of_mask(&address, &text(lan, "netmask")?))?;
    let default = Lan::default();
    let dhcp = section(config, "dhcp", "lan");
    let number = |option| dhcp.and_then(|dhcp| text(dhcp, option)?.parse().ok());
    Some(Lan {
        address: inside.to_string(),
        ports: Vec::new(),
        dhcp: dhcp.is_some_and(|dhcp| !yes(dhcp, "ignore")),
        first: number("start").unwrap_or(default.first),
        count: number("limit").unwrap_or(default.count),
        lease: dhcp
            .and_then(|dhcp| text(dhcp, "leasetime"))
            .unwrap_or(default.lease),
    })
}

fn wifi(config: &Config) -> Wifi {
    let radios: Vec<&Section> = config.of_type("wireless", "wifi-device").collect();
    let mut networks: Vec<Network> = Vec::new();
    for section in config.of_type("wireless", "wifi-iface") {
        let Some(whom) = whom(section) else { continue };
        let off = |section: &Section| yes(section, "disabled");
        let device = text(section, "device").unwrap_or_default();
        let radio = radios.iter().find(|radio| radio.name == device);
        if off(section) || radio.is_none_or(|radio| off(radio)) {
            continue;
        }
        let network = Network {
            ssid: text(section, "ssid").unwrap_or_default(),
            key: text(section, "key"),
            security: security(&text(section, "encryption").unwrap_or_default()),
            whom,
            radios: vec![device.clone()],
            roaming: yes(section, "ieee80211r"),
            hidden: yes(section, "hidden"),
        };
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
        // By all of them: so it is on another node, too, with other radios.
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
        networks,
    }
}

fn security(encryption: &str) -> Security {
    match encryption.split('+').next().unwrap_or_default() {
        "sae" => Security::Wpa3,
        "sae-mixed" => Security::Mixed,
        "owe" => Security::Owe,
        "none" | "open" | "" => Security::Open,
        _ => Security::Wpa2,
    }
}

fn mesh(config: &Config) -> Mesh {
    let sections: Vec<&Section> = config
        .of_type("wireless", "wifi-iface")
        .filter(|section| section.name.starts_with("mesh_"))
        .collect();
    let Some(first) = sections.first() else {
        return Mesh::default();
    };
    let device = text(first, "device").unwrap_or_default();
    // Of several radios each has its own.
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

fn dns(config: &Config, dnsmasq: &Section) -> Dns {
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
            servers: Vec::new(),
        };
    }
    let servers: Vec<_> = words(dnsmasq, "server")
        .into_iter()
        .filter(|server| server.parse::<std::net::IpAddr>().is_ok())
        .collect();
    let own = yes(dnsmasq, "noresolv") && !servers.is_empty();
    Dns {
        server: if own {
            DnsServer::Own
        } else {
            DnsServer::Provider
        },
        servers: if own { servers } else { Vec::new() },
    }
}

fn wireguard(config: &Config) -> WireGuard {
    let default = WireGuard::default();
    let Some(tunnel) = section(config, "network", "wg0") else {
        return default;
    };
    WireGuard {
        on: section(config, "firewall", "wg0_in").is_some(),
        port: text(tunnel, "listen_port")
            .and_then(|port| port.parse().ok())
            .unwrap_or(default.port),
        address: words(tunnel, "addresses")
            .into_iter()
            .next()
            .unwrap_or(default.address),
        endpoint: text(tunnel, "endpoint").unwrap_or_default(),
        private_key: text(tunnel, "private_key"),
        clients: config
            .of_type("network", "wireguard_wg0")
            .map(client_of)
            .collect(),
    }
}
