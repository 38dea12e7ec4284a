//! IPv6 of the uplink, and the zone that the uplink is in.

use uci::Section;

use super::Planner;
use crate::choices::{Internet, Uplink};
use crate::plan::firewall::zone_of;
use crate::plan::{words, yes};

impl Planner<'_> {
    /// Asks for IPv6, or no more. `known` is the uplink where its kind stays; `former` and `device`
    /// are the devices of the uplink before and now.
    pub(in crate::plan) fn ipv6(
        &mut self,
        internet: &Internet,
        known: Option<&Internet>,
        former: Option<&str>,
        device: Option<&str>,
    ) {
        let wanted = internet.ipv6 && !matches!(internet.kind, Uplink::Wifi | Uplink::None);
        let dialled = matches!(internet.kind, Uplink::Pppoe | Uplink::Mobile);
        let stays = known.is_some_and(|known| known.ipv6 == internet.ipv6);
        if internet.kind == Uplink::Pppoe && !stays {
            let known = self.config.get("network", "wan", "ipv6");
            // `auto` is what OpenWrt has for yes.
            if !(wanted && matches!(known.as_deref(), Some("1" | "auto"))) {
                let word = if wanted { "1" } else { "0" };
                self.config.set("network", "wan", "ipv6", word);
            }
        }
        let config = &mut self.config;
        let there = config.package("network").and_then(|p| p.section("wan6"));
        let is_off = there.is_none_or(|wan6| yes(wan6, "disabled"));
        if !wanted {
            if !is_off && !stays {
                config.set("network", "wan6", "disabled", "1");
                let says = "No IPv6 is asked for.".to_owned();
                self.say("internet", "internet-no-ipv6", &[], says);
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
        // Another protocol, such as a tunnel of 6in4, has a device of its own, or none.
        if config.get("network", "wan6", "proto").as_deref() != Some("dhcpv6") {
            return;
        }
        let own = self.device("wan6");
        let follows = own.is_some() && own.as_deref() == former && former != device;
        if is_new || follows {
            let device = device.filter(|_| !dialled);
            self.set_device("wan6", device.unwrap_or("@wan"));
        }
    }

    /// Has the zone outside hold an interface of the uplink, unless another zone does. If there is
    /// no such zone, only a new uplink makes one.
    pub(in crate::plan) fn outside(&mut self, interface: &str, is_new: bool) {
        let holds = |zone: &Section| words(zone, "network").iter().any(|name| name == interface);
        let is_held = self.config.of_type("firewall", "zone").any(holds);
        let is_there = is_new || zone_of(&self.config, "wan").is_some();
        if self.config.has("network", interface) && !is_held && is_there {
            let zone = self.zone("wan");
            self.config
                .list_with("firewall", &zone, "network", interface);
        }
    }
}
