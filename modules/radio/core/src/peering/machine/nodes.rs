//! Known nodes, peers and others.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Mac;

use crate::peering::messages::{Action, EndReason, PeerReport, State, WaitReason};
use crate::peering::peer::{CONFIRM, CallState, Peer};
use crate::peering::settings::Settings;

/// Maximum number of stored nodes, peers and others: all prove the secret.
pub const MOST: usize = 64;
/// The highest AID of a station (IEEE 802.11, 9.4.1.8). hostapd gives them from 1 on.
const HIGHEST_AID: u16 = 2007;
/// Addresses that proved the secret since the start, at most.
const MOST_PROVEN: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct Nodes {
    peers: BTreeMap<Mac, Peer>,
    /// Nodes that have ever proved the secret.
    proven: BTreeSet<Mac>,
}

impl Nodes {
    /// Creates the list; nodes that proved the secret earlier are never accepted in clear.
    pub fn remembering(proven: BTreeSet<Mac>) -> Self {
        Self {
            peers: BTreeMap::new(),
            proven,
        }
    }

    /// Returns a node.
    pub fn get(&self, mac: &Mac) -> Option<&Peer> {
        self.peers.get(mac)
    }

    /// Returns a node.
    pub fn get_mut(&mut self, mac: &Mac) -> Option<&mut Peer> {
        self.peers.get_mut(mac)
    }

    /// Returns all nodes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Mac, &mut Peer)> {
        self.peers.iter_mut()
    }

    /// Returns the addresses of all nodes.
    pub fn macs(&self) -> Vec<Mac> {
        self.peers.keys().copied().collect()
    }

    /// Returns true if a node has a device of this name.
    pub fn have_device(&self, name: &str) -> bool {
        self.peers.values().any(|peer| peer.name == name)
    }

    /// Adds a node.
    pub fn insert(&mut self, mac: Mac, peer: Peer) {
        self.peers.insert(mac, peer);
    }

    /// Removes a node that is not a peer.
    pub fn remove(&mut self, mac: &Mac) {
        self.peers.remove(mac);
    }

    /// Ends and forgets all.
    pub fn clear(&mut self, why: EndReason, out: &mut Vec<Action>) {
        self.macs().iter().for_each(|mac| self.end(mac, why, out));
        self.peers.clear();
    }

    /// Returns true if a node has ever proved the secret.
    pub fn has_proven(&self, mac: &Mac) -> bool {
        self.proven.contains(mac)
    }

    /// Returns true if no further node that proves the secret can be remembered.
    pub fn is_full(&self) -> bool {
        self.proven.len() >= MOST_PROVEN
    }

    /// Returns the nodes that have ever proved the secret.
    pub fn proven(&self) -> &BTreeSet<Mac> {
        &self.proven
    }

    /// Reports on all nodes, by address.
    pub fn shown(&self, settings: &Settings) -> impl Iterator<Item = PeerReport> {
        self.peers.iter().map(|(mac, peer)| PeerReport {
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
            (None, CallState::None) if self.is_admitted(settings, mac, peer) => State::Seen,
            (None, CallState::None) => State::Waiting,
            (None, _) => State::Handshake,
        }
    }

    fn waits(&self, settings: &Settings, mac: &Mac, peer: &Peer) -> Option<WaitReason> {
        let faint = peer.signal().is_some_and(|it| it < settings.admit);
        let why = if faint {
            WaitReason::Faint
        } else {
            WaitReason::Full
        };
        (self.state(settings, mac, peer) == State::Waiting).then_some(why)
    }

    /// Returns a number that no other node has.
    pub fn free_aid(&self) -> u16 {
        let used = |aid: &u16| self.peers.values().any(|peer| peer.aid == *aid);
        let aid = (1..=HIGHEST_AID).rev().find(|aid| !used(aid));
        aid.unwrap_or(HIGHEST_AID)
    }

    /// Makes room for a node with this signal by forgetting a weaker one that is not a peer: an
    /// unproven node before a proven one.
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

    /// Returns true if a node may become a peer now.
    pub fn is_admitted(&self, settings: &Settings, mac: &Mac, peer: &Peer) -> bool {
        let Settings { admit, most, .. } = *settings;
        // A node in clear gives its place to a node that proves itself.
        let counts = |other: &Peer| peer.element.is_none() || other.element.is_some();
        let peers = self
            .peers
            .iter()
            .filter(|(other, peer)| *other != mac && peer.is_in_kernel() && counts(peer));
        let loud = peer.signal().is_none_or(|signal| signal >= admit);
        loud && peers.count() < most
    }

    /// Remembers that a node proved the secret: from then on it is never accepted in clear.
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
        peer.call = CallState::Installing {
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

    /// If there are enough peers, removes the weakest in clear for a node that proves itself.
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
            self.end(&mac, EndReason::Displaced, out);
        }
    }

    /// Handles the kernel's counters of a peer: idle time, lost frames; `None`: the peer is gone.
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
            self.end(&mac, EndReason::Lost, out);
            if keyed {
                out.push(Action::Renew);
            }
            return;
        };
        let grown = lost.saturating_sub(link.failed.unwrap_or(lost));
        link.failed = Some(lost);
        let clear = link.session.is_none();
        if clear {
            // A foreign node in clear may be idle: idle time does not end the peering.
            let heard = idle < inactive && now.saturating_sub(idle) > link.since;
            link.confirmed = (!heard).then_some(now);
        } else {
            // Beacons may be lost in a flood: frames under the key are also from the node.
            peer.seen = peer.seen.max(now.saturating_sub(idle));
        }
        if idle >= inactive && !clear {
            self.end(&mac, EndReason::Inactive, out);
        } else if grown >= failed && idle >= inactive / 4 {
            self.end(&mac, EndReason::Failing, out);
        }
    }

    /// Removes a node's state from the kernel; the node stays in the list.
    pub fn end(&mut self, mac: &Mac, why: EndReason, out: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(mac) else {
            return;
        };
        peer.call = CallState::None;
        // A refused installation is half done: the device may exist.
        if peer.link.take().is_some() || why == EndReason::Refused {
            out.push(Action::Remove(*mac, peer.name.clone(), why));
        }
    }

    /// Returns the reason if a peering must end.
    pub fn over(&self, settings: &Settings, now: u64, mac: &Mac) -> Option<EndReason> {
        let peer = self.peers.get(mac)?;
        let link = peer.link.as_ref()?;
        let release = settings.release;
        if now >= peer.seen + settings.silent {
            Some(EndReason::Silent)
        } else if peer.signal().is_some_and(|signal| signal < release) {
            Some(EndReason::Weak)
        } else if link.is_asking() && now >= link.since + CONFIRM[1] {
            Some(EndReason::Unconfirmed)
        } else {
            None
        }
    }
}
