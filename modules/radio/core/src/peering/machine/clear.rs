//! Who proves nothing and is taken all the same, in clear, where that was asked for: whoever has the
//! network's name. Who proves the secret goes first everywhere.

use kernel::Mac;

use super::super::beacon::Beacon;
use super::super::peer::{Call, Peer};
use super::super::told::{Action, Why};
use super::Machine;

/// Addresses that proved the secret since the start, at most.
const MOST_PROVEN: usize = 1024;

impl Machine {
    /// A beacon with the network's name and without an element.
    pub(super) fn bare(&mut self, now: u64, beacon: &Beacon, signal: Option<i32>) {
        let Some(prefix) = self.settings.clear.clone() else {
            return;
        };
        // What says that it is of ours has to prove it, and who did so once need not do without.
        if beacon.ours || self.proven.contains(&beacon.mac) {
            self.refused.unproven += 1;
            return;
        }
        if beacon.mac == self.settings.own {
            self.refused.own += 1;
            return;
        }
        if let Some(peer) = self.peers.get_mut(&beacon.mac) {
            peer.abilities.clone_from(&beacon.abilities);
            peer.heard(signal, now);
            return;
        }
        // Who else proved the secret cannot be remembered: nobody is taken who may be one of them.
        let full = self.proven.len() >= MOST_PROVEN;
        if full || !self.settings.may_be_peer(&beacon.mac) || !self.has_room(false, signal) {
            self.refused.crowded += 1;
            return;
        }
        let aid = self.free_aid();
        let name = format!("{prefix}{aid}");
        let mut peer = Peer::new(None, beacon.abilities.clone(), name, aid, now);
        peer.heard(signal, now);
        self.peers.insert(beacon.mac, peer);
    }

    /// Who proved the secret is never taken in clear from then on.
    pub(super) fn remember(&mut self, mac: Mac) {
        if self.proven.len() < MOST_PROVEN {
            self.proven.insert(mac);
        }
    }

    /// Puts one in clear into the kernel.
    pub(super) fn take(&mut self, mac: Mac, out: &mut Vec<Action>) {
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
    pub(super) fn displace(&mut self, mac: &Mac, out: &mut Vec<Action>) {
        let others = |it: &(&Mac, &Peer)| it.0 != mac && it.1.is_in_kernel();
        let all = self.peers.iter().filter(others);
        if all.clone().count() < self.settings.most {
            return;
        }
        let weakest = all
            .filter(|(_, peer)| peer.element.is_none())
            .min_by_key(|(_, peer)| peer.signal());
        if let Some(mac) = weakest.map(|(mac, _)| *mac) {
            self.end(&mac, Why::Displaced, out);
        }
    }
}
