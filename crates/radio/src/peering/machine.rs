//! When who becomes a peer, and when no longer.

use std::collections::BTreeMap;

use kernel::Mac;

use super::beacon::Beacon;
use super::element::{Element, Instance};
use super::frame::{Frame, Kind};
use super::handshake::{Caller, HELLO, Party, Place, Session, answer};
use super::peer::{CONFIRM, Call, Link, PAUSE, Peer, WRONG};
use super::secret::{NodeKey, Secret, device_name};
use super::settings::Settings;
use super::told::{Action, Event, Refused, Shown, State, Why};

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
            listens: false,
            refused: Refused::default(),
        }
    }

    /// What the own beacon is to say.
    pub fn element(&self) -> Element {
        let Settings { own, ssid, .. } = &self.settings;
        Element::new(&self.secret, self.node.public(), self.instance, *own, ssid)
    }

    /// All keys were forgotten ([`Action::Renew`]): others learn it by this.
    pub fn renew(&mut self, instance: Instance) {
        self.instance = instance;
    }

    /// All that are known, by address.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.peers.iter().map(|(mac, peer)| Shown {
            mac: *mac,
            name: peer.name.clone(),
            state: self.state(mac, peer),
            signal: peer.signal(),
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

    /// What happened, and when; what is to be done comes out, in this order.
    pub fn handle(&mut self, now: u64, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Beacon(beacon, signal) => self.beacon(now, beacon, signal),
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
            Event::Counted(mac, told) => self.counted(mac, told, &mut out),
            Event::Channel(frequency) => {
                self.settings.frequency = frequency;
                let all: Vec<Mac> = self.peers.keys().copied().collect();
                all.iter()
                    .for_each(|mac| self.end(mac, Why::Channel, &mut out));
                self.peers.clear();
            }
            Event::Tick => {}
        }
        self.pass(now, &mut out);
        out
    }

    fn beacon(&mut self, now: u64, beacon: &Beacon, signal: Option<i32>) {
        let Some(element) = beacon.element.filter(|_| beacon.ssid == self.settings.ssid) else {
            return;
        };
        if beacon.mac == self.settings.own || element.public == self.node.public() {
            self.refused.own += 1;
            return;
        }
        let known = self.peers.get_mut(&beacon.mac);
        // One that says the same as before was proven then.
        let same = known.as_ref().is_some_and(|peer| peer.element == element);
        if !same && !element.is_proven(&self.secret, beacon.mac, &beacon.ssid) {
            self.refused.unproven += 1;
            return;
        }
        let name = device_name(&self.settings.device, &element.public);
        match known {
            Some(peer) => {
                if !same {
                    // It began anew: what was under way was with the former one.
                    peer.element = element;
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
                if taken || !self.settings.may_be_peer(&beacon.mac) || !self.has_room(signal) {
                    self.refused.crowded += 1;
                    return;
                }
                let used = |aid: &u16| self.peers.values().any(|peer| peer.aid == *aid);
                let aid = (1..=HIGHEST_AID).rev().find(|aid| !used(aid));
                let aid = aid.unwrap_or(HIGHEST_AID);
                let mut peer = Peer::new(element, beacon.abilities.clone(), name, aid, now);
                peer.heard(signal, now);
                self.peers.insert(beacon.mac, peer);
            }
        }
    }

    /// Makes room for a node that is heard so loud, by forgetting a weaker one that is no peer.
    fn has_room(&mut self, signal: Option<i32>) -> bool {
        if self.peers.len() < MOST {
            return true;
        }
        let others = self.peers.iter().filter(|(_, peer)| peer.link.is_none());
        let weakest = others.min_by_key(|(_, peer)| peer.signal());
        let weaker = weakest.filter(|(_, peer)| peer.signal() < signal);
        let Some(mac) = weaker.map(|(mac, _)| *mac) else {
            return false;
        };
        self.peers.remove(&mac).is_some()
    }

    /// Whether a node may become a peer now.
    fn is_admitted(&self, mac: &Mac, peer: &Peer) -> bool {
        let Settings { admit, most, .. } = self.settings;
        let peers = self.peers.iter().filter(|(other, peer)| {
            *other != mac && (peer.link.is_some() || matches!(peer.call, Call::Installing { .. }))
        });
        let loud = peer.signal().is_none_or(|signal| signal >= admit);
        loud && peers.count() < most
    }

    fn place(settings: &Settings, own: Party, other: Party, caller: bool) -> Place<'_> {
        let (caller, called) = if caller { (own, other) } else { (other, own) };
        Place {
            caller,
            called,
            frequency: settings.frequency,
            ssid: &settings.ssid,
        }
    }

    fn own(&self) -> Party {
        Party {
            mac: self.settings.own,
            instance: self.instance,
            public: self.node.public(),
        }
    }

    /// `None`: it proves nothing.
    fn frame(&mut self, now: u64, frame: Frame<'_>, out: &mut Vec<Action>) -> Option<()> {
        let own = self.own();
        let peer = self.peers.get(&frame.from)?;
        if peer.link.is_none() && !self.is_admitted(&frame.from, peer) {
            return None;
        }
        let peer = self.peers.get_mut(&frame.from)?;
        let party = Party {
            mac: frame.from,
            instance: peer.element.instance,
            public: peer.element.public,
        };
        match frame.kind {
            // The lower address calls.
            Kind::Hello => {
                let soon = peer.answered.is_some_and(|at| now < at + PAUSE);
                let busy = matches!(peer.call, Call::Installing { .. });
                if frame.from > own.mac || soon || busy {
                    return None;
                }
                let place = Self::place(&self.settings, own, party, false);
                let body = frame.body.get(..HELLO)?;
                let (session, body) = answer(&self.secret, &self.node, &place, body).ok()?;
                peer.answered = Some(now);
                peer.call = Call::Answered(session, party.instance);
                out.push(send(own.mac, frame.from, Kind::Answer, &body));
            }
            Kind::Answer => {
                let Call::Called(caller, instance, wrong) = &mut peer.call else {
                    return None;
                };
                if *wrong >= WRONG {
                    return None;
                }
                *wrong += 1;
                let heard = caller.end(frame.body).ok()?;
                let instance = *instance;
                let Call::Called(caller, ..) = std::mem::take(&mut peer.call) else {
                    return None;
                };
                let session = caller.session(heard).ok()?;
                self.install(now, frame.from, session, instance, true, out);
            }
            Kind::Confirm => {
                let said = |session: &Session| session.proves(Kind::Confirm, frame.body);
                if let Call::Answered(session, _) = &peer.call
                    && said(session)
                    && let Call::Answered(session, instance) = std::mem::take(&mut peer.call)
                {
                    self.install(now, frame.from, session, instance, false, out);
                } else {
                    // It did not hear that this side is through.
                    let link = peer.link.as_mut().filter(|link| !link.caller)?;
                    if !said(&link.session) || now < link.told + CONFIRM[0] / 2 {
                        return None;
                    }
                    link.told = now;
                    let body = link.session.seal(Kind::Done).ok()?;
                    out.push(send(own.mac, frame.from, Kind::Done, &body));
                }
            }
            Kind::Done => {
                let link = peer.link.as_mut().filter(|link| link.caller)?;
                if !link.session.proves(Kind::Done, frame.body) {
                    return None;
                }
                link.confirmed = None;
                peer.hasten(now);
            }
        }
        Some(())
    }

    fn install(
        &mut self,
        now: u64,
        mac: Mac,
        session: Session,
        instance: Instance,
        caller: bool,
        out: &mut Vec<Action>,
    ) {
        let rekey = self.settings.rekey;
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        let key = session.key();
        // One that comes again before its key is old has forgotten the former one.
        let old = |link: &Link| link.instance == instance && now >= link.since + rekey * 9 / 10;
        out.push(match peer.link.as_ref().is_some_and(old) {
            true => Action::Rekey(mac, key),
            false => Action::Install {
                mac,
                name: peer.name.clone(),
                aid: peer.aid,
                abilities: peer.abilities.clone(),
                key,
            },
        });
        peer.call = Call::Installing {
            session,
            instance,
            caller,
        };
    }

    fn installed(&mut self, now: u64, mac: Mac, done: bool, out: &mut Vec<Action>) {
        let own = self.settings.own;
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        let Call::Installing {
            session,
            instance,
            caller,
        } = std::mem::take(&mut peer.call)
        else {
            return;
        };
        if !done {
            peer.postpone(now);
            return self.end(&mac, Why::Refused, out);
        }
        let kind = if caller { Kind::Confirm } else { Kind::Done };
        let body = session.seal(kind).ok();
        out.extend(body.map(|body| send(own, mac, kind, &body)));
        peer.link = Some(Link {
            session,
            instance,
            caller,
            since: now,
            confirmed: caller.then_some(now),
            told: now,
            failed: None,
        });
    }

    fn counted(&mut self, mac: Mac, told: Option<(u64, u32)>, out: &mut Vec<Action>) {
        let Settings {
            inactive, failed, ..
        } = self.settings;
        let Some(link) = self.peers.get_mut(&mac).and_then(|peer| peer.link.as_mut()) else {
            return;
        };
        let Some((idle, lost)) = told else {
            self.end(&mac, Why::Lost, out);
            out.push(Action::Renew);
            return;
        };
        let grown = lost.saturating_sub(link.failed.unwrap_or(lost));
        link.failed = Some(lost);
        if idle >= inactive {
            self.end(&mac, Why::Inactive, out);
        } else if grown >= failed && idle >= inactive / 4 {
            self.end(&mac, Why::Failing, out);
        }
    }

    /// Removes what is in the kernel of a node, which stays known.
    fn end(&mut self, mac: &Mac, why: Why, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(mac) else {
            return;
        };
        peer.call = Call::None;
        // What was refused is half done: the device may be there.
        if peer.link.take().is_some() || why == Why::Refused {
            out.push(Action::Remove(*mac, peer.name.clone(), why));
        }
    }

    /// What time brings.
    fn pass(&mut self, now: u64, out: &mut Vec<Action>) {
        let all: Vec<Mac> = self.peers.keys().copied().collect();
        let mut listens = false;
        for mac in all {
            if let Some(why) = self.over(now, &mac) {
                self.end(&mac, why, out);
            }
            let Some(peer) = self.peers.get(&mac) else {
                continue;
            };
            if now >= peer.seen + self.settings.silent && peer.link.is_none() {
                self.peers.remove(&mac);
                continue;
            }
            let rekey = self.settings.rekey;
            let due = |before: u64| {
                let since = peer.link.as_ref().map(|link| link.since);
                since.is_some_and(|since| now + before >= since + rekey)
            };
            // Who is a peer already need not be as loud as who is to become one.
            let admitted = peer.link.is_some() || self.is_admitted(&mac, peer);
            let wanted = admitted && !peer.is_current();
            let caller = self.settings.own < mac;
            // The other's clock may be ahead of ours.
            listens |= wanted || due(rekey / 100) || !matches!(peer.call, Call::None);
            listens |= peer
                .link
                .as_ref()
                .is_some_and(|link| link.confirmed.is_some() || now < link.since + CONFIRM[1]);
            // One that is just confirmed is let be.
            let asked = peer
                .link
                .as_ref()
                .is_some_and(|link| link.confirmed.is_some());
            let free = matches!(peer.call, Call::None | Call::Called(..)) && !asked;
            if caller && free && (wanted || due(0)) && now >= peer.again.0 {
                self.call(now, mac, out);
            }
        }
        if listens != self.listens {
            self.listens = listens;
            // A frame that is sent at once is answered at once.
            out.insert(0, Action::Listen(listens));
        }
        self.confirm(now, out);
    }

    /// Whether a peer is one no longer.
    fn over(&self, now: u64, mac: &Mac) -> Option<Why> {
        let peer = self.peers.get(mac)?;
        let link = peer.link.as_ref()?;
        let release = self.settings.release;
        if now >= peer.seen + self.settings.silent {
            Some(Why::Silent)
        } else if peer.signal().is_some_and(|signal| signal < release) {
            Some(Why::Weak)
        } else if link.confirmed.is_some() && now >= link.since + CONFIRM[1] {
            Some(Why::Unconfirmed)
        } else {
            None
        }
    }

    fn call(&mut self, now: u64, mac: Mac, out: &mut Vec<Action>) {
        let own = self.own();
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        peer.postpone(now);
        let party = Party {
            mac,
            instance: peer.element.instance,
            public: peer.element.public,
        };
        let place = Self::place(&self.settings, own, party, true);
        if let Ok((caller, body)) = Caller::begin(&self.secret, &self.node, &place) {
            peer.call = Call::Called(Box::new(caller), party.instance, 0);
            out.push(send(own.mac, mac, Kind::Hello, &body));
        }
    }

    /// Says again that this side is through, until the other says so, too.
    fn confirm(&mut self, now: u64, out: &mut Vec<Action>) {
        let own = self.settings.own;
        for (mac, peer) in &mut self.peers {
            let Some(link) = &mut peer.link else { continue };
            let Some(asked) = &mut link.confirmed else {
                continue;
            };
            if now >= *asked + CONFIRM[0] {
                *asked = now;
                let body = link.session.seal(Kind::Confirm).ok();
                out.extend(body.map(|body| send(own, *mac, Kind::Confirm, &body)));
            }
        }
    }
}

fn send(from: Mac, to: Mac, kind: Kind, body: &[u8]) -> Action {
    let frame = Frame {
        to,
        from,
        kind,
        body,
    };
    Action::Send(frame.octets())
}
