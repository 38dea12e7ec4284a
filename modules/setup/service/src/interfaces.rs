//! Uplink and LAN of the configuration.

use std::net::Ipv4Addr;
use std::path::Path;

use ::detect::Network;
use ::uci::{Package, Store};

/// Device of the uplink, and network of the LAN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// `network.wan.device`.
    pub wan: Option<String>,
    /// The network of `network.lan`.
    pub lan: Option<Network>,
}

impl Interfaces {
    /// Reads the configuration, with uncommitted changes. If it is missing or unreadable, all is
    /// unknown.
    pub fn read(root: &Path, changes: &Path) -> Self {
        let opened = Store::new(root, changes).open("network");
        opened
            .map(|opened| Self::of(&opened.package))
            .unwrap_or_default()
    }

    fn of(network: &Package) -> Self {
        let text = |section, option| {
            let value = network.section(section)?.get(option)?.values().next()?;
            String::from_utf8(value.to_vec())
                .ok()
                .filter(|text| !text.is_empty())
        };
        // Before OpenWrt 21.02 the option was `ifname`. A value with `@` is another interface.
        let wan = text("wan", "device").or_else(|| text("wan", "ifname"));
        let address = text("lan", "ipaddr");
        let lan = address.and_then(|address| match address.parse() {
            Ok(network) => Some(network),
            Err(_) => {
                let mask: Option<Ipv4Addr> = text("lan", "netmask").and_then(|it| it.parse().ok());
                let length = mask.map_or(24, |mask| u32::from(mask).leading_ones() as u8);
                Some(Network::new(address.parse().ok()?, length))
            }
        });
        Self {
            wan: wan.filter(|device| !device.starts_with('@')),
            lan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Interfaces {
        Interfaces::of(&Package::read("network", text.as_bytes()).expect("a configuration"))
    }

    #[test]
    fn both_ways_to_write_a_network_are_read() {
        let text = "config interface 'wan'\n\toption device 'eth1'\nconfig interface 'lan'\n\
            \toption ipaddr '192.168.7.1'\n\toption netmask '255.255.0.0'\n";
        let read = of(text);
        assert_eq!(read.wan.as_deref(), Some("eth1"));
        assert_eq!(read.lan, "192.168.0.0/16".parse().ok());
        let text = "config interface 'wan'\n\toption ifname 'eth0.2'\nconfig interface 'lan'\n\
            \tlist ipaddr '10.0.0.1/8'\n";
        let read = of(text);
        assert_eq!(read.wan.as_deref(), Some("eth0.2"));
        assert_eq!(read.lan, "10.0.0.0/8".parse().ok());
        assert_eq!(
            of("config interface 'wan'\n\toption device '@x'\n"),
            Interfaces::default()
        );
        let nowhere = Path::new("/nowhere");
        assert_eq!(Interfaces::read(nowhere, nowhere), Interfaces::default());
    }
}
