//! Sentences for the evidence.

use std::net::Ipv6Addr;

use net::mac;

use crate::dhcp4::Offer;
use crate::dhcp6::Advertise;
use crate::evidence::{Fields, Kind, field, fields, listed};
use crate::frame::Mac;
use crate::pppoe::Concentrator;
use crate::router::Advertisement;
use crate::station_queries::Arp;

/// Evidence of one observation: its kind, fields and sentence.
pub type EvidenceItem = (Kind, Fields, String);

/// Describes a DHCP offer and its additions.
pub fn offer(offer: &Offer, mac: Mac) -> Vec<EvidenceItem> {
    let address = match offer.length {
        Some(length) => format!("{}/{length}", offer.address),
        None => offer.address.to_string(),
    };
    let mut text = if offer.address.is_unspecified() {
        format!("DHCP answer from {}: offers no address", offer.server)
    } else {
        format!("DHCP answer from {}: offers {address}", offer.server)
    };
    text += &match (offer.routers.is_empty(), offer.routes) {
        (false, _) => format!(", router {}", listed(&offer.routers)),
        (true, true) => ", a default route".to_owned(),
        (true, false) => ", no router".to_owned(),
    };
    if !offer.dns.is_empty() {
        text += &format!(", DNS {}", listed(&offer.dns));
    }
    let figures = fields([
        field("server", [offer.server]),
        field("mac", [mac::text(&mac)]),
        field("address", [address]),
        field("routers", &offer.routers),
        field("dns", &offer.dns),
        field(
            "domain",
            Some(&offer.domain).filter(|name| !name.is_empty()),
        ),
        field("lease", offer.lease),
        field("6rd", offer.six_rd.then_some("yes")),
    ]);
    let mut all = vec![(Kind::Dhcp, figures, text)];
    if let Some(seconds) = offer.ipv6_only {
        let text = format!(
            "The DHCP server {} asks devices to do without IPv4 where they can (option 108)",
            offer.server
        );
        all.push((Kind::Ipv6Only, fields([field("seconds", [seconds])]), text));
    }
    all.extend(portal(offer.portal.as_deref()));
    all
}

/// Describes a DHCPv6 server.
pub fn server(server: &Advertise, from: Ipv6Addr) -> Vec<EvidenceItem> {
    let prefixes = server
        .prefixes
        .iter()
        .map(|(address, length)| format!("{address}/{length}"));
    let prefixes: Vec<String> = prefixes.collect();
    let mut offers: Vec<String> = server.addresses.iter().map(ToString::to_string).collect();
    offers.extend(
        prefixes
            .iter()
            .map(|prefix| format!("the prefix {prefix} for the LAN")),
    );
    let mut text = match offers.is_empty() {
        true => format!("DHCPv6 answer from {from}: offers no address and no prefix"),
        false => format!("DHCPv6 answer from {from}: offers {}", listed(offers)),
    };
    if !server.status_messages.is_empty() {
        text += &format!("; status: {}", listed(&server.status_messages));
    }
    let figures = fields([
        field("server", [from]),
        field("addresses", &server.addresses),
        field("prefixes", prefixes),
        field("dns", &server.dns),
        field("said", &server.status_messages),
    ]);
    let mut all = vec![(Kind::Dhcpv6, figures, text)];
    if let Some(name) = &server.aftr {
        let text = format!("IPv4 comes through a tunnel to {name} (DS-Lite)");
        all.push((Kind::DsLite, fields([field("aftr", [name])]), text));
    }
    if !server.shared.is_empty() {
        let text = format!("IPv4 uses {}", listed(&server.shared));
        all.push((Kind::Shared, fields([field("by", &server.shared)]), text));
    }
    all.extend(portal(server.portal.as_deref()));
    all
}

/// Describes an IPv6 router.
pub fn router(router: &Advertisement, from: Ipv6Addr) -> Vec<EvidenceItem> {
    let prefixes = router
        .prefixes
        .iter()
        .map(|(address, length, _)| format!("{address}/{length}"));
    let prefixes: Vec<String> = prefixes.collect();
    let mut text = format!("IPv6 router {from}: ");
    text += &match prefixes.is_empty() {
        true => "no prefix".to_owned(),
        false => listed(&prefixes),
    };
    if router.managed {
        text += ", addresses by DHCPv6";
    } else if router.other {
        text += ", DNS by DHCPv6";
    }
    if router.lifetime == 0 {
        text += ", no route to the Internet";
    }
    let flags = [(router.managed, "managed"), (router.other, "other")];
    let flags = flags
        .into_iter()
        .filter_map(|(on, name)| on.then_some(name));
    let figures = fields([
        field("router", [from]),
        field("prefixes", prefixes),
        field("lifetime", [router.lifetime]),
        field("flags", flags),
        field("dns", &router.dns),
    ]);
    let mut all = vec![(Kind::Router, figures, text)];
    if let Some((address, length)) = router.nat64 {
        let prefix = format!("{address}/{length}");
        let text = format!("IPv4 is reached by NAT64, through the prefix {prefix}");
        all.push((Kind::Nat64, fields([field("prefix", [prefix])]), text));
    }
    all.extend(portal(router.portal.as_deref()));
    all
}

/// Describes a PPPoE access concentrator.
pub fn concentrator(heard: &Concentrator, mac: Mac) -> EvidenceItem {
    let name = match heard.name.as_str() {
        "" => mac::text(&mac),
        name => format!("{name} ({})", mac::text(&mac)),
    };
    let named = named(heard);
    let mut text = format!("PPPoE answer from {name}");
    if !named.is_empty() {
        text += &format!(", services: {}", listed(&named));
    }
    if !heard.errors.is_empty() {
        text += &format!(", error: {}", listed(&heard.errors));
    }
    let figures = fields([
        field("name", Some(&heard.name).filter(|name| !name.is_empty())),
        field("mac", [mac::text(&mac)]),
        field("services", &heard.services),
        field("errors", &heard.errors),
    ]);
    (Kind::Pppoe, figures, text)
}

/// Returns the named services.
pub fn named(heard: &Concentrator) -> Vec<&str> {
    let all = heard.services.iter().map(String::as_str);
    all.filter(|name| !name.is_empty()).collect()
}

/// Describes an ARP message: a query, or an announcement of an address.
pub fn arp(heard: &Arp) -> EvidenceItem {
    let asks = !heard.reply && heard.sender != heard.target;
    let text = match asks {
        true => format!("{} asks for {}", heard.sender, heard.target),
        false => format!("{} is in use", heard.sender),
    };
    let figures = fields([
        field("sender", [heard.sender]),
        field("mac", [mac::text(&heard.mac)]),
        field("asks", asks.then_some(heard.target)),
    ]);
    (Kind::Arp, figures, text)
}

fn portal(page: Option<&str>) -> Option<EvidenceItem> {
    let page = page?;
    let text = format!("The network has a captive portal: {page}");
    Some((Kind::Captive, fields([field("page", [page])]), text))
}
