//! Stations behind bridges, and neighbours: whose proofs end when they are elsewhere.
//!
//! A bridge tells of each station that it learns, moves or forgets. One that is new ends nothing: nothing was sent to it by weir, as
//! long as all are remembered. A bridge can be made to learn any number of addresses, so only so many are. Once some are not, a
//! station that seems new may have been elsewhere before: then all proofs end, but once a second at most, however many come.
//! For that long a packet may go to where its station was; but a station that moves sends, and a packet of its own flow that
//! comes in elsewhere ends the proofs to it in the packet path, without this.

use std::collections::HashMap;

use kernel::{Fdb, Mac};

use crate::action::{Action, Cause, Millis};
use crate::core::Core;

/// Most stations remembered: those that came first.
pub(crate) const STATIONS_MAX: usize = 16_384;
/// Most hardware addresses whose proofs end one by one: as many as the packet path knows hops. If more change at once, all proofs do.
pub(crate) const CHANGES_MAX: usize = 4_096;
/// Least time between two ends of all proofs for stations that are not remembered.
const PAUSE: Millis = 1_000;

/// A station as a bridge knows it: bridge, VLAN, hardware address.
type Key = (u32, u16, Mac);

/// Which stations there are, and behind which port.
#[derive(Default)]
pub(crate) struct Stations {
    /// With the generation of the dump by which each was last seen.
    known: HashMap<Key, (u32, u32)>,
    /// There are some that are not remembered.
    forgot: bool,
    /// And some of them were told since the dump under way began.
    forgot_lately: bool,
    /// One of those may have changed.
    due: bool,
    /// When all proofs last ended for one of those.
    last: Option<Millis>,
}

impl Stations {
    /// A dump begins.
    pub(crate) fn ask(&mut self) {
        self.forgot_lately = false;
    }

    /// A dump is complete: forgets what it did not show, and gives it.
    pub(crate) fn sweep(&mut self, generation: u32) -> Vec<(u32, Mac)> {
        let mut lost = Vec::new();
        self.known.retain(|(_, _, mac), (link, seen)| {
            let keep = *seen == generation;
            if !keep {
                lost.push((*link, *mac));
            }
            keep
        });
        self.forgot = self.forgot_lately;
        lost
    }

    /// A device is gone, and all that was known of it.
    pub(crate) fn forget(&mut self, index: u32) {
        self.known
            .retain(|(bridge, _, _), (link, _)| *bridge != index && *link != index);
    }

    /// Which stations a bridge knows, by address: bridge, VLAN, port.
    pub(crate) fn places(&self) -> HashMap<Mac, Vec<(u32, u16, u32)>> {
        let mut places: HashMap<Mac, Vec<(u32, u16, u32)>> = HashMap::new();
        for ((bridge, vlan, mac), (link, _)) in &self.known {
            places
                .entry(*mac)
                .or_default()
                .push((*bridge, *vlan, *link));
        }
        places
    }

    /// Takes what was told. The port behind which the station no longer is, if it was known to be.
    fn tell(&mut self, fdb: &Fdb, generation: u32) -> Option<u32> {
        let key = (fdb.bridge, fdb.vlan, fdb.mac);
        let known = self.known.get(&key).map(|(link, _)| *link);
        let here = fdb.present && !fdb.local;
        if known.is_none() && self.forgot {
            self.due = true;
        }
        if !here {
            self.known.remove(&key);
        } else if known.is_some() || self.known.len() < STATIONS_MAX {
            self.known.insert(key, (fdb.link, generation));
        } else {
            self.due = true;
            self.forgot = true;
            self.forgot_lately = true;
        }
        known.filter(|link| !here || *link != fdb.link)
    }

    /// Whether all proofs are to end for stations that are not remembered.
    fn due(&mut self, now: Millis) -> bool {
        let rested = self
            .last
            .is_none_or(|last| now.saturating_sub(last) >= PAUSE);
        let due = self.due && rested;
        if due {
            self.due = false;
            self.last = Some(now);
        }
        due
    }
}

impl Core {
    /// A bridge learned, moved or forgot where a station is.
    pub(crate) fn station(&mut self, fdb: &Fdb) {
        let left = self.around.stations.tell(fdb, self.routes.generation);
        if let Some(link) = left {
            self.bump_hops(link, fdb.mac);
        }
    }

    /// Ends the proofs over one neighbour, with the other changes of this batch.
    pub(crate) fn bump_hops(&mut self, link: u32, mac: Mac) {
        if self.around.changed.len() <= CHANGES_MAX {
            self.around.changed.insert((link, mac));
        }
    }

    /// Ends the proofs over all that changed in this batch; whether anything did.
    pub(crate) fn flush_stations(&mut self, out: &mut Vec<Action>) -> bool {
        let changed = std::mem::take(&mut self.around.changed);
        let due = self.around.stations.due(self.now);
        if due || changed.len() > CHANGES_MAX {
            self.bump(Cause::Neighbours, out);
            return true;
        }
        let any = !changed.is_empty();
        self.statistics.hop_bumps += changed.len() as u64;
        out.extend(
            changed
                .into_iter()
                .map(|(link, mac)| Action::BumpHops { link, mac }),
        );
        any
    }
}
