//! Makes a port the uplink, or removes it.

use super::marks::{is_free, mark, note};
use super::request::{PortRequest, Refusal, UplinkProtocol};
use super::roles::{PortRole, bases};
use crate::choices::{Internet, Uplink};
use crate::plan::link::provider_vlan;
use crate::plan::report::Report;
use crate::plan::{Config, Facts, internet, text};

/// Option of interfaces that weir made: they go with their ports.
const OURS: &str = "weir";
/// Device of the uplink's interface before its port was removed: the VLAN stays known.
const FORMER: &str = "weir_device";
/// Bytes of the longest name of a device.
const LONGEST: usize = 15;

/// Makes a port the uplink. An interface made by hand keeps all but its port.
pub fn uplink(wish: &PortRequest, config: &mut Config, facts: &Facts) -> Result<(), Refusal> {
    let device = &wish.device;
    let is_ours = config.get("network", "wan", OURS).is_some();
    let there = config.has("network", "wan") && !is_ours;
    let proto = config.get("network", "wan", "proto").unwrap_or_default();
    let dials = wish
        .uplink
        .is_some_and(|found| found.kind == UplinkProtocol::Pppoe);
    if dials && (!there || matches!(&*proto, "dhcp" | "static" | "dhcpv6")) {
        return Err(Refusal::NeedsPppoe(device.clone()));
    }
    let wired = matches!(&*proto, "dhcp" | "static" | "pppoe" | "dhcpv6");
    if there && !wired || config.has("wireless", "wifi_uplink") {
        return Err(Refusal::Otherwise(device.clone(), proto));
    }
    let former = config.get("network", "wan", "device");
    let former = former
        .map(|former| bases(config, &former))
        .unwrap_or_default();
    if there {
        move_wan(config, device)?;
    } else {
        make_wan(wish, config, facts)?;
    }
    for port in former.iter().filter(|port| *port != device) {
        mark(config, port)?;
        note(config, port, PortRole::None, None);
    }
    Ok(())
}

fn move_wan(config: &mut Config, device: &str) -> Result<(), Refusal> {
    let now = config.get("network", "wan", "device");
    if let Some(now) = &now
        && bases(config, now).iter().any(|port| port == device)
    {
        return Ok(());
    }
    let known = now.clone().or_else(|| config.get("network", "wan", FORMER));
    let section = (known.as_ref())
        .and_then(|known| config.find_by_option("network", "device", "name", known))
        .filter(|section| {
            let kind = config.get("network", section, "type");
            matches!(kind.as_deref(), Some("8021q" | "8021ad"))
        });
    // A VLAN of the router's own switch does not move to another port.
    let number = |name: &str| {
        let number = name.rsplit_once('.')?.1;
        number.parse::<u16>().ok()?;
        match section {
            Some(_) => Some(number.to_owned()),
            None => provider_vlan(config, name).map(|(_, vlan)| vlan.to_string()),
        }
    };
    let mut new = device.to_owned();
    if let Some(number) = known.as_deref().and_then(number) {
        new = format!("{device}.{number}");
    } else if let (Some(_), Some(known)) = (&section, &known) {
        new.clone_from(known);
    }
    if new.len() > LONGEST {
        return Err(Refusal::Name(new));
    }
    if let Some(section) = section {
        let other = config.find_by_option("network", "device", "name", &new);
        if let Some(other) = other.filter(|other| *other != section) {
            return Err(Refusal::Collides(device.to_owned(), other));
        }
        config.set("network", &section, "ifname", device);
        config.set("network", &section, "name", &new);
    }
    let six = config.get("network", "wan6", "device");
    let follows = match (&six, &known) {
        (Some(six), Some(known)) => six == known,
        (None, _) => config.has("network", "wan6"),
        (Some(_), None) => false,
    };
    if follows {
        config.set("network", "wan6", "device", &new);
    }
    config.unset("network", "wan", FORMER);
    config.set("network", "wan", "device", &new);
    Ok(())
}

/// Makes the interface of the uplink, as the wizard would.
fn make_wan(wish: &PortRequest, config: &mut Config, facts: &Facts) -> Result<(), Refusal> {
    let internet = Internet {
        kind: Uplink::Dhcp,
        port: Some(wish.device.clone()),
        vlan: wish.uplink.and_then(|found| found.vlan),
        ipv6: true,
        ..Internet::default()
    };
    if let Some(vlan) = internet.vlan {
        let name = format!("{}.{vlan}", wish.device);
        if name.len() > LONGEST {
            return Err(Refusal::Name(name));
        }
        let ours = |known: &uci::Section| text(known, "type").as_deref() == Some("8021q");
        is_free(config, &wish.device, "wan_vlan", ours)?;
    }
    let six = config.has("network", "wan6") && config.get("network", "wan6", OURS).is_none();
    let mut report = Report::default();
    internet::edit(&internet, config, facts, &mut report);
    if let Some(problem) = report.problems().first() {
        return Err(Refusal::Wizard(wish.device.clone(), problem.to_string()));
    }
    config.set("network", "wan", OURS, "1");
    if !six {
        config.set("network", "wan6", OURS, "1");
    }
    Ok(())
}

/// Removes a port from the uplink, with weir's own settings; keeps other settings.
pub fn leave_wan(config: &mut Config, device: &str) -> Result<(), Refusal> {
    for name in ["wan6", "wan"] {
        let Some(own) = config.get("network", name, "device") else {
            continue;
        };
        if !bases(config, &own).iter().any(|port| port == device) {
            continue;
        }
        let section = config.find_by_option("network", "device", "name", &own);
        let bridge = section
            .filter(|section| config.get("network", section, "type").as_deref() == Some("bridge"));
        if let Some(bridge) = bridge {
            let ports = config.list("network", &bridge, "ports");
            if !ports.iter().any(|port| port == device) {
                return Err(Refusal::Tagged(device.to_owned()));
            }
            config.list_without("network", &bridge, "ports", device);
            continue;
        }
        if config.get("network", name, OURS).is_some() {
            if name == "wan" {
                config.remove("network", "wan_vlan");
            }
            config.remove("network", name);
            continue;
        }
        if name == "wan" && own != device {
            config.set("network", name, FORMER, &own);
        }
        config.unset("network", name, "device");
    }
    Ok(())
}
