//! Observations in one VLAN, or without a tag.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::dhcp4::Offer;
use crate::dhcp6::Advertise;
use crate::frame::Mac;
use crate::network::Network;
use crate::plan::Probe;
use crate::pppoe::Concentrator;
use crate::router::Advertisement;
use crate::station_queries::StationQueries;

/// Most stored elements of a kind.
const MOST: usize = 8;

/// Observations in one VLAN, each with its sender.
#[derive(Clone, Debug, Default)]
pub struct VlanObservations {
    /// DHCP offers.
    pub offers: Vec<(Mac, Offer)>,
    /// Advertisements of DHCPv6 servers.
    pub servers: Vec<(Ipv6Addr, Advertise)>,
    /// IPv6 router advertisements.
    pub routers: Vec<(Ipv6Addr, Advertisement)>,
    /// PPPoE access concentrators.
    pub concentrators: Vec<(Mac, Concentrator)>,
    /// Queries between stations.
    pub watch: StationQueries,
    /// True if own frames came back.
    pub looped: bool,
}

/// Stores the latest value of a sender. Returns true if it is new.
pub fn note<K: PartialEq, V: PartialEq>(all: &mut Vec<(K, V)>, who: K, what: V) -> bool {
    if let Some((_, former)) = all.iter_mut().find(|(known, _)| *known == who) {
        let news = *former != what;
        *former = what;
        return news;
    }
    let room = all.len() < MOST;
    if room {
        all.push((who, what));
    }
    room
}

impl VlanObservations {
    /// Returns true if a station answered that probe.
    pub fn answered(&self, probe: Probe) -> bool {
        match probe {
            Probe::Routers => !self.routers.is_empty(),
            Probe::Dhcp6 => !self.servers.is_empty(),
            Probe::Pppoe => !self.concentrators.is_empty(),
            Probe::Dhcp4 => !self.offers.is_empty(),
        }
    }

    /// Returns true if a station answered any probe.
    pub fn has_answers(&self) -> bool {
        crate::plan::PROBES
            .iter()
            .any(|&probe| self.answered(probe))
    }

    /// Returns the offer that a client would take: the first one with a route to the Internet.
    pub fn offer(&self) -> Option<&Offer> {
        let usable = |offer: &&Offer| !offer.address.is_unspecified();
        let mut usable = self.offers.iter().map(|(_, offer)| offer).filter(usable);
        let first = usable.clone().next();
        usable.find(|offer| offer.leads_out()).or(first)
    }

    /// Returns the DHCP servers, if they contradict each other about the network. Servers that
    /// replace each other agree.
    pub fn rivals(&self) -> Vec<Ipv4Addr> {
        let of = |offer: &Offer| (network(offer), offer.routers.clone());
        let mut all = self.offers.iter().map(|(_, offer)| of(offer));
        let first = all.next();
        if all.all(|other| Some(other) == first) {
            return Vec::new();
        }
        self.offers.iter().map(|(_, offer)| offer.server).collect()
    }

    /// Returns the NAT64 prefix, if a router announces it.
    pub fn nat64(&self) -> Option<(Ipv6Addr, u8)> {
        self.routers.iter().find_map(|(_, router)| router.nat64)
    }

    /// Returns true if an IPv6 router or server offers a route to the Internet.
    pub fn has_ipv6(&self) -> bool {
        let routes = self.routers.iter().any(|(_, router)| router.lifetime > 0);
        routes || self.servers.iter().any(|(_, server)| server.gives())
    }

    /// Returns the address of a captive portal.
    pub fn portal(&self) -> Option<&str> {
        let offered = self.offers.iter().map(|(_, offer)| offer.portal.as_deref());
        let advertised = self
            .routers
            .iter()
            .map(|(_, router)| router.portal.as_deref());
        let served = self
            .servers
            .iter()
            .map(|(_, server)| server.portal.as_deref());
        offered.chain(advertised).chain(served).flatten().next()
    }

    /// Returns the remote end of the DS-Lite tunnel.
    pub fn aftr(&self) -> Option<&str> {
        self.servers
            .iter()
            .find_map(|(_, server)| server.aftr.as_deref())
    }

    /// Returns the IPv4 networks observed in use here.
    pub fn networks(&self) -> Vec<Network> {
        let one = |address: &Ipv4Addr| Network::new(*address, 32);
        let mut all = Vec::new();
        for (_, offer) in &self.offers {
            all.extend(network(offer));
            all.extend(offer.routers.iter().chain(&offer.dns).map(one));
            all.push(one(&offer.server));
        }
        all.extend(self.watch.infer_network().map(|seen| seen.network));
        all
    }
}

/// Returns the network of an offer. Without a mask, 256 addresses are assumed.
pub fn network(offer: &Offer) -> Option<Network> {
    let length = offer.length.unwrap_or(24);
    (!offer.address.is_unspecified()).then(|| Network::new(offer.address, length))
}
