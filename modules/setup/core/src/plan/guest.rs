//! A network for guests: the Internet, and nothing inside.

use super::bridge::{interface, set_address};
use super::outside::leads_outside;
use super::overlaps::free_for_guests;
use super::zones::{has_uplink, is_uplink, zone};
use super::{Config, Facts, ProblemKind, Report, text, words, zone_names};

/// A plan for the guests' network.
pub(super) struct GuestPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl<'a> GuestPlan<'a> {
    /// Makes a plan that edits `config`.
    pub fn new(config: &'a mut Config, facts: &'a Facts, report: &'a mut Report) -> Self {
        Self {
            config,
            facts,
            report,
        }
    }

    /// Makes the guests' network, if the router has none and an uplink for it. `new` is the field
    /// of a Wi-Fi network for guests that the router does not have yet.
    pub fn make(&mut self, new: Option<&str>) {
        if self.config.has("network", "guest") {
            return self.guests_apart(new);
        }
        let field = new.map_or_else(|| "wifi.networks".to_owned(), |new| format!("{new}.for"));
        // An uplink without a zone gets one, as zones separate guests.
        if !has_uplink(self.config) && is_uplink(self.config, "wan") {
            let zone = zone(self.config, "wan");
            self.config.list_with("firewall", &zone, "network", "wan");
        }
        if !leads_outside(self.config, self.report, &field) {
            return;
        }
        let Some(inside) = free_for_guests(self.config, self.facts) else {
            let what = "network left for guests (192.168.50.0/24 to 192.168.250.0/24)".to_owned();
            return self
                .report
                .add_problem("wifi.networks", &ProblemKind::Lacking(what));
        };
        interface(self.config, self.facts, "guest");
        // The mark identifies the section as the wizard's own when it is removed.
        self.config.set("network", "guest", "weir", "1");
        set_address(self.config, self.facts, "guest", inside);
        let config = &mut *self.config;
        config.section("dhcp", "guest", "dhcp");
        for (option, value) in [
            ("interface", "guest"),
            ("start", "10"),
            ("limit", "240"),
            ("leasetime", "1h"),
        ] {
            config.set("dhcp", "guest", option, value);
        }
        let (_, outside) = zone_names(self.config);
        let config = &mut *self.config;
        config.section("firewall", "guest", "zone");
        config.set("firewall", "guest", "name", "guest");
        config.set_list("firewall", "guest", "network", &["guest".to_owned()]);
        for (option, value) in [
            ("input", "REJECT"),
            ("output", "ACCEPT"),
            ("forward", "REJECT"),
        ] {
            config.set("firewall", "guest", option, value);
        }
        config.section("firewall", "guest_wan", "forwarding");
        config.set("firewall", "guest_wan", "src", "guest");
        config.set("firewall", "guest_wan", "dest", &outside);
        let rules = [
            ("guest_dhcp", "Allow-Guest-DHCP", "udp", "67"),
            ("guest_dns", "Allow-Guest-DNS", "tcp udp", "53"),
        ];
        for (section, name, protocol, port) in rules {
            config.section("firewall", section, "rule");
            for (option, value) in [
                ("name", name),
                ("src", "guest"),
                ("proto", protocol),
                ("dest_port", port),
                ("target", "ACCEPT"),
            ] {
                config.set("firewall", section, option, value);
            }
        }
        let network = format!("{}/{}", inside.network(), inside.length);
        let says =
            format!("Guests have a network of their own, {network}: the Internet, nothing inside.");
        self.report
            .add_sentence("wifi", "guest-network", &[("network", &network)], says);
    }

    /// Refuses guests in a network that leads inside. If they are there already, it is said.
    fn guests_apart(&mut self, new: Option<&str>) {
        let Some(by) = guests_inside(self.config) else {
            return;
        };
        if let Some(field) = new {
            return self
                .report
                .add_problem(format!("{field}.for"), &ProblemKind::GuestsInside(by));
        }
        let says = format!("{by}: guests are inside.");
        self.report
            .add_sentence("wifi", "guests-inside", &[("by", &by)], says);
    }

    /// Takes the guests' network away, if the wizard made it.
    pub fn remove(&mut self) {
        if self.config.get("network", "guest", "weir").is_none() {
            return;
        }
        self.config.remove("network", "guest");
        self.config.remove("network", "guest_dev");
        self.config.remove("dhcp", "guest");
        for section in ["guest", "guest_wan", "guest_dhcp", "guest_dns"] {
            self.config.remove("firewall", section);
        }
        self.report.add_sentence(
            "wifi",
            "guests-gone",
            &[],
            "Guests have no network any more.".to_owned(),
        );
    }
}

/// Returns the connection from an existing network for guests to the network inside: a zone with
/// both, a forwarding, or a device of both.
fn guests_inside(config: &Config) -> Option<String> {
    // An alias has the device of the interface that it names.
    let inside =
        |device: &String| device == "@lan" || config.device("lan").as_ref() == Some(device);
    if config.device("guest").as_ref().is_some_and(inside) {
        return Some("network.guest has the device of network.lan".to_owned());
    }
    let guests = zones_with(config, "guest");
    let inside = zones_with(config, "lan");
    if let Some(zone) = guests.iter().find(|zone| inside.contains(zone)) {
        return Some(format!("network.guest is in the firewall zone {zone}"));
    }
    let leads = config.of_type("firewall", "forwarding").find(|section| {
        let zone = |option| text(section, option).unwrap_or_default();
        let to = zone("dest");
        let is_on = text(section, "enabled").as_deref() != Some("0");
        is_on && guests.contains(&zone("src")) && (to == "*" || inside.contains(&to))
    });
    let from = text(leads?, "src")?;
    let to = text(leads?, "dest")?;
    Some(format!("the firewall forwards the zone {from} to {to}"))
}

/// Returns the names of the zones that an interface is in, by its name or its device.
fn zones_with(config: &Config, network: &str) -> Vec<String> {
    let device = config.device(network);
    let zones = config.of_type("firewall", "zone").filter(|zone| {
        let of = |option| words(zone, option);
        of("network").iter().any(|name| name == network)
            || device
                .as_ref()
                .is_some_and(|device| of("device").contains(device))
    });
    zones.filter_map(|zone| text(zone, "name")).collect()
}
