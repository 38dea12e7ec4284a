//! A way in from afar, by `WireGuard`.

use std::net::Ipv4Addr;

use super::check::{is_endpoint, is_wireguard_key};
use super::{Inside, Planner, Wrong, text, words};
use crate::choices::{WireGuard, WireGuardClient};

const INTERFACE: &str = "wg0";
/// The type of sections of peers: netifd looks for the interface's name in it.
const PEER: &str = "wireguard_wg0";
const RULE: &str = "wg0_in";
/// Clients at most.
pub const MOST: usize = 250;

impl Planner<'_> {
    pub(super) fn wireguard(&mut self, tunnel: &WireGuard) {
        if !tunnel.on {
            return self.no_wireguard();
        }
        if self.lacks("wireguard", "wireguard.on") {
            return;
        }
        let Some(inside) = self.inside("wireguard.address", &tunnel.address) else {
            return;
        };
        if tunnel.clients.len() > MOST {
            return self.wrong("wireguard.clients", &Wrong::TooMany(MOST));
        }
        if tunnel.port == 0 {
            return self.wrong("wireguard.port", &Wrong::OutOfRange(1, 65535));
        }
        let known = self.config.get("network", INTERFACE, "private_key");
        let key = tunnel.private_key.clone().or(known);
        match &key {
            None => return self.wrong("wireguard.private_key", &Wrong::Required),
            Some(key) if !is_wireguard_key(key) => {
                return self.wrong("wireguard.private_key", &Wrong::NotAKey);
            }
            Some(_) => {}
        }
        if !is_endpoint(&tunnel.endpoint) {
            return self.wrong("wireguard.endpoint", &Wrong::NotAName);
        }
        let port = tunnel.port.to_string();
        self.zone("wan");
        let (_, outside) = super::zone_names(&self.config);
        let config = &mut self.config;
        let new = !config.has("network", INTERFACE);
        config.section("network", INTERFACE, "interface");
        config.set("network", INTERFACE, "proto", "wireguard");
        config.set_if("network", INTERFACE, "private_key", key.as_deref());
        config.set("network", INTERFACE, "listen_port", &port);
        // Of no concern to netifd: clients' files say it.
        config.set("network", INTERFACE, "endpoint", &tunnel.endpoint);
        config.set_list("network", INTERFACE, "addresses", &[inside.to_string()]);
        config.section("firewall", RULE, "rule");
        for (option, value) in [
            ("name", "Allow-WireGuard"),
            ("src", &outside),
            ("proto", "udp"),
            ("dest_port", &port),
            ("target", "ACCEPT"),
        ] {
            config.set("firewall", RULE, option, value);
        }
        // Who comes in by it is inside.
        let zone = self.zone("lan");
        self.config
            .list_with("firewall", &zone, "network", INTERFACE);
        if new {
            let says =
                format!("WireGuard's UDP port {port} is open; who comes in by it is inside.");
            self.say("services", "wireguard", &[("port", &port)], says);
        }
        self.clients(tunnel, inside);
    }

    fn clients(&mut self, tunnel: &WireGuard, inside: Inside) {
        let known: Vec<(String, WireGuardClient)> = self
            .config
            .of_type("network", PEER)
            .map(|section| (section.name.clone(), client_of(section)))
            .collect();
        let mut taken: Vec<Ipv4Addr> = vec![inside.address];
        let wanted = tunnel.clients.iter();
        let there = known.iter().map(|(_, client)| client);
        taken.extend(wanted.chain(there).filter_map(address));
        let mut stay: Vec<String> = Vec::new();
        for (n, client) in tunnel.clients.iter().enumerate() {
            let field = format!("wireguard.clients[{n}]");
            let same = known.iter().find(|(section, other)| {
                let key = client.public_key.is_some() && other.public_key == client.public_key;
                let name = client.public_key.is_none() && other.name == client.name;
                !stay.contains(section) && (key || name)
            });
            let former = same.map(|(_, client)| client.clone()).unwrap_or_default();
            let known = client.address.clone().or(former.address);
            let address = known.or_else(|| {
                let address = free(inside, &taken)?;
                taken.push(address);
                Some(address.to_string())
            });
            let whole = WireGuardClient {
                name: client.name.clone(),
                address,
                public_key: client.public_key.clone().or(former.public_key),
                preshared_key: client.preshared_key.clone().or(former.preshared_key),
            };
            if !self.good_client(&field, &whole, inside, &tunnel.clients[..n]) {
                continue;
            }
            let section = match same {
                Some((section, _)) => section.clone(),
                None => {
                    let says = format!("{} may come in by WireGuard.", client.name);
                    self.say(
                        "services",
                        "wireguard-client",
                        &[("name", &client.name)],
                        says,
                    );
                    self.config.add("network", PEER)
                }
            };
            self.set_client(&section, &whole);
            stay.push(section);
        }
        for (section, client) in known {
            if !stay.contains(&section) {
                self.config.remove("network", &section);
                let says = format!("{} may not come in by WireGuard any more.", client.name);
                self.say(
                    "services",
                    "wireguard-client-gone",
                    &[("name", &client.name)],
                    says,
                );
            }
        }
    }

    fn good_client(
        &mut self,
        field: &str,
        client: &WireGuardClient,
        inside: Inside,
        earlier: &[WireGuardClient],
    ) -> bool {
        let before = self.problems.len();
        self.called(&format!("{field}.name"), &client.name);
        if earlier.iter().any(|other| other.name == client.name) {
            self.wrong(format!("{field}.name"), &Wrong::Twice);
        }
        match &client.public_key {
            None => self.wrong(format!("{field}.public_key"), &Wrong::Required),
            Some(key) if !is_wireguard_key(key) => {
                self.wrong(format!("{field}.public_key"), &Wrong::NotAKey);
            }
            Some(key) => {
                if earlier
                    .iter()
                    .any(|other| other.public_key.as_ref() == Some(key))
                {
                    self.wrong(format!("{field}.public_key"), &Wrong::Twice);
                }
            }
        }
        if client
            .preshared_key
            .as_deref()
            .is_some_and(|key| !is_wireguard_key(key))
        {
            self.wrong(format!("{field}.preshared_key"), &Wrong::NotAKey);
        }
        match address(client) {
            Some(address) if inside.holds(address) && address != inside.address => {
                if earlier
                    .iter()
                    .any(|other| self::address(other) == Some(address))
                {
                    self.wrong(format!("{field}.address"), &Wrong::Twice);
                }
            }
            None if client.address.is_some() => {
                self.wrong(format!("{field}.address"), &Wrong::NotOneAddress);
            }
            _ => {
                let network = format!("{}/{}", inside.network(), inside.length);
                self.wrong(format!("{field}.address"), &Wrong::OutsideNetwork(network));
            }
        }
        self.problems.len() == before
    }

    fn set_client(&mut self, section: &str, client: &WireGuardClient) {
        let config = &mut self.config;
        config.set("network", section, "description", &client.name);
        let key = client.public_key.as_deref();
        config.set_if("network", section, "public_key", key);
        let preshared = client.preshared_key.as_deref();
        config.set_if("network", section, "preshared_key", preshared);
        let allowed: Vec<String> = address(client).iter().map(|a| format!("{a}/32")).collect();
        config.set_list("network", section, "allowed_ips", &allowed);
        config.set("network", section, "route_allowed_ips", "1");
    }

    fn no_wireguard(&mut self) {
        if !self.config.has("firewall", RULE) {
            return;
        }
        let peers: Vec<String> = self
            .config
            .of_type("network", PEER)
            .map(|section| section.name.clone())
            .collect();
        for peer in peers {
            self.config.remove("network", &peer);
        }
        self.config.remove("network", INTERFACE);
        self.config.remove("firewall", RULE);
        let zone = self.zone("lan");
        self.config
            .list_without("firewall", &zone, "network", INTERFACE);
        let says = "Nobody may come in by WireGuard any more.".to_owned();
        self.say("services", "wireguard-off", &[], says);
    }
}

/// A client's address, if it is one.
fn address(client: &WireGuardClient) -> Option<Ipv4Addr> {
    client.address.as_deref()?.parse().ok()
}

/// An address that is free.
fn free(inside: Inside, taken: &[Ipv4Addr]) -> Option<Ipv4Addr> {
    let first = u32::from(inside.network());
    let room = u32::try_from(inside.room()).unwrap_or(u32::MAX).min(65_536);
    (1..=room)
        .map(|n| Ipv4Addr::from(first.wrapping_add(n)))
        .find(|address| !taken.contains(address))
}

/// A peer, as it stands in a section.
pub(crate) fn client_of(section: &uci::Section) -> WireGuardClient {
    let inside = words(section, "allowed_ips")
        .into_iter()
        .find_map(|allowed| Inside::read_network(&allowed).filter(|a| a.length == 32));
    WireGuardClient {
        name: text(section, "description").unwrap_or_default(),
        address: inside.map(|inside| inside.address.to_string()),
        public_key: text(section, "public_key"),
        preshared_key: text(section, "preshared_key"),
    }
}
