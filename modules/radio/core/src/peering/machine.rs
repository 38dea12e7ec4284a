//! When who becomes a peer, and when no longer: who is known. What is said to them is in
//! [`exchange`], what time brings in [`time`].

mod clear;
mod exchange;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use kernel::Mac;

use super::beacon::Beacon;
use super::element::{Element, Instance};
use super::frame::Frame;
use super::peer::{Call, Peer};
use super::secret::{NodeKey, Secret, device_name};
use super::settings::Settings;
use super::told::{Action, Event, Refused, Shown, State, Waits, Why};

/// Nodes that are remembered at most, peers and others: all prove the secret.
pub const MOST: usize = 64;
/// The highest AID of a station (IEEE 802.11, 9.4.1.8). hostapd gives them from 1 on.
const HIGHEST_AID: u16 = 2007;

/// Peers of one access point.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    secret: Secret,
    node: NodeKey,
    instance: Instance,
    peers: BTreeMap<Mac, Peer>,
    /// Who proved the secret at any time.
    proven: BTreeSet<Mac>,
    listens: bool,
    /// What led to nothing.
    pub refused: Refused,
}

impl Machine {
    /// Nobody is known yet. `instance` is random, and was never used before.
    pub fn new(settings: Settings, secret: Secret, node: NodeKey, instance: Instance) -> Self {
        Self {
            settings,
            secret,
            node,
            instance,
            peers: BTreeMap::new(),
            proven: BTreeSet::new(),
            listens: false,
            refused: Refused::default(),
        }
    }

    /// With those who proved the secret to a former machine: they are never taken in clear.
    #[must_use]
    pub fn remembering(mut self, proven: BTreeSet<Mac>) -> Self {
        self.proven = proven;
        self
    }

    /// Who proved the secret at any time.
    pub fn proven(&self) -> &BTreeSet<Mac> {
        &self.proven
    }

    /// What the own beacon is to say.
    pub fn element(&self) -> Element {
        let Settings { own, ssid, .. } = &self.settings;
        Element::new(&self.secret, self.node.public(), self.instance, *own, ssid)
    }

    /// All keys were forgotten ([`Action::Renew`]): others learn it by this.
    pub fn renew(&mut self, instance: Instance) {
        self.instance = instance;
        // A hello of the former start proves nothing now.
        for peer in self.peers.values_mut() {
            if matches!(peer.call, Call::Called(_)) {
                peer.call = Call::None;
            }
        }
    }

    /// All that are known, by address.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.peers.iter().map(|(mac, peer)| Shown {
            mac: *mac,
            name: peer.name.clone(),
            state: self.state(mac, peer),
            waits: self.waits(mac, peer),
            since: peer.since,
            signal: peer.signal(),
            encrypted: peer
                .link
                .as_ref()
                .is_some_and(|link| link.session.is_some()),
            clear: peer.element.is_none(),
        })
    }

    fn state(&self, mac: &Mac, peer: &Peer) -> State {
        match (&peer.link, &peer.call) {
            (Some(link), _) if link.confirmed.is_none() => State::Alive,
            (Some(_), _) => State::Installed,
            (None, Call::None) if self.is_admitted(mac, peer) => State::Seen,
            (None, Call::None) => State::Waiting,
            (None, _) => State::Handshake,
        }
    }

    fn waits(&self, mac: &Mac, peer: &Peer) -> Option<Waits> {
        let faint = peer.signal().is_some_and(|it| it < self.settings.admit);
        let why = if faint { Waits::Faint } else { Waits::Full };
        (self.state(mac, peer) == State::Waiting).then_some(why)
    }

    /// What happened, and when; what is to be done comes out, in this order. Nothing is late
    /// because of a frame: what was said in time may wait behind it.
    pub fn handle(&mut self, now: u64, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        let is_of_a_frame = matches!(event, Event::Frame(_) | Event::Installed(..));
        match event {
            Event::Beacon(beacon, signal) => self.beacon(now, beacon, signal, &mut out),
            Event::Frame(octets) => {
                let told = Frame::read(octets).filter(|frame| frame.to == self.settings.own);
                if told
                    .and_then(|frame| self.frame(now, frame, &mut out))
                    .is_none()
                {
                    self.refused.frames += 1;
                }
            }
            Event::Installed(mac, done) => self.installed(now, mac, done, &mut out),
            Event::Counted(mac, told) => self.counted(now, mac, told, &mut out),
            Event::Channel(frequency) => {
                self.settings.frequency = frequency;
                let all: Vec<Mac> = self.peers.keys().copied().collect();
                all.iter()
                    .for_each(|mac| self.end(mac, Why::Channel, &mut out));
                self.peers.clear();
            }
            Event::Tick => {}
        }
        if !is_of_a_frame {
            self.pass(now, &mut out);
        }
        for peer in self.peers.values_mut() {
            let since = peer.since.unwrap_or(now);
            peer.since = peer.link.as_ref().map(|_| since);
        }
        out
    }

    fn beacon(&mut self, now: u64, beacon: &Beacon, signal: Option<i32>, out: &mut Vec<Action>) {
        if beacon.ssid != self.settings.ssid {
            return;
        }
        let Some(element) = beacon.element else {
            return self.bare(now, beacon, signal);
        };
        if beacon.mac == self.settings.own || element.public == self.node.public() {
            self.refused.own += 1;
            return;
        }
        let known = self.peers.get(&beacon.mac);
        // One that says the same as before was proven then.
        let same = known.is_some_and(|peer| peer.element == Some(element));
        if !same && !element.is_proven(&self.secret, beacon.mac, &beacon.ssid) {
            self.refused.unproven += 1;
            return;
        }
        let name = device_name(&self.settings.device, &element.public);
        self.remember(beacon.mac);
        // What there is of it in clear is not to go on beside a key.
        let clear = |peer: &Peer| peer.element.is_none();
        if self.peers.get(&beacon.mac).is_some_and(clear) {
            self.end(&beacon.mac, Why::Proven, out);
        }
        match self.peers.get_mut(&beacon.mac) {
            Some(peer) => {
                if !same {
                    // It began anew: what was under way was with the former one.
                    peer.element = Some(element);
                    peer.call = Call::None;
                    peer.hasten(now);
                    // The device of one that is in the kernel keeps its name.
                    if peer.link.is_none() {
                        peer.name = name;
                    }
                }
                peer.abilities.clone_from(&beacon.abilities);
                peer.heard(signal, now);
            }
            None => {
                // One node has one device, whatever addresses it says that it has.
                let taken = self.peers.values().any(|peer| peer.name == name);
                if taken || !self.settings.may_be_peer(&beacon.mac) || !self.has_room(true, signal)
                {
                    self.refused.crowded += 1;
                    return;
                }
                let aid = self.free_aid();
                let mut peer = Peer::new(Some(element), beacon.abilities.clone(), name, aid, now);
                peer.heard(signal, now);
                self.peers.insert(beacon.mac, peer);
            }
        }
    }

    fn free_aid(&self) -> u16 {
        let used = |aid: &u16| self.peers.values().any(|peer| peer.aid == *aid);
        let aid = (1..=HIGHEST_AID).rev().find(|aid| !used(aid));
        aid.unwrap_or(HIGHEST_AID)
    }

    /// Makes room for a node that is heard so loud, by forgetting a weaker one that is no peer:
    /// one that proves nothing before one that does.
    fn has_room(&mut self, proves: bool, signal: Option<i32>) -> bool {
        if self.peers.len() < MOST {
            return true;
        }
        let others = self.peers.iter().filter(|(_, peer)| peer.link.is_none());
        let worth = |peer: &Peer| (peer.element.is_some(), peer.signal());
        let weakest = others.min_by_key(|(_, peer)| worth(peer));
        let weaker = weakest.filter(|(_, peer)| worth(peer) < (proves, signal));
        let Some(mac) = weaker.map(|(mac, _)| *mac) else {
            return false;
        };
        self.peers.remove(&mac).is_some()
    }

    /// Whether a node may become a peer now.
    fn is_admitted(&self, mac: &Mac, peer: &Peer) -> bool {
        let Settings { admit, most, .. } = self.settings;
        // One in clear gives its place to one that proves itself.
        let counts = |other: &Peer| peer.element.is_none() || other.element.is_some();
        let peers = self
            .peers
            .iter()
            .filter(|(other, peer)| *other != mac && peer.is_in_kernel() && counts(peer));
        let loud = peer.signal().is_none_or(|signal| signal >= admit);
        loud && peers.count() < most
    }
}
