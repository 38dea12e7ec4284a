//! What was learned of a way to the Internet.

use std::collections::BTreeSet;

use crate::internet::{Internet, services};
use crate::network::Network;
use crate::place::{Place, network};

/// What was learned, as people write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Services of PPPoE that have a name.
    pub services: Vec<String>,
    /// Who terminates PPPoE.
    pub concentrators: Vec<String>,
    /// Servers that answered.
    pub servers: Vec<String>,
    /// Addresses that are offered; of a network without a server, those in use.
    pub addresses: Vec<String>,
    /// The network of IPv4.
    pub network: Option<Network>,
    /// The router; a guess where there is no server.
    pub gateway: Option<String>,
    /// Name servers; of a network without a server the gateway, as a guess.
    pub dns: Vec<String>,
    /// Prefixes of IPv6 that routers advertise.
    pub prefixes: Vec<String>,
    /// Prefixes of IPv6 that are offered for the LAN.
    pub delegated: Vec<String>,
    /// Whether IPv6 is there.
    pub ipv6: bool,
    /// Routers of IPv6 advertise themselves, wherever, and none is a default router: all have a
    /// life time of 0 (RFC 4861, section 4.2).
    pub no_default_router: bool,
    /// The far end of a DS-Lite tunnel.
    pub aftr: Option<String>,
    /// Other ways to share an IPv4 address.
    pub shared: Vec<String>,
    /// The prefix of NAT64.
    pub nat64: Option<String>,
    /// Where a captive portal is.
    pub portal: Option<String>,
}

/// What was learned in a place, of one way.
pub fn details(place: &Place, internet: Internet) -> Details {
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

fn of_stations(place: &Place, details: &mut Details) {
    if let Some(seen) = place.watch.seen() {
        details.network = Some(seen.network);
        details.gateway = Some(seen.gateway.to_string());
        details.dns = vec![seen.gateway.to_string()];
        details.addresses = unlike(seen.stations);
    } else if let Some((prefix, most)) = place.watch.seen6() {
        details.gateway = Some(most.to_string());
        details.prefixes = vec![format!("{prefix}/64")];
    }
}

/// As text, each once, in their order.
fn unlike<T: ToString>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let all = all.into_iter().map(|one| one.to_string());
    all.filter(|one| known.insert(one.clone())).collect()
}
