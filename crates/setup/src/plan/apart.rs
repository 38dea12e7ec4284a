//! That no two networks of the router's own overlap, and no two things want the same port.
//!
//! What was so before, and stays so, was somebody's wish.

use super::check::ports;
use super::{Config, Inside, Planner, Wrong, address_in, internet_of, text, words, yes};
use crate::choices::{Choices, Forward, Protocol, Uplink};
use crate::read;
use uci::Section;

/// A network of the router's own.
#[derive(PartialEq, Eq)]
struct Own {
    /// Empty: the wizard does not know it.
    field: &'static str,
    /// What the other one overlaps.
    what: String,
    network: Inside,
}

/// Ports of UDP that something of the router's own listens at, or that are forwarded.
#[derive(PartialEq, Eq)]
struct Taken {
    field: &'static str,
    ports: (u16, u16),
}

const FORWARDS: &str = "firewall.forwards";

impl Planner<'_> {
    /// Looks; `before` is the configuration as it was. A choice that was made is told; where two
    /// were, the later one in the wizard.
    pub(super) fn keep_apart(&mut self, choices: &Choices, before: &Config) {
        let chosen = |field: &str| match field.split('.').next().unwrap_or_default() {
            "lan" => choices.lan.is_some(),
            "wifi" => choices.wifi.is_some(),
            "internet" => choices.internet.is_some(),
            "wireguard" => choices.wireguard.is_some(),
            "openvpn" => choices.openvpn.is_some(),
            "" => false,
            _ => choices.firewall.is_some(),
        };
        let (former, now) = (networks(before), networks(&self.config));
        for (n, own) in now.iter().enumerate() {
            let earlier = now[..n].iter().find(|other| {
                let as_before = former.contains(own) && former.contains(other);
                other.network.overlaps(own.network) && !as_before
            });
            match earlier {
                Some(other) if chosen(own.field) || !chosen(other.field) => {
                    self.wrong(own.field, &Wrong::Overlaps(other.what.clone()));
                }
                Some(other) => self.wrong(other.field, &Wrong::Overlaps(own.what.clone())),
                None => {}
            }
        }
        // The uplink has another network soon where its kind or its device changes.
        let device = |config: &Config| config.device("wan").or_else(|| self.facts.wan.clone());
        let stays = internet_of(before) == internet_of(&self.config)
            && device(before) == device(&self.config);
        let inside = address_in(&self.config, "lan").filter(|_| stays && chosen("lan.address"));
        let new = inside.filter(|inside| address_in(before, "lan") != Some(*inside));
        let mut uplink = self.facts.uplink.iter();
        if let Some(other) = uplink.find(|other| new.is_some_and(|new| new.overlaps(**other))) {
            let what = format!(
                "{}/{}, where the Internet comes from",
                other.network(),
                other.length
            );
            self.wrong("lan.address", &Wrong::Overlaps(what));
        }
        let (former, now) = (taken(before), taken(&self.config));
        for (n, one) in now.iter().enumerate() {
            let earlier = now[..n].iter().find(|other| {
                let as_before = former.contains(one) && former.contains(other);
                let same = other.ports.0 <= one.ports.1 && one.ports.0 <= other.ports.1;
                // Whoever forwards a port twice means the first.
                same && other.field != FORWARDS && !as_before
            });
            if let Some(other) = earlier {
                let told = if chosen(one.field) { one } else { other };
                self.wrong(field(told, choices), &Wrong::Twice);
            }
        }
    }
}

/// Where ports stand in what was chosen.
fn field(taken: &Taken, choices: &Choices) -> String {
    let forwards = choices
        .firewall
        .iter()
        .flat_map(|firewall| &firewall.forwards);
    let place = forwards
        .filter(|_| taken.field == FORWARDS)
        .position(|forward| udp(forward) == Some(taken.ports));
    match place {
        Some(n) => format!("{FORWARDS}[{n}].port"),
        None => taken.field.to_owned(),
    }
}

/// Networks of interfaces that the wizard does not know.
fn foreign(config: &Config, known: &[Inside]) -> Vec<Own> {
    const OURS: [&str; 4] = ["loopback", "lan", "guest", "wan"];
    let device = |section: &Section| text(section, "device");
    let inside = config
        .of_type("network", "interface")
        .find(|section| section.name == "lan");
    let inside = inside.and_then(device);
    let mut all = Vec::new();
    for section in config.of_type("network", "interface") {
        // More addresses on the wire inside are no other network.
        let is_alias = device(section).is_some_and(|own| own == "@lan" || inside == Some(own));
        if OURS.contains(&&*section.name) || is_alias || yes(section, "disabled") {
            continue;
        }
        let mut networks = Vec::new();
        match text(section, "proto").as_deref() {
            Some("static") => {
                let mask = text(section, "netmask").unwrap_or_default();
                networks.extend(words(section, "ipaddr").iter().filter_map(|address| {
                    Inside::read_network(address).or_else(|| Inside::of_mask(address, &mask))
                }));
            }
            Some("wireguard") => {
                let addresses = words(section, "addresses");
                networks.extend(
                    addresses
                        .iter()
                        .filter_map(|text| Inside::read_network(text)),
                );
            }
            _ => {}
        }
        networks.retain(|network| !known.contains(network));
        all.extend(networks.into_iter().map(|network| Own {
            field: "",
            what: format!("the network {}", section.name),
            network,
        }));
    }
    all
}

/// In the order of the wizard, those that it does not know first.
fn networks(config: &Config) -> Vec<Own> {
    let known = known_networks(config);
    let own: Vec<Inside> = known.iter().map(|known| known.network).collect();
    let mut all = foreign(config, &own);
    all.extend(known);
    all
}

fn known_networks(config: &Config) -> Vec<Own> {
    let has = read(config);
    let address = |text: Option<&str>| Inside::read_network(text?);
    let uplink = has
        .internet
        .filter(|internet| internet.kind == Uplink::Static);
    let wireguard = has.wireguard.filter(|tunnel| tunnel.on);
    let openvpn = has.openvpn.filter(|tunnel| tunnel.on);
    [
        (
            "lan.address",
            "the network inside",
            address_in(config, "lan"),
        ),
        (
            "wifi.networks",
            "the guests' network",
            address_in(config, "guest"),
        ),
        (
            "internet.address",
            "the provider's network",
            address(uplink.as_ref().and_then(|uplink| uplink.address.as_deref())),
        ),
        (
            "wireguard.address",
            "the tunnel of WireGuard",
            address(wireguard.as_ref().map(|tunnel| &*tunnel.address)),
        ),
        (
            "openvpn.network",
            "the tunnel of OpenVPN",
            address(openvpn.as_ref().map(|tunnel| &*tunnel.network)),
        ),
    ]
    .into_iter()
    .filter_map(|(field, what, network)| {
        let network = network?;
        Some(Own {
            field,
            what: what.to_owned(),
            network,
        })
    })
    .collect()
}

fn taken(config: &Config) -> Vec<Taken> {
    let has = read(config);
    let tunnel = |field, on: bool, port| {
        let ports = (port, port);
        on.then_some(Taken { field, ports })
    };
    let wireguard = has
        .wireguard
        .and_then(|one| tunnel("wireguard.port", one.on, one.port));
    let openvpn = has
        .openvpn
        .and_then(|one| tunnel("openvpn.port", one.on, one.port));
    let forwards = has
        .firewall
        .into_iter()
        .flat_map(|firewall| firewall.forwards);
    let forwarded = forwards.filter_map(|forward| {
        let ports = udp(&forward)?;
        Some(Taken {
            field: FORWARDS,
            ports,
        })
    });
    wireguard
        .into_iter()
        .chain(openvpn)
        .chain(forwarded)
        .collect()
}

/// The ports of UDP that are forwarded.
fn udp(forward: &Forward) -> Option<(u16, u16)> {
    (forward.protocol != Protocol::Tcp).then(|| ports(&forward.port))?
}
