//! Adds a port to the LAN, or removes it.

use super::request::Refusal;
use super::roles::{Holder, bases, holders};
use crate::plan::bridge::interface;
use crate::plan::{Config, Facts};

/// Takes a port out of the LAN. Returns its place among the LAN's ports.
pub fn leave_lan(
    config: &mut Config,
    facts: &Facts,
    device: &str,
) -> Result<Option<usize>, Refusal> {
    let bridge = lan_bridge(config, facts, device)?;
    let ports = config.list("network", &bridge, "ports");
    let Some(place) = ports.iter().position(|port| port == device) else {
        return Err(Refusal::Tagged(device.to_owned()));
    };
    config.list_without("network", &bridge, "ports", device);
    Ok(Some(place))
}

/// Adds a port to the LAN.
pub fn enter_lan(
    config: &mut Config,
    facts: &Facts,
    device: &str,
    mark: &str,
) -> Result<(), Refusal> {
    if holders(config, device).contains(&Holder::Lan) {
        return Ok(());
    }
    let bridge = lan_bridge(config, facts, device)?;
    let place = config.get("network", mark, "place");
    let place = place.and_then(|place| place.parse().ok());
    let mut ports = config.list("network", &bridge, "ports");
    let place = place.unwrap_or(ports.len()).min(ports.len());
    ports.insert(place, device.to_owned());
    config.replace_list("network", &bridge, "ports", &ports);
    Ok(())
}

/// Returns the section of the LAN's bridge; makes the bridge if missing.
pub fn lan_bridge(config: &mut Config, facts: &Facts, device: &str) -> Result<String, Refusal> {
    if !config.has("network", "lan") {
        interface(config, facts, "lan");
        if let Some(bridge) = config.find_by_option("network", "device", "name", "br-lan") {
            // Wishes determine its ports.
            config.unset("network", &bridge, "ports");
        }
    }
    let tagged = || Refusal::Tagged(device.to_owned());
    let own = config.get("network", "lan", "device");
    let known =
        (own.as_ref()).and_then(|own| config.find_by_option("network", "device", "name", own));
    if let Some(bridge) =
        known.filter(|section| config.get("network", section, "type").as_deref() == Some("bridge"))
    {
        let vlans =
            |bridge: &str| config.find_by_option("network", "bridge-vlan", "device", bridge);
        return match own.and_then(|own| vlans(&own)) {
            Some(_) => Err(tagged()),
            None => Ok(bridge),
        };
    }
    // The LAN has a port itself, or none: it gets a bridge with that port.
    let plain = own.as_deref().is_none_or(|own| bases(config, own) == [own]);
    if !plain
        || config.package("network").is_some_and(|network| {
            let lan = network.section("lan");
            lan.is_some_and(|lan| lan.get("ifname").is_some() || lan.get("type").is_some())
        })
    {
        return Err(tagged());
    }
    let section = "lan_dev".to_owned();
    if config.has("network", &section) {
        return Err(Refusal::Collides(device.to_owned(), section));
    }
    config.section("network", &section, "device");
    config.set("network", &section, "name", "br-lan");
    config.set("network", &section, "type", "bridge");
    config.set("network", &section, "bridge_empty", "1");
    if let Some(own) = own {
        config.list_with("network", &section, "ports", &own);
    }
    config.set("network", "lan", "device", "br-lan");
    Ok(section)
}
