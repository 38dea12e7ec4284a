//! Name servers.

use std::net::IpAddr;

use uci::Section;

use super::check::is_of_a_device;
use super::{Config, Facts, ProblemKind, Report, words};
use crate::choices::{Dns, DnsServer};
use crate::read::{dns_of, is_general, over_https, tunnel_of};

/// The section of https-dns-proxy that is the wizard's.
const SECTION: &str = "weir";

/// Edits the servers that the router asks for names.
pub(super) fn edit(dns: &Dns, config: &mut Config, facts: &Facts, report: &mut Report) {
    let known = config.of_type("dhcp", "dnsmasq").next();
    let known = known.map(|known| dns_of(config, known));
    let is_there = |known: Dns| {
        known.server == dns.server && (dns.servers.is_none() || dns.servers == known.servers)
    };
    if dns.server == DnsServer::Kept || known.is_some_and(is_there) {
        return;
    }
    let secret = over_https(dns.server);
    if secret.is_some() && facts.missing("doh", "dns.server", report) {
        return;
    }
    let dnsmasq = config.first("dhcp", "dnsmasq");
    let mut servers = Vec::new();
    match (dns.server, secret) {
        (_, Some((url, bootstrap))) => {
            let port = free_port(config);
            config.section("https-dns-proxy", SECTION, "https-dns-proxy");
            for (option, value) in [
                ("resolver_url", url),
                ("bootstrap_dns", bootstrap),
                ("listen_addr", "127.0.0.1"),
                ("listen_port", &port),
            ] {
                config.set("https-dns-proxy", SECTION, option, value);
            }
            servers.push(format!("127.0.0.1#{port}"));
            let says = format!("The router asks {url} for names, encrypted.");
            report.add_sentence("services", "dns", &[("server", url)], says);
        }
        (DnsServer::Own, None) => {
            let Some(own) = self::servers(config, report, "dns.servers", dns.servers.as_deref())
            else {
                return;
            };
            if own.is_empty() {
                return report.add_problem("dns.servers", &ProblemKind::Required);
            }
            servers = own;
            let all = servers.join(", ");
            let says = format!("The router asks {all} for names.");
            report.add_sentence("services", "dns", &[("server", &all)], says);
        }
        (_, None) => {
            let says = "The router asks the provider for names.".to_owned();
            report.add_sentence("services", "dns-provider", &[], says);
        }
    }
    if secret.is_none() {
        config.remove("https-dns-proxy", SECTION);
    }
    // The proxy itself would put all its instances into dnsmasq's list.
    if config.has("https-dns-proxy", "config") {
        let update = "dnsmasq_config_update";
        config.set("https-dns-proxy", "config", update, "-");
    }
    // dnsmasq asks any of the general servers: an old one would still be asked.
    let known = config.list("dhcp", &dnsmasq, "server");
    let mut wanted: Vec<String> = known
        .into_iter()
        .filter(|server| !is_general(server) || servers.contains(server))
        .collect();
    for server in &servers {
        if !wanted.contains(server) {
            wanted.push(server.clone());
        }
    }
    config.set_list("dhcp", &dnsmasq, "server", &wanted);
    if !servers.is_empty() {
        config.set("dhcp", &dnsmasq, "noresolv", "1");
    } else {
        config.unset("dhcp", &dnsmasq, "noresolv");
    }
}

/// Reads addresses of name servers, in one form. The router itself is refused, unless it is listed
/// already.
pub(super) fn servers(
    config: &Config,
    report: &mut Report,
    field: &str,
    typed: Option<&[String]>,
) -> Option<Vec<String>> {
    let mut known = config.list("network", "wan", "dns");
    let dnsmasq = config.of_type("dhcp", "dnsmasq").next();
    known.extend(
        dnsmasq
            .into_iter()
            .flat_map(|section| words(section, "server")),
    );
    let read = |text: &String| {
        let address = report.address::<IpAddr>(field, text)?;
        let server = address.to_string();
        let wrong = match address.to_canonical() {
            _ if known.contains(&server) => return Some(server),
            own if is_own(config, own) => ProblemKind::AsksItself(server),
            other if !is_of_a_device(other) => ProblemKind::NotOneDevice(server),
            _ => return Some(server),
        };
        report.add_problem(field, &wrong);
        None
    };
    let typed = typed.unwrap_or_default();
    typed.iter().map(read).collect()
}

/// Returns true if an address is one of the router's own.
fn is_own(config: &Config, address: IpAddr) -> bool {
    let mut interfaces = config.of_type("network", "interface");
    address.is_loopback()
        || address.is_unspecified()
        || interfaces.any(|section| addresses(section).contains(&address))
}

/// Refuses a new address of the router that a name server has. `was` is the configuration as it
/// was.
pub(super) fn asks_itself(config: &Config, was: &Config, report: &mut Report) {
    let dnsmasq = config.of_type("dhcp", "dnsmasq").next();
    let mut servers: Vec<String> = dnsmasq
        .into_iter()
        .flat_map(|section| words(section, "server"))
        .collect();
    servers.extend(config.list("network", "wan", "dns"));
    let all = |config: &Config, interface: &str| {
        let network = config.package("network");
        let section = network.and_then(|network| network.section(interface));
        section.map(addresses).unwrap_or_default()
    };
    let tunnel = tunnel_of(config).unwrap_or_default();
    for (field, interface) in [
        ("lan.address", "lan"),
        ("internet.address", "wan"),
        ("wireguard.address", &tunnel),
    ] {
        let former = all(was, interface);
        let now = all(config, interface);
        let mut new = now.iter().filter(|own| !former.contains(own));
        if let Some(own) = new.find(|own| servers.contains(&own.to_string())) {
            report.add_problem(field, &ProblemKind::AsksItself(own.to_string()));
        }
    }
}

/// Returns a port that no other instance of https-dns-proxy uses.
fn free_port(config: &Config) -> String {
    let taken: Vec<String> = config
        .of_type("https-dns-proxy", "https-dns-proxy")
        .filter(|section| section.name != SECTION)
        .filter_map(|section| super::text(section, "listen_port"))
        .collect();
    (5053..=u16::MAX)
        .map(|port| port.to_string())
        .find(|port| !taken.contains(port))
        .unwrap_or_default()
}

/// Returns the addresses of an interface: `addresses` is `WireGuard`'s option instead of `ipaddr`.
fn addresses(interface: &Section) -> Vec<IpAddr> {
    let options = ["ipaddr", "ip6addr", "addresses"];
    let all = options.iter().flat_map(|option| words(interface, option));
    all.filter_map(|text| text.split('/').next()?.parse().ok())
        .collect()
}
