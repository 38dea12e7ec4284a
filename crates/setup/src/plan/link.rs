//! Devices of interfaces, and whose VLAN a device is.

use uci::Section;

use super::{Config, Planner, text};

/// The option that holds an interface's device. netifd reads the old `ifname` where there is no
/// `device` (interface.c, `IFACE_ATTR_IFNAME`).
fn device_option(section: &Section) -> &'static str {
    match (section.get("device"), section.get("ifname")) {
        (None, Some(_)) => "ifname",
        _ => "device",
    }
}

/// Returns the device of an interface. An interface of the old `type bridge` makes its own.
pub(crate) fn device_of(section: &Section) -> Option<String> {
    if section.get("device").is_none() && text(section, "type").as_deref() == Some("bridge") {
        return Some(format!("br-{}", section.name));
    }
    text(section, device_option(section))
}

/// Returns the port and the number of a provider's VLAN, if a device is one. VLANs of the router's
/// own switch (swconfig), and of a bridge that tells VLANs apart, are ports.
pub(crate) fn provider_vlan(config: &Config, device: &str) -> Option<(String, u16)> {
    let section = config
        .of_type("network", "device")
        .find(|section| text(section, "name").as_deref() == Some(device));
    let tagged = section.filter(|section| text(section, "type").as_deref() == Some("8021q"));
    let (port, number) = match tagged {
        Some(section) => (text(section, "ifname")?, text(section, "vid")?),
        None => {
            let (port, number) = device.rsplit_once('.')?;
            (port.to_owned(), number.to_owned())
        }
    };
    let number: u16 = number.parse().ok()?;
    (!is_of_switch(config, &port, number)).then_some((port, number))
}

/// Returns true for a VLAN that the router's own switch or bridge makes on a port.
fn is_of_switch(config: &Config, port: &str, number: u16) -> bool {
    let is = |section: &Section, option| {
        text(section, option).and_then(|text| text.parse().ok()) == Some(number)
    };
    let mut switch = config.of_type("network", "switch_vlan");
    let mut bridge = config.of_type("network", "bridge-vlan");
    // `vlan` is the place in the table of the switch; `vid` is the number where both are there.
    switch.any(|section| match section.get("vid") {
        Some(_) => is(section, "vid"),
        None => is(section, "vlan"),
    }) || bridge
        .any(|section| text(section, "device").as_deref() == Some(port) && is(section, "vlan"))
}

impl Config {
    /// Returns the device of an interface, also where the interface has the old form: `ifname`, or
    /// `type bridge`.
    pub fn device(&self, interface: &str) -> Option<String> {
        device_of(self.package("network")?.section(interface)?)
    }
}

impl Planner<'_> {
    /// Returns the device of an interface. Modems and other files are no devices.
    pub(super) fn device(&self, interface: &str) -> Option<String> {
        let section = self.config.package("network")?.section(interface)?;
        device_of(section).filter(|device| !device.starts_with('/'))
    }

    /// Sets the device of an interface, in the option that the interface has for it.
    pub(super) fn set_device(&mut self, interface: &str, device: &str) {
        if self.device(interface).as_deref() == Some(device) {
            return;
        }
        let section = self
            .config
            .package("network")
            .and_then(|network| network.section(interface));
        let option = section.map_or("device", device_option);
        self.config.set("network", interface, option, device);
    }
}
