//! What was heard in one VLAN, or without a tag.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::dhcp4::Offer;
use crate::dhcp6::Advertise;
use crate::frame::Mac;
use crate::network::Network;
use crate::plan::Probe;
use crate::pppoe::Concentrator;
use crate::router::Advertisement;
use crate::watch::Watch;

/// Most that are kept of a kind.
const MOST: usize = 8;

/// What was heard in one VLAN, each from whom.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Offers of DHCP.
    pub offers: Vec<(Mac, Offer)>,
    /// What servers of DHCPv6 have.
    pub servers: Vec<(Ipv6Addr, Advertise)>,
    /// Routers of IPv6.
    pub routers: Vec<(Ipv6Addr, Advertisement)>,
    /// Who terminates PPPoE.
    pub concentrators: Vec<(Mac, Concentrator)>,
    /// Who asked for whom.
    pub watch: Watch,
    /// Whether own frames came back.
    pub looped: bool,
}

/// Notes what one says; the last that it said counts. Says whether there is news.
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

impl Place {
    /// Whether somebody answered that.
    pub fn answered(&self, probe: Probe) -> bool {
        match probe {
            Probe::Routers => !self.routers.is_empty(),
            Probe::Dhcp6 => !self.servers.is_empty(),
            Probe::Pppoe => !self.concentrators.is_empty(),
            Probe::Dhcp4 => !self.offers.is_empty(),
        }
    }

    /// Whether somebody answered anything.
    pub fn has_answers(&self) -> bool {
        crate::plan::PROBES
            .iter()
            .any(|&probe| self.answered(probe))
    }

    /// The offer that an address would be taken of: the first that shows a way out.
    pub fn offer(&self) -> Option<&Offer> {
        let usable = |offer: &&Offer| !offer.address.is_unspecified();
        let mut usable = self.offers.iter().map(|(_, offer)| offer).filter(usable);
        let first = usable.clone().next();
        usable.find(|offer| offer.leads_out()).or(first)
    }

    /// Servers of DHCP, where they say different things of the network. Those that stand in for
    /// each other say the same.
    pub fn rivals(&self) -> Vec<Ipv4Addr> {
        let of = |offer: &Offer| (network(offer), offer.routers.clone());
        let mut all = self.offers.iter().map(|(_, offer)| of(offer));
        let first = all.next();
        if all.all(|other| Some(other) == first) {
            return Vec::new();
        }
        self.offers.iter().map(|(_, offer)| offer.server).collect()
    }

    /// The prefix of NAT64, where a router says it.
    pub fn nat64(&self) -> Option<(Ipv6Addr, u8)> {
        self.routers.iter().find_map(|(_, router)| router.nat64)
    }

    /// Whether a router or a server of IPv6 shows a way out.
    pub fn has_ipv6(&self) -> bool {
        let routes = self.routers.iter().any(|(_, router)| router.lifetime > 0);
        routes || self.servers.iter().any(|(_, server)| server.gives())
    }

    /// Where a captive portal says it is.
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

    /// The far end of DS-Lite's tunnel.
    pub fn aftr(&self) -> Option<&str> {
        self.servers
            .iter()
            .find_map(|(_, server)| server.aftr.as_deref())
    }

    /// Networks of IPv4 that are in use here, as far as they were heard of.
    pub fn networks(&self) -> Vec<Network> {
        let one = |address: &Ipv4Addr| Network::new(*address, 32);
        let mut all = Vec::new();
        for (_, offer) in &self.offers {
            all.extend(network(offer));
            all.extend(offer.routers.iter().chain(&offer.dns).map(one));
            all.push(one(&offer.server));
        }
        all.extend(self.watch.seen().map(|seen| seen.network));
        all
    }
}

/// The network of an offer. Without a mask it is taken to be of 256 addresses.
pub fn network(offer: &Offer) -> Option<Network> {
    let length = offer.length.unwrap_or(24);
    (!offer.address.is_unspecified()).then(|| Network::new(offer.address, length))
}
