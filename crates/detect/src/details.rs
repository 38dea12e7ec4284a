//! Details of an Internet access.

use std::collections::BTreeSet;

use crate::internet::{Internet, services};
use crate::network::Network;
use crate::vlan_observations::{VlanObservations, network};

/// Details of an Internet access, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Named PPPoE services.
    pub services: Vec<String>,
    /// PPPoE access concentrators.
    pub concentrators: Vec<String>,
    /// Servers that answered.
    pub servers: Vec<String>,
    /// Offered addresses; on a network without a server, addresses in use.
    pub addresses: Vec<String>,
    /// IPv4 network.
    pub network: Option<Network>,
    /// The router; a guess if there is no server.
    pub gateway: Option<String>,
    /// Name servers; on a network without a server the gateway, as a guess.
    pub dns: Vec<String>,
    /// IPv6 prefixes that routers advertise.
    pub prefixes: Vec<String>,
    /// IPv6 prefixes that are offered for the LAN.
    pub delegated: Vec<String>,
    /// True if IPv6 is available.
    pub ipv6: bool,
    /// True if IPv6 routers advertise themselves, and none is a default router: all have a lifetime
    /// of 0 (RFC 4861, section 4.2).
    pub no_default_router: bool,
    /// Remote end of a DS-Lite tunnel.
    pub aftr: Option<String>,
    /// Other ways to share an IPv4 address.
    pub shared: Vec<String>,
    /// NAT64 prefix.
    pub nat64: Option<String>,
    /// Address of a captive portal.
    pub portal: Option<String>,
}

/// Returns the details of one kind of access in a VLAN.
pub fn details(place: &VlanObservations, internet: Internet) -> Details {
    let mut details = Details {
        ipv6: place.has_ipv6(),
        ..Details::default()
    };
    if internet == Internet::Pppoe {
        details.services = services(place);
        let names = place
            .concentrators
            .iter()
            .map(|(_, heard)| heard.name.clone());
        details.concentrators = names.filter(|name| !name.is_empty()).collect();
        return details;
    }
    let (offers, servers, routers) = (&place.offers, &place.servers, &place.routers);
    details.portal = place.portal().map(str::to_owned);
    details.nat64 = place
        .nat64()
        .map(|(prefix, length)| format!("{prefix}/{length}"));
    details.aftr = place.aftr().map(str::to_owned);
    let shared = servers.iter().flat_map(|(_, server)| &server.shared);
    details.shared = unlike(shared);
    details.delegated = unlike(
        servers
            .iter()
            .flat_map(|(_, server)| &server.prefixes)
            .map(|(it, bits)| format!("{it}/{bits}")),
    );
    details.prefixes = unlike(
        routers
            .iter()
            .flat_map(|(_, router)| &router.prefixes)
            .map(|(it, bits, _)| format!("{it}/{bits}")),
    );
    let own = servers.iter().flat_map(|(_, server)| &server.addresses);
    let dns = servers.iter().flat_map(|(_, server)| &server.dns);
    let more = routers.iter().flat_map(|(_, router)| &router.dns);
    let dns = unlike(dns.chain(more));
    details.servers = unlike(servers.iter().map(|(from, _)| *from));
    match internet {
        Internet::Static => of_stations(place, &mut details),
        Internet::Ipv6Only => {
            details.addresses = unlike(own);
            details.gateway = routers.first().map(|(router, _)| router.to_string());
            details.dns = dns;
        }
        _ => {
            if let Some(offer) = place.offer() {
                details.network = network(offer);
                details.gateway = offer.routers.first().map(ToString::to_string);
                let address = match offer.length {
                    Some(length) => format!("{}/{length}", offer.address),
                    None => offer.address.to_string(),
                };
                details.addresses = [address].into_iter().chain(unlike(own)).collect();
                let first = offer.dns.iter().map(ToString::to_string);
                details.dns = unlike(first.chain(dns));
            }
            let known = offers.iter().map(|(_, offer)| offer.server.to_string());
            details.servers = unlike(known.chain(details.servers));
        }
    }
    details
}

fn of_stations(place: &VlanObservations, details: &mut Details) {
    if let Some(seen) = place.watch.infer_network() {
        details.network = Some(seen.network);
        details.gateway = Some(seen.gateway.to_string());
        details.dns = vec![seen.gateway.to_string()];
        details.addresses = unlike(seen.stations);
    } else if let Some((prefix, most)) = place.watch.seen6() {
        details.gateway = Some(most.to_string());
        details.prefixes = vec![format!("{prefix}/64")];
    }
}

/// Returns the values as text, without duplicates, in their order.
fn unlike<T: ToString>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let all = all.into_iter().map(|one| one.to_string());
    all.filter(|one| known.insert(one.clone())).collect()
}
