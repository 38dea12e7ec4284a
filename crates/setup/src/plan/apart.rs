//! That no two networks of the router's own overlap, and no two things want the same port.
//!
//! What was so before, and stays so, was somebody's wish.

use super::check::ports;
use super::lan::address_in;
use super::{Config, Inside, Planner, Wrong};
use crate::choices::{Choices, Forward, Protocol, Uplink};
use crate::read;

/// A network of the router's own.
#[derive(PartialEq, Eq)]
struct Own {
    field: &'static str,
    /// What the other one overlaps.
    what: &'static str,
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
                    self.wrong(own.field, &Wrong::Overlaps(other.what.to_owned()));
                }
                Some(other) => self.wrong(other.field, &Wrong::Overlaps(own.what.to_owned())),
                None => {}
            }
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

/// In the order of the wizard.
fn networks(config: &Config) -> Vec<Own> {
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
            what,
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
