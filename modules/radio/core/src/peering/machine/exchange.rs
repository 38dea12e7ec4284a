//! What is said to one that may become a peer, and what it says.

use kernel::Mac;

use super::super::element::Instance;
use super::super::frame::{Frame, Kind};
use super::super::handshake::{Caller, HELLO, Party, Place, Session, TAG, answer};
use super::super::peer::{AGAIN, Answered, CONFIRM, Call, Called, Link, PAUSE, WRONG};
use super::super::settings::Settings;
use super::super::told::{Action, Why};
use super::Machine;

impl Machine {
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
    pub(super) fn frame(
        &mut self,
        now: u64,
        frame: Frame<'_>,
        out: &mut Vec<Action>,
    ) -> Option<()> {
        let own = self.own();
        let peer = self.peers.get(&frame.from)?;
        if peer.link.is_none() && !self.is_admitted(&frame.from, peer) {
            return None;
        }
        let peer = self.peers.get_mut(&frame.from)?;
        let party = peer.party(frame.from)?;
        match frame.kind {
            // The lower address calls.
            Kind::Hello => {
                let soon = |last: &Answered| now < last.at + PAUSE;
                let busy = matches!(peer.call, Call::Installing { .. });
                if frame.from > own.mac || peer.answered.as_ref().is_some_and(soon) || busy {
                    return None;
                }
                let body = frame.body.get(..HELLO)?;
                let tag = *body.first_chunk::<TAG>()?;
                if let Some(last) = peer.answered.as_mut().filter(|last| last.tag == tag) {
                    // Answered as before, or it led to a key long ago.
                    if !matches!(peer.call, Call::Answered(..)) {
                        return None;
                    }
                    last.at = now;
                    out.push(send(own.mac, frame.from, Kind::Answer, &last.answer));
                    return Some(());
                }
                let place = Self::place(&self.settings, own, party, false);
                let (session, answer) = answer(&self.secret, &self.node, &place, body).ok()?;
                peer.call = Call::Answered(session, party.instance);
                out.push(send(own.mac, frame.from, Kind::Answer, &answer));
                peer.answered = Some(Answered {
                    at: now,
                    tag,
                    answer,
                });
            }
            Kind::Answer => {
                let Call::Called(called) = &mut peer.call else {
                    return None;
                };
                if called.wrong >= WRONG {
                    return None;
                }
                called.wrong += 1;
                let heard = called.caller.end(frame.body).ok()?;
                let Call::Called(called) = std::mem::take(&mut peer.call) else {
                    return None;
                };
                let Called {
                    caller, instance, ..
                } = *called;
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
        self.displace(&mac, out);
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        let key = session.key();
        // One that comes again before its key is old has forgotten the former one.
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
        peer.call = Call::Installing {
            session: Some(session),
            instance: Some(instance),
            caller,
        };
    }

    pub(super) fn installed(&mut self, now: u64, mac: Mac, done: bool, out: &mut Vec<Action>) {
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

    pub(super) fn call(&mut self, now: u64, mac: Mac, out: &mut Vec<Action>) {
        let own = self.own();
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        let Some(party) = peer.party(mac) else {
            return;
        };
        peer.postpone(now);
        let (_, pause) = peer.again;
        // The same again, so that an answer may take its time; another one where that led to
        // nothing.
        if let Call::Called(called) = &peer.call
            && called.instance == party.instance
            && called.wrong < WRONG
            && pause < AGAIN[1]
        {
            out.push(send(own.mac, mac, Kind::Hello, &called.hello));
            return;
        }
        let place = Self::place(&self.settings, own, party, true);
        if let Ok((caller, hello)) = Caller::begin(&self.secret, &self.node, &place) {
            out.push(send(own.mac, mac, Kind::Hello, &hello));
            peer.call = Call::Called(Box::new(Called {
                caller,
                instance: party.instance,
                wrong: 0,
                hello,
            }));
        }
    }

    /// Says again that this side is through, until the other says so, too.
    pub(super) fn confirm(&mut self, now: u64, out: &mut Vec<Action>) {
        let own = self.settings.own;
        for (mac, peer) in &mut self.peers {
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
