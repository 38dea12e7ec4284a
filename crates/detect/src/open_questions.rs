//! Open questions: reported, so that silence is not taken for an answer.

use crate::evidence::listed;
use crate::internet::{Internet, services};
use crate::observations::Observations;
use crate::vlan_observations::VlanObservations;

/// Returns the open questions about a suggestion.
pub fn open_questions(
    heard: &Observations,
    internet: Internet,
    place: &VlanObservations,
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    match internet {
        Internet::None => return of_nothing(heard),
        Internet::Pppoe => {
            all.push("User name and password: ask the provider.".into());
            let services = services(place);
            if services.len() > 1 {
                let services = listed(services);
                all.push(format!(
                    "Several services are offered, and the right one is not known: {services}."
                ));
            }
            if place.concentrators.len() > 1 {
                all.push("Several PPPoE servers answered, and the provider's is not known.".into());
            }
            all.push("IPv6 in the session: the server announces it after the log-in.".into());
            return all;
        }
        Internet::Static => of_stations(place, &mut all),
        Internet::Dhcp | Internet::Ipv6Only => {
            if place.portal().is_none() {
                all.push(
                    "A captive portal: none was announced, and requesting a page takes an address, which \
                     detection does not."
                        .into(),
                );
            }
        }
    }
    if internet == Internet::Dhcp {
        if !place.rivals().is_empty() {
            all.push("Several DHCP servers answered, and the provider's is not known.".into());
        }
        if place.offer().is_some_and(|offer| !offer.leads_out()) {
            all.push("A way to the Internet: no router was announced.".into());
        }
        if place.offer().is_some_and(|offer| offer.ipv6_only.is_some()) {
            all.push("The prefix of NAT64: no router announces it.".into());
        }
    }
    if internet == Internet::Ipv6Only {
        let shared = place
            .servers
            .iter()
            .any(|(_, server)| !server.shared.is_empty());
        if place.nat64().is_none() && place.aftr().is_none() && !shared {
            all.push(
                "IPv4 over this line: neither NAT64 nor DS-Lite, MAP or lightweight 4over6 was \
                 announced."
                    .into(),
            );
        }
        if !place
            .servers
            .iter()
            .any(|(_, server)| !server.prefixes.is_empty())
        {
            all.push("A prefix for the LAN: no server offered one.".into());
        }
    }
    let silent = place
        .routers
        .iter()
        .any(|(_, router)| router.managed || router.other);
    if silent && place.servers.is_empty() {
        all.push(
            "The data of the DHCPv6 server that the router announces: the server did not answer."
                .into(),
        );
    }
    if heard.options.link_local.is_none() && place.servers.is_empty() {
        all.push(
            "A DHCPv6 server that requires a link-local address: the port has none, and no server \
             answered."
                .into(),
        );
    }
    all
}

fn of_stations(place: &VlanObservations, all: &mut Vec<String>) {
    all.push("A free address for this router: ask the network's owner.".into());
    if let Some(seen) = place.watch.infer_network() {
        all.push(format!(
            "The size of the network: {} is the smallest usual network around the observed \
                stations.",
            seen.network
        ));
        if seen.clear {
            all.push(format!(
                "A way to the Internet through {}: not tested.",
                seen.gateway
            ));
        } else {
            all.push(format!(
                "The router of this network: several stations are equally likely, and {} is a guess.",
                seen.gateway
            ));
        }
    }
    all.push("Name servers: none were announced.".into());
}

fn of_nothing(heard: &Observations) -> Vec<String> {
    let looped = heard.itself || heard.places.values().any(|place| place.looped);
    match heard.link {
        Some(true) if looped => vec!["The network behind the loop.".into()],
        Some(true) => vec![
            "A network with static addresses whose stations sent nothing.".into(),
            "Another VLAN than those tried.".into(),
            "A modem that is still starting, or a line that is down.".into(),
            "A network that requires 802.1X, or accepts only another hardware address.".into(),
        ],
        _ => vec![
            "The provider's kind of connection: without a link, no question can be \
             sent."
                .into(),
        ],
    }
}
