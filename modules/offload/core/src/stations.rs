//! Stations behind bridges, and neighbours: whose proofs end when they are elsewhere.
//!
//! A bridge tells of each station that it learns, moves or forgets. The proofs over the hops to its
//! address end then: also of one that is new, as what was sent to it while it was not known went to
//! all members.
//!
//! That is not enough for one that moved. A bridge learns from what a station sends, and what weir
//! forwards passes the bridge by: a single frame with the address of somebody else would take all
//! that is sent to him, until one of his own happens to go through the kernel. So all proofs end,
//! those of what he sends among them, and his next packet tells the bridge where he is, as it would
//! without weir. The same goes for one that was forgotten, for which the bridge floods until it
//! hears of him; but those go by the hundred in large networks, so that this ends all proofs ten
//! times a second at most.
//!
//! A bridge can be made to learn any number of addresses, so only so many are remembered. Once some
//! are not, a station that seems new may have been elsewhere before: then all proofs end, but once
//! a second at most, however many come. For that long a packet may go to where its station was; but
//! a station that moves sends, and a packet of its own flow that comes in elsewhere ends the proofs
//! to it in the packet path, without this.

use std::collections::HashMap;

use kernel::{Fdb, Mac};

use crate::time::Millis;

/// Most stations remembered: those that came first.
pub(crate) const STATIONS_MAX: usize = 16_384;
/// Most hardware addresses whose proofs end one by one: as many as the packet path knows hops. If
/// more change at once, all proofs do.
pub(crate) const CHANGES_MAX: usize = 4_096;
/// Least time between two ends of all proofs for stations that are not remembered.
const PAUSE: Millis = 1_000;
/// The same for stations that a bridge forgot.
const PAUSE_FORGOTTEN: Millis = 100;

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
    /// One that is remembered moved, or was forgotten by its bridge.
    moved: bool,
    lost: bool,
    /// When all proofs last ended for one that was forgotten.
    last_lost: Option<Millis>,
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
        self.lost |= !lost.is_empty();
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

    /// Takes what was told. Behind which member proofs over the hops to this station are to end.
    pub(crate) fn tell(&mut self, fdb: &Fdb, generation: u32) -> Option<u32> {
        let key = (fdb.bridge, fdb.vlan, fdb.mac);
        let known = self.known.get(&key).map(|(link, _)| *link);
        let here = fdb.present && !fdb.local;
        let unsure = known.is_none() && self.forgot;
        self.due |= unsure;
        if !here {
            self.known.remove(&key);
        } else if known.is_some() || self.known.len() < STATIONS_MAX {
            self.known.insert(key, (fdb.link, generation));
        } else {
            self.due = true;
            self.forgot = true;
            self.forgot_lately = true;
            return None;
        }
        match known {
            Some(_) if !here => self.lost = true,
            Some(link) if link != fdb.link => self.moved = true,
            Some(_) => return None,
            // If it was elsewhere before, all proofs end soon; until then those to where it was
            // lead right.
            None => return (here && !unsure).then_some(fdb.link),
        }
        known
    }

    /// Whether all proofs are to end.
    pub(crate) fn due(&mut self, now: Millis) -> bool {
        let rested =
            |last: Option<Millis>, pause| last.is_none_or(|last| now.saturating_sub(last) >= pause);
        let unknown = self.due && rested(self.last, PAUSE);
        let lost = self.lost && rested(self.last_lost, PAUSE_FORGOTTEN);
        let due = self.moved || unknown || lost;
        if unknown {
            self.due = false;
            self.last = Some(now);
        }
        if due {
            if self.lost {
                self.last_lost = Some(now);
            }
            (self.moved, self.lost) = (false, false);
        }
        due
    }
}
