//! Where the Internet comes from.

use std::net::Ipv4Addr;

use super::{Inside, Planner, Wrong, text};
use crate::choices::{Internet, Uplink};

/// Options of `network.wan` that belong to one kind of uplink.
const OF_A_KIND: [&str; 12] = [
    "ipaddr", "netmask", "gateway", "dns", "username", "password", "service", "apn", "pincode",
    "ipv6", "disabled", "auto",
];
/// The section that makes the provider's VLAN.
const VLAN: &str = "wan_vlan";
/// The interface, and the section of `wireless`, of a client of another router's Wi-Fi.
const CLIENT: &str = "wwan";
const CLIENT_RADIO: &str = "wifi_uplink";

impl Planner<'_> {
    pub(super) fn internet(&mut self, internet: &Internet) {
        let lacks = match internet.kind {
            Uplink::Pppoe => self.lacks("pppoe", "internet.kind"),
            Uplink::Mobile => self.lacks("mobile", "internet.kind"),
            Uplink::Dhcp | Uplink::Static | Uplink::Wifi | Uplink::None => false,
        };
        if lacks {
            return;
        }
        if !self.good_device("internet.port", internet.port.as_deref()) {
            return;
        }
        self.config.section("network", "wan", "interface");
        // Somebody says so now: it stays, whatever ports do.
        for interface in ["wan", "wan6"] {
            self.config.unset("network", interface, "weir");
        }
        if let Some(port) = &internet.port {
            self.unwire(port);
        }
        let known = self.base();
        let base = internet.port.clone().or_else(|| known.clone());
        if let Some(port) = &base
            && base != known
        {
            let says = format!("The Internet is plugged into {port}.");
            self.say("internet", "internet-port", &[("port", port)], says);
        }
        let former = self.config.get("network", "wan", "proto");
        let proto = match internet.kind {
            Uplink::Dhcp => "dhcp",
            Uplink::Static => "static",
            Uplink::Pppoe => "pppoe",
            Uplink::Mobile => "qmi",
            Uplink::Wifi | Uplink::None => "none",
        };
        if former.as_deref() != Some(proto) {
            self.config.set("network", "wan", "proto", proto);
            for option in OF_A_KIND {
                self.config.unset("network", "wan", option);
            }
        }
        let device = self.vlan(internet, base.as_deref());
        if internet.kind == Uplink::Mobile {
            self.mobile(internet);
        } else if let Some(device) = &device {
            self.config.set("network", "wan", "device", device);
        } else if base.is_none() && !matches!(internet.kind, Uplink::Wifi | Uplink::None) {
            let port = "port for the Internet (network.wan.device)".to_owned();
            self.wrong("internet.kind", &Wrong::Lacking(port));
        }
        match internet.kind {
            Uplink::Static => self.fixed(internet),
            Uplink::Pppoe => self.pppoe(internet),
            Uplink::Dhcp => {
                let says = "The provider gives the router its address.".to_owned();
                self.say("internet", "internet-dhcp", &[], says);
            }
            Uplink::None => {
                let says = "The router has no Internet of its own.".to_owned();
                self.say("internet", "internet-none", &[], says);
            }
            Uplink::Mobile | Uplink::Wifi => {}
        }
        self.client(internet);
        self.ipv6(internet, device.as_deref());
        self.outside();
    }

    /// The port below VLANs of the provider.
    pub(super) fn base(&self) -> Option<String> {
        let device = self.config.get("network", "wan", "device");
        let device = device
            .filter(|device| !device.starts_with("/dev/"))
            .or_else(|| self.facts.wan.clone())?;
        let tagged = self.config.of_type("network", "device").find(|section| {
            text(section, "name").as_deref() == Some(&device)
                && text(section, "type").as_deref() == Some("8021q")
        });
        if let Some(below) = tagged.and_then(|section| text(section, "ifname")) {
            return Some(below);
        }
        match device.rsplit_once('.') {
            Some((below, vlan)) if vlan.parse::<u16>().is_ok() => Some(below.to_owned()),
            _ => Some(device),
        }
    }

    /// The device of the uplink: the port, or the provider's VLAN on it.
    fn vlan(&mut self, internet: &Internet, base: Option<&str>) -> Option<String> {
        let base = base?;
        let wired = matches!(internet.kind, Uplink::Dhcp | Uplink::Static | Uplink::Pppoe);
        let Some(vlan) = internet.vlan.filter(|_| wired) else {
            self.config.remove("network", VLAN);
            return Some(base.to_owned());
        };
        if !(1..=4094).contains(&vlan) {
            self.wrong("internet.vlan", &Wrong::OutOfRange(1, 4094));
            return None;
        }
        let number = vlan.to_string();
        let name = format!("{base}.{number}");
        // Whatever makes this VLAN already goes on to do so, under whatever name.
        let known = self
            .config
            .of_type("network", "device")
            .find_map(|section| {
                let this = text(section, "type").as_deref() == Some("8021q")
                    && text(section, "ifname").as_deref() == Some(base)
                    && text(section, "vid").as_deref() == Some(&number);
                this.then(|| text(section, "name")).flatten()
            });
        if let Some(known) = known {
            return Some(known);
        }
        // netifd makes `wan.7` of the name alone; where that stands there it may stay.
        if self.config.get("network", "wan", "device").as_deref() == Some(&name) {
            return Some(name);
        }
        let config = &mut self.config;
        config.section("network", VLAN, "device");
        config.set("network", VLAN, "type", "8021q");
        config.set("network", VLAN, "ifname", base);
        config.set("network", VLAN, "vid", &number);
        config.set("network", VLAN, "name", &name);
        let says = format!("It comes in the provider's VLAN {number}.");
        self.say("internet", "internet-vlan", &[("vlan", &number)], says);
        Some(name)
    }

    fn fixed(&mut self, internet: &Internet) {
        let address = internet.address.as_deref().unwrap_or_default();
        let Some(inside) = Inside::read(address) else {
            let wrong = if address.is_empty() {
                Wrong::Required
            } else {
                Wrong::NotAnAddress
            };
            return self.wrong("internet.address", &wrong);
        };
        if self.address_of("wan") != Some(inside) {
            self.set_address("wan", inside);
        }
        let gateway = internet.gateway.as_deref().unwrap_or_default();
        let Some(gateway) = self.address::<Ipv4Addr>("internet.gateway", gateway) else {
            return;
        };
        if !inside.holds(gateway) || gateway == inside.address {
            let network = format!("{}/{}", inside.network(), inside.length);
            return self.wrong("internet.gateway", &Wrong::OutsideNetwork(network));
        }
        let gateway = gateway.to_string();
        self.config.set("network", "wan", "gateway", &gateway);
        let Some(dns) = self.servers("internet.dns", &internet.dns) else {
            return;
        };
        if dns.is_empty() {
            self.wrong("internet.dns", &Wrong::Required);
        }
        self.config.set_list("network", "wan", "dns", &dns);
        let says = format!("The router is {inside} outside, and sends to {gateway}.");
        let address = inside.to_string();
        self.say(
            "internet",
            "internet-static",
            &[("address", &address), ("gateway", &gateway)],
            says,
        );
    }

    fn pppoe(&mut self, internet: &Internet) {
        let username = internet.username.as_deref();
        if self.needed("internet.username", username, 255) {
            self.config.set_if("network", "wan", "username", username);
        }
        self.kept_password(internet, true);
        if self.optional("internet.service", internet.service.as_deref(), 255) {
            self.config
                .set_if("network", "wan", "service", internet.service.as_deref());
        }
        let username = username.unwrap_or_default();
        let says = format!("It dials in by PPPoE as {username}.");
        self.say(
            "internet",
            "internet-pppoe",
            &[("username", username)],
            says,
        );
    }

    /// A password of the provider's; one that is not told stays.
    fn kept_password(&mut self, internet: &Internet, needed: bool) {
        let known = self.config.get("network", "wan", "password").is_some();
        match internet.password.as_deref() {
            None if known || !needed => {}
            password => {
                if self.needed("internet.password", password, 255) {
                    self.config.set_if("network", "wan", "password", password);
                }
            }
        }
    }

    fn mobile(&mut self, internet: &Internet) {
        let modem = internet.modem.as_deref().unwrap_or("/dev/cdc-wdm0");
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'-' | b'_');
        let device = modem
            .strip_prefix("/dev/")
            .is_some_and(|name| !name.is_empty() && name.len() < 64 && name.bytes().all(plain));
        if !device {
            return self.wrong("internet.modem", &Wrong::NotAModem);
        }
        self.config.set("network", "wan", "device", modem);
        let apn = internet.apn.as_deref();
        if self.needed("internet.apn", apn, 100) {
            self.config.set_if("network", "wan", "apn", apn);
        }
        if let Some(pin) = internet.pin.as_deref() {
            if (4..=8).contains(&pin.len()) && pin.bytes().all(|c| c.is_ascii_digit()) {
                self.config.set("network", "wan", "pincode", pin);
            } else {
                self.wrong("internet.pin", &Wrong::OutOfRange(0, 99_999_999));
            }
        }
        if self.optional("internet.username", internet.username.as_deref(), 255) {
            self.config
                .set_if("network", "wan", "username", internet.username.as_deref());
        }
        self.kept_password(internet, false);
        let apn = apn.unwrap_or_default();
        let says = format!("It dials in by the modem {modem}, to {apn}.");
        self.say(
            "internet",
            "internet-mobile",
            &[("modem", modem), ("apn", apn)],
            says,
        );
    }

    /// A client of another router's Wi-Fi, or none.
    fn client(&mut self, internet: &Internet) {
        if internet.kind != Uplink::Wifi {
            self.config.remove("wireless", CLIENT_RADIO);
            if self.config.get("network", CLIENT, "weir").is_some() {
                self.config.remove("network", CLIENT);
                let zone = self.zone("wan");
                self.config
                    .list_without("firewall", &zone, "network", CLIENT);
            }
            return;
        }
        let ssid = internet.ssid.as_deref();
        if !self.needed("internet.ssid", ssid, 32) {
            return;
        }
        let radio = internet.radio.clone().unwrap_or_default();
        if !self.facts.radios.iter().any(|known| known.name == radio) {
            return self.wrong("internet.radio", &Wrong::UnknownRadio(radio));
        }
        let known = self.config.get("wireless", CLIENT_RADIO, "ssid").as_deref() == ssid
            && self.config.get("wireless", CLIENT_RADIO, "key").is_some();
        let key = internet.key.as_deref();
        if key.is_some_and(|key| !super::check::is_wifi_key(key)) {
            return self.wrong("internet.key", &Wrong::NotAWifiKey);
        }
        let config = &mut self.config;
        config.section("wireless", CLIENT_RADIO, "wifi-iface");
        config.set("wireless", CLIENT_RADIO, "device", &radio);
        config.set("wireless", CLIENT_RADIO, "mode", "sta");
        config.set("wireless", CLIENT_RADIO, "network", CLIENT);
        config.set_if("wireless", CLIENT_RADIO, "ssid", ssid);
        if key.is_some() || !known {
            let encryption = if key.is_some() { "sae-mixed" } else { "none" };
            config.set("wireless", CLIENT_RADIO, "encryption", encryption);
            config.set_if("wireless", CLIENT_RADIO, "key", key);
        }
        self.switch_on(&radio);
        let config = &mut self.config;
        config.section("network", CLIENT, "interface");
        config.set("network", CLIENT, "proto", "dhcp");
        // So that it is known for the wizard's own when it goes.
        config.set("network", CLIENT, "weir", "1");
        let zone = self.zone("wan");
        self.config.list_with("firewall", &zone, "network", CLIENT);
        let ssid = ssid.unwrap_or_default();
        let says = format!("It is a client of the Wi-Fi {ssid}, by {radio}.");
        self.say(
            "internet",
            "internet-wifi",
            &[("ssid", ssid), ("radio", &radio)],
            says,
        );
    }

    fn ipv6(&mut self, internet: &Internet, device: Option<&str>) {
        let wanted = internet.ipv6 && !matches!(internet.kind, Uplink::Wifi | Uplink::None);
        let dialled = matches!(internet.kind, Uplink::Pppoe | Uplink::Mobile);
        if internet.kind == Uplink::Pppoe {
            let known = self.config.get("network", "wan", "ipv6");
            // `auto` is what OpenWrt has for yes.
            if !(wanted && matches!(known.as_deref(), Some("1" | "auto"))) {
                let word = if wanted { "1" } else { "0" };
                self.config.set("network", "wan", "ipv6", word);
            }
        }
        let config = &mut self.config;
        if !wanted {
            let on = config.has("network", "wan6")
                && config.get("network", "wan6", "disabled").as_deref() != Some("1");
            if on {
                config.set("network", "wan6", "disabled", "1");
                let says = "No IPv6 is asked for.".to_owned();
                self.say("internet", "internet-no-ipv6", &[], says);
            }
            return;
        }
        config.section("network", "wan6", "interface");
        config.unset("network", "wan6", "disabled");
        config.set("network", "wan6", "proto", "dhcpv6");
        let device = if dialled { Some("@wan") } else { device };
        config.set_if("network", "wan6", "device", device);
    }

    /// The zone outside has the uplink in it.
    fn outside(&mut self) {
        let zone = self.zone("wan");
        self.config.list_with("firewall", &zone, "network", "wan");
        if self.config.has("network", "wan6") {
            self.config.list_with("firewall", &zone, "network", "wan6");
        }
    }
}
