//! Devices of interfaces, and the owners of VLANs.

use uci::Section;

use super::config::{device_of, device_option, is_old_bridge};
use super::{Config, is_enabled, text, words};

/// Returns the device below a provider's VLAN of an interface: the interface's device, or the only
/// port of the bridge that an interface of the old `type bridge` makes of its `ifname`.
pub(crate) fn wire_of(section: &Section) -> Option<String> {
    let device = device_of(section)?;
    let own = is_old_bridge(section).then(|| words(section, "ifname"));
    match own.as_deref() {
        Some([port]) => Some(port.clone()),
        _ => Some(device),
    }
}

/// Returns a port of the uplink that a bridge of another network has, and the name of that network.
/// Untagged frames that reach a port of a bridge reach the bridge, and no interface on the port
/// itself. A VLAN on the port still has its own frames (net/core/dev.c, `vlan_do_receive` before
/// `rx_handler`), but the LAN would have all others of the provider's.
pub(super) fn bridged_uplink(config: &Config) -> Option<(String, String)> {
    let off = |section: &Section| {
        is_enabled(section, "disabled")
            || text(section, "proto").is_none_or(|proto| proto == "none")
    };
    let wan = config.section_of("network", "wan")?;
    let device = wire_of(wan).filter(|_| !off(wan))?;
    let base = provider_vlan(config, &device).map_or_else(|| device.clone(), |(port, _)| port);
    let own = [device, base];
    let mut others = config.of_type("network", "interface").filter(|section| {
        !matches!(&*section.name, "wan" | "wan6") && !is_enabled(section, "disabled")
    });
    others.find_map(|section| {
        let mut ports = members(config, section);
        // Other networks may share the uplink's port: a modem's page, for example.
        ports.extend(device_of(section).filter(|_| section.name == "lan"));
        let own = if section.name == "lan" {
            &own[..]
        } else {
            &own[..1]
        };
        let port = own.iter().find(|port| ports.contains(port))?;
        Some((port.clone(), section.name.clone()))
    })
}

/// Returns the ports of an interface's bridge, if it has one. For a VLAN-aware bridge, the ports of
/// its VLANs are included.
fn members(config: &Config, interface: &Section) -> Vec<String> {
    let Some(device) = device_of(interface) else {
        return Vec::new();
    };
    let mut ports = Vec::new();
    if is_old_bridge(interface) {
        ports.extend(words(interface, "ifname"));
    }
    let is_below = |bridge: &str| {
        let vlan = device.strip_prefix(bridge);
        vlan.is_some_and(|vlan| vlan.is_empty() || vlan.starts_with('.'))
    };
    let of =
        |section: &Section, option| text(section, option).is_some_and(|bridge| is_below(&bridge));
    let bridges = config.of_type("network", "device").filter(|section| {
        text(section, "type").as_deref() == Some("bridge") && of(section, "name")
    });
    // Releases before 21.02 call the ports `ifname`.
    ports.extend(
        bridges.flat_map(|section| [words(section, "ports"), words(section, "ifname")].concat()),
    );
    let vlans = config.of_type("network", "bridge-vlan");
    let tagged = vlans.filter(|section| of(section, "device"));
    ports.extend(
        tagged
            .flat_map(|section| words(section, "ports"))
            .map(|port| {
                // `lan1:u*` is lan1, without a tag, and in this VLAN by default.
                port.split(':').next().unwrap_or_default().to_owned()
            }),
    );
    ports
}

/// Returns the port and the number of a provider's VLAN, if a device is one. VLANs of the router's
/// own switch (swconfig), and of a VLAN-aware bridge, are ports.
pub(crate) fn provider_vlan(config: &Config, device: &str) -> Option<(String, u16)> {
    let section = config
        .of_type("network", "device")
        .find(|section| text(section, "name").as_deref() == Some(device));
    let tagged = section.filter(|section| text(section, "type").as_deref() == Some("8021q"));
    let (port, number) = match tagged {
        Some(section) => (text(section, "ifname")?, text(section, "vid")?),
        None => {
            let (port, number) = device.rsplit_once('.')?;
            (port.to_owned(), number.to_owned())
        }
    };
    let number: u16 = number.parse().ok()?;
    (!is_of_switch(config, &port, number)).then_some((port, number))
}

/// Returns true for a VLAN that the router's own switch or bridge makes on a port.
fn is_of_switch(config: &Config, port: &str, number: u16) -> bool {
    let is = |section: &Section, option| {
        text(section, option).and_then(|text| text.parse().ok()) == Some(number)
    };
    let mut switch = config.of_type("network", "switch_vlan");
    let mut bridge = config.of_type("network", "bridge-vlan");
    // `vlan` is the place in the table of the switch; `vid` is the number where both are there.
    switch.any(|section| match section.get("vid") {
        Some(_) => is(section, "vid"),
        None => is(section, "vlan"),
    }) || bridge
        .any(|section| text(section, "device").as_deref() == Some(port) && is(section, "vlan"))
}

/// Returns the device of an interface. Modems and other files are not network devices.
pub(super) fn port_of(config: &Config, interface: &str) -> Option<String> {
    let device = device_of(config.section_of("network", interface)?);
    device.filter(|device| !device.starts_with('/'))
}

/// Returns the device below a provider's VLAN of an interface ([`wire_of`]).
pub(super) fn wire(config: &Config, interface: &str) -> Option<String> {
    let device = wire_of(config.section_of("network", interface)?);
    device.filter(|device| !device.starts_with('/'))
}

/// Sets the device of an interface, in the option that the interface has for it. In a bridge of
/// the old form the device becomes the only port.
pub(super) fn set_device(config: &mut Config, interface: &str, device: &str) {
    if [port_of(config, interface), wire(config, interface)].contains(&Some(device.to_owned())) {
        return;
    }
    let network = config.package("network");
    let section = network.and_then(|network| network.section(interface));
    let option = section.map_or("device", device_option);
    config.set("network", interface, option, device);
}
