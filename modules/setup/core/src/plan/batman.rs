//! The mesh's device, `bat0`, and the ports that carry the mesh.

use super::bridge::interface;
use super::ports::{Holder, holders, safe};
use super::{Config, Facts, text};
use crate::choices::Mesh;

/// Option of sections that weir made: they go when no longer needed.
const OURS: &str = "weir";

/// Makes the mesh a device, in the LAN's bridge.
pub(super) fn batman(config: &mut Config, facts: &Facts, mesh: &Mesh) {
    config.section("network", "bat0", "interface");
    config.set("network", "bat0", "proto", "batadv");
    config.set_new("network", "bat0", "routing_algo", "BATMAN_IV");
    config.set_new("network", "bat0", "bridge_loop_avoidance", "1");
    // `client` is for meshes with gateways alone: DHCP requests go only to the selected gateway,
    // and nowhere without one. A user who has set it knows of one.
    if mesh.gateway {
        config.set("network", "bat0", "gw_mode", "server");
    } else if config.get("network", "bat0", "gw_mode").as_deref() != Some("client") {
        config.set("network", "bat0", "gw_mode", "off");
    }
    interface(config, facts, "lan");
    if let Some(bridge) = lan_bridge(config) {
        config.list_with("network", &bridge, "ports", "bat0");
    }
}

/// Removes the mesh's device.
pub(super) fn no_bat0(config: &mut Config) {
    config.remove("network", "bat0");
    if let Some(bridge) = lan_bridge(config) {
        config.list_without("network", &bridge, "ports", "bat0");
    }
}

/// Returns the section of the LAN's bridge.
fn lan_bridge(config: &Config) -> Option<String> {
    let device = config.get("network", "lan", "device")?;
    config.find_by_option("network", "device", "name", &device)
}

/// Returns the names of sections of a mesh port.
pub(super) fn names(device: &str) -> [String; 3] {
    ["mesh", "wire", "vx"].map(|kind| format!("{kind}_{}", safe(device)))
}

/// Removes a port from the mesh, with the sections that weir created for it.
pub(super) fn unwire(config: &mut Config, device: &str) {
    if !holders(config, device).contains(&Holder::Mesh) {
        return;
    }
    let [mesh, wire, vxlan] = names(device);
    for section in [&mesh, &wire, &vxlan] {
        config.remove("network", section);
    }
    config.list_without("firewall", "zone_vxlan", "network", &wire);
    if config.list("firewall", "zone_vxlan", "network").is_empty() {
        for section in ["zone_vxlan", "vxlan_in", "vxlan_nd"] {
            config.remove("firewall", section);
        }
    }
    let is_ours = config.get("network", "bat0", OURS).is_some();
    if is_ours && !meshes_by_wire(config) && !meshes_by_radio(config) {
        no_bat0(config);
    }
}

/// Returns true if a port belongs to the mesh, made by weir or by hand.
pub(super) fn meshes_by_wire(config: &Config) -> bool {
    let mut interfaces = config.of_type("network", "interface");
    interfaces.any(|one| {
        text(one, "proto").as_deref() == Some("batadv_hardif") && one.get("device").is_some()
    })
}

fn meshes_by_radio(config: &Config) -> bool {
    let mut interfaces = config.of_type("network", "interface");
    interfaces.any(|one| {
        text(one, "proto").as_deref() == Some("batadv_hardif") && one.get("device").is_none()
    })
}
