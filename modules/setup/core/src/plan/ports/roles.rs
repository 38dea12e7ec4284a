//! Users of a port, from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uci::Section;

use crate::plan::{Config, Facts, text, words};

/// Type of a section in `network` that records weir's use of a port. netifd ignores it.
pub(super) const MARK: &str = "weir_cable";
/// Most levels of nested devices: more than this is a cycle.
const DEEPEST: usize = 8;
/// Protocols of interfaces that get their addresses from a server.
const OUTSIDE: [&str; 10] = [
    "dhcp",
    "dhcpv6",
    "pppoe",
    "pppoa",
    "qmi",
    "mbim",
    "ncm",
    "3g",
    "modemmanager",
    "pptp",
];

/// Use of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortRole {
    /// A network inside.
    Lan,
    /// The Internet.
    Uplink,
    /// The mesh.
    Mesh,
    /// No use.
    None,
}

impl PortRole {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Uplink => "uplink",
            Self::Mesh => "mesh",
            Self::None => "none",
        }
    }
}

/// A port and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortAssignment {
    /// The device.
    pub device: String,
    /// Use of the port.
    pub used: PortRole,
    /// True if weir set the use, and it is unchanged since.
    pub by_weir: bool,
}

/// User of a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// The interface of the LAN.
    Lan,
    /// The interface of the Internet, or of its IPv6.
    Wan,
    /// The mesh, by weir's own section.
    Mesh,
    /// Another interface, and its use.
    Other(String, PortRole),
}

impl Holder {
    fn used(&self) -> PortRole {
        match self {
            Self::Lan => PortRole::Lan,
            Self::Wan => PortRole::Uplink,
            Self::Mesh => PortRole::Mesh,
            Self::Other(_, used) => *used,
        }
    }
}

/// Returns true if LibreMesh makes the configuration.
pub fn is_lime(config: &Config) -> bool {
    config.package("lime-node").is_some()
}

/// Returns the ports below a device: those of a bridge, or the one with a VLAN.
pub fn bases(config: &Config, device: &str) -> Vec<String> {
    let (mut found, mut looked) = (Vec::new(), vec![(device.to_owned(), 0)]);
    while let Some((name, depth)) = looked.pop() {
        let section = config
            .of_type("network", "device")
            .find(|section| text(section, "name").as_deref() == Some(&name));
        let mut below = Vec::new();
        if let Some(section) = section {
            below.extend(words(section, "ports"));
            below.extend(text(section, "ifname"));
        }
        let kind = section.and_then(|section| text(section, "type"));
        if kind.is_none()
            && let Some((lower, number)) = name.rsplit_once('.')
            && number.parse::<u16>().is_ok()
        {
            below.push(lower.to_owned());
        }
        match (below.is_empty() && kind.is_none(), depth < DEEPEST) {
            (true, _) => found.push(name),
            (false, true) => looked.extend(below.into_iter().map(|below| (below, depth + 1))),
            (false, false) => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns true if an interface creates its own device.
fn is_own(config: &Config, device: &str) -> bool {
    const MAKES: [&str; 6] = ["batadv", "vxlan", "vxlan6", "wireguard", "openvpn", "gre"];
    let proto = config.get("network", device, "proto");
    device == "lo" || proto.is_some_and(|proto| MAKES.contains(&&*proto))
}

/// Returns all used ports, with their users.
fn all(config: &Config) -> BTreeMap<String, BTreeSet<Holder>> {
    let mut found: BTreeMap<String, BTreeSet<Holder>> = BTreeMap::new();
    let tunnels: Vec<String> = config
        .of_type("network", "interface")
        .filter_map(|section| text(section, "tunlink"))
        .collect();
    for section in config.of_type("network", "interface") {
        let option = match section.get("device") {
            Some(_) => "device",
            None => "ifname",
        };
        for device in words(section, option) {
            if device.starts_with(['@', '/']) {
                continue;
            }
            for port in bases(config, &device) {
                if !is_own(config, &port) {
                    let holder = holder(section, &port, &tunnels);
                    found.entry(port).or_default().insert(holder);
                }
            }
        }
    }
    found
}

fn holder(section: &Section, port: &str, tunnels: &[String]) -> Holder {
    let proto = text(section, "proto").unwrap_or_default();
    let own = |kind: &str| section.name == format!("{kind}_{}", safe(port));
    match &*section.name {
        "lan" => Holder::Lan,
        "wan" | "wan6" => Holder::Wan,
        _ if own("mesh") && proto == "batadv_hardif" => Holder::Mesh,
        name if own("wire") && tunnels.iter().any(|tunnel| tunnel == name) => Holder::Mesh,
        name => {
            let meshes = proto == "batadv_hardif" || tunnels.iter().any(|tunnel| tunnel == name);
            let outside = OUTSIDE.contains(&&*proto) || section.get("gateway").is_some();
            let used = match (meshes, outside) {
                (true, _) => PortRole::Mesh,
                (false, true) => PortRole::Uplink,
                (false, false) => PortRole::Lan,
            };
            Holder::Other(name.to_owned(), used)
        }
    }
}

/// Returns the users of a port.
pub fn holders(config: &Config, device: &str) -> Vec<Holder> {
    let found = all(config).remove(device);
    found.into_iter().flatten().collect()
}

/// Returns every port that the configuration uses or the router has, with its use.
pub fn uses(config: &Config, facts: &Facts) -> Vec<PortAssignment> {
    let mut found: BTreeMap<String, PortRole> = BTreeMap::new();
    for device in facts.lan.iter().chain(&facts.wan) {
        for port in bases(config, device) {
            found.insert(port, PortRole::None);
        }
    }
    let marks = || config.of_type("network", MARK);
    for port in marks().filter_map(|mark| text(mark, "device")) {
        found.insert(port, PortRole::None);
    }
    let lime: Vec<&Section> = config.of_type("lime-node", "net").collect();
    for port in lime.iter().filter_map(|net| text(net, "linux_name")) {
        found.insert(port, PortRole::None);
    }
    for (port, holders) in all(config) {
        // Of several uses, the riskiest to change counts.
        let of = |used| holders.iter().any(|holder| holder.used() == used);
        let order = [PortRole::Uplink, PortRole::Lan, PortRole::Mesh];
        let used = order.into_iter().find(|&used| of(used));
        found.insert(port, used.unwrap_or(PortRole::None));
    }
    let row = |(device, used): (String, PortRole)| {
        let net = lime
            .iter()
            .find(|net| text(net, "linux_name").as_ref() == Some(&device));
        if let Some((net, role)) = net.and_then(|net| Some((net, text(net, "eth_role")?))) {
            let by_weir = text(net, "weir").as_deref() == Some("1");
            let used = match &*role {
                "wan" => PortRole::Uplink,
                "lan" => PortRole::Lan,
                "mesh" => PortRole::Mesh,
                _ => used,
            };
            return PortAssignment {
                device,
                used,
                by_weir,
            };
        }
        let by_weir = !is_lime(config)
            && marks().any(|mark| {
                text(mark, "device").as_ref() == Some(&device)
                    && text(mark, "used").as_deref() == Some(used.word())
            });
        PortAssignment {
            device,
            used,
            by_weir,
        }
    };
    found.into_iter().map(row).collect()
}

/// Converts a device for the name of a section, which has letters, digits and `_` alone.
pub fn safe(device: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    device.chars().map(safe).collect()
}
