//! The package `dhcp`: dnsmasq(8), which serves addresses and names.

use std::net::Ipv4Addr;

use uci::Package;

use super::addresses::Interface;
use super::network::Network;
use super::reader::{Diagnostics, Reader, sections};
use super::rendered::{Access, RenderedFile, file};
use super::static_leases;
use super::value;
use super::zones::Zone;

/// Renders the file.
pub fn render(
    package: &Package,
    network: &Network,
    zones: &[Zone],
    ledger: &Diagnostics,
) -> RenderedFile {
    // `bind-dynamic`: only on the addresses of its devices, later ones too.
    let mut text = String::from("bind-dynamic\nexcept-interface=lo\n");
    let all = || sections(package, ledger);
    let mut found = false;
    for reader in all() {
        match reader.kind() {
            "dnsmasq" if found => reader.leave_out("not rendered: there is one dnsmasq"),
            "dnsmasq" => {
                found = true;
                dnsmasq(reader, network, &mut text);
            }
            _ => {}
        }
    }
    if !found {
        upstream(true, network, &mut text);
    }
    for interface in network.interfaces.values().filter(|found| found.serves) {
        if let Some(device) = &interface.device {
            line!(text, "interface={device}\nno-dhcp-interface={device}");
        }
    }
    for reader in all() {
        match reader.kind() {
            "dnsmasq" => {}
            "dhcp" => served(reader, network, zones, &mut text),
            "host" => static_leases::host(reader, &mut text),
            "domain" => static_leases::domain(reader, &mut text),
            "cname" => static_leases::alias(reader, &mut text),
            "odhcpd" => reader.leave_out("not rendered: dnsmasq answers by DHCPv6, too"),
            _ => reader.leave_out("not rendered"),
        }
    }
    file("etc/dnsmasq.d/weir.conf".into(), Access::All, &text)
}

/// Renders `config dnsmasq`.
fn dnsmasq(reader: Reader<'_>, network: &Network, text: &mut String) {
    for (option, word, default) in [
        ("domainneeded", "domain-needed", false),
        ("boguspriv", "bogus-priv", true),
        ("localise_queries", "localise-queries", false),
        ("expandhosts", "expand-hosts", false),
        ("authoritative", "dhcp-authoritative", true),
        ("rebind_protection", "stop-dns-rebind", true),
        ("rebind_localhost", "rebind-localhost-ok", false),
        ("readethers", "read-ethers", false),
        ("sequential_ip", "dhcp-sequential-ip", false),
        ("strictorder", "strict-order", false),
        ("allservers", "all-servers", false),
        ("filter_aaaa", "filter-AAAA", false),
        ("logqueries", "log-queries", false),
        ("nonegcache", "no-negcache", false),
    ] {
        if reader.flag(option, default) {
            line!(text, "{word}");
        }
    }
    let name = "a name in the DNS";
    if let Some(domain) = reader.one("domain", value::domain, name) {
        line!(text, "domain={domain}");
    }
    let local = |text: &str| value::domain(text.trim_matches('/'));
    if let Some(local) = reader.one("local", local, "a name in the DNS: /lan/") {
        line!(text, "local=/{local}/");
    }
    for domain in reader.many("rebind_domain", local, name) {
        line!(text, "rebind-domain-ok=/{domain}/");
    }
    for (option, word, most) in [
        ("cachesize", "cache-size", 100_000),
        ("dnsforwardmax", "dns-forward-max", 100_000),
        ("ednspacket_max", "edns-packet-max", 65_535),
        ("dhcpleasemax", "dhcp-lease-max", 1_000_000),
    ] {
        if let Some(number) = reader.number(option, 0..=most) {
            line!(text, "{word}={number}");
        }
    }
    // A name server: an address with a port, perhaps for some domains alone.
    let server = |text: &str| {
        let (domains, address) = match text.strip_prefix('/') {
            Some(rest) => rest.rsplit_once('/')?,
            None => ("", text),
        };
        let mut of = String::new();
        for domain in domains.split('/').filter(|domain| !domain.is_empty()) {
            of += &format!("/{}", value::domain(domain)?);
        }
        let (address, port) = address.split_once('#').unwrap_or((address, "53"));
        let address = match address {
            // Domains that are not forwarded.
            "" if !of.is_empty() => return Some(format!("{of}/")),
            address => value::address(address)?,
        };
        let port = value::number(1..=65_535)(port)?;
        let slash = if of.is_empty() { "" } else { "/" };
        Some(format!("{of}{slash}{address}#{port}"))
    };
    let expected = "an address: 9.9.9.9, 9.9.9.9#53, /example.org/192.0.2.1";
    for server in reader.many("server", server, expected) {
        line!(text, "server={server}");
    }
    upstream(!reader.flag("noresolv", false), network, text);
    // dnsmasq is bound to its devices: it does not answer other networks anyway.
    reader.ignore(&["localservice"]);
    reader.end();
}

/// Writes the upstream name servers.
fn upstream(resolves: bool, network: &Network, text: &mut String) {
    for server in network.interfaces.values().flat_map(|found| &found.dns) {
        line!(text, "server={server}");
    }
    if !resolves {
        line!(text, "no-resolv");
        return;
    }
    // Servers of networkd are in systemd-resolved's file, those of pppd in the other.
    line!(text, "resolv-file=/run/systemd/resolve/resolv.conf");
    if network.dials {
        line!(text, "resolv-file=/etc/ppp/resolv.conf");
    }
}

/// Renders `config dhcp`: DHCP in a network.
fn served(reader: Reader<'_>, network: &Network, zones: &[Zone], text: &mut String) {
    let name = reader.one("interface", value::label, "the name of an interface");
    let name = name.unwrap_or_else(|| reader.name().to_owned());
    let Some((interface, device)) = network.interfaces.get(&name).and_then(|found| {
        let device = found.device.clone()?;
        Some((found, device))
    }) else {
        return reader.leave_out("not rendered: its interface is not there, or off");
    };
    let ignores = reader.flag("ignore", false);
    let masquerades = zones
        .iter()
        .any(|zone| zone.devices.contains(&device) && zone.masquerades.contains(&true));
    if interface.uplink || masquerades {
        if !ignores {
            reader.leave_out("not served: it leads elsewhere");
        }
        return;
    }
    line!(text, "interface={device}");
    if ignores {
        line!(text, "no-dhcp-interface={device}");
        return;
    }
    let lease = reader.one("leasetime", value::lease, "a time: 12h, or infinite");
    let lease = lease.unwrap_or_else(|| "12h".into());
    let tag = value::label(&name).unwrap_or_default();
    let four = reader.word("dhcpv4", &["server", "disabled"]) != Some("disabled");
    let four = four && reader.flag("dynamicdhcp", true);
    range(&reader, interface, four, &tag, &lease, text);
    announced(&reader, &device, &tag, &lease, text);
    let expected =
        "a number and a value: 6,192.168.1.1, optionally after tags: tag:voip,66,192.168.1.6";
    for option in reader.many("dhcp_option", told, expected) {
        line!(text, "dhcp-option=tag:{tag},{option}");
    }
    if reader.has("force") {
        let _ = reader.flag("force", false);
        reader.note(
            "force",
            "dnsmasq on Debian never searches for other servers",
        );
    }
    reader.end();
}

/// Converts an option of DHCP for dnsmasq: a number or name, and its value; a number alone sends
/// none. Tags before it name the clients (dnsmasq(8), `--dhcp-option`).
fn told(text: &str) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || ".:/_-".contains(c);
    let mut made: Vec<String> = Vec::new();
    let mut words = text.split(',');
    let number = loop {
        let word = words.next()?;
        let Some(tag) = word.strip_prefix("tag:") else {
            break word;
        };
        value::tag(tag.strip_prefix('!').unwrap_or(tag))?;
        made.push(word.to_owned());
    };
    made.push(match number.strip_prefix("option:") {
        Some(name) => format!("option:{}", value::host(name)?),
        None => value::number(1..=254)(number)?.to_string(),
    });
    for word in words {
        let is_good = !word.is_empty() && word.chars().all(good);
        made.push(is_good.then(|| word.to_owned())?);
    }
    Some(made.join(","))
}

/// Writes the range of addresses to give.
fn range(
    reader: &Reader<'_>,
    interface: &Interface,
    serves: bool,
    tag: &str,
    lease: &str,
    text: &mut String,
) {
    let start = reader.number("start", 0..=16_777_215).unwrap_or(100);
    let limit = reader.number("limit", 1..=16_777_215).unwrap_or(150);
    if !serves {
        return;
    }
    let four = interface
        .addresses
        .iter()
        .find_map(|prefix| match prefix.address {
            std::net::IpAddr::V4(address) => Some((u32::from(address), prefix.length)),
            std::net::IpAddr::V6(_) => None,
        });
    let Some((address, length)) = four else {
        return reader.note(
            "interface",
            "no addresses are assigned: it has no IPv4 address",
        );
    };
    let bits = value::mask(length);
    let (network, last) = (address & bits, address | !bits);
    let first = u64::from(network) + start;
    let end = (first + limit - 1).min(u64::from(last).saturating_sub(1));
    if first > end || first <= u64::from(network) {
        return reader.fault("start", "a number below that of the network's addresses");
    }
    let [first, end] = [first, end].map(|n| Ipv4Addr::from(u32::try_from(n).unwrap_or(last)));
    let bits = Ipv4Addr::from(bits);
    line!(text, "dhcp-range=set:{tag},{first},{end},{bits},{lease}");
}

/// Writes router advertisements, and DHCPv6, for the prefixes of the device.
fn announced(reader: &Reader<'_>, device: &str, tag: &str, lease: &str, text: &mut String) {
    let words = ["server", "disabled", "relay", "hybrid"];
    let word = |option| match reader.word(option, &words) {
        Some("server") => true,
        Some("relay" | "hybrid") => {
            reader.note(option, "not rendered: dnsmasq can only serve or not serve");
            false
        }
        _ => false,
    };
    let (routes, addresses) = (word("ra"), word("dhcpv6"));
    let flags = ["managed-config", "other-config", "home-agent", "none"];
    let flag = |text: &str| flags.iter().find(|flag| **flag == text).copied();
    let flags = reader.many("ra_flags", flag, "managed-config, other-config or none");
    let slaac = reader.flag("ra_slaac", true);
    let from = |start: &str, mode: &str| {
        format!("dhcp-range=set:{tag},{start}constructor:{device}{mode},64,{lease}")
    };
    let managed = addresses && (flags.is_empty() || flags.contains(&"managed-config"));
    let mode = match (routes, slaac) {
        (true, true) if managed => ",slaac",
        (true, true) if flags.contains(&"other-config") => ",ra-stateless",
        (true, true) => ",ra-only",
        _ => "",
    };
    if managed {
        line!(text, "{}", from("::1000,::1fff,", mode));
    } else if routes {
        line!(text, "{}", from("::,", mode));
    }
    if managed && routes && mode.is_empty() {
        line!(text, "enable-ra");
    }
}
