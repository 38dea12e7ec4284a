//! Networks without a server: what stations ask each other for, by ARP (RFC 826) and by neighbour
//! solicitations (RFC 4861).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use net::Cursor;

use crate::frame::{self, Mac};
use crate::network::Network;

/// Most addresses that are kept, and most who ask for one.
const MOST: usize = 256;
/// A network is taken to be no smaller than that, as almost all are; and no larger.
const LONGEST: u8 = 24;
const SHORTEST: u8 = 16;

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// A message of ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// Whether it answers.
    pub reply: bool,
    /// Whose hardware address it tells.
    pub mac: Mac,
    /// Who sent it; 0.0.0.0 of one that looks whether an address is free (RFC 5227).
    pub sender: Ipv4Addr,
    /// Whom it asks for, or answers.
    pub target: Ipv4Addr,
}

/// Reads a message of ARP, of IPv4 over Ethernet.
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

/// Asks whether somebody has an address, without saying that this station has one (RFC 5227,
/// section 2.1): nobody notes a thing by it.
pub fn probe(mac: Mac, address: Ipv4Addr) -> Vec<u8> {
    let mut message = vec![0, 1, 8, 0, 6, 4];
    message.extend(REQUEST.to_be_bytes());
    message.extend(mac);
    message.extend([0; 4]);
    message.extend([0; 6]);
    message.extend(address.octets());
    frame::ethernet(frame::EVERYBODY, mac, None, frame::ARP, &message)
}

/// Who asked for whom.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    asked: BTreeMap<Ipv4Addr, Asked>,
    present: BTreeMap<Ipv4Addr, Mac>,
    six: BTreeMap<Ipv6Addr, u32>,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    times: u32,
    by: BTreeSet<Ipv4Addr>,
}

/// What can be concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The network, as far as it can be told.
    pub network: Network,
    /// The address most asked for: by most, then most often.
    pub gateway: Ipv4Addr,
    /// Whether no other is asked for as much.
    pub clear: bool,
    /// Whether the gateway was heard itself, or answered.
    pub answers: bool,
    /// Addresses that are in use.
    pub stations: Vec<Ipv4Addr>,
}

impl Watch {
    /// Takes a message in. Says whether it is of note.
    pub fn arp(&mut self, heard: &Arp) -> bool {
        let mut news = false;
        if is_host(heard.sender)
            && (self.present.len() < MOST || self.present.contains_key(&heard.sender))
        {
            news |= self.present.insert(heard.sender, heard.mac).is_none();
        }
        // Who asks for its own address tells that it has it (RFC 5227, section 3).
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

    /// Takes in whom a neighbour solicitation asks for. Says whether it is of note.
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

    /// The network of those that were heard; `None` where nobody asked for anybody.
    pub fn seen(&self) -> Option<Seen> {
        let weight = |(address, asked): (&Ipv4Addr, &Asked)| {
            // Between equals, where networks mostly have their gateway: first or last.
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
            .filter(|&address| near.holds(address))
            .collect();
        let network = Network::around(all.iter().copied().chain([gateway]), LONGEST)?;
        Some(Seen {
            network,
            gateway,
            clear: rivals.count() == 1,
            answers: self.present.contains_key(&gateway),
            stations: all.into_iter().take(16).collect(),
        })
    }

    /// The prefix of 64 bits that the IPv6 address most asked for is in, and that address.
    pub fn seen6(&self) -> Option<(Ipv6Addr, Ipv6Addr)> {
        let most = self.six.iter().max_by_key(|(_, times)| **times)?;
        let mut octets = most.0.octets();
        octets[8..].fill(0);
        Some((octets.into(), *most.0))
    }
}

/// Whether a host can have the address.
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
        let mut watch = Watch::default();
        assert_eq!(watch.seen(), None);
        for _ in 0..9 {
            watch.arp(&asks([10, 1, 2, 5], [10, 1, 2, 7]));
        }
        for host in [5, 6, 7] {
            assert!(watch.arp(&asks([10, 1, 2, host], [10, 1, 2, 99])));
        }
        let seen = watch.seen().expect("a network");
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
        let mut watch = Watch::default();
        watch.arp(&asks([192, 0, 2, 1], [192, 0, 2, 9]));
        watch.arp(&asks([192, 0, 2, 9], [192, 0, 2, 1]));
        let seen = watch.seen().expect("a network");
        assert_eq!(
            (seen.gateway.octets()[3], seen.clear, seen.answers),
            (1, false, true)
        );
    }

    #[test]
    fn probes_and_own_addresses_ask_for_nobody() {
        let mut watch = Watch::default();
        watch.arp(&asks([0, 0, 0, 0], [192, 0, 2, 1]));
        watch.arp(&asks([192, 0, 2, 2], [192, 0, 2, 2]));
        watch.arp(&asks([169, 254, 2, 2], [169, 254, 2, 1]));
        assert_eq!(watch.seen(), None);
    }

    #[test]
    fn a_probe_says_nothing_of_its_sender() {
        let frame = probe([2, 0, 0, 0, 0, 1], [192, 0, 2, 1].into());
        let read = arp(&frame[14..]).expect("ARP");
        assert_eq!((read.reply, read.sender.is_unspecified()), (false, true));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut watch = Watch::default();
        for number in 0..4000u32 {
            let [_, _, c, d] = number.to_be_bytes();
            watch.arp(&asks([10, 1, c, d], [10, 2, c, d]));
            watch.solicited(Ipv6Addr::from((0x2001 << 112) + u128::from(number)));
        }
        assert!(watch.asked.len() == MOST && watch.present.len() == MOST);
        assert!(watch.six.len() == MOST);
    }
}
