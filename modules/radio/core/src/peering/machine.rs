//! Decides when a node becomes a peer and when that ends, by beacons, the handshake, and time.

mod nodes;

use std::collections::BTreeSet;

use kernel::Mac;

use super::beacon::Beacon;
use super::element::{Element, Instance};
use super::frame::{Frame, Kind};
use super::handshake::{HELLO, HandshakeContext, Initiator, Party, Session, TAG, answer};
use super::messages::{Action, EndReason, Event, PeerReport, RefusedCounters};
use super::peer::{AGAIN, AnsweredHello, CONFIRM, CallState, Link, PAUSE, Peer, SentHello, WRONG};
use super::secret::{NodeKey, Secret, device_name};
use super::settings::Settings;
use nodes::Nodes;

/// Peers of one access point.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    secret: Secret,
    node: NodeKey,
    instance: Instance,
    nodes: Nodes,
    listens: bool,
    /// Counters of refused beacons and frames.
    pub refused: RefusedCounters,
}

impl Machine {
    /// Creates a machine without nodes. `instance` is random, and was never used before.
    pub fn new(settings: Settings, secret: Secret, node: NodeKey, instance: Instance) -> Self {
        Self {
            settings,
            secret,
            node,
            instance,
            nodes: Nodes::default(),
            listens: false,
            refused: RefusedCounters::default(),
        }
    }

    /// Adds nodes that proved the secret to an earlier machine: they are never accepted in clear.
    #[must_use]
    pub fn remembering(mut self, proven: BTreeSet<Mac>) -> Self {
        self.nodes = Nodes::remembering(proven);
        self
    }

    /// Returns the nodes that have ever proved the secret.
    pub fn proven(&self) -> &BTreeSet<Mac> {
        self.nodes.proven()
    }

    /// Reports on all nodes, by address.
    pub fn shown(&self) -> impl Iterator<Item = PeerReport> {
        self.nodes.shown(&self.settings)
    }

    /// Returns the element for the own beacon.
    pub fn element(&self) -> Element {
        let Settings { own, ssid, .. } = &self.settings;
        Element::new(&self.secret, self.node.public(), self.instance, *own, ssid)
    }

    /// Handles the loss of all keys ([`Action::Renew`]): the new instance informs the other nodes.
    pub fn renew(&mut self, instance: Instance) {
        self.instance = instance;
        // A hello from before the restart proves nothing now.
        for (_, peer) in self.nodes.iter_mut() {
            if matches!(peer.call, CallState::Called(_)) {
                peer.call = CallState::None;
            }
        }
    }

    /// Handles an event at time `now` and returns the actions in order. Frames do not run the
    /// timers: another frame that was received in time may still wait in the queue.
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
            Event::Counted(mac, told) => {
                self.nodes.counted(&self.settings, now, mac, told, &mut out);
            }
            Event::Channel(frequency) => {
                self.settings.frequency = frequency;
                self.nodes.clear(EndReason::Channel, &mut out);
            }
            Event::Tick => {}
        }
        if !is_of_a_frame {
            self.pass(now, &mut out);
        }
        for (_, peer) in self.nodes.iter_mut() {
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
        let known = self.nodes.get(&beacon.mac);
        // An element equal to the last one was proven then.
        let same = known.is_some_and(|peer| peer.element == Some(element));
        if !same && !element.is_proven(&self.secret, beacon.mac, &beacon.ssid) {
            self.refused.unproven += 1;
            return;
        }
        let name = device_name(&self.settings.device, &element.public);
        self.nodes.remember(beacon.mac);
        // A peering in clear must not continue in addition to a key.
        let clear = |peer: &Peer| peer.element.is_none();
        if self.nodes.get(&beacon.mac).is_some_and(clear) {
            self.nodes.end(&beacon.mac, EndReason::Proven, out);
        }
        match self.nodes.get_mut(&beacon.mac) {
            Some(peer) => {
                if !same {
                    // The node has restarted: a pending call belonged to the old instance.
                    peer.element = Some(element);
                    peer.call = CallState::None;
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
                // A node has one device, whatever addresses it claims.
                let taken = self.nodes.have_device(&name);
                if taken
                    || !self.settings.may_be_peer(&beacon.mac)
                    || !self.nodes.has_room(true, signal)
                {
                    self.refused.crowded += 1;
                    return;
                }
                let aid = self.nodes.free_aid();
                let mut peer = Peer::new(Some(element), beacon.abilities.clone(), name, aid, now);
                peer.heard(signal, now);
                self.nodes.insert(beacon.mac, peer);
            }
        }
    }

    /// Handles a beacon with the network's name and without an element.
    fn bare(&mut self, now: u64, beacon: &Beacon, signal: Option<i32>) {
        let Some(prefix) = self.settings.clear.clone() else {
            return;
        };
        // A node with our element must prove it, and a node that once did must do so again.
        if beacon.ours || self.nodes.has_proven(&beacon.mac) {
            self.refused.unproven += 1;
            return;
        }
        if beacon.mac == self.settings.own {
            self.refused.own += 1;
            return;
        }
        if let Some(peer) = self.nodes.get_mut(&beacon.mac) {
            peer.abilities.clone_from(&beacon.abilities);
            peer.heard(signal, now);
            return;
        }
        // The list of proven nodes is full: none is accepted in clear, as it may be a proven one.
        if self.nodes.is_full()
            || !self.settings.may_be_peer(&beacon.mac)
            || !self.nodes.has_room(false, signal)
        {
            self.refused.crowded += 1;
            return;
        }
        let aid = self.nodes.free_aid();
        let name = format!("{prefix}{aid}");
        let mut peer = Peer::new(None, beacon.abilities.clone(), name, aid, now);
        peer.heard(signal, now);
        self.nodes.insert(beacon.mac, peer);
    }

    fn place(settings: &Settings, own: Party, other: Party, caller: bool) -> HandshakeContext<'_> {
        let (caller, called) = if caller { (own, other) } else { (other, own) };
        HandshakeContext {
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

    /// Handles a frame. `None`: the frame proves nothing.
    fn frame(&mut self, now: u64, frame: Frame<'_>, out: &mut Vec<Action>) -> Option<()> {
        let own = self.own();
        let peer = self.nodes.get(&frame.from)?;
        if peer.link.is_none() && !self.nodes.is_admitted(&self.settings, &frame.from, peer) {
            return None;
        }
        let peer = self.nodes.get_mut(&frame.from)?;
        let party = peer.party(frame.from)?;
        match frame.kind {
            // The lower address calls.
            Kind::Hello => {
                let soon = |last: &AnsweredHello| now < last.at + PAUSE;
                let busy = matches!(peer.call, CallState::Installing { .. });
                if frame.from > own.mac || peer.answered.as_ref().is_some_and(soon) || busy {
                    return None;
                }
                let body = frame.body.get(..HELLO)?;
                let tag = *body.first_chunk::<TAG>()?;
                if let Some(last) = peer.answered.as_mut().filter(|last| last.tag == tag) {
                    // Answered as before, or it led to a key long ago.
                    if !matches!(peer.call, CallState::Answered(..)) {
                        return None;
                    }
                    last.at = now;
                    out.push(send(own.mac, frame.from, Kind::Answer, &last.answer));
                    return Some(());
                }
                let place = Self::place(&self.settings, own, party, false);
                let (session, answer) = answer(&self.secret, &self.node, &place, body).ok()?;
                peer.call = CallState::Answered(session, party.instance);
                out.push(send(own.mac, frame.from, Kind::Answer, &answer));
                peer.answered = Some(AnsweredHello {
                    at: now,
                    tag,
                    answer,
                });
            }
            Kind::Answer => {
                let CallState::Called(called) = &mut peer.call else {
                    return None;
                };
                if called.wrong >= WRONG {
                    return None;
                }
                called.wrong += 1;
                let heard = called.caller.end(frame.body).ok()?;
                let CallState::Called(called) = std::mem::take(&mut peer.call) else {
                    return None;
                };
                let SentHello {
                    caller, instance, ..
                } = *called;
                let session = caller.session(heard).ok()?;
                self.install(now, frame.from, session, instance, true, out);
            }
            Kind::Confirm => {
                let said = |session: &Session| session.proves(Kind::Confirm, frame.body);
                if let CallState::Answered(session, _) = &peer.call
                    && said(session)
                    && let CallState::Answered(session, instance) = std::mem::take(&mut peer.call)
                {
                    self.install(now, frame.from, session, instance, false, out);
                } else {
                    // The other side did not receive the confirmation of this side.
                    let link = peer.link.as_mut().filter(|link| !link.caller)?;
                    let session = link.session.as_ref()?;
                    if !said(session) || now < link.told + CONFIRM[0] / 2 {
                        return None;
                    }
                    let body = session.seal(Kind::Done).ok()?;
                    link.told = now;
                    out.push(send(own.mac, frame.from, Kind::Done, &body));
                }
            }
            Kind::Done => {
                let link = peer.link.as_mut().filter(|link| link.caller)?;
                if !link.session.as_ref()?.proves(Kind::Done, frame.body) {
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
        self.nodes.displace(self.settings.most, &mac, out);
        let Some(peer) = self.nodes.get_mut(&mac) else {
            return;
        };
        let key = session.key();
        // A new session long before the key's end means that the node forgot the old one.
        let old =
            |link: &Link| link.instance == Some(instance) && now >= link.since + rekey * 9 / 10;
        out.push(match peer.link.as_ref().is_some_and(old) {
            true => Action::Rekey(mac, key),
            false => Action::Install {
                mac,
                name: peer.name.clone(),
                aid: peer.aid,
                abilities: peer.abilities.clone(),
                key: Some(key),
            },
        });
        peer.call = CallState::Installing {
            session: Some(session),
            instance: Some(instance),
            caller,
        };
    }

    fn installed(&mut self, now: u64, mac: Mac, done: bool, out: &mut Vec<Action>) {
        let own = self.settings.own;
        let Some(peer) = self.nodes.get_mut(&mac) else {
            return;
        };
        let CallState::Installing {
            session,
            instance,
            caller,
        } = std::mem::take(&mut peer.call)
        else {
            return;
        };
        if !done {
            peer.postpone(now);
            return self.nodes.end(&mac, EndReason::Refused, out);
        }
        let kind = if caller { Kind::Confirm } else { Kind::Done };
        let body = session.as_ref().and_then(|session| session.seal(kind).ok());
        out.extend(body.map(|body| send(own, mac, kind, &body)));
        let clear = session.is_none();
        peer.link = Some(Link {
            session,
            instance,
            caller,
            since: now,
            confirmed: (caller || clear).then_some(now),
            told: now,
            failed: None,
        });
    }

    fn call(&mut self, now: u64, mac: Mac, out: &mut Vec<Action>) {
        let own = self.own();
        let Some(peer) = self.nodes.get_mut(&mac) else {
            return;
        };
        let Some(party) = peer.party(mac) else {
            return;
        };
        peer.postpone(now);
        let (_, pause) = peer.again;
        // Repeat the hello, so that an answer may take its time; make a new one if the old one
        // failed.
        if let CallState::Called(called) = &peer.call
            && called.instance == party.instance
            && called.wrong < WRONG
            && pause < AGAIN[1]
        {
            out.push(send(own.mac, mac, Kind::Hello, &called.hello));
            return;
        }
        let place = Self::place(&self.settings, own, party, true);
        if let Ok((caller, hello)) = Initiator::begin(&self.secret, &self.node, &place) {
            out.push(send(own.mac, mac, Kind::Hello, &hello));
            peer.call = CallState::Called(Box::new(SentHello {
                caller,
                instance: party.instance,
                wrong: 0,
                hello,
            }));
        }
    }

    /// Sends the confirmation again, until the other side has confirmed, too.
    fn confirm(&mut self, now: u64, out: &mut Vec<Action>) {
        let own = self.settings.own;
        for (mac, peer) in self.nodes.iter_mut() {
            let Some(link) = &mut peer.link else { continue };
            let Some(asked) = &mut link.confirmed else {
                continue;
            };
            if let Some(session) = &link.session
                && now >= *asked + CONFIRM[0]
            {
                *asked = now;
                let body = session.seal(Kind::Confirm).ok();
                out.extend(body.map(|body| send(own, *mac, Kind::Confirm, &body)));
            }
        }
    }

    /// Handles timers.
    fn pass(&mut self, now: u64, out: &mut Vec<Action>) {
        let mut listens = false;
        for mac in self.nodes.macs() {
            if let Some(why) = self.nodes.over(&self.settings, now, &mac) {
                self.nodes.end(&mac, why, out);
            }
            let Some(peer) = self.nodes.get(&mac) else {
                continue;
            };
            if now >= peer.seen + self.settings.silent && peer.link.is_none() {
                self.nodes.remove(&mac);
                continue;
            }
            let rekey = self.settings.rekey;
            let due = |before: u64| {
                let since = peer.link.as_ref().map(|link| link.since);
                since.is_some_and(|since| now + before >= since + rekey)
            };
            // An existing peer need not be as loud as a new one.
            let admitted =
                peer.link.is_some() || self.nodes.is_admitted(&self.settings, &mac, peer);
            let wanted = admitted && !peer.is_current();
            let caller = self.settings.own < mac;
            if peer.element.is_none() {
                if wanted && matches!(peer.call, CallState::None) && now >= peer.again.0 {
                    self.nodes.take(mac, out);
                }
                continue;
            }
            // The other's clock may be ahead of ours.
            listens |= wanted || due(rekey / 100) || !matches!(peer.call, CallState::None);
            listens |= peer
                .link
                .as_ref()
                .is_some_and(|link| link.is_asking() || now < link.since + CONFIRM[1]);
            // A call is not made while a confirmation is pending.
            let asked = peer.link.as_ref().is_some_and(Link::is_asking);
            let free = matches!(peer.call, CallState::None | CallState::Called(..)) && !asked;
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
