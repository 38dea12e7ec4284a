//! What time brings: who is heard no more, who is called again, and when frames are listened to.

use kernel::Mac;

use super::super::peer::{CONFIRM, Call, Link};
use super::super::settings::Settings;
use super::super::told::{Action, Why};
use super::Machine;

impl Machine {
    pub(super) fn counted(
        &mut self,
        now: u64,
        mac: Mac,
        told: Option<(u64, u32)>,
        out: &mut Vec<Action>,
    ) {
        let Settings {
            inactive, failed, ..
        } = self.settings;
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        let Some(link) = peer.link.as_mut() else {
            return;
        };
        let Some((idle, lost)) = told else {
            let keyed = link.session.is_some();
            self.end(&mac, Why::Lost, out);
            if keyed {
                out.push(Action::Renew);
            }
            return;
        };
        let grown = lost.saturating_sub(link.failed.unwrap_or(lost));
        link.failed = Some(lost);
        let clear = link.session.is_none();
        if clear {
            // One that is no weir may have nothing to say: that is no reason to end it.
            let heard = idle < inactive && now.saturating_sub(idle) > link.since;
            link.confirmed = (!heard).then_some(now);
        } else {
            // Beacons may be lost among those of a flood: what has the key is from it, too.
            peer.seen = peer.seen.max(now.saturating_sub(idle));
        }
        if idle >= inactive && !clear {
            self.end(&mac, Why::Inactive, out);
        } else if grown >= failed && idle >= inactive / 4 {
            self.end(&mac, Why::Failing, out);
        }
    }

    /// Removes what is in the kernel of a node, which stays known.
    pub(super) fn end(&mut self, mac: &Mac, why: Why, out: &mut Vec<Action>) {
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
    pub(super) fn pass(&mut self, now: u64, out: &mut Vec<Action>) {
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
            if peer.element.is_none() {
                if wanted && matches!(peer.call, Call::None) && now >= peer.again.0 {
                    self.take(mac, out);
                }
                continue;
            }
            // The other's clock may be ahead of ours.
            listens |= wanted || due(rekey / 100) || !matches!(peer.call, Call::None);
            listens |= peer
                .link
                .as_ref()
                .is_some_and(|link| link.is_asking() || now < link.since + CONFIRM[1]);
            // One that is just confirmed is let be.
            let asked = peer.link.as_ref().is_some_and(Link::is_asking);
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
        } else if link.is_asking() && now >= link.since + CONFIRM[1] {
            Some(Why::Unconfirmed)
        } else {
            None
        }
    }
}
