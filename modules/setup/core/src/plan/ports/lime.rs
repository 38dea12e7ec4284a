//! LibreMesh generates the whole network configuration: `lime-node` determines the use of ports.

use super::request::{PortRequest, Refusal, UplinkProtocol};
use super::roles::{PortRole, safe};
use crate::plan::{Config, text};

/// Option of sections that weir made.
const OURS: &str = "weir";

/// Writes the use of a port to `lime-node`. The mesh there is in a VLAN of its own already, so it
/// needs no VXLAN.
pub fn lime(wish: &PortRequest, config: &mut Config) -> Result<(), Refusal> {
    let device = &wish.device;
    let section = format!("lime_app_eth_cfg_{}", safe(device));
    let known = config.package("lime-node");
    let known = known.and_then(|package| package.section(&section));
    if known.is_some_and(|known| text(known, "linux_name").as_ref() != Some(device)) {
        return Err(Refusal::Collides(device.clone(), section));
    }
    let role = match wish.used {
        PortRole::Uplink => {
            uplink(wish, config)?;
            "wan"
        }
        PortRole::Lan => "lan",
        PortRole::Mesh => "mesh",
        PortRole::None => {
            config.remove("lime-node", &section);
            return Ok(());
        }
    };
    if config.get("lime-node", &section, "eth_role").as_deref() == Some(role) {
        return Ok(());
    }
    let protocols: &[&str] = match wish.used {
        PortRole::Uplink => &["wan", "dynamic"],
        PortRole::Mesh => &["batadv:%N1", "babeld:17"],
        _ => &["lan"],
    };
    let protocols: Vec<String> = protocols.iter().map(|&one| one.to_owned()).collect();
    config.section("lime-node", &section, "net");
    config.set("lime-node", &section, "linux_name", device);
    config.set("lime-node", &section, "eth_role", role);
    config.set_list("lime-node", &section, "protocols", &protocols);
    config.set("lime-node", &section, OURS, "1");
    Ok(())
}

/// Makes a port LibreMesh's `wan` (DHCP, without a tag), instead of one that weir chose before.
fn uplink(wish: &PortRequest, config: &mut Config) -> Result<(), Refusal> {
    let device = &wish.device;
    let dials = wish
        .uplink
        .is_some_and(|found| found.kind == UplinkProtocol::Pppoe);
    if dials && config.get("network", "wan", "proto").as_deref() != Some("pppoe") {
        return Err(Refusal::NeedsPppoe(device.clone()));
    }
    if wish.uplink.is_some_and(|found| found.vlan.is_some()) {
        return Err(Refusal::Tagged(device.clone()));
    }
    for section in former(config, device) {
        config.remove("lime-node", &section);
    }
    Ok(())
}

/// Returns other ports that weir made uplinks.
fn former(config: &Config, device: &str) -> Vec<String> {
    let of = |section: &&uci::Section| {
        text(section, "eth_role").as_deref() == Some("wan")
            && section.get(OURS).is_some()
            && text(section, "linux_name").as_deref() != Some(device)
    };
    let nets = config.of_type("lime-node", "net").filter(of);
    nets.map(|section| section.name.clone()).collect()
}
