//! The detection itself: takes received frames and the time; returns frames to send and evidence.

use std::mem;
use std::net::Ipv6Addr;

use crate::describe;
use crate::dhcp4;
use crate::dhcp6;
use crate::evidence::{Evidence, Fields, Kind, field, fields, listed};
use crate::frame::{self, EVERYBODY, Frame, Ipv6Payload};
use crate::numbers::{NUMBERS, provider};
use crate::observations::{Observations, Options};
use crate::plan::{Plan, Probe};
use crate::pppoe;
use crate::router;
use crate::station_queries;
use crate::suggestion::{Suggestion, suggest};
use crate::vlan_observations::{self, VlanObservations};

/// Largest number of stored VLANs.
const MOST_PLACES: usize = 32;
/// Largest numbers of stored pieces of evidence, and of those about stations' queries.
const MOST_EVIDENCE: usize = 200;
const MOST_ASKED: usize = 16;
/// Times of the probes for a gateway that is known only from queries, in milliseconds.
const PROBED: [u64; 2] = [2800, 3500];
/// Earliest conclusive time, in milliseconds: servers answer late, because they first check that an
/// address is free.
const EARLIEST: u64 = 2600;
/// Time without new evidence before a conclusion, in milliseconds.
const QUIET: u64 = 1000;

/// A running detection. Times are milliseconds since any moment, and never go back.
#[derive(Debug)]
pub struct Detection {
    observations: Observations,
    plan: Plan,
    sent: usize,
    probed: usize,
    began: u64,
    news_at: u64,
    asked: usize,
    told: usize,
    new_evidence: Vec<Evidence>,
}

impl Detection {
    /// Returns a detection that begins with the link.
    pub fn new(options: Options) -> Self {
        let plan = match options.untagged {
            true => Plan::untagged(),
            false => Plan::default(),
        };
        Self {
            observations: Observations::new(options),
            plan,
            sent: 0,
            probed: 0,
            began: 0,
            news_at: 0,
            asked: 0,
            told: 0,
            new_evidence: Vec::new(),
        }
    }

    /// Notes that the port has a link, or has none. Probes start with the first link.
    pub fn link(&mut self, there: bool, now: u64) {
        if self.observations.link == Some(there) {
            return;
        }
        if there && self.observations.link != Some(true) {
            self.began = now;
        }
        let first = self.observations.link.is_none();
        self.observations.link = Some(there);
        match there {
            true => self.tell(
                None,
                now,
                (Kind::Link, Fields::new(), "The port has a link".into()),
            ),
            false => {
                let text = match first {
                    true => "The port has no link: no cable, or the device at the other end is off",
                    false => "The link was lost",
                };
                self.tell(None, now, (Kind::NoLink, Fields::new(), text.into()));
            }
        }
    }

    /// Sets the port's link-local address.
    pub fn link_local(&mut self, address: Ipv6Addr) {
        self.observations.options.link_local = Some(address);
    }

    /// Notes that the port is in use, which only the system knows.
    pub fn in_use(&mut self, how: &str, now: u64) {
        let told = (
            Kind::InUse,
            fields([field("how", [how])]),
            format!("The port {how}"),
        );
        self.tell(None, now, told);
    }

    /// Notes that the default route leaves by the port, which only the system knows.
    pub fn leads_out(&mut self) {
        self.observations.leads_out = true;
    }

    /// Returns the evidence since the last call.
    pub fn take_evidence(&mut self) -> Vec<Evidence> {
        mem::take(&mut self.new_evidence)
    }

    /// Returns the frames that are due.
    pub fn passed(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut due = Vec::new();
        if self.observations.link != Some(true) {
            return due;
        }
        let since = now.saturating_sub(self.began);
        let places = &self.observations.places;
        let answered = |(vlan, probe)| {
            places
                .get(&vlan)
                .is_some_and(|place: &VlanObservations| place.answered(probe))
        };
        while let Some((vlan, probe)) = self.plan.next(since, answered) {
            due.push(frame_of(&self.observations.options, vlan, probe));
        }
        due.extend(self.gateway(since));
        self.sent += due.len();
        due
    }

    /// Returns the number of frames sent so far.
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Returns the milliseconds until the next frame is due; `None`: no frame is left.
    pub fn next_due(&self, now: u64) -> Option<u64> {
        let since = now.saturating_sub(self.began);
        let gateway = PROBED.get(self.probed).copied();
        let next = self.plan.wake().into_iter().chain(gateway).min()?;
        Some(next.saturating_sub(since))
    }

    /// Returns true if the observations are conclusive, and no new evidence comes.
    pub fn is_settled(&self, now: u64) -> bool {
        let untagged = self.observations.places.get(&None);
        let conclusive = untagged.is_some_and(|place| {
            let offered = place.offer().is_some_and(|offer| offer.leads_out());
            offered || !place.concentrators.is_empty()
        });
        conclusive
            && now.saturating_sub(self.began) >= EARLIEST
            && now.saturating_sub(self.news_at) >= QUIET
    }

    /// Returns the suggestion from the observations so far.
    pub fn suggestion(&self) -> Suggestion {
        suggest(&self.observations)
    }

    /// Takes in a frame, from the first octet of its Ethernet header on, with its tag.
    pub fn receive(&mut self, octets: &[u8], now: u64) {
        let Some(frame) = Frame::read(octets) else {
            return;
        };
        if frame.from[0] & 1 == 1 {
            return;
        }
        let vlan = frame.vlan;
        if !self.observations.places.contains_key(&vlan) {
            if self.observations.places.len() >= MOST_PLACES {
                return;
            }
            self.observations
                .places
                .insert(vlan, VlanObservations::default());
        }
        if frame.from == self.observations.options.mac {
            return self.came_back(vlan, now);
        }
        if self.observations.options.others.contains(&frame.from) {
            return self.heard_itself(&frame, now);
        }
        if let Some(number) = vlan {
            self.tagged(number, now);
        }
        match frame.kind {
            frame::ARP => self.arp(&frame, now),
            frame::PPPOE if frame.to == self.observations.options.mac => self.pppoe(&frame, now),
            frame::IPV4 => self.ipv4(&frame, now),
            frame::IPV6 => self.ipv6(&frame, now),
            _ => {}
        }
    }

    fn came_back(&mut self, vlan: Option<u16>, now: u64) {
        let place = self.observations.places.entry(vlan).or_default();
        if !mem::replace(&mut place.looped, true) {
            let text = "Own frames come back: there is a loop in the cabling, or in the modem";
            self.tell(vlan, now, (Kind::Loop, Fields::new(), text.into()));
        }
    }

    fn heard_itself(&mut self, frame: &Frame<'_>, now: u64) {
        if !mem::replace(&mut self.observations.itself, true) {
            let mac = net::mac::text(&frame.from);
            let text = format!("The cable leads back to another port of this router ({mac})");
            let told = (Kind::Itself, fields([field("mac", [mac])]), text);
            self.tell(frame.vlan, now, told);
        }
    }

    fn tagged(&mut self, number: u16, now: u64) {
        let since = now.saturating_sub(self.began);
        if !self.plan.heard(number, since) {
            return;
        }
        let known = provider(number);
        let mut text = format!("Frames of VLAN {number} arrive");
        if let Some(name) = known {
            text += &format!(" (a number of {name})");
        }
        let told = (Kind::Vlan, fields([field("used by", known)]), text);
        self.tell(Some(number), now, told);
    }

    fn arp(&mut self, frame: &Frame<'_>, now: u64) {
        let Some(heard) = station_queries::arp(frame.payload) else {
            return;
        };
        let place = self.observations.places.entry(frame.vlan).or_default();
        if place.watch.arp(&heard) && self.asked < MOST_ASKED {
            self.asked += 1;
            self.tell(frame.vlan, now, describe::arp(&heard));
        }
    }

    fn pppoe(&mut self, frame: &Frame<'_>, now: u64) {
        let Some((number, heard)) = pppoe::offer(frame.payload) else {
            return;
        };
        // RFC 2516, appendix A: the answer repeats the number. An answer without a number is
        // accepted too.
        if number.is_some_and(|number| !self.asked_with(number, u32::MAX)) {
            return;
        }
        let place = self.observations.places.entry(frame.vlan).or_default();
        if vlan_observations::note(&mut place.concentrators, frame.from, heard.clone()) {
            self.tell(frame.vlan, now, describe::concentrator(&heard, frame.from));
        }
    }

    fn ipv4(&mut self, frame: &Frame<'_>, now: u64) {
        let Some((number, offer)) = dhcp4::offer(frame.payload, self.observations.options.mac)
        else {
            return;
        };
        if !self.asked_with(number, u32::MAX) {
            return;
        }
        let place = self.observations.places.entry(frame.vlan).or_default();
        if !vlan_observations::note(&mut place.offers, frame.from, offer.clone()) {
            return;
        }
        let servers = place.rivals();
        for told in describe::offer(&offer, frame.from) {
            self.tell(frame.vlan, now, told);
        }
        if !servers.is_empty() {
            let text = format!("DHCP servers contradict each other: {}", listed(&servers));
            let told = (Kind::Conflict, fields([field("servers", servers)]), text);
            self.tell(frame.vlan, now, told);
        }
        let network = vlan_observations::network(&offer);
        let lan = self
            .observations
            .options
            .lans
            .iter()
            .find(|lan| network.is_some_and(|it| it.overlaps(lan)));
        if let (Some(network), Some(lan)) = (network, lan.copied()) {
            let text = format!("Its network {network} overlaps this router's own, {lan}");
            let told = fields([field("network", [network]), field("lan", [lan])]);
            self.tell(frame.vlan, now, (Kind::Overlap, told, text));
        }
    }

    fn ipv6(&mut self, frame: &Frame<'_>, now: u64) {
        let place = self.observations.places.entry(frame.vlan).or_default();
        match frame::ipv6(frame.payload) {
            Some(Ipv6Payload::Udp(datagram)) => {
                let Some((number, heard)) =
                    dhcp6::advertise(&datagram, self.observations.options.mac)
                else {
                    return;
                };
                if !self.asked_with(number, 0xff_ffff) {
                    return;
                }
                let place = self.observations.places.entry(frame.vlan).or_default();
                if vlan_observations::note(&mut place.servers, datagram.from, heard.clone()) {
                    for told in describe::server(&heard, datagram.from) {
                        self.tell(frame.vlan, now, told);
                    }
                }
            }
            Some(Ipv6Payload::Neighbours(from, router::ADVERTISEMENT, body)) => {
                let Some(heard) = router::advertisement(from, body) else {
                    return;
                };
                if vlan_observations::note(&mut place.routers, from, heard.clone()) {
                    for told in describe::router(&heard, from) {
                        self.tell(frame.vlan, now, told);
                    }
                }
            }
            Some(Ipv6Payload::Neighbours(_, router::WHO_HAS, body)) => {
                let Some(target) = router::asked_for(body) else {
                    return;
                };
                if place.watch.solicited(target) && self.asked < MOST_ASKED {
                    self.asked += 1;
                    let text = format!("A station asks for {target}");
                    let told = (Kind::Ndp, fields([field("asks", [target])]), text);
                    self.tell(frame.vlan, now, told);
                }
            }
            _ => {}
        }
    }

    /// Probes a gateway that other stations query, if there is no other evidence.
    fn gateway(&mut self, since: u64) -> Option<Vec<u8>> {
        if since < *PROBED.get(self.probed)? {
            return None;
        }
        self.probed += 1;
        let place = self.observations.places.get(&None)?;
        let seen = place.watch.infer_network().filter(|seen| !seen.answers)?;
        (!place.has_answers())
            .then(|| station_queries::probe(self.observations.options.mac, seen.gateway))
    }

    /// Returns true if a probe carried that number. Answers may have lost their tag on the way, or
    /// got another.
    fn asked_with(&self, number: u32, mask: u32) -> bool {
        let heard = self.observations.places.keys().copied();
        let tried = NUMBERS.iter().map(|(vlan, _)| Some(*vlan));
        let mut all = heard.chain(tried);
        all.any(|vlan| question(self.observations.options.seed, vlan) & mask == number)
    }

    fn tell(&mut self, vlan: Option<u16>, now: u64, told: describe::EvidenceItem) {
        self.news_at = now;
        self.told += 1;
        if self.told <= MOST_EVIDENCE {
            let (kind, fields, text) = told;
            self.new_evidence.push(Evidence {
                kind,
                vlan,
                after: now,
                fields,
                text,
            });
        }
    }
}

/// Returns the number that probes in a VLAN carry, from a seed by SplitMix64's finalizer.
fn question(seed: u64, vlan: Option<u16>) -> u32 {
    let mut mixed = seed ^ (u64::from(vlan.unwrap_or(0)) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as u32
}

/// Returns a probe as a frame.
fn frame_of(options: &Options, vlan: Option<u16>, probe: Probe) -> Vec<u8> {
    let mac = options.mac;
    let own = options.link_local.unwrap_or_else(|| frame::link_local(mac));
    let number = question(options.seed, vlan);
    let (to, kind, payload) = match probe {
        Probe::Routers => {
            let to = frame::group(router::ROUTERS);
            (to, frame::IPV6, router::solicit(mac, own))
        }
        Probe::Dhcp6 => {
            let to = frame::group(dhcp6::SERVERS);
            (to, frame::IPV6, dhcp6::solicit(mac, own, number))
        }
        Probe::Pppoe => (EVERYBODY, frame::PPPOE, pppoe::initiation(number)),
        Probe::Dhcp4 => (EVERYBODY, frame::IPV4, dhcp4::discover(mac, number)),
    };
    frame::ethernet(to, mac, vlan, kind, &payload)
}
