//! IPv6 of the uplink, and the zone that the uplink is in.

use uci::Section;

use crate::choices::{Internet, Uplink};
use crate::plan::link::{port_of, set_device};
use crate::plan::report::Report;
use crate::plan::zones::{zone, zone_of};
use crate::plan::{Config, is_enabled, words};

/// Requests IPv6, or stops requesting it. `known` is the uplink if its kind stays; `former` and
/// `device` are the devices of the uplink before and now.
pub(super) fn ipv6(
    internet: &Internet,
    known: Option<&Internet>,
    (former, device): (Option<&str>, Option<&str>),
    config: &mut Config,
    report: &mut Report,
) {
    let wanted = internet.ipv6 && !matches!(internet.kind, Uplink::Wifi | Uplink::None);
    let dialled = matches!(internet.kind, Uplink::Pppoe | Uplink::Mobile);
    let stays = known.is_some_and(|known| known.ipv6 == internet.ipv6);
    if internet.kind == Uplink::Pppoe && !stays {
        let known = config.get("network", "wan", "ipv6");
        // `auto` is OpenWrt's value for yes.
        if !(wanted && matches!(known.as_deref(), Some("1" | "auto"))) {
            let word = if wanted { "1" } else { "0" };
            config.set("network", "wan", "ipv6", word);
        }
    }
    let there = config.section_of("network", "wan6");
    let is_off = there.is_none_or(|wan6| is_enabled(wan6, "disabled"));
    if !wanted {
        if !is_off && !stays {
            config.set("network", "wan6", "disabled", "1");
            let says = "No IPv6 is asked for.".to_owned();
            report.add_sentence("internet", "internet-no-ipv6", &[], says);
        }
        return;
    }
    let is_new = there.is_none() || known.is_none();
    if there.is_none() {
        config.section("network", "wan6", "interface");
        config.set("network", "wan6", "proto", "dhcpv6");
    } else if is_off {
        config.unset("network", "wan6", "disabled");
    }
    // Another protocol, such as a 6in4 tunnel, has a device of its own, or no device.
    if config.get("network", "wan6", "proto").as_deref() != Some("dhcpv6") {
        return;
    }
    let own = port_of(config, "wan6");
    let follows = own.is_some() && own.as_deref() == former && former != device;
    if is_new || follows {
        let device = device.filter(|_| !dialled);
        set_device(config, "wan6", device.unwrap_or("@wan"));
    }
}

/// Adds an interface of the uplink to the zone outside, unless another zone contains it. If the
/// zone is missing, only a new uplink creates one.
pub(super) fn outside(config: &mut Config, interface: &str, is_new: bool) {
    let holds = |zone: &Section| words(zone, "network").iter().any(|name| name == interface);
    let is_held = config.of_type("firewall", "zone").any(holds);
    let is_there = is_new || zone_of(config, "wan").is_some();
    if config.has("network", interface) && !is_held && is_there {
        let zone = zone(config, "wan");
        config.list_with("firewall", &zone, "network", interface);
    }
}
