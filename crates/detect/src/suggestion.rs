//! Suggestion from the observations: the kind of Internet access, and the reasons.

use std::fmt;

use crate::details::{Details, details};
use crate::evidence::listed;
use crate::frame;
use crate::internet::Internet;
use crate::network::Network;
use crate::observations::Observations;
use crate::open_questions::open_questions;
use crate::vlan_observations::VlanObservations;

/// A suggested configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// Kind of Internet access.
    pub internet: Internet,
    /// VLAN; `None`: untagged.
    pub vlan: Option<u16>,
    /// Details of the access.
    pub details: Details,
    /// Another network for the LAN, if needed.
    pub lan: Option<Lan>,
    /// Reasons, in sentences.
    pub why: Vec<String>,
    /// True if no evidence contradicts the suggestion.
    pub confident: bool,
    /// Open questions.
    pub open_questions: Vec<String>,
}

/// A replacement network for the LAN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lan {
    /// The conflicting network.
    pub former: Network,
    /// Network that overlaps nothing observed; `None`: none found.
    pub network: Option<Network>,
    /// Reason for the change.
    pub why: String,
}

/// Kind of Internet access, in ascending order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Stations,
    /// A DHCP server without a route to the Internet.
    Addresses,
    Ipv6,
    Dhcp,
    Pppoe,
}

impl Way {
    fn leads_out(self) -> bool {
        self >= Self::Ipv6
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stations => "stations that ask for each other",
            Self::Addresses => "DHCP without a router",
            Self::Ipv6 => "IPv6",
            Self::Dhcp => "DHCP",
            Self::Pppoe => "PPPoE",
        })
    }
}

fn way(place: &VlanObservations) -> Option<Way> {
    let offer = place.offer();
    // If the server asks clients to do without IPv4, and NAT64 is available, IPv4 is not used.
    let left_alone = offer.is_some_and(|it| it.ipv6_only.is_some()) && place.nat64().is_some();
    let stations = place.watch.infer_network().is_some() || place.watch.seen6().is_some();
    let ways = [
        (!place.concentrators.is_empty(), Way::Pppoe),
        (
            offer.is_some_and(|it| it.leads_out()) && !left_alone,
            Way::Dhcp,
        ),
        (place.has_ipv6(), Way::Ipv6),
        (offer.is_some(), Way::Addresses),
        (stations, Way::Stations),
    ];
    ways.into_iter()
        .find(|(there, _)| *there)
        .map(|(_, way)| way)
}

/// Returns the suggestion from the observations.
pub fn suggest(heard: &Observations) -> Suggestion {
    let mut suggestion = found(heard);
    let all = heard.places.values().flat_map(|place| &place.routers);
    let mut routers = all.map(|(_, router)| router.lifetime > 0).peekable();
    suggestion.details.no_default_router = routers.peek().is_some() && !routers.any(|leads| leads);
    suggestion
}

fn found(heard: &Observations) -> Suggestion {
    let mut ways: Vec<(Option<u16>, Way)> = Vec::new();
    for (vlan, place) in &heard.places {
        ways.extend(way(place).map(|way| (*vlan, way)));
    }
    // Order: a route to the Internet first; then untagged; then the better kind; then the lower
    // number.
    ways.sort_by_key(|&(vlan, way)| (!way.leads_out(), vlan.is_some(), std::cmp::Reverse(way)));
    let Some(&(vlan, way)) = ways.first().filter(|_| heard.link != Some(false)) else {
        return nothing(heard);
    };
    let place = &heard.places[&vlan];
    let internet = match way {
        Way::Pppoe => Internet::Pppoe,
        Way::Dhcp | Way::Addresses => Internet::Dhcp,
        Way::Ipv6 => Internet::Ipv6Only,
        Way::Stations => Internet::Static,
    };
    let mut reasons = Reasons::default();
    reasons.of_way(way, place);
    let others: Vec<_> = ways[1..]
        .iter()
        .filter(|(_, other)| other.leads_out())
        .collect();
    if let Some(number) = vlan {
        reasons.say(format!(
            "Answers come in VLAN {number} only: frames need that tag."
        ));
    }
    if !others.is_empty() && way.leads_out() {
        let others = others.iter().map(|(vlan, way)| match vlan {
            Some(number) => format!("{way} in VLAN {number}"),
            None => format!("{way} without a tag"),
        });
        let first = match vlan {
            None => "answers without a tag are preferred",
            Some(_) => "the more usual kind is preferred",
        };
        reasons.doubt(format!("Also found: {}; {first}.", listed(others)));
    }
    if heard.places.values().any(|place| place.looped) {
        reasons.doubt("Own frames come back, so there is a loop: remove it first.".into());
    }
    if heard.itself {
        reasons.doubt("The cable leads back to another port of this router.".into());
    }
    Suggestion {
        internet,
        vlan,
        details: details(place, internet),
        lan: lan(heard, vlan),
        open_questions: open_questions(heard, internet, place),
        why: reasons.why,
        confident: !reasons.doubted,
    }
}

fn nothing(heard: &Observations) -> Suggestion {
    let place = VlanObservations::default();
    let looped = heard.places.values().any(|place| place.looped);
    let (why, confident) = match heard.link {
        Some(true) if heard.itself => (
            "The cable leads back to another port of this router: plug it into the modem.",
            true,
        ),
        Some(true) if looped => (
            "Only own frames come back: there is a loop in the cabling or in the modem.",
            true,
        ),
        Some(true) if heard.leads_out => (
            "The port already leads to the Internet, and no server offers another connection: \
             keep its settings.",
            true,
        ),
        Some(true) => (
            "There is a link, but no device answers or sends anything.",
            false,
        ),
        _ => (
            "The port has no link: check the cable, and whether the modem is on.",
            true,
        ),
    };
    // No server offers a fixed address.
    let works = heard.link == Some(true) && heard.leads_out && !heard.itself && !looped;
    let internet = match works {
        true => Internet::Static,
        false => Internet::None,
    };
    Suggestion {
        internet,
        vlan: None,
        details: Details::default(),
        lan: None,
        why: vec![why.into()],
        confident,
        open_questions: match works {
            true => Vec::new(),
            false => open_questions(heard, Internet::None, &place),
        },
    }
}

/// Sentences, and true if one of them contradicts the suggestion.
#[derive(Default)]
struct Reasons {
    why: Vec<String>,
    doubted: bool,
}

impl Reasons {
    fn say(&mut self, why: String) {
        self.why.push(why);
    }

    fn doubt(&mut self, why: String) {
        self.say(why);
        self.doubted = true;
    }

    fn of_way(&mut self, way: Way, place: &VlanObservations) {
        match way {
            Way::Pppoe => self.of_pppoe(place),
            Way::Dhcp | Way::Addresses => self.of_dhcp(place),
            Way::Ipv6 => self.of_ipv6(place),
            Way::Stations => self.of_stations(place),
        }
    }

    fn of_pppoe(&mut self, place: &VlanObservations) {
        let name =
            |(mac, heard): &(frame::Mac, crate::pppoe::Concentrator)| match heard.name.as_str() {
                "" => net::mac::text(mac),
                name => name.to_owned(),
            };
        let names = listed(place.concentrators.iter().map(name));
        self.say(format!("PPPoE answers come from {names}."));
        let errors = place
            .concentrators
            .iter()
            .any(|(_, heard)| !heard.errors.is_empty());
        if errors {
            self.doubt("The PPPoE server reports an error at the moment.".into());
        }
        let Some(offer) = place.offer() else { return };
        let server = offer.server;
        if offer.leads_out() {
            self.doubt(format!(
                "The DHCP server {server} also answers, with a router: most modems do that for \
                 their own page, but it may lead to the Internet. If the provider gave no name \
                 and password, use DHCP."
            ));
        } else {
            self.say(format!(
                "The DHCP server {server} also answers, but without a router: a modem gives \
                 access to its own page that way, not to the Internet."
            ));
        }
    }

    fn of_dhcp(&mut self, place: &VlanObservations) {
        let Some(offer) = place.offer() else { return };
        let server = offer.server;
        if offer.leads_out() {
            self.say(format!(
                "The DHCP server {server} offers an address and a router."
            ));
        } else {
            self.doubt(format!(
                "The DHCP server {server} answers, but without a router: it may lead to a \
                 modem's own page only."
            ));
        }
        let rivals = place.rivals();
        if !rivals.is_empty() {
            let rivals = listed(rivals);
            self.doubt(format!(
                "DHCP servers contradict each other: {rivals}. The first to answer would win."
            ));
        }
        if offer.ipv6_only.is_some() {
            self.say(
                "The network asks devices to do without IPv4, but no router announces a prefix \
                 of NAT64."
                    .into(),
            );
        }
        match (
            place.has_ipv6(),
            place.servers.iter().any(|(_, it)| !it.prefixes.is_empty()),
        ) {
            (true, true) => self.say("IPv6 is available, with a prefix for the LAN.".into()),
            (true, false) => self.say("IPv6 is available, without a prefix for the LAN.".into()),
            (false, _) => self.say("No IPv6 router answers.".into()),
        }
        self.of_sharing(place);
    }

    fn of_ipv6(&mut self, place: &VlanObservations) {
        let routers = !place.routers.is_empty();
        self.say(match (routers, place.offer()) {
            (_, Some(offer)) if offer.ipv6_only.is_some() => format!(
                "The DHCP server {} asks devices to do without IPv4, and NAT64 is available.",
                offer.server
            ),
            (_, Some(offer)) => format!(
                "IPv6 is available. The DHCP server {} answers, but without a router.",
                offer.server
            ),
            (true, None) => "An IPv6 router answers, but no DHCP server for IPv4.".into(),
            (false, None) => "A DHCPv6 server answers, but no DHCP server for IPv4.".into(),
        });
        if !routers {
            self.doubt("No IPv6 router was found.".into());
        }
        if let Some((prefix, length)) = place.nat64() {
            self.say(format!(
                "IPv4 is reached by NAT64 with the prefix {prefix}/{length}: the LAN's IPv4 needs \
                 464XLAT (RFC 6877)."
            ));
        }
        self.of_sharing(place);
        if !place.servers.iter().any(|(_, it)| !it.prefixes.is_empty()) {
            self.doubt("No server offers a prefix for the LAN.".into());
        }
    }

    fn of_sharing(&mut self, place: &VlanObservations) {
        if let Some(name) = place.aftr() {
            self.say(format!("IPv4 comes through a tunnel to {name} (DS-Lite)."));
        }
        for shared in place.servers.iter().flat_map(|(_, server)| &server.shared) {
            self.say(format!("The provider uses {shared} for IPv4."));
        }
    }

    fn of_stations(&mut self, place: &VlanObservations) {
        if let Some(seen) = place.watch.infer_network() {
            self.doubt(format!(
                "No server answers, but stations of {} ask for each other, most often for {}.",
                seen.network, seen.gateway
            ));
            if seen.answers {
                self.say(format!("{} is present.", seen.gateway));
            }
        }
        if let Some((prefix, most)) = place.watch.seen6() {
            self.doubt(format!(
                "Stations of {prefix}/64 ask for each other, as for {most}."
            ));
        }
    }
}

/// Returns another network for the LAN, if the uplink uses the same one.
fn lan(heard: &Observations, vlan: Option<u16>) -> Option<Lan> {
    let lans = &heard.options.lans;
    // The network of a modem's own page conflicts, too.
    let ways = [Some(vlan), Some(None).filter(|_| vlan.is_some())];
    let near = ways
        .into_iter()
        .flatten()
        .filter_map(|vlan| heard.places.get(&vlan));
    let near: Vec<Network> = near.flat_map(VlanObservations::networks).collect();
    let clash = |lan: &&Network| near.iter().any(|network| network.overlaps(lan));
    let former = *lans.iter().find(clash)?;
    // Prefers a whole network to a single address of it.
    let by = near.iter().filter(|network| network.overlaps(&former));
    let by = by.min_by_key(|network| network.length())?;
    let mut taken: Vec<Network> = heard
        .places
        .values()
        .flat_map(VlanObservations::networks)
        .collect();
    taken.extend(lans);
    let network = Network::free(&taken);
    let why = match network {
        Some(network) => format!(
            "The uplink uses {by}, and the LAN {former}: no device of the LAN would reach it. \
             {network} overlaps no network seen here."
        ),
        None => format!("The uplink uses {by}, and the LAN {former}; no private network is free."),
    };
    Some(Lan {
        former,
        network,
        why,
    })
}
