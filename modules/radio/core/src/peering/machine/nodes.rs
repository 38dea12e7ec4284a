//! Nodes that are known, peers and others.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Mac;

use crate::peering::peer::{CONFIRM, Call, Peer};
use crate::peering::settings::Settings;
use crate::peering::told::{Action, Shown, State, Waits, Why};

/// Nodes that are remembered at most, peers and others: all prove the secret.
pub const MOST: usize = 64;
/// The highest AID of a station (IEEE 802.11, 9.4.1.8). hostapd gives them from 1 on.
const HIGHEST_AID: u16 = 2007;
/// Addresses that proved the secret since the start, at most.
const MOST_PROVEN: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct Nodes {
    peers: BTreeMap<Mac, Peer>,
    /// Who proved the secret at any time.
    proven: BTreeSet<Mac>,
}

impl Nodes {
    /// Those who proved the secret to a former machine are never taken in clear.
    pub fn remembering(proven: BTreeSet<Mac>) -> Self {
        Self {
            peers: BTreeMap::new(),
            proven,
        }
    }

    /// A node.
    pub fn get(&self, mac: &Mac) -> Option<&Peer> {
        self.peers.get(mac)
    }

    /// A node.
    pub fn get_mut(&mut self, mac: &Mac) -> Option<&mut Peer> {
        self.peers.get_mut(mac)
    }

    /// All nodes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Mac, &mut Peer)> {
        self.peers.iter_mut()
    }

    /// Addresses of all nodes.
    pub fn macs(&self) -> Vec<Mac> {
        self.peers.keys().copied().collect()
    }

    /// Whether a node has a device of this name.
    pub fn have_device(&self, name: &str) -> bool {
        self.peers.values().any(|peer| peer.name == name)
    }

    /// One more node.
    pub fn insert(&mut self, mac: Mac, peer: Peer) {
        self.peers.insert(mac, peer);
    }

    /// Forgets a node that is no peer.
    pub fn remove(&mut self, mac: &Mac) {
        self.peers.remove(mac);
    }

    /// Ends and forgets all.
    pub fn clear(&mut self, why: Why, out: &mut Vec<Action>) {
        self.macs().iter().for_each(|mac| self.end(mac, why, out));
        self.peers.clear();
    }

    /// Whether a node proved the secret at any time.
    pub fn has_proven(&self, mac: &Mac) -> bool {
        self.proven.contains(mac)
    }

    /// Whether nobody more who proves the secret can be remembered.
    pub fn is_full(&self) -> bool {
        self.proven.len() >= MOST_PROVEN
    }

    /// Who proved the secret at any time.
    pub fn proven(&self) -> &BTreeSet<Mac> {
        &self.proven
    }

    /// All that are known, by address.
    pub fn shown(&self, settings: &Settings) -> impl Iterator<Item = Shown> {
        self.peers.iter().map(|(mac, peer)| Shown {
            mac: *mac,
            name: peer.name.clone(),
            state: self.state(settings, mac, peer),
            waits: self.waits(settings, mac, peer),
            since: peer.since,
            signal: peer.signal(),
            encrypted: peer
                .link
                .as_ref()
                .is_some_and(|link| link.session.is_some()),
            clear: peer.element.is_none(),
        })
    }

    fn state(&self, settings: &Settings, mac: &Mac, peer: &Peer) -> State {
        match (&peer.link, &peer.call) {
            (Some(link), _) if link.confirmed.is_none() => State::Alive,
            (Some(_), _) => State::Installed,
            (None, Call::None) if self.is_admitted(settings, mac, peer) => State::Seen,
            (None, Call::None) => State::Waiting,
            (None, _) => State::Handshake,
        }
    }

    fn waits(&self, settings: &Settings, mac: &Mac, peer: &Peer) -> Option<Waits> {
        let faint = peer.signal().is_some_and(|it| it < settings.admit);
        let why = if faint { Waits::Faint } else { Waits::Full };
        (self.state(settings, mac, peer) == State::Waiting).then_some(why)
    }

    /// A number that no other node has.
    pub fn free_aid(&self) -> u16 {
        let used = |aid: &u16| self.peers.values().any(|peer| peer.aid == *aid);
        let aid = (1..=HIGHEST_AID).rev().find(|aid| !used(aid));
        aid.unwrap_or(HIGHEST_AID)
    }

    /// Makes room for a node that is heard so loud, by forgetting a weaker one that is no peer:
    /// one that proves nothing before one that does.
    pub fn has_room(&mut self, proves: bool, signal: Option<i32>) -> bool {
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
    pub fn is_admitted(&self, settings: &Settings, mac: &Mac, peer: &Peer) -> bool {
        let Settings { admit, most, .. } = *settings;
        // One in clear gives its place to one that proves itself.
        let counts = |other: &Peer| peer.element.is_none() || other.element.is_some();
        let peers = self
            .peers
            .iter()
            .filter(|(other, peer)| *other != mac && peer.is_in_kernel() && counts(peer));
        let loud = peer.signal().is_none_or(|signal| signal >= admit);
        loud && peers.count() < most
    }

    /// Who proved the secret is never taken in clear from then on.
    pub fn remember(&mut self, mac: Mac) {
        if self.proven.len() < MOST_PROVEN {
            self.proven.insert(mac);
        }
    }

    /// Puts one in clear into the kernel.
    pub fn take(&mut self, mac: Mac, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&mac) else {
            return;
        };
        peer.call = Call::Installing {
            session: None,
            instance: None,
            caller: false,
        };
        out.push(Action::Install {
            mac,
            name: peer.name.clone(),
            aid: peer.aid,
            abilities: peer.abilities.clone(),
            key: None,
        });
    }

    /// Where there are peers enough, the weakest in clear makes room for one that proves itself.
    pub fn displace(&mut self, most: usize, mac: &Mac, out: &mut Vec<Action>) {
        let others = |it: &(&Mac, &Peer)| it.0 != mac && it.1.is_in_kernel();
        let all = self.peers.iter().filter(others);
        if all.clone().count() < most {
            return;
        }
        let weakest = all
            .filter(|(_, peer)| peer.element.is_none())
            .min_by_key(|(_, peer)| peer.signal());
        if let Some(mac) = weakest.map(|(mac, _)| *mac) {
            self.end(&mac, Why::Displaced, out);
        }
    }

    /// The kernel counted of a peer how long it was idle, and what it did not acknowledge; `None`: it is gone.
    pub fn counted(
        &mut self,
        settings: &Settings,
        now: u64,
        mac: Mac,
        told: Option<(u64, u32)>,
        out: &mut Vec<Action>,
    ) {
        let Settings {
            inactive, failed, ..
        } = *settings;
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
    pub fn end(&mut self, mac: &Mac, why: Why, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(mac) else {
            return;
        };
        peer.call = Call::None;
        // What was refused is half done: the device may be there.
        if peer.link.take().is_some() || why == Why::Refused {
            out.push(Action::Remove(*mac, peer.name.clone(), why));
        }
    }

    /// Whether a peer is one no longer.
    pub fn over(&self, settings: &Settings, now: u64, mac: &Mac) -> Option<Why> {
        let peer = self.peers.get(mac)?;
        let link = peer.link.as_ref()?;
        let release = settings.release;
        if now >= peer.seen + settings.silent {
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
