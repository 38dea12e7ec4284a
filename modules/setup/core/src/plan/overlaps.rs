//! Keeps the router's own networks from overlapping, and its services from sharing a port.
//!
//! An overlap that was there before, and stays, was the user's intention.

use super::check::ports;
use super::{Config, Facts, Ipv4Cidr, ProblemKind, Report, address_in, internet_of, text};
use super::{is_enabled, words};
use crate::choices::{Choices, Forward, Protocol, Uplink};
use crate::read::{peers, read, tunnel_of};
use std::net::Ipv4Addr;
use uci::Section;

/// A network of the router's own, or one that the router has a route to.
#[derive(PartialEq, Eq)]
struct UsedNetwork {
    /// Empty: unknown to the wizard.
    field: &'static str,
    /// Description of the network.
    what: String,
    network: Ipv4Cidr,
    /// True if the network is elsewhere, and a route leads to it.
    is_route: bool,
}

/// UDP ports of a service of the router, or of a forward.
#[derive(PartialEq, Eq)]
struct UsedPorts {
    /// Empty: unknown to the wizard.
    field: &'static str,
    /// Name of the holder of the ports.
    what: String,
    ports: (u16, u16),
}

const FORWARDS: &str = "firewall.forwards";
const GUESTS: &str = "wifi.networks";

/// Checks for overlaps; `before` is the old configuration. The field of the choice is reported; of
/// two choices, the later one in the wizard.
pub(super) fn keep_apart(
    choices: &Choices,
    before: &Config,
    config: &Config,
    facts: &Facts,
    report: &mut Report,
) {
    let chosen = |field: &str| match field.split('.').next().unwrap_or_default() {
        "lan" => choices.lan.is_some(),
        "wifi" => choices.wifi.is_some(),
        "internet" => choices.internet.is_some(),
        "wireguard" => choices.wireguard.is_some(),
        "openvpn" => choices.openvpn.is_some(),
        "" => false,
        _ => {
            let firewall = choices.firewall.as_ref();
            firewall.is_some_and(|firewall| firewall.forwards.is_some())
        }
    };
    let (former, now) = (networks(before), networks(config));
    for (n, own) in now.iter().enumerate() {
        let earlier = now[..n].iter().find(|other| {
            // A network in a part of a route's network may move within that.
            let was_in =
                |was: &UsedNetwork| was.field == own.field && was.network.overlaps(other.network);
            let stays = former.contains(own) || other.is_route && former.iter().any(was_in);
            let as_before = stays && former.contains(other);
            other.network.overlaps(own.network) && !as_before && own.meets(other)
        });
        match earlier {
            Some(other) if chosen(own.field) || !chosen(other.field) => {
                overlaps(config, facts, report, own.field, other.what.clone());
            }
            Some(other) => overlaps(config, facts, report, other.field, own.what.clone()),
            None => {}
        }
    }
    // The uplink gets another network if its kind or its device changes.
    let device = |config: &Config| config.device("wan").or_else(|| facts.wan.clone());
    let stays = internet_of(before) == internet_of(config) && device(before) == device(config);
    let inside = address_in(config, "lan").filter(|_| stays && chosen("lan.address"));
    let new = inside.filter(|inside| address_in(before, "lan") != Some(*inside));
    let mut uplink = facts.uplink.iter();
    if let Some(other) = uplink.find(|other| new.is_some_and(|new| new.overlaps(**other))) {
        let what = format!(
            "{}/{}, where the Internet comes from",
            other.network(),
            other.length
        );
        overlaps(config, facts, report, "lan.address", what);
    }
    let (former, now) = (taken(before), taken(config));
    for (n, one) in now.iter().enumerate() {
        let earlier = now[..n].iter().find(|other| {
            let as_before = former.contains(one) && former.contains(other);
            let same = other.ports.0 <= one.ports.1 && one.ports.0 <= other.ports.1;
            // Of two forwards of a port, the first takes effect.
            same && other.field != FORWARDS && !as_before
        });
        if let Some(other) = earlier {
            let (told, holder) = match chosen(one.field) {
                true => (one, other),
                false => (other, one),
            };
            let what = holder.what.clone();
            report.add_problem(field(told, choices), &ProblemKind::PortTaken(what));
        }
    }
}

/// Notes that an address overlaps something, and names one that does not.
pub(super) fn overlaps(
    config: &Config,
    facts: &Facts,
    report: &mut Report,
    field: &str,
    what: String,
) {
    let free = free_address(config, facts, field).map(|free| match field {
        "openvpn.network" => format!("{}/{}", free.network(), free.length),
        _ => free.to_string(),
    });
    report.add_problem(field, &ProblemKind::Overlaps(what, free));
}

/// Returns an address in a free network, for a field whose own network is removed.
pub(super) fn free_address(config: &Config, facts: &Facts, field: &str) -> Option<Ipv4Cidr> {
    let first = [[192, 168, 77], [10, 77, 0]];
    let more = (2..=254).map(|n| [192, 168, n]);
    let more = more.chain((1..=254).map(|n| [10, n, 0]));
    let more = more.chain((16..=31).map(|n| [172, n, 77]));
    free_of(config, facts, first.into_iter().chain(more), |own| {
        own.field != field
    })
}

/// Returns an address in a network for guests: a free one if possible, otherwise a part of a
/// network that routes lead to.
pub(super) fn free_for_guests(config: &Config, facts: &Facts) -> Option<Ipv4Cidr> {
    let wanted = || (50..=250).map(|n| [192, 168, n]).chain([[10, 99, 50]]);
    free_of(config, facts, wanted(), |_| true)
        .or_else(|| free_address(config, facts, GUESTS))
        .or_else(|| free_of(config, facts, wanted(), |own| !own.is_route))
}

/// Returns the first of these networks that overlaps neither a network of the uplink, nor one of
/// the router that `counts`.
fn free_of(
    config: &Config,
    facts: &Facts,
    mut wanted: impl Iterator<Item = [u8; 3]>,
    counts: impl Fn(&UsedNetwork) -> bool,
) -> Option<Ipv4Cidr> {
    let mut taken: Vec<Ipv4Cidr> = networks(config)
        .into_iter()
        .filter(counts)
        .map(|own| own.network)
        .collect();
    // Also of disabled interfaces. The old networks include the LAN.
    let interfaces = config.of_type("network", "interface");
    let interfaces = interfaces.filter(|section| section.name != "lan");
    taken.extend(interfaces.filter_map(|section| address_in(config, &section.name)));
    taken.extend(&facts.uplink);
    wanted.find_map(|[a, b, c]| {
        let network = Ipv4Cidr {
            address: Ipv4Addr::new(a, b, c, 1),
            length: 24,
        };
        let is_free = !taken.iter().any(|other| other.overlaps(network));
        is_free.then_some(network)
    })
}

impl UsedNetwork {
    /// Returns true if two networks must not overlap. The wizard chooses neither of two unknown
    /// networks. The wizard itself picks the guests' network, a free one if possible. The provider
    /// chooses the network of the uplink, which may be part of a network behind it.
    fn meets(&self, other: &UsedNetwork) -> bool {
        let known = !self.field.is_empty() || !other.field.is_empty();
        known && !(other.is_route && matches!(self.field, GUESTS | "internet.address"))
    }
}

/// Returns the field of ports in the choices.
fn field(taken: &UsedPorts, choices: &Choices) -> String {
    let forwards = choices
        .firewall
        .iter()
        .flat_map(|firewall| firewall.forwards.iter().flatten());
    let place = forwards
        .filter(|_| taken.field == FORWARDS)
        .position(|forward| udp(forward) == Some(taken.ports));
    match place {
        Some(n) => format!("{FORWARDS}[{n}].port"),
        None => taken.field.to_owned(),
    }
}

/// Returns the networks of interfaces that the wizard does not know.
fn foreign(config: &Config, known: &[Ipv4Cidr]) -> Vec<UsedNetwork> {
    const OURS: [&str; 4] = ["loopback", "lan", "guest", "wan"];
    let device = |section: &Section| text(section, "device");
    let inside = config
        .of_type("network", "interface")
        .find(|section| section.name == "lan");
    let inside = inside.and_then(device);
    let mut all = Vec::new();
    for section in config.of_type("network", "interface") {
        // More addresses on the device of the LAN are not another network.
        let is_alias = device(section).is_some_and(|own| own == "@lan" || inside == Some(own));
        if OURS.contains(&&*section.name) || is_alias || is_enabled(section, "disabled") {
            continue;
        }
        let mut networks = Vec::new();
        match text(section, "proto").as_deref() {
            Some("static") => {
                let mask = text(section, "netmask").unwrap_or_default();
                networks.extend(words(section, "ipaddr").iter().filter_map(|address| {
                    Ipv4Cidr::read_network(address).or_else(|| Ipv4Cidr::of_mask(address, &mask))
                }));
            }
            Some("wireguard") => {
                let addresses = words(section, "addresses");
                networks.extend(
                    addresses
                        .iter()
                        .filter_map(|text| Ipv4Cidr::read_network(text)),
                );
            }
            _ => {}
        }
        networks.retain(|network| !known.contains(network));
        all.extend(networks.into_iter().map(|network| UsedNetwork {
            field: "",
            what: format!("the network {}", section.name),
            network,
            is_route: false,
        }));
    }
    all
}

/// Returns the networks that routes lead to: by sections of their own, or to peers of `WireGuard`.
fn routed(config: &Config) -> Vec<UsedNetwork> {
    let is_on = |section: &&Section| !is_enabled(section, "disabled");
    let interfaces = || config.of_type("network", "interface").filter(is_on);
    // Tables other than the main one depend on rules; and an interface without a device has no
    // route.
    let is_main = |section: &Section, option| {
        text(section, option).is_none_or(|table| matches!(&*table, "main" | "254"))
    };
    let routes = config.of_type("network", "route").filter(is_on);
    let routes = routes.filter_map(|section| {
        let name = text(section, "interface")?;
        let is_way = text(section, "type").is_none_or(|kind| kind == "unicast");
        let is_up = interfaces().any(|interface| interface.name == name);
        let (target, mask) = (text(section, "target")?, text(section, "netmask"));
        let network = match mask {
            Some(mask) if !target.contains('/') => Ipv4Cidr::of_mask(&target, &mask),
            _ => network_or_host(&target),
        };
        (is_way && is_up && is_main(section, "table")).then_some((name, network?))
    });
    let tunnels = interfaces().filter(|section| {
        text(section, "proto").as_deref() == Some("wireguard") && is_main(section, "ip4table")
    });
    let behind = tunnels.flat_map(|tunnel| {
        let addresses = words(tunnel, "addresses");
        let own: Vec<Ipv4Cidr> = addresses
            .iter()
            .filter_map(|text| Ipv4Cidr::read_network(text))
            .collect();
        let kind = peers(&tunnel.name);
        let peers: Vec<&Section> = config.of_type("network", &kind).collect();
        let peers = peers
            .into_iter()
            .filter(|peer| !is_enabled(peer, "disabled") && is_enabled(peer, "route_allowed_ips"));
        let allowed = peers.flat_map(|peer| words(peer, "allowed_ips"));
        let all: Vec<Ipv4Cidr> = allowed.filter_map(|text| network_or_host(&text)).collect();
        // The tunnel's own network is one of the router's already.
        let others = all.into_iter().filter(move |network| {
            let holds =
                |own: &Ipv4Cidr| own.length <= network.length && own.contains(network.address);
            !own.iter().any(holds)
        });
        others.map(|network| (tunnel.name.clone(), network))
    });
    // A tunnel for all outgoing traffic has 0.0.0.0/0, or both halves of it.
    let all = routes
        .chain(behind)
        .filter(|(_, network)| network.length > 1);
    let own = |(name, network): (String, Ipv4Cidr)| UsedNetwork {
        field: "",
        what: format!(
            "{}/{}, which network.{name} leads to",
            network.network(),
            network.length
        ),
        network,
        is_route: true,
    };
    all.map(own).collect()
}

/// Reads a network, or the address of one device.
fn network_or_host(text: &str) -> Option<Ipv4Cidr> {
    match text.contains('/') {
        true => Ipv4Cidr::read_network(text),
        false => Ipv4Cidr::read_network(&format!("{text}/32")),
    }
}

/// Returns networks in the order of the wizard, unknown ones first.
fn networks(config: &Config) -> Vec<UsedNetwork> {
    let known = known_networks(config);
    let own: Vec<Ipv4Cidr> = known.iter().map(|known| known.network).collect();
    let mut all = foreign(config, &own);
    all.extend(routed(config));
    all.extend(known);
    all
}

fn known_networks(config: &Config) -> Vec<UsedNetwork> {
    let has = read(config);
    let address = |text: Option<&str>| Ipv4Cidr::read_network(text?);
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
        (GUESTS, "the guests' network", address_in(config, "guest")),
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
        Some(UsedNetwork {
            field,
            what: what.to_owned(),
            network,
            is_route: false,
        })
    })
    .collect()
}

fn taken(config: &Config) -> Vec<UsedPorts> {
    let has = read(config);
    let tunnel = |field, what: &str, on: bool, port| {
        on.then_some(UsedPorts {
            field,
            what: what.to_owned(),
            ports: (port, port),
        })
    };
    let own = tunnel_of(config);
    let others = config.of_type("network", "interface").filter(|section| {
        text(section, "proto").as_deref() == Some("wireguard")
            && !is_enabled(section, "disabled")
            && own.as_ref() != Some(&section.name)
    });
    let others = others.filter_map(|section| {
        let (port, _) = ports(&text(section, "listen_port")?)?;
        tunnel("", &format!("the tunnel {}", section.name), true, port)
    });
    let wireguard = has.wireguard.and_then(|one| {
        tunnel(
            "wireguard.port",
            "the tunnel of WireGuard",
            one.on,
            one.port,
        )
    });
    let openvpn = has
        .openvpn
        .and_then(|one| tunnel("openvpn.port", "the tunnel of OpenVPN", one.on, one.port));
    let forwards = has
        .firewall
        .into_iter()
        .flat_map(|firewall| firewall.forwards.unwrap_or_default());
    let forwarded = forwards.filter_map(|forward| {
        let ports = udp(&forward)?;
        Some(UsedPorts {
            field: FORWARDS,
            what: forward.name,
            ports,
        })
    });
    others
        .chain(wireguard)
        .chain(openvpn)
        .chain(forwarded)
        .collect()
}

/// Returns the forwarded UDP ports.
fn udp(forward: &Forward) -> Option<(u16, u16)> {
    (forward.protocol != Protocol::Tcp).then(|| ports(&forward.port))?
}
