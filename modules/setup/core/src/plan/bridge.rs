//! Interfaces of the router's own: their bridges, addresses, and the pools of addresses for others.

use super::{Config, Facts, Ipv4Cidr, text, words};

/// Returns the router's address at an interface; of several the first.
pub(crate) fn address_in(config: &Config, interface: &str) -> Option<Ipv4Cidr> {
    let section = config.section_of("network", interface)?;
    let address = words(section, "ipaddr").into_iter().next()?;
    Ipv4Cidr::read_network(&address)
        .or_else(|| Ipv4Cidr::of_mask(&address, &text(section, "netmask")?))
}

/// Returns the section of `dhcp` that gives addresses at an interface, whatever its name; or the
/// name for a new one.
pub(crate) fn pool_of(config: &Config, interface: &str) -> String {
    config
        .find_by_option("dhcp", "dhcp", "interface", interface)
        .unwrap_or_else(|| interface.to_owned())
}

/// Makes an interface of the router, with a bridge below it, unless it exists.
pub(super) fn interface(config: &mut Config, facts: &Facts, name: &str) {
    if config.has("network", name) {
        return;
    }
    let bridge = format!("br-{name}");
    let known = config.find_by_option("network", "device", "name", &bridge);
    if known.is_none() {
        let device = format!("{name}_dev");
        config.section("network", &device, "device");
        config.set("network", &device, "name", &bridge);
        config.set("network", &device, "type", "bridge");
        if name == "lan" {
            let ports = facts.lan.clone();
            config.set_list("network", &device, "ports", &ports);
        } else {
            config.set("network", &device, "bridge_empty", "1");
        }
    }
    config.section("network", name, "interface");
    config.set("network", name, "device", &bridge);
    if name == "lan" {
        // A part of the provider's delegated prefix, as a fresh OpenWrt asks for.
        config.set("network", name, "ip6assign", "64");
    }
}

/// Gives an interface an address, in the form that it has, or the release's own.
pub(super) fn set_address(config: &mut Config, facts: &Facts, interface: &str, inside: Ipv4Cidr) {
    config.set("network", interface, "proto", "static");
    let section = config.section_of("network", interface);
    let form = section.and_then(|section| section.get("ipaddr"));
    // From 25.12 on OpenWrt itself writes a list.
    let listed = form.map_or(facts.release.is_none_or(|year| year >= 25), |ipaddr| {
        ipaddr.list
    });
    let mut all = section.map_or_else(Vec::new, |section| words(section, "ipaddr"));
    let whole = all.first().is_some_and(|first| first.contains('/'));
    // The first address is the router's; further addresses stay, and need the mask if they have no
    // length.
    let others = all.get(1..).unwrap_or_default();
    let masked = others.iter().any(|other| !other.contains('/'));
    if listed {
        if all.len() < 2 {
            config.set_list("network", interface, "ipaddr", &[inside.to_string()]);
        } else {
            all[0] = inside.to_string();
            config.replace_list("network", interface, "ipaddr", &all);
        }
        if !masked {
            config.unset("network", interface, "netmask");
        }
    } else if whole || !others.is_empty() {
        all[0] = inside.to_string();
        config.set("network", interface, "ipaddr", &all.join(" "));
    } else {
        let (address, mask) = (inside.address.to_string(), inside.netmask().to_string());
        config.set("network", interface, "ipaddr", &address);
        config.set("network", interface, "netmask", &mask);
    }
}
