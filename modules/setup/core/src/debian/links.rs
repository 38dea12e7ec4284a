//! Files of systemd-networkd: systemd.network(5), systemd.netdev(5).

use std::collections::BTreeMap;

use super::rendered::{Access, RenderedFile, file};

/// Prefix of networkd's files. The number puts them before those of a distribution.
const PREFIX: &str = "etc/systemd/network/50-weir-";

/// Sections and their lines, in order.
#[derive(Debug, Default)]
pub struct Unit(Vec<(&'static str, Vec<(&'static str, String)>)>);

impl Unit {
    /// Adds a line to the section of this name.
    pub fn put(&mut self, section: &'static str, key: &'static str, value: impl ToString) {
        let n = self.0.iter().position(|(name, _)| *name == section);
        let n = n.unwrap_or_else(|| {
            self.0.push((section, Vec::new()));
            self.0.len() - 1
        });
        self.0[n].1.push((key, value.to_string()));
    }

    /// Adds a section, even if there is one with the name.
    pub fn add(&mut self, section: &'static str, lines: Vec<(&'static str, String)>) {
        self.0.push((section, lines));
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (section, lines) in &self.0 {
            line!(text, "\n[{section}]");
            for (key, value) in lines {
                line!(text, "{key}={value}");
            }
        }
        text
    }
}

/// Configuration of an existing device: a `.network` file.
#[derive(Debug, Default)]
pub struct Link {
    pub unit: Unit,
    /// DHCP by IPv4 and by IPv6.
    pub dhcp: [bool; 2],
    /// Accepts router advertisements.
    pub accepts: bool,
    /// The device gets a part of a delegated prefix.
    pub delegated: bool,
    /// The device has an IPv6 link-local address.
    pub local: bool,
    /// Keeps addresses that another program (pppd) set.
    pub keeps: bool,
    /// Configured even without a cable: dnsmasq and others must find its addresses.
    pub always: bool,
}

impl Link {
    fn file(&self, name: &str) -> RenderedFile {
        let mut unit = Unit::default();
        unit.put("Match", "Name", name);
        // The start of the machine must not wait for a cable.
        unit.put("Link", "RequiredForOnline", "no");
        let dhcp = match self.dhcp {
            [true, true] => "yes",
            [true, false] => "ipv4",
            [false, true] => "ipv6",
            [false, false] => "no",
        };
        let word = |on| if on { "yes" } else { "no" };
        unit.put("Network", "DHCP", dhcp);
        unit.put("Network", "IPv6AcceptRA", word(self.accepts));
        unit.put(
            "Network",
            "LinkLocalAddressing",
            if self.local { "ipv6" } else { "no" },
        );
        if self.keeps {
            unit.put("Network", "KeepConfiguration", "yes");
        } else if self.dhcp[0] {
            // Keeps connections while networkd restarts.
            unit.put("Network", "KeepConfiguration", "dhcp-on-stop");
        }
        if self.always {
            unit.put("Network", "ConfigureWithoutCarrier", "yes");
        }
        if self.delegated {
            unit.put("Network", "DHCPPrefixDelegation", "yes");
            // dnsmasq announces it.
            unit.put("Network", "IPv6SendRA", "no");
            unit.put("DHCPPrefixDelegation", "Announce", "no");
        }
        for (section, lines) in &self.unit.0 {
            match *section {
                "Link" | "Network" | "DHCPPrefixDelegation" => {
                    for (key, value) in lines {
                        unit.put(section, key, value);
                    }
                }
                _ => unit.add(section, lines.clone()),
            }
        }
        let path = format!("{PREFIX}{name}.network");
        file(path, Access::All, &unit.text())
    }
}

/// A device that networkd makes: a `.netdev` file.
#[derive(Debug, Default)]
pub struct Netdev {
    pub unit: Unit,
    /// True if the file contains a key.
    pub secret: bool,
}

impl Netdev {
    pub fn new(name: &str, kind: &str) -> Self {
        let mut unit = Unit::default();
        unit.put("NetDev", "Name", name);
        unit.put("NetDev", "Kind", kind);
        Self {
            unit,
            secret: false,
        }
    }
}

/// Configuration of all devices, by name.
#[derive(Debug, Default)]
pub struct Links {
    pub links: BTreeMap<String, Link>,
    pub netdevs: BTreeMap<String, Netdev>,
}

impl Links {
    /// Returns the configuration of a device.
    pub fn link(&mut self, name: &str) -> &mut Link {
        self.links.entry(name.to_owned()).or_default()
    }

    pub fn render(&self, files: &mut Vec<RenderedFile>) {
        files.extend(self.links.iter().map(|(name, link)| link.file(name)));
        for (name, netdev) in &self.netdevs {
            let access = match netdev.secret {
                true => Access::Network,
                false => Access::All,
            };
            let path = format!("{PREFIX}{name}.netdev");
            files.push(file(path, access, &netdev.unit.text()));
        }
    }
}
