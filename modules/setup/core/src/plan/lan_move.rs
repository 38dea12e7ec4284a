//! The network inside moves: options with the router's address follow, and the summary names those
//! that do not.

use std::net::Ipv4Addr;

use uci::{Element, Section};

use super::{Config, Ipv4Cidr, Report, address_in, text, words};
use crate::difference::address;

/// Most options that the summary names.
const MOST: usize = 12;

/// Options of a section of `dhcp` that are sent to clients.
const TOLD: [&str; 2] = ["dhcp_option", "dhcp_option_force"];

/// Handles addresses of the `former` LAN, if the LAN differs now.
pub(super) fn inside_moved(former: Option<Ipv4Cidr>, config: &mut Config, report: &mut Report) {
    let (Some(former), Some(now)) = (former, address_in(config, "lan")) else {
        return;
    };
    if former == now {
        return;
    }
    told_follow(config, former.address, now.address);
    say_left(config, report, former);
}

/// Keeps the router as gateway and name server in the options that clients get.
fn told_follow(config: &mut Config, former: Ipv4Addr, now: Ipv4Addr) {
    let sections = config.package("dhcp").map(uci::Package::sections);
    let names: Vec<String> = (sections.into_iter().flatten())
        .map(|section| section.name.clone())
        .collect();
    for name in names {
        for option in TOLD {
            let known = config.list("dhcp", &name, option);
            let all: Vec<String> = known
                .iter()
                .map(|told| followed(told, former, now))
                .collect();
            if all == known {
                continue;
            }
            let section = config.section_of("dhcp", &name);
            let element = section.and_then(|section| section.get(option));
            if element.is_some_and(|element| element.list) {
                config.replace_list("dhcp", &name, option, &all);
            } else {
                config.set("dhcp", &name, option, &all.join(" "));
            }
        }
    }
}

/// Reports addresses in the `former` LAN that no interface has any more.
fn say_left(config: &Config, report: &mut Report, former: Ipv4Cidr) {
    let left = left_in(config, former);
    if left.is_empty() {
        return;
    }
    let network = format!("{}/{}", former.network(), former.length);
    let more = if left.len() > MOST { ", …" } else { "" };
    let some = left.get(..MOST).unwrap_or(&left);
    let what = format!("{}{more}", some.join(", "));
    let end = if more.is_empty() { "." } else { "" };
    let says = format!(
        "These stay in {network}, the former network inside, and need new addresses: {what}{end}"
    );
    let values = [("network", &*network), ("what", &what)];
    report.add_sentence("services", "lan-left", &values, says);
}

/// Returns an option of DHCP with the router's new address, if the option is the gateway (3) or the
/// name server (6). Tags may precede the number: `tag:voip,3,192.168.1.1`.
fn followed(told: &str, former: Ipv4Addr, now: Ipv4Addr) -> String {
    let mut parts: Vec<String> = told.split(',').map(str::to_owned).collect();
    let is_tag = |part: &String| part.starts_with("tag:");
    let number = parts.iter().position(|part| !is_tag(part));
    let is_router = |n: &usize| {
        matches!(
            &*parts[*n],
            "3" | "6" | "option:router" | "option:dns-server"
        )
    };
    let Some(number) = number.filter(is_router) else {
        return told.to_owned();
    };
    for part in parts.iter_mut().skip(number + 1) {
        if part.trim().parse() == Ok(former) {
            *part = now.to_string();
        }
    }
    parts.join(",")
}

/// Returns the options with addresses in the `former` LAN that no interface has any more.
fn left_in(config: &Config, former: Ipv4Cidr) -> Vec<String> {
    let own: Vec<Ipv4Cidr> = config
        .of_type("network", "interface")
        .flat_map(networks_of)
        .collect();
    let is_left = |token: &str| {
        let address = token.parse::<Ipv4Addr>().ok();
        address.is_some_and(|address| {
            former.contains(address) && !own.iter().any(|own| own.contains(address))
        })
    };
    let holds = |element: &Element| {
        element.values().any(|value| {
            let value = String::from_utf8_lossy(value);
            let mut tokens = value.split(|c: char| !c.is_ascii_digit() && c != '.');
            tokens.any(is_left)
        })
    };
    let mut left = Vec::new();
    for package in config.packages() {
        for (n, section) in package.sections().iter().enumerate() {
            for element in section.options.iter().filter(|element| holds(element)) {
                left.push(match text(section, "name") {
                    Some(name) if !name.is_empty() => name,
                    _ => format!("{}.{}", address(package, n), element.name),
                });
            }
        }
    }
    left.dedup();
    left
}

/// Returns the networks of an interface's addresses.
fn networks_of(interface: &Section) -> Vec<Ipv4Cidr> {
    let mask = text(interface, "netmask").unwrap_or_default();
    let mut all = words(interface, "ipaddr");
    all.extend(words(interface, "addresses"));
    all.iter()
        .filter_map(|address| {
            Ipv4Cidr::read_network(address).or_else(|| Ipv4Cidr::of_mask(address, &mask))
        })
        .collect()
}
