//! The network inside.

use super::check::is_lease;
use super::link::bridged_uplink;
use super::{Config, Inside, Planner, Wrong, text, words};
use crate::choices::{Choices, Lan};
use crate::read::lan_of;

/// A router's address at an interface; of several the first.
pub(crate) fn address_in(config: &Config, interface: &str) -> Option<Inside> {
    let section = config.package("network")?.section(interface)?;
    let address = words(section, "ipaddr").into_iter().next()?;
    Inside::read_network(&address).or_else(|| Inside::of_mask(&address, &text(section, "netmask")?))
}

/// Returns the section of `dhcp` that gives addresses at an interface, whatever its name; or the
/// name for a new one.
pub(crate) fn pool_of(config: &Config, interface: &str) -> String {
    config
        .which("dhcp", "dhcp", "interface", interface)
        .unwrap_or_else(|| interface.to_owned())
}

impl Planner<'_> {
    pub(super) fn lan(&mut self, lan: &Lan) {
        let known = lan_of(&self.config);
        if known.as_ref() == Some(lan) {
            return;
        }
        // An address that is there stays, even one that the wizard would not give.
        let stays = known.as_ref().filter(|known| known.address == lan.address);
        let inside = match stays.and(self.lan_address()) {
            Some(inside) => inside,
            None => match self.own_address(lan) {
                Some(inside) => inside,
                None => return,
            },
        };
        if self.lan_address() != Some(inside) {
            self.interface("lan");
            self.set_address("lan", inside);
            let address = inside.to_string();
            let says = format!("The router is {address} inside.");
            self.say("services", "lan-address", &[("address", &address)], says);
            if inside.is_public() {
                let network = format!("{}/{}", inside.network(), inside.length);
                let free = self.free_address("lan.address");
                let free = free.map_or_else(|| "a private one".to_owned(), |free| free.to_string());
                let says = format!(
                    "{network} belongs to somebody on the Internet, whom devices inside could \
                     not reach: unless that is you, take {free}."
                );
                self.say("services", "lan-public", &[("network", &network)], says);
            }
        }
        let field = |n: usize| format!("lan.ports[{n}]");
        let ports = lan.ports.iter().enumerate();
        let good = ports.fold(true, |good, (n, port)| {
            self.good_device(&field(n), Some(port)) && good
        });
        if good && !lan.ports.is_empty() {
            self.lan_ports(&lan.ports);
        }
        self.dhcp(lan, inside, known.as_ref());
    }

    /// Plugs devices into the bridge inside, and no others but those that are no ports.
    fn lan_ports(&mut self, wanted: &[String]) {
        self.interface("lan");
        for port in wanted {
            self.unwire(port);
        }
        let device = self.config.get("network", "lan", "device");
        let bridge = device.and_then(|name| self.config.which("network", "device", "name", &name));
        let Some(bridge) = bridge else {
            let what = "bridge inside (network.lan.device)".to_owned();
            return self.wrong("lan.ports", &Wrong::Lacking(what));
        };
        let known = self.config.list("network", &bridge, "ports");
        let mesh = known.into_iter().filter(|port| port == "bat0");
        let all: Vec<String> = wanted.iter().cloned().chain(mesh).collect();
        let known = self.config.list("network", &bridge, "ports");
        self.config.set_list("network", &bridge, "ports", &all);
        if known != all {
            let ports = wanted.join(", ");
            let says = format!("Inside are {ports}.");
            self.say("services", "lan-ports", &[("ports", &ports)], says);
        }
    }

    /// Checks the name of a device (`dev_valid_name` of the kernel, and what UCI's lists can have).
    pub(super) fn good_device(&mut self, field: &str, device: Option<&str>) -> bool {
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_' | b'@');
        let good = device.is_none_or(|device| {
            (1..16).contains(&device.len())
                && !device.starts_with('-')
                && device.bytes().all(plain)
                && !matches!(device, "." | "..")
        });
        if !good {
            self.wrong(field, &Wrong::NotADevice);
        }
        good
    }

    /// An address that a router can have inside.
    pub(super) fn inside(&mut self, field: &str, address: &str) -> Option<Inside> {
        let Some(inside) = Inside::read(address) else {
            let wrong = if address.is_empty() {
                Wrong::Required
            } else {
                Wrong::NotAnAddress
            };
            self.wrong(field, &wrong);
            return None;
        };
        // Link-local addresses are for devices without a router (RFC 3927, 2.7).
        if !(8..=30).contains(&inside.length) || inside.address.is_link_local() {
            self.wrong(field, &Wrong::NotAnAddress);
            return None;
        }
        Some(inside)
    }

    /// Makes an interface of the router's own, with a bridge below it, if there is none.
    pub(super) fn interface(&mut self, name: &str) {
        if self.config.has("network", name) {
            return;
        }
        let bridge = format!("br-{name}");
        let known = self.config.which("network", "device", "name", &bridge);
        if known.is_none() {
            let device = format!("{name}_dev");
            self.config.section("network", &device, "device");
            self.config.set("network", &device, "name", &bridge);
            self.config.set("network", &device, "type", "bridge");
            if name == "lan" {
                let ports = self.facts.lan.clone();
                self.config.set_list("network", &device, "ports", &ports);
            } else {
                self.config.set("network", &device, "bridge_empty", "1");
            }
        }
        self.config.section("network", name, "interface");
        self.config.set("network", name, "device", &bridge);
        if name == "lan" {
            // A part of what a provider delegates, as a fresh OpenWrt asks for.
            self.config.set("network", name, "ip6assign", "64");
        }
    }

    /// Gives an interface an address, in the form that it has, or the release's own.
    pub(super) fn set_address(&mut self, interface: &str, inside: Inside) {
        let config = &mut self.config;
        config.set("network", interface, "proto", "static");
        let section = config.package("network").and_then(|p| p.section(interface));
        let form = section.and_then(|section| section.get("ipaddr"));
        // From 25.12 on OpenWrt itself writes a list.
        let listed = form.map_or(self.facts.release.is_none_or(|year| year >= 25), |ipaddr| {
            ipaddr.list
        });
        let mut all = section.map_or_else(Vec::new, |section| words(section, "ipaddr"));
        let whole = all.first().is_some_and(|first| first.contains('/'));
        // The first address is the router's; others beside it stay, and need the mask where they
        // have no length.
        let others = all.get(1..).unwrap_or_default();
        let masked = others.iter().any(|other| !other.contains('/'));
        if listed {
            if all.len() < 2 {
                config.set_list("network", interface, "ipaddr", &[inside.to_string()]);
            } else {
                all[0] = inside.to_string();
                config.replace_list("network", interface, "ipaddr", &all);
            }
            if !masked {
                config.unset("network", interface, "netmask");
            }
        } else if whole || !others.is_empty() {
            all[0] = inside.to_string();
            config.set("network", interface, "ipaddr", &all.join(" "));
        } else {
            let (address, mask) = (inside.address.to_string(), inside.netmask().to_string());
            config.set("network", interface, "ipaddr", &address);
            config.set("network", interface, "netmask", &mask);
        }
    }

    /// The router's address at an interface.
    pub(super) fn address_of(&self, interface: &str) -> Option<Inside> {
        address_in(&self.config, interface)
    }

    /// The router's address inside.
    pub(super) fn lan_address(&self) -> Option<Inside> {
        self.address_of("lan")
    }

    /// Gives addresses to others, or no more. `known` is the network inside as it was.
    fn dhcp(&mut self, lan: &Lan, inside: Inside, known: Option<&Lan>) {
        let pool = &*pool_of(&self.config, "lan");
        let there = self.config.has("dhcp", pool);
        if !lan.dhcp && !there {
            return;
        }
        if !there {
            self.config.section("dhcp", pool, "dhcp");
            self.config.set("dhcp", pool, "interface", "lan");
            self.config.set("dhcp", pool, "ra", "server");
        }
        let known = known.filter(|_| there);
        let is_on = known.is_some_and(|known| known.dhcp);
        if !lan.dhcp {
            if is_on || known.is_none() {
                self.config.set("dhcp", pool, "ignore", "1");
                let says = "It gives no addresses to others.".to_owned();
                self.say("services", "lan-no-dhcp", &[], says);
            }
            return;
        }
        let stays = known.filter(|known| known.dhcp && known.address == lan.address);
        if stays.is_none_or(|known| (known.first, known.count) != (lan.first, lan.count))
            && !self.pool(pool, lan, inside, known)
        {
            return;
        }
        if known.is_none_or(|known| known.lease != lan.lease) {
            if !is_lease(&lan.lease) {
                return self.wrong("lan.lease", &Wrong::NotATime);
            }
            self.config.set("dhcp", pool, "leasetime", &lan.lease);
        }
        if !is_on {
            self.config.unset("dhcp", pool, "ignore");
        }
    }

    /// Sets which addresses others get. Returns false if that cannot be.
    fn pool(&mut self, pool: &str, lan: &Lan, inside: Inside, known: Option<&Lan>) -> bool {
        let room = inside.room();
        let (first, count) = (u64::from(lan.first), u64::from(lan.count));
        if !(1..=room).contains(&first) {
            self.wrong("lan.first", &Wrong::OutOfRange(1, room));
            return false;
        }
        let most = room - first + 1;
        if !(1..=most).contains(&count) {
            self.wrong("lan.count", &Wrong::OutOfRange(1, most));
            return false;
        }
        // The router keeps its own.
        let own = u64::from(u32::from(inside.address) - u32::from(inside.network()));
        let left = count - u64::from((first..first + count).contains(&own));
        if left == 0 {
            self.wrong("lan.count", &Wrong::NoneLeft);
            return false;
        }
        let (first, count) = (first.to_string(), count.to_string());
        let is_same =
            |known: &Lan| known.dhcp && (known.first, known.count) == (lan.first, lan.count);
        if !known.is_some_and(is_same) {
            let from = u32::from(inside.network()) + lan.first;
            let from = std::net::Ipv4Addr::from(from).to_string();
            let says = format!("It gives {count} addresses to others, from {from} on.");
            self.say(
                "services",
                "lan-dhcp",
                &[("count", &count), ("from", &from)],
                says,
            );
            if left == 1 {
                let says = "That is enough for one device alone.".to_owned();
                self.say("services", "lan-dhcp-one", &[], says);
            }
        }
        if known.is_none_or(|known| known.first != lan.first) {
            self.config.set("dhcp", pool, "start", &first);
        }
        if known.is_none_or(|known| known.count != lan.count) {
            self.config.set("dhcp", pool, "limit", &count);
        }
        true
    }

    /// Refuses a port of the Internet that a bridge of another network has: the provider would be
    /// inside, and the uplink would hear no answer. `was` is the configuration as it was: what was so
    /// before stays, unless the choices name the port.
    pub(super) fn ports_once(&mut self, choices: &Choices, was: &Config) {
        let internet = choices.internet.as_ref();
        let named = internet.is_some_and(|internet| internet.port.is_some());
        let inside = choices
            .lan
            .as_ref()
            .is_some_and(|lan| !lan.ports.is_empty());
        let Some((port, network)) = bridged_uplink(&self.config) else {
            return;
        };
        let is_new = bridged_uplink(was).as_ref() != Some(&(port.clone(), network.clone()));
        let field = match internet {
            _ if inside && !named && (is_new || network == "lan") => "lan.ports",
            Some(_) if is_new || named => "internet.port",
            _ => return,
        };
        self.wrong(field, &Wrong::PortInside(port, network));
    }
}
