//! Zones of the firewall: those outside and inside, and permitted traffic from outside.

use uci::Section;

use super::{Config, is_enabled, text, words};

/// Returns the section of the zone that holds a network of this name, or has the name itself.
pub(super) fn zone_of(config: &Config, network: &str) -> Option<String> {
    let holds = |section: &&Section| words(section, "network").iter().any(|name| name == network);
    let zone = config.of_type("firewall", "zone").find(holds);
    zone.map(|section| section.name.clone())
        .or_else(|| config.find_by_option("firewall", "zone", "name", network))
}

/// Returns the names of the zones inside and outside: `lan` and `wan`, unless renamed.
pub(crate) fn zone_names(config: &Config) -> (String, String) {
    let name = |network: &str| {
        let zone = zone_of(config, network)?;
        config.get("firewall", &zone, "name")
    };
    (
        name("lan").unwrap_or_else(|| "lan".to_owned()),
        name("wan").unwrap_or_else(|| "wan".to_owned()),
    )
}

/// Returns the section of the zone that contains a network of this name, or has the name itself;
/// creates a zone if missing.
pub(super) fn zone(config: &mut Config, name: &str) -> String {
    if let Some(zone) = zone_of(config, name) {
        return zone;
    }
    let first = config.of_type("firewall", "zone").next().is_none();
    if first && config.of_type("firewall", "defaults").next().is_none() {
        config.section("firewall", "defaults", "defaults");
        for (option, value) in [
            ("input", "REJECT"),
            ("output", "ACCEPT"),
            ("forward", "REJECT"),
        ] {
            config.set("firewall", "defaults", option, value);
        }
    }
    let section = format!("zone_{name}");
    config.section("firewall", &section, "zone");
    config.set("firewall", &section, "name", name);
    let (input, forward) = if name == "lan" {
        ("ACCEPT", "ACCEPT")
    } else {
        ("REJECT", "REJECT")
    };
    config.set("firewall", &section, "input", input);
    config.set("firewall", &section, "output", "ACCEPT");
    config.set("firewall", &section, "forward", forward);
    if name == "wan" {
        config.set("firewall", &section, "masq", "1");
        config.set("firewall", &section, "mtu_fix", "1");
        let inside = zone(config, "lan");
        config.list_with("firewall", &inside, "network", "lan");
        config.section("firewall", "lan_wan", "forwarding");
        config.set("firewall", "lan_wan", "src", "lan");
        config.set("firewall", "lan_wan", "dest", "wan");
        needed_outside(config);
    }
    section
}

/// Permits traffic from outside that the uplink needs, as OpenWrt does.
fn needed_outside(config: &mut Config) {
    let rules: [(&str, &[(&str, &str)]); 3] = [
        (
            "wan_dhcp",
            &[
                ("name", "Allow-DHCP-Renew"),
                ("proto", "udp"),
                ("dest_port", "68"),
                ("family", "ipv4"),
            ],
        ),
        (
            "wan_dhcpv6",
            &[
                ("name", "Allow-DHCPv6"),
                ("proto", "udp"),
                ("dest_port", "546"),
                ("family", "ipv6"),
            ],
        ),
        (
            "wan_icmpv6",
            &[
                ("name", "Allow-ICMPv6-Input"),
                ("proto", "icmp"),
                ("family", "ipv6"),
            ],
        ),
    ];
    for (section, options) in rules {
        config.section("firewall", section, "rule");
        config.set("firewall", section, "src", "wan");
        config.set("firewall", section, "target", "ACCEPT");
        for (option, value) in options {
            config.set("firewall", section, option, value);
        }
    }
}

/// Returns true if the zone outside holds an uplink.
pub(super) fn has_uplink(config: &Config) -> bool {
    let zone = zone_of(config, "wan");
    let zone = zone.and_then(|zone| config.package("firewall")?.section(&zone));
    zone.is_some_and(|zone| {
        let has = |option| !words(zone, option).is_empty();
        let networks = words(zone, "network");
        has("device") || has("subnet") || networks.iter().any(|name| is_uplink(config, name))
    })
}

/// Returns true if an interface leads somewhere: netifd brings one with `none` up, without an
/// address.
pub(super) fn is_uplink(config: &Config, interface: &str) -> bool {
    let goes = |name: &str| {
        let section = config.section_of("network", name)?;
        let protocol = text(section, "proto").filter(|protocol| protocol != "none");
        let is_on = protocol.is_some() && !is_enabled(section, "disabled");
        is_on.then(|| config.device(name))
    };
    // An alias leads where its interface leads.
    goes(interface).is_some_and(|device| {
        let below = device
            .as_deref()
            .and_then(|device| device.strip_prefix('@'));
        below.is_none_or(|below| goes(below).is_some())
    })
}
