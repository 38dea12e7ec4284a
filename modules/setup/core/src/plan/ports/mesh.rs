//! Adds a port to the mesh, or removes it.

use super::lan::lan_bridge;
use super::marks::is_free;
use super::request::{PortRequest, Refusal};
use super::roles::{Holder, holders, safe};
use crate::choices::Mesh;
use crate::plan::batman::{batman, names, unwire};
use crate::plan::{Config, Facts};

/// Option of sections that weir made: they go when no longer needed.
const OURS: &str = "weir";
/// Zone of ports with VXLAN: it accepts only VXLAN.
const ZONE: &str = "vxlan";
/// Destination of broadcasts: the group of Gluon's nodes, separate on each link.
const GROUP: &str = "ff02::15c";
/// IANA's port of VXLAN (RFC 7348).
const PORT: &str = "4789";
/// Packet size within 1500 bytes: without IPv6 (40), UDP (8), VXLAN (8) and Ethernet (14).
const FITS: &str = "1430";
/// Bytes of the longest name of a device, without `vx_`.
const LONGEST: usize = 12;

/// Adds a port to the mesh, by batman-adv: plain, or in a VXLAN.
pub fn mesh(wish: &PortRequest, config: &mut Config, facts: &Facts) -> Result<(), Refusal> {
    let device = &wish.device;
    let lacks = |feature: &str| {
        let what = facts.missing.get(feature);
        what.map_or(Ok(()), |what| {
            Err(Refusal::Lacks(device.clone(), what.clone()))
        })
    };
    lacks("batman")?;
    if wish.vxlan.is_some() {
        lacks("vxlan")?;
        if safe(device).len() > LONGEST {
            return Err(Refusal::Name(device.clone()));
        }
    }
    let [mesh, wire, vxlan] = names(device);
    // If the port is in the mesh already, the sections are its own.
    if !holders(config, device).contains(&Holder::Mesh) {
        for section in [&mesh, &wire, &vxlan] {
            is_free(config, device, section, |_| false)?;
        }
    }
    let proto = |name: &str| config.get("network", name, "proto");
    if proto("bat0").is_some_and(|proto| proto != "batadv") {
        return Err(Refusal::Collides(device.clone(), "bat0".to_owned()));
    }
    let known = config.get("network", &vxlan, "vid");
    if known != wish.vxlan.map(|number| number.to_string()) {
        unwire(config, device);
    }
    bat0(config, facts, device)?;
    let over = match wish.vxlan {
        Some(number) => {
            self::vxlan(config, device, number);
            vxlan
        }
        None => device.clone(),
    };
    config.section("network", &mesh, "interface");
    config.set("network", &mesh, "proto", "batadv_hardif");
    config.set("network", &mesh, "master", "bat0");
    config.set("network", &mesh, "device", &over);
    if wish.vxlan.is_none() {
        // The header takes 32 bytes, and packets of 1500 have to fit. In a VXLAN on a port of 1500
        // they do not: batman-adv splits them.
        config.set("network", &mesh, "mtu", "1532");
    }
    Ok(())
}

/// Makes the mesh a device, in the LAN's bridge.
fn bat0(config: &mut Config, facts: &Facts, device: &str) -> Result<(), Refusal> {
    if config.has("network", "bat0") {
        return Ok(());
    }
    lan_bridge(config, facts, device)?;
    batman(config, facts, &Mesh::default());
    config.set("network", "bat0", OURS, "1");
    Ok(())
}

/// Makes a VXLAN on a port, which separates it from other devices at the switch.
fn vxlan(config: &mut Config, device: &str, number: u32) {
    let [_, wire, vxlan] = names(device);
    config.section("network", &wire, "interface");
    config.set("network", &wire, "proto", "none");
    config.set("network", &wire, "device", device);
    config.section("network", &vxlan, "interface");
    for (option, value) in [
        ("proto", "vxlan6"),
        ("tunlink", &wire),
        ("peer6addr", GROUP),
        ("port", PORT),
        ("vid", &number.to_string()),
        ("mtu", FITS),
        // The frames within have checksums of their own.
        ("rxcsum", "0"),
        ("txcsum", "0"),
    ] {
        config.set("network", &vxlan, option, value);
    }
    if config.of_type("firewall", "zone").next().is_some() {
        let_in(config, &wire);
    }
}

/// Permits only incoming VXLAN and neighbour discovery by an interface.
fn let_in(config: &mut Config, interface: &str) {
    config.section("firewall", "zone_vxlan", "zone");
    for (option, value) in [
        ("name", ZONE),
        ("input", "REJECT"),
        ("output", "ACCEPT"),
        ("forward", "REJECT"),
    ] {
        config.set("firewall", "zone_vxlan", option, value);
    }
    config.list_with("firewall", "zone_vxlan", "network", interface);
    for (section, name, proto) in [
        ("vxlan_in", "Allow-VXLAN", "udp"),
        ("vxlan_nd", "Allow-VXLAN-Neighbours", "icmp"),
    ] {
        config.section("firewall", section, "rule");
        config.set("firewall", section, "name", name);
        config.set("firewall", section, "src", ZONE);
        config.set("firewall", section, "family", "ipv6");
        config.set("firewall", section, "proto", proto);
        config.set("firewall", section, "target", "ACCEPT");
    }
    config.set("firewall", "vxlan_in", "dest_port", PORT);
    for kind in ["neighbour-solicitation", "neighbour-advertisement"] {
        config.list_with("firewall", "vxlan_nd", "icmp_type", kind);
    }
}
