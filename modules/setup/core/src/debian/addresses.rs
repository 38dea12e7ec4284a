//! Addresses of an interface: systemd.network(5).

use std::net::IpAddr;

use super::links::Link;
use super::reader::Reader;
use super::value::{self, Prefix};

/// The parts of an interface that other packages need.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Device with the addresses: `br-lan`, `pppoe-wan`. `None` if that is a radio, before the
    /// radio is known.
    pub device: Option<String>,
    /// Addresses of the interface.
    pub addresses: Vec<Prefix>,
    /// True for an uplink: the interface has a gateway, or gets its addresses from a server.
    pub uplink: bool,
    /// Name servers that are reached by the interface.
    pub dns: Vec<IpAddr>,
    /// True if the interface gets a part of a delegated prefix.
    pub delegated: bool,
    /// True if clients of the interface use this machine for names, but not for addresses.
    pub serves: bool,
}

pub const ADDRESS: &str = "an address, or one with the length of its prefix: 192.168.1.1/24";

impl Interface {
    /// Writes fixed addresses and a gateway.
    pub fn fixed(&mut self, reader: &Reader<'_>, link: &mut Link) {
        let netmask = reader.one("netmask", value::netmask, "a netmask: 255.255.255.0");
        let mut addresses = reader.many("ipaddr", value::prefix, ADDRESS);
        let whole = |prefix: &Prefix| prefix.address.is_ipv4() && prefix.length == 32;
        for address in addresses.iter_mut().filter(|address| whole(address)) {
            address.length = netmask.unwrap_or(32);
        }
        addresses.extend(reader.many("ip6addr", value::prefix, ADDRESS));
        let gateways = [
            reader.one("gateway", value::address, "an address"),
            reader.one("ip6gw", value::address, "an address"),
        ];
        self.dns = reader.many("dns", value::address, "an address");
        let metric = reader.number("metric", 0..=u64::from(u32::MAX));
        self.uplink = gateways.iter().any(Option::is_some);
        link.local = true;
        link.always |= !self.uplink;
        for address in &addresses {
            link.unit.put("Network", "Address", address);
        }
        for gateway in gateways.into_iter().flatten() {
            let mut lines = vec![("Gateway", gateway.to_string())];
            lines.extend(metric.map(|metric| ("Metric", metric.to_string())));
            link.unit.add("Route", lines);
        }
        for server in &self.dns {
            link.unit.put("Network", "DNS", server);
        }
        self.addresses = addresses;
    }

    pub fn dhcp(&mut self, reader: &Reader<'_>, link: &mut Link) {
        self.uplink = true;
        let names = self.servers(reader);
        let gateway = reader.flag("defaultroute", true);
        let metric = reader.number("metric", 0..=u64::from(u32::MAX));
        let host = reader.one("hostname", value::host, "a host name");
        (link.dhcp[0], link.local) = (true, true);
        // The provider must not set the machine's name.
        link.unit.put("DHCPv4", "UseHostname", "no");
        if !names {
            link.unit.put("DHCPv4", "UseDNS", "no");
        }
        if !gateway {
            link.unit.put("DHCPv4", "UseGateway", "no");
        }
        if let Some(metric) = metric {
            link.unit.put("DHCPv4", "RouteMetric", metric);
        }
        if let Some(host) = host {
            link.unit.put("DHCPv4", "Hostname", host);
        }
        for server in &self.dns {
            link.unit.put("Network", "DNS", server);
        }
    }

    pub fn dhcp6(&mut self, reader: &Reader<'_>, link: &mut Link) {
        self.uplink = true;
        let names = self.servers(reader);
        let address = reader.word("reqaddress", &["try", "force", "none"]);
        let hint = |text: &str| match text {
            "auto" | "no" => Some(text.to_owned()),
            _ => value::number(1..=64)(text).map(|length| format!("::/{length}")),
        };
        let hint = reader.one("reqprefix", hint, "auto, no, or a length from 1 to 64");
        (link.dhcp[1], link.accepts, link.local) = (true, true, true);
        if address == Some("none") {
            link.unit.put("DHCPv6", "UseAddress", "no");
        }
        match hint.as_deref() {
            Some("no") => link.unit.put("DHCPv6", "UseDelegatedPrefix", "no"),
            Some("auto") | None => {}
            Some(hint) => link.unit.put("DHCPv6", "PrefixDelegationHint", hint),
        }
        if !names {
            link.unit.put("DHCPv6", "UseDNS", "no");
        }
        // A provider's router need not announce its DHCPv6 server.
        link.unit.put("DHCPv6", "WithoutRA", "solicit");
        for server in &self.dns {
            link.unit.put("Network", "DNS", server);
        }
    }

    /// Reads `ip6assign`: a part of the provider's delegated prefix.
    pub fn delegation(&mut self, reader: &Reader<'_>, link: &mut Link) {
        let length = reader.number("ip6assign", 0..=64);
        let hint = |text: &str| u16::from_str_radix(text, 16).ok();
        let hint = reader.one("ip6hint", hint, "a number of base 16, up to ffff");
        if length.is_none_or(|length| length == 0) {
            return;
        }
        if length != Some(64) {
            reader.note("ip6assign", "networkd gives each interface a /64");
        }
        self.delegated = true;
        (link.delegated, link.local) = (true, true);
        if let Some(hint) = hint {
            let hint = format!("0x{hint:x}");
            link.unit.put("DHCPPrefixDelegation", "SubnetId", hint);
        }
    }

    /// Reads additional name servers. Returns true if those of the other side are used, too.
    fn servers(&mut self, reader: &Reader<'_>) -> bool {
        self.dns = reader.many("dns", value::address, "an address");
        reader.flag("peerdns", true)
    }
}
