//! Networks without a server: queries between stations, by ARP (RFC 826) and by neighbour
//! solicitations (RFC 4861).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use net::Cursor;

use crate::frame::{self, Mac};
use crate::network::Network;

/// Most stored addresses, and most stored askers of one address.
const MOST: usize = 256;
/// Longest and shortest assumed prefix length; almost all networks are at least /24.
const LONGEST: u8 = 24;
const SHORTEST: u8 = 16;

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// An ARP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// True for a reply.
    pub reply: bool,
    /// Hardware address of the sender.
    pub mac: Mac,
    /// Address of the sender; 0.0.0.0 for a probe for a free address (RFC 5227).
    pub sender: Ipv4Addr,
    /// Address that is queried or answered.
    pub target: Ipv4Addr,
}

/// Parses an ARP message for IPv4 over Ethernet.
pub fn arp(octets: &[u8]) -> Option<Arp> {
    let mut cursor = Cursor(octets);
    if cursor.array()? != [0, 1, 8, 0, 6, 4] {
        return None;
    }
    let operation = cursor.u16()?;
    let (mac, sender) = (cursor.array()?, cursor.array::<4>()?.into());
    cursor.take(6)?;
    let target = cursor.array::<4>()?.into();
    [REQUEST, REPLY].contains(&operation).then_some(Arp {
        reply: operation == REPLY,
        mac,
        sender,
        target,
    })
}

/// Returns an ARP probe for an address, without a sender address (RFC 5227, section 2.1): no
/// station records an entry from it.
pub fn probe(mac: Mac, address: Ipv4Addr) -> Vec<u8> {
    let mut message = vec![0, 1, 8, 0, 6, 4];
    message.extend(REQUEST.to_be_bytes());
    message.extend(mac);
    message.extend([0; 4]);
    message.extend([0; 6]);
    message.extend(address.octets());
    frame::ethernet(frame::EVERYBODY, mac, None, frame::ARP, &message)
}

/// Queries between stations.
#[derive(Clone, Debug, Default)]
pub struct StationQueries {
    asked: BTreeMap<Ipv4Addr, Asked>,
    present: BTreeMap<Ipv4Addr, Mac>,
    six: BTreeMap<Ipv6Addr, u32>,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    times: u32,
    by: BTreeSet<Ipv4Addr>,
}

/// Conclusions from the queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferredNetwork {
    /// The network, as far as it can be inferred.
    pub network: Network,
    /// Address queried by most stations, then most often.
    pub gateway: Ipv4Addr,
    /// True if no other address is queried as much.
    pub clear: bool,
    /// True if the gateway sent frames or answered.
    pub answers: bool,
    /// Addresses that are in use.
    pub stations: Vec<Ipv4Addr>,
}

impl StationQueries {
    /// Takes a message in. Returns true if it is new evidence.
    pub fn arp(&mut self, heard: &Arp) -> bool {
        let mut news = false;
        if is_host(heard.sender)
            && (self.present.len() < MOST || self.present.contains_key(&heard.sender))
        {
            news |= self.present.insert(heard.sender, heard.mac).is_none();
        }
        // A station that queries its own address announces it (RFC 5227, section 3).
        let asks = !heard.reply && heard.sender != heard.target;
        if asks
            && is_host(heard.sender)
            && is_host(heard.target)
            && (self.asked.len() < MOST || self.asked.contains_key(&heard.target))
        {
            let asked = self.asked.entry(heard.target).or_default();
            asked.times = asked.times.saturating_add(1);
            news |= asked.by.len() < MOST && asked.by.insert(heard.sender);
        }
        news
    }

    /// Takes in the target of a neighbour solicitation. Returns true if it is new evidence.
    pub fn solicited(&mut self, target: Ipv6Addr) -> bool {
        // Global unicast (2000::/3) and unique local addresses (fc00::/7).
        let first = target.octets()[0];
        let routed = first >> 5 == 1 || first >> 1 == 0x7e;
        if !routed || (self.six.len() >= MOST && !self.six.contains_key(&target)) {
            return false;
        }
        let times = self.six.entry(target).or_default();
        *times = times.saturating_add(1);
        *times == 1
    }

    /// Returns the network of the observed stations; `None` without queries.
    pub fn infer_network(&self) -> Option<InferredNetwork> {
        let weight = |(address, asked): (&Ipv4Addr, &Asked)| {
            // Between equals, prefers the usual gateway addresses: the first or the last.
            let usual = matches!(address.octets()[3], 1 | 254);
            (
                asked.by.len(),
                asked.times,
                usual,
                std::cmp::Reverse(*address),
            )
        };
        let best = self.asked.iter().max_by_key(|&one| weight(one))?;
        let gateway = *best.0;
        let rivals = self
            .asked
            .iter()
            .filter(|(_, asked)| asked.by.len() == best.1.by.len());
        let near = Network::new(gateway, SHORTEST);
        let askers = self.asked.values().flat_map(|asked| &asked.by);
        let all: BTreeSet<Ipv4Addr> = self
            .present
            .keys()
            .chain(askers)
            .copied()
            .filter(|&address| near.contains(address))
            .collect();
        let network = Network::containing(all.iter().copied().chain([gateway]), LONGEST)?;
        Some(InferredNetwork {
            network,
            gateway,
            clear: rivals.count() == 1,
            answers: self.present.contains_key(&gateway),
            stations: all.into_iter().take(16).collect(),
        })
    }

    /// Returns the /64 prefix of the most queried IPv6 address, and that address.
    pub fn seen6(&self) -> Option<(Ipv6Addr, Ipv6Addr)> {
        let most = self.six.iter().max_by_key(|(_, times)| **times)?;
        let mut octets = most.0.octets();
        octets[8..].fill(0);
        Some((octets.into(), *most.0))
    }
}

/// Returns true if a host can have the address.
fn is_host(address: Ipv4Addr) -> bool {
    let first = address.octets()[0];
    (1..224).contains(&first) && first != 127 && !address.is_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(sender: [u8; 4], target: [u8; 4]) -> Arp {
        Arp {
            reply: false,
            mac: [2, 0, 0, 0, 0, sender[3]],
            sender: sender.into(),
            target: target.into(),
        }
    }

    #[test]
    fn the_gateway_is_whom_most_ask_for() {
        let mut watch = StationQueries::default();
        assert_eq!(watch.infer_network(), None);
        for _ in 0..9 {
            watch.arp(&asks([10, 1, 2, 5], [10, 1, 2, 7]));
        }
        for host in [5, 6, 7] {
            assert!(watch.arp(&asks([10, 1, 2, host], [10, 1, 2, 99])));
        }
        let seen = watch.infer_network().expect("a network");
        assert_eq!(
            (seen.gateway.to_string().as_str(), seen.clear),
            ("10.1.2.99", true)
        );
        assert_eq!(
            (seen.network.to_string().as_str(), seen.answers),
            ("10.1.2.0/24", false)
        );
    }

    #[test]
    fn between_equals_nobody_can_tell() {
        let mut watch = StationQueries::default();
        watch.arp(&asks([192, 0, 2, 1], [192, 0, 2, 9]));
        watch.arp(&asks([192, 0, 2, 9], [192, 0, 2, 1]));
        let seen = watch.infer_network().expect("a network");
        assert_eq!(
            (seen.gateway.octets()[3], seen.clear, seen.answers),
            (1, false, true)
        );
    }

    #[test]
    fn probes_and_own_addresses_ask_for_nobody() {
        let mut watch = StationQueries::default();
        watch.arp(&asks([0, 0, 0, 0], [192, 0, 2, 1]));
        watch.arp(&asks([192, 0, 2, 2], [192, 0, 2, 2]));
        watch.arp(&asks([169, 254, 2, 2], [169, 254, 2, 1]));
        assert_eq!(watch.infer_network(), None);
    }

    #[test]
    fn a_probe_says_nothing_of_its_sender() {
        let frame = probe([2, 0, 0, 0, 0, 1], [192, 0, 2, 1].into());
        let read = arp(&frame[14..]).expect("ARP");
        assert_eq!((read.reply, read.sender.is_unspecified()), (false, true));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut watch = StationQueries::default();
        for number in 0..4000u32 {
            let [_, _, c, d] = number.to_be_bytes();
            watch.arp(&asks([10, 1, c, d], [10, 2, c, d]));
            watch.solicited(Ipv6Addr::from((0x2001 << 112) + u128::from(number)));
        }
        assert!(watch.asked.len() == MOST && watch.present.len() == MOST);
        assert!(watch.six.len() == MOST);
    }
}
