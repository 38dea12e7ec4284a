//! The package `network`: devices, interfaces and routes.

use std::collections::BTreeMap;

use uci::Package;

use super::addresses::{ADDRESS, Interface};
use super::links::{Links, Netdev};
use super::reader::{Diagnostics, Reader, sections};
use super::rendered::{Access, RenderedFile, file};
use super::value;
use super::{ppp, tunnels};

/// Interfaces and their devices.
#[derive(Debug, Default)]
pub struct Network {
    pub interfaces: BTreeMap<String, Interface>,
    pub links: Links,
    /// Bridges.
    pub bridges: Vec<String>,
    /// Interfaces whose device is a radio, until it is known.
    waiting: BTreeMap<String, super::links::Link>,
    /// True if pppd provides name servers.
    pub dials: bool,
    files: Vec<RenderedFile>,
}

impl Network {
    /// Reads the package.
    pub fn read(package: &Package, ledger: &Diagnostics) -> Self {
        let mut network = Self::default();
        let all = || sections(package, ledger);
        for reader in all().filter(|reader| reader.kind() == "device") {
            network.device(reader);
        }
        // Referenced interfaces come first: `device @wan`, peers of a tunnel.
        let (aliases, interfaces): (Vec<_>, Vec<_>) = all()
            .filter(|reader| reader.kind() == "interface")
            .partition(|reader| {
                let device = reader.octets("device");
                device.first().is_some_and(|name| name.starts_with(b"@"))
            });
        for reader in interfaces.into_iter().chain(aliases) {
            network.interface(reader, package, ledger);
        }
        for reader in all() {
            match reader.kind() {
                "device" | "interface" => {}
                "route" | "route6" => network.route(reader),
                kind if kind.starts_with("wireguard_") => {
                    if !network.interfaces.contains_key(&kind["wireguard_".len()..]) {
                        reader.leave_out("not rendered: there is no such interface");
                    }
                }
                "weir_cable" => network.port(&reader),
                _ => reader.leave_out("not rendered"),
            }
        }
        network
    }

    /// Renders a port of the plan. An unused port has a file too: without one, networkd would leave
    /// it in its bridge, with its addresses.
    fn port(&mut self, reader: &Reader<'_>) {
        if let Some(device) = reader.device("device") {
            self.links.link(&device);
        }
    }

    /// Renders `config device`.
    fn device(&mut self, reader: Reader<'_>) {
        let Some(name) = reader.device("name") else {
            return reader.fault("name", super::reader::DEVICE);
        };
        match reader.word("type", &["bridge", "8021q", "8021ad"]) {
            Some("bridge") => self.bridge(&reader, &name),
            Some(kind) => self.vlan(&reader, &name, kind),
            None => {}
        }
        self.hardware(&reader, &name);
        reader.end();
    }

    /// Reads the options of any device.
    fn hardware(&mut self, reader: &Reader<'_>, name: &str) {
        if let Some(mtu) = reader.number("mtu", 68..=65_535) {
            self.links.link(name).unit.put("Link", "MTUBytes", mtu);
        }
        let mac = reader.one("macaddr", value::mac, "a MAC: 02:00:00:00:00:01");
        if let Some(mac) = mac {
            self.links.link(name).unit.put("Link", "MACAddress", mac);
        }
    }

    fn bridge(&mut self, reader: &Reader<'_>, name: &str) {
        let mut netdev = Netdev::new(name, "bridge");
        let stp = reader.flag("stp", false);
        netdev
            .unit
            .put("Bridge", "STP", if stp { "yes" } else { "no" });
        if reader.has("igmp_snooping") {
            let snoops = reader.flag("igmp_snooping", false);
            let word = if snoops { "yes" } else { "no" };
            netdev.unit.put("Bridge", "MulticastSnooping", word);
        }
        // The bridge is always made.
        let _ = reader.flag("bridge_empty", true);
        self.links.netdevs.insert(name.to_owned(), netdev);
        self.bridges.push(name.to_owned());
        self.links.link(name).always = true;
        for port in reader.many("ports", value::device, super::reader::DEVICE) {
            self.tagged(&port);
            self.links.link(&port).unit.put("Network", "Bridge", name);
        }
    }

    fn vlan(&mut self, reader: &Reader<'_>, name: &str, kind: &str) {
        let lower = reader.device("ifname");
        let number = reader.number("vid", 1..=4094);
        match (lower, number) {
            (Some(lower), Some(number)) => self.add_vlan(&lower, name, number, kind),
            (None, _) => reader.fault("ifname", super::reader::DEVICE),
            (_, None) => reader.fault("vid", "a number from 1 to 4094"),
        }
    }

    fn add_vlan(&mut self, lower: &str, name: &str, number: u64, kind: &str) {
        let mut netdev = Netdev::new(name, "vlan");
        netdev.unit.put("VLAN", "Id", number);
        if kind == "8021ad" {
            netdev.unit.put("VLAN", "Protocol", "802.1ad");
        }
        self.links.netdevs.insert(name.to_owned(), netdev);
        self.links.link(lower).unit.put("Network", "VLAN", name);
        self.links.link(name);
    }

    /// Renders `eth0.7`, a VLAN, with or without a section for it.
    fn tagged(&mut self, name: &str) {
        let Some((lower, number)) = name.rsplit_once('.') else {
            return;
        };
        let number = value::number(1..=4094)(number);
        if let Some(number) = number.filter(|_| !self.links.netdevs.contains_key(name)) {
            self.tagged(lower);
            self.add_vlan(lower, name, number, "8021q");
        }
    }

    /// Returns the device of an interface: for `@wan`, that of the other interface.
    fn lower(&self, reader: &Reader<'_>) -> Option<String> {
        let alias = |text: &str| match text.strip_prefix('@') {
            Some(other) => self.interfaces.get(other)?.device.clone(),
            None => value::device(text),
        };
        let expected = "a network device, or @ and an interface that has one";
        // Releases before 21.02 have `ifname`.
        let option = if reader.has("device") {
            "device"
        } else {
            "ifname"
        };
        reader.one(option, alias, expected)
    }

    /// Renders `config interface`.
    fn interface(&mut self, reader: Reader<'_>, package: &Package, ledger: &Diagnostics) {
        const PROTOCOLS: [&str; 10] = [
            "static",
            "dhcp",
            "dhcpv6",
            "none",
            "pppoe",
            "wireguard",
            "openvpn",
            "batadv",
            "batadv_hardif",
            "vxlan6",
        ];
        // The plan's own notes.
        reader.ignore(&[
            "weir",
            "endpoint",
            "weir_network",
            "weir_client",
            "weir_device",
        ]);
        if is_unplugged(&reader, package) {
            return reader.leave_out("not rendered: it has no device");
        }
        let name = reader.name().to_owned();
        let lower = self.lower(&reader);
        if lower.as_deref() == Some("lo") {
            // Linux configures it.
            return;
        }
        if reader.flag("disabled", false) || !reader.flag("auto", true) {
            return reader.leave_out("not rendered: it is switched off");
        }
        let protocol = reader.word("proto", &PROTOCOLS).unwrap_or("none");
        if protocol == "openvpn" {
            // OpenVPN makes its device, and networkd leaves that alone.
            let mut interface = Interface::default();
            let rendered = tunnels::openvpn(&reader, &mut interface);
            self.files.extend(rendered);
            self.interfaces.insert(name, interface);
            return reader.end();
        }
        if let Some(lower) = &lower {
            self.tagged(lower);
        }
        let mut interface = Interface {
            device: lower.clone(),
            ..Interface::default()
        };
        let own = match protocol {
            "pppoe" => {
                let device = value::device(&format!("pppoe-{name}"));
                if device.is_none() {
                    reader.fault("proto", "a name of at most 9 letters for it: pppoe-NAME");
                }
                device
            }
            "wireguard" | "batadv" | "vxlan6" => {
                let device = value::device(&name);
                if device.is_none() {
                    reader.fault("proto", "a name of at most 15 letters for it");
                }
                device
            }
            _ => lower.clone(),
        };
        interface.device.clone_from(&own);
        // If a radio is its device, the name comes later.
        let link = own.clone().unwrap_or_else(|| format!("@{name}"));
        self.links.link(&link);
        match protocol {
            "static" => interface.fixed(&reader, self.links.link(&link)),
            "dhcp" => interface.dhcp(&reader, self.links.link(&link)),
            "dhcpv6" => interface.dhcp6(&reader, self.links.link(&link)),
            "pppoe" => {
                interface.uplink = true;
                // The other device only has to be up.
                if let Some(lower) = &lower {
                    self.links.link(lower);
                    let peer = ppp::render(&reader, &link, lower);
                    self.dials |= peer.names;
                    let path = format!("etc/ppp/peers/weir-{name}");
                    self.files.push(file(path, Access::Root, &peer.text));
                }
                let pppoe = self.links.link(&link);
                (pppoe.keeps, pppoe.local) = (true, true);
                pppoe.accepts |= peer_accepts(&reader);
            }
            "wireguard" => {
                tunnels::wireguard(&reader, package, ledger, &mut self.links, &mut interface)
            }
            "batadv" => tunnels::batadv(&reader, &mut self.links),
            "batadv_hardif" => tunnels::hardif(&reader, &link, &mut self.links),
            "vxlan6" => tunnels::vxlan(&reader, package, &mut self.links),
            _ => {}
        }
        if protocol != "batadv_hardif" {
            interface.delegation(&reader, self.links.link(&link));
        }
        if protocol != "pppoe" && protocol != "wireguard" {
            self.hardware(&reader, &link);
        }
        if own.is_none()
            && let Some(link) = self.links.links.remove(&link)
        {
            self.waiting.insert(name.clone(), link);
        }
        self.interfaces.insert(name, interface);
        reader.end();
    }

    /// Renders `config route` and `config route6`.
    fn route(&mut self, reader: Reader<'_>) {
        let known = |name: &str| self.interfaces.get(name).map(|found| found.device.clone());
        let Some(device) = reader.one("interface", known, "an interface that there is") else {
            if !reader.has("interface") {
                reader.fault("interface", "an interface");
            }
            return;
        };
        let netmask = reader.one("netmask", value::netmask, "a netmask: 255.255.255.0");
        let mut target = reader.one("target", value::prefix, ADDRESS);
        if let Some((target, netmask)) = target.as_mut().zip(netmask)
            && target.length == 32
        {
            target.length = netmask;
        }
        let gateway = reader.one("gateway", value::address, "an address");
        let metric = reader.number("metric", 0..=u64::from(u32::MAX));
        let mut lines = Vec::new();
        lines.extend(target.map(|target| ("Destination", target.network().to_string())));
        lines.extend(gateway.map(|gateway| ("Gateway", gateway.to_string())));
        lines.extend(metric.map(|metric| ("Metric", metric.to_string())));
        match device {
            _ if lines.is_empty() => reader.fault("target", ADDRESS),
            Some(device) => self.links.link(&device).unit.add("Route", lines),
            None => reader.note("interface", "not rendered: its device is a radio"),
        }
        reader.end();
    }

    /// Sets a radio as the device of an interface. Returns false if that does not wait for one.
    pub fn take(&mut self, interface: &str, device: &str) -> bool {
        let Some(link) = self.waiting.remove(interface) else {
            return false;
        };
        self.links.links.insert(device.to_owned(), link);
        if let Some(found) = self.interfaces.get_mut(interface) {
            found.device = Some(device.to_owned());
        }
        true
    }

    /// Notes the interfaces that still have no radio as device.
    pub fn lonely(&self, ledger: &Diagnostics) {
        for name in self.waiting.keys() {
            let at = format!("network.{name}");
            ledger.note(at, "not rendered: it has no device, and no radio is in it");
        }
    }

    /// Renders the files, once all devices are known.
    pub fn render(&mut self, files: &mut Vec<RenderedFile>) {
        files.append(&mut self.files);
        self.links.render(files);
        let text = "net.ipv4.ip_forward = 1\nnet.ipv6.conf.all.forwarding = 1\n";
        files.push(file("etc/sysctl.d/50-weir.conf".into(), Access::All, text));
    }
}

/// Returns true if an interface that needs a device lacks it, or depends on one that lacks it: its
/// port was removed.
fn is_unplugged(reader: &Reader<'_>, package: &Package) -> bool {
    let bare = |section: &uci::Section, protocols: &[&[u8]]| {
        let proto = section.get("proto").and_then(uci::Element::value);
        let no = |option: &&str| section.get(option).is_none();
        proto.is_some_and(|proto| protocols.contains(&proto)) && ["device", "ifname"].iter().all(no)
    };
    let own = package.section(reader.name());
    let device = reader.octets("device");
    let below = device.first().and_then(|device| device.strip_prefix(b"@"));
    let below = below.and_then(|name| package.section(std::str::from_utf8(name).ok()?));
    // A radio may become the device of a DHCP interface.
    own.is_some_and(|own| bare(own, &[b"pppoe", b"dhcpv6"]))
        || below.is_some_and(|below| bare(below, &[b"pppoe", b"dhcp"]))
}

/// Returns true unless IPv6 is off: over PPP, router advertisements are then accepted.
fn peer_accepts(reader: &Reader<'_>) -> bool {
    let word = |text: &str| {
        (text == "auto")
            .then_some(true)
            .or_else(|| value::flag(text))
    };
    reader.one("ipv6", word, "auto, 0 or 1").unwrap_or(true)
}
