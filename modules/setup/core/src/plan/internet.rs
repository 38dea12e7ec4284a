//! Uplink to the Internet.

mod known;
mod six;

use std::net::Ipv4Addr;

use super::batman::unwire;
use super::bridge::set_address;
use super::config::is_old_bridge;
use super::link::{port_of, provider_vlan, set_device, wire};
use super::radios::Radios;
use super::zones::zone;
use super::{Config, Facts, Ipv4Cidr, ProblemKind, Report, dns, text, words};
use crate::choices::{Internet, Uplink};
pub(crate) use known::internet_of;
use known::{CLIENT_RADIO, client_of, is_there};
use six::outside;

/// Options of `network.wan` that belong to one kind of uplink.
const OF_A_KIND: [&str; 12] = [
    "ipaddr", "netmask", "gateway", "dns", "username", "password", "service", "apn", "pincode",
    "ipv6", "disabled", "auto",
];
/// The section that makes the provider's VLAN.
const VLAN: &str = "wan_vlan";
/// Interface of a client of another router's Wi-Fi. By hand `wwan` is often that of a modem: then
/// the client's name has a number.
const CLIENT: &str = "wwan";

/// Edits the uplink.
pub(super) fn edit(internet: &Internet, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = InternetPlan {
        config,
        facts,
        report,
    };
    plan.edit(internet);
}

/// A plan for the uplink.
struct InternetPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl InternetPlan<'_> {
    fn edit(&mut self, internet: &Internet) {
        // The uplink is a choice now: it stays, even if ports change.
        for interface in ["wan", "wan6"] {
            self.config.unset("network", interface, "weir");
        }
        let known = internet_of(self.config);
        if internet.kind == Uplink::Kept
            || known
                .as_ref()
                .is_some_and(|known| is_there(internet, known))
        {
            return;
        }
        // An uplink of the same kind keeps all options that the choices do not set.
        let known = known.filter(|known| known.kind == internet.kind);
        let known = known.as_ref();
        let lacks = match internet.kind {
            Uplink::Pppoe if known.is_none() => {
                self.facts.missing("pppoe", "internet.kind", self.report)
            }
            Uplink::Mobile if known.is_none() => {
                self.facts.missing("mobile", "internet.kind", self.report)
            }
            _ => false,
        };
        if lacks
            || !self
                .report
                .device("internet.port", internet.port.as_deref())
        {
            return;
        }
        self.config.section("network", "wan", "interface");
        if let Some(port) = &internet.port {
            unwire(self.config, port);
        }
        let former = port_of(self.config, "wan");
        self.uplink_device(internet, known);
        let device = port_of(self.config, "wan");
        match internet.kind {
            Uplink::Static => self.fixed(internet, known),
            Uplink::Pppoe => self.pppoe(internet, known),
            Uplink::Mobile => self.mobile(internet, known),
            Uplink::Dhcp => {
                let says = "The provider gives the router its address.".to_owned();
                self.report
                    .add_sentence("internet", "internet-dhcp", &[], says);
            }
            Uplink::None => {
                let says = "The router has no Internet of its own.".to_owned();
                self.report
                    .add_sentence("internet", "internet-none", &[], says);
            }
            Uplink::Wifi | Uplink::Kept => {}
        }
        self.client(internet);
        let six = self.config.has("network", "wan6");
        six::ipv6(
            internet,
            known,
            (former.as_deref(), device.as_deref()),
            self.config,
            self.report,
        );
        if known.is_none() {
            outside(self.config, "wan", true);
        }
        if known.is_none() || !six {
            outside(self.config, "wan6", known.is_none());
        }
    }

    /// Gives the uplink its protocol and its device.
    fn uplink_device(&mut self, internet: &Internet, known: Option<&Internet>) {
        let base = base(self.config, self.facts);
        let port = internet.port.clone().or_else(|| base.clone());
        if let Some(port) = &port
            && Some(port) != base.as_ref()
        {
            let says = format!("The Internet is plugged into {port}.");
            self.report
                .add_sentence("internet", "internet-port", &[("port", port)], says);
        }
        let proto = match internet.kind {
            Uplink::Dhcp => "dhcp",
            Uplink::Static => "static",
            Uplink::Pppoe => "pppoe",
            Uplink::Mobile => "qmi",
            Uplink::Wifi | Uplink::None | Uplink::Kept => "none",
        };
        let there = wire(self.config, "wan");
        let before = self.config.get("network", "wan", "proto");
        if known.is_none() {
            self.config.unset("network", "wan", "disabled");
        }
        if known.is_none() && before.as_deref() != Some(proto) {
            self.config.set("network", "wan", "proto", proto);
            for option in OF_A_KIND {
                self.config.unset("network", "wan", option);
            }
        }
        // An existing device with the wanted VLAN is kept. An uplink without a device has one from
        // elsewhere: from a radio, for example.
        let wired = matches!(internet.kind, Uplink::Dhcp | Uplink::Static | Uplink::Pppoe);
        let is_elsewhere = there.is_none() && internet.port.is_none();
        if known.is_some_and(|known| !wired || is_elsewhere && known.vlan == internet.vlan) {
            return;
        }
        let stays = there.filter(|device| {
            let vlan = provider_vlan(self.config, device).map(|(_, vlan)| vlan);
            let of_switch = |wanted| device.ends_with(&format!(".{wanted}"));
            let same = vlan == internet.vlan || internet.vlan.is_some_and(of_switch);
            wired && same && port == base
        });
        let device = match stays {
            Some(device) => Some(device),
            None => self.vlan(internet, port.as_deref()),
        };
        match &device {
            _ if internet.kind == Uplink::Mobile => {}
            Some(device) => set_device(self.config, "wan", device),
            None if wired && port.is_none() => {
                let port = "port for the Internet (network.wan.device)".to_owned();
                self.report
                    .add_problem("internet.kind", &ProblemKind::Lacking(port));
            }
            None => {}
        }
    }

    /// Returns the device of the uplink: the port, or the provider's VLAN on it.
    fn vlan(&mut self, internet: &Internet, base: Option<&str>) -> Option<String> {
        let base = base?;
        let wired = matches!(internet.kind, Uplink::Dhcp | Uplink::Static | Uplink::Pppoe);
        let Some(vlan) = internet.vlan.filter(|_| wired) else {
            self.config.remove("network", VLAN);
            return Some(base.to_owned());
        };
        if !(1..=4094).contains(&vlan) {
            self.report
                .add_problem("internet.vlan", &ProblemKind::OutOfRange(1, 4094));
            return None;
        }
        // The VLAN would be a port of the bridge that it is on.
        let wan = self.config.section_of("network", "wan");
        if let Some(wan) = wan.filter(|wan| is_old_bridge(wan))
            && port_of(self.config, "wan").as_deref() == Some(base)
        {
            let ports = words(wan, "ifname").join(", ");
            let what =
                format!("one port for a provider's VLAN (network.wan is a bridge of {ports})");
            self.report
                .add_problem("internet.vlan", &ProblemKind::Lacking(what));
            return None;
        }
        let number = vlan.to_string();
        let name = format!("{base}.{number}");
        // An existing device for this VLAN stays, under any name.
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
        // netifd makes `wan.7` of the name alone; if that is there it may stay.
        if wire(self.config, "wan").as_deref() == Some(&name) {
            return Some(name);
        }
        let config = &mut *self.config;
        config.section("network", VLAN, "device");
        config.set("network", VLAN, "type", "8021q");
        config.set("network", VLAN, "ifname", base);
        config.set("network", VLAN, "vid", &number);
        config.set("network", VLAN, "name", &name);
        let says = format!("It comes in the provider's VLAN {number}.");
        self.report
            .add_sentence("internet", "internet-vlan", &[("vlan", &number)], says);
        Some(name)
    }

    fn fixed(&mut self, internet: &Internet, known: Option<&Internet>) {
        let stays = known.is_some_and(|known| known.address == internet.address);
        let address = internet.address.as_deref().unwrap_or_default();
        let inside = match stays {
            true => Ipv4Cidr::read_network(address),
            false => Ipv4Cidr::read(address),
        };
        let Some(inside) = inside else {
            if stays {
                return self.fixed_dns(internet, known);
            }
            let wrong = if address.is_empty() {
                ProblemKind::Required
            } else {
                ProblemKind::NotAnAddress
            };
            return self.report.add_problem("internet.address", &wrong);
        };
        if !stays {
            set_address(self.config, self.facts, "wan", inside);
        }
        let gateway = internet.gateway.as_deref().unwrap_or_default();
        if !stays || known.is_some_and(|known| known.gateway != internet.gateway) {
            let Some(gateway) = self.report.address::<Ipv4Addr>("internet.gateway", gateway) else {
                return;
            };
            if !inside.contains(gateway) || gateway == inside.address {
                let network = format!("{}/{}", inside.network(), inside.length);
                return self
                    .report
                    .add_problem("internet.gateway", &ProblemKind::OutsideNetwork(network));
            }
            let gateway = gateway.to_string();
            self.config.set("network", "wan", "gateway", &gateway);
        }
        self.fixed_dns(internet, known);
        let address = inside.to_string();
        if gateway.is_empty() {
            let says = format!("The router is {inside} outside, and has no gateway there.");
            let values = [("address", &*address)];
            return self
                .report
                .add_sentence("internet", "internet-static-alone", &values, says);
        }
        let says = format!("The router is {inside} outside, and sends to {gateway}.");
        self.report.add_sentence(
            "internet",
            "internet-static",
            &[("address", &address), ("gateway", gateway)],
            says,
        );
    }

    /// Sets the name servers of a fixed address.
    fn fixed_dns(&mut self, internet: &Internet, known: Option<&Internet>) {
        if known.is_some_and(|known| internet.dns.is_none() || known.dns == internet.dns) {
            return;
        }
        let Some(dns) = dns::servers(
            self.config,
            self.report,
            "internet.dns",
            internet.dns.as_deref(),
        ) else {
            return;
        };
        if dns.is_empty() {
            self.report
                .add_problem("internet.dns", &ProblemKind::Required);
        }
        self.config.set_list("network", "wan", "dns", &dns);
    }

    fn pppoe(&mut self, internet: &Internet, known: Option<&Internet>) {
        let username = internet.username.as_deref();
        let stays = known.is_some_and(|known| known.username == internet.username);
        if !stays
            && self
                .report
                .check_required("internet.username", username, 255)
        {
            self.config.set_if("network", "wan", "username", username);
        }
        self.kept_password(internet, known, true);
        let stays = known.is_some_and(|known| known.service == internet.service);
        if !stays
            && self
                .report
                .check_optional("internet.service", internet.service.as_deref(), 255)
        {
            self.config
                .set_if("network", "wan", "service", internet.service.as_deref());
        }
        let username = username.unwrap_or_default();
        let says = format!("It dials in by PPPoE as {username}.");
        self.report.add_sentence(
            "internet",
            "internet-pppoe",
            &[("username", username)],
            says,
        );
    }

    /// Sets the provider's password; a password that is not given stays.
    fn kept_password(&mut self, internet: &Internet, known: Option<&Internet>, needed: bool) {
        let there = self.config.get("network", "wan", "password").is_some();
        let stays = known.is_some_and(|known| known.password == internet.password);
        match internet.password.as_deref() {
            _ if stays => {}
            None if there || !needed => {}
            password => {
                if self
                    .report
                    .check_required("internet.password", password, 255)
                {
                    self.config.set_if("network", "wan", "password", password);
                }
            }
        }
    }

    fn mobile(&mut self, internet: &Internet, known: Option<&Internet>) {
        let stays = |field: fn(&Internet) -> &Option<String>| {
            known.is_some_and(|known| field(known) == field(internet))
        };
        let former = known.and_then(|known| known.modem.as_deref());
        let modem = internet.modem.as_deref().or(former);
        let modem = modem.unwrap_or("/dev/cdc-wdm0");
        // Not every protocol of modems needs a device.
        if internet.modem.is_some() && !stays(|one| &one.modem) || known.is_none() {
            let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'-' | b'_');
            let device = modem
                .strip_prefix("/dev/")
                .is_some_and(|name| !name.is_empty() && name.len() < 64 && name.bytes().all(plain));
            if !device {
                return self
                    .report
                    .add_problem("internet.modem", &ProblemKind::NotAModem);
            }
            self.config.set("network", "wan", "device", modem);
        }
        let apn = internet.apn.as_deref();
        if !stays(|one| &one.apn) && self.report.check_required("internet.apn", apn, 100) {
            self.config.set_if("network", "wan", "apn", apn);
        }
        if let Some(pin) = internet.pin.as_deref().filter(|_| !stays(|one| &one.pin)) {
            if (4..=8).contains(&pin.len()) && pin.bytes().all(|c| c.is_ascii_digit()) {
                self.config.set("network", "wan", "pincode", pin);
            } else {
                self.report
                    .add_problem("internet.pin", &ProblemKind::OutOfRange(0, 99_999_999));
            }
        }
        let username = internet.username.as_deref();
        if !stays(|one| &one.username)
            && self
                .report
                .check_optional("internet.username", username, 255)
        {
            self.config.set_if("network", "wan", "username", username);
        }
        self.kept_password(internet, known, false);
        let apn = apn.unwrap_or_default();
        let says = format!("It dials in by the modem {modem}, to {apn}.");
        self.report.add_sentence(
            "internet",
            "internet-mobile",
            &[("modem", modem), ("apn", apn)],
            says,
        );
    }

    /// Sets up or removes the client of another router's Wi-Fi.
    fn client(&mut self, internet: &Internet) {
        let there = client_of(self.config);
        if internet.kind != Uplink::Wifi {
            let Some(interface) = there else { return };
            self.config.remove("wireless", CLIENT_RADIO);
            self.config.remove("network", &interface);
            let zone = zone(self.config, "wan");
            self.config
                .list_without("firewall", &zone, "network", &interface);
            return;
        }
        let interface = there.unwrap_or_else(|| free_interface(self.config, CLIENT));
        let ssid = internet.ssid.as_deref();
        if !self.report.check_required("internet.ssid", ssid, 32) {
            return;
        }
        let radio = internet.radio.clone().unwrap_or_default();
        if !self.facts.radios.iter().any(|known| known.name == radio) {
            return self
                .report
                .add_problem("internet.radio", &ProblemKind::UnknownRadio(radio));
        }
        let known = self.config.get("wireless", CLIENT_RADIO, "ssid").as_deref() == ssid
            && self.config.get("wireless", CLIENT_RADIO, "key").is_some();
        let key = internet.key.as_deref();
        if key.is_some_and(|key| !super::check::is_wifi_key(key)) {
            return self
                .report
                .add_problem("internet.key", &ProblemKind::NotAWifiKey);
        }
        let config = &mut *self.config;
        config.section("wireless", CLIENT_RADIO, "wifi-iface");
        config.set("wireless", CLIENT_RADIO, "device", &radio);
        config.set("wireless", CLIENT_RADIO, "mode", "sta");
        config.set("wireless", CLIENT_RADIO, "network", &interface);
        config.set_if("wireless", CLIENT_RADIO, "ssid", ssid);
        if key.is_some() || !known {
            let encryption = if key.is_some() { "sae-mixed" } else { "none" };
            config.set("wireless", CLIENT_RADIO, "encryption", encryption);
            config.set_if("wireless", CLIENT_RADIO, "key", key);
        }
        Radios::new(self.config, self.facts, self.report).switch_on(&radio);
        let config = &mut *self.config;
        config.section("network", &interface, "interface");
        config.set("network", &interface, "proto", "dhcp");
        // Marks it as the wizard's, for its removal.
        config.set("network", &interface, "weir", "1");
        let zone = zone(self.config, "wan");
        self.config
            .list_with("firewall", &zone, "network", &interface);
        let ssid = ssid.unwrap_or_default();
        let says = format!("It is a client of the Wi-Fi {ssid}, by {radio}.");
        self.report.add_sentence(
            "internet",
            "internet-wifi",
            &[("ssid", ssid), ("radio", &radio)],
            says,
        );
    }
}

/// Returns the port below VLANs of the provider.
fn base(config: &Config, facts: &Facts) -> Option<String> {
    let device = wire(config, "wan").or_else(|| facts.wan.clone())?;
    match provider_vlan(config, &device) {
        Some((port, _)) => Some(port),
        None => Some(device),
    }
}

/// Returns a name for an interface that no other has.
fn free_interface(config: &Config, word: &str) -> String {
    let numbered = (2..100).map(|n| format!("{word}{n}"));
    std::iter::once(word.to_owned())
        .chain(numbered)
        .find(|name| !config.has("network", name))
        .unwrap_or_default()
}
