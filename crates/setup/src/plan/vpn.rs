//! A way in from afar, by OpenVPN.

use super::{Inside, Planner, Wrong, text};
use crate::choices::OpenVpn;

const NAME: &str = "weir";
const RULE: &str = "openvpn_in";
/// Where keys and certificates are. Whoever carries the plan out makes them.
const FOLDER: &str = "/etc/openvpn/weir";

impl Planner<'_> {
    pub(super) fn openvpn(&mut self, vpn: &OpenVpn) {
        // Since 25.12 it is netifd's, before it had a file of its own.
        let netifd = self.facts.release.is_none_or(|year| year >= 25);
        let (package, section) = if netifd {
            ("network", "ovpn0")
        } else {
            ("openvpn", NAME)
        };
        if !vpn.on {
            if self.config.has("firewall", RULE) {
                self.config.remove(package, section);
                self.config.remove("firewall", RULE);
                self.config.remove("firewall", "openvpn");
                let says = "Nobody may come in by OpenVPN any more.".to_owned();
                self.say("services", "openvpn-off", &[], says);
            }
            return;
        }
        if self.lacks("openvpn", "openvpn.on") {
            return;
        }
        if vpn.port == 0 {
            return self.wrong("openvpn.port", &Wrong::OutOfRange(1, 65535));
        }
        let Some(network) = Inside::read_network(&vpn.network)
            .filter(|network| (16..=29).contains(&network.length))
            .filter(|network| network.network() == network.address)
        else {
            return self.wrong("openvpn.network", &Wrong::NotAnAddress);
        };
        self.server(package, section, vpn.port, network);
        let port = vpn.port.to_string();
        let says = format!("OpenVPN's UDP port {port} is open; who comes in by it is inside.");
        self.say("services", "openvpn", &[("port", &port)], says);
    }

    fn server(&mut self, package: &str, section: &str, port: u16, network: Inside) {
        let netifd = package == "network";
        let port = port.to_string();
        let server = format!("{} {}", network.network(), network.netmask());
        self.zone("wan");
        let (_, outside) = super::zone_names(&self.config);
        let file = |name: &str| format!("{FOLDER}/{name}");
        let config = &mut self.config;
        if netifd {
            config.section("network", section, "interface");
            config.set("network", section, "proto", "openvpn");
            config.set("network", section, "ovpnproto", "udp");
        } else {
            config.section("openvpn", section, "openvpn");
            config.set("openvpn", section, "enabled", "1");
            config.set("openvpn", section, "proto", "udp");
        }
        let (ca, cert, key) = (file("ca.crt"), file("server.crt"), file("server.key"));
        for (option, value) in [
            ("port", &*port),
            ("dev", "ovpn0"),
            ("dev_type", "tun"),
            ("topology", "subnet"),
            ("server", &server),
            ("keepalive", "10 60"),
            ("dh", "none"),
            ("ca", &ca),
            ("cert", &cert),
            ("key", &key),
        ] {
            config.set(package, section, option, value);
        }
        config.section("firewall", RULE, "rule");
        for (option, value) in [
            ("name", "Allow-OpenVPN"),
            ("src", &outside),
            ("proto", "udp"),
            ("dest_port", &port),
            ("target", "ACCEPT"),
        ] {
            config.set("firewall", RULE, option, value);
        }
        let zone = self.zone("lan");
        if netifd {
            self.config.list_with("firewall", &zone, "network", section);
        } else {
            self.config.list_with("firewall", &zone, "device", "ovpn0");
        }
        let inside = self
            .lan_address()
            .map(|lan| format!("route {} {}", lan.network(), lan.netmask()));
        if let Some(route) = inside {
            self.config.set_list(package, section, "push", &[route]);
        }
    }
}

/// The port and network of the server that the wizard made.
pub(crate) fn openvpn_of(config: &super::Config) -> Option<OpenVpn> {
    let section = [("network", "ovpn0"), ("openvpn", NAME)]
        .into_iter()
        .find_map(|(package, name)| config.package(package)?.section(name))?;
    let server = text(section, "server")?;
    let (network, mask) = server.split_once(' ')?;
    let network = Inside::of_mask(network, mask)?;
    Some(OpenVpn {
        on: true,
        port: text(section, "port")?.parse().ok()?,
        network: network.to_string(),
    })
}
