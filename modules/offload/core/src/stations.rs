//! Stations behind bridges, and neighbours: ends proofs when they move.
//!
//! A bridge reports each station that it learns, moves or forgets. The proofs over the hops to its
//! address end then: also of a new station, as the bridge flooded frames to all members while the
//! station was unknown.
//!
//! For a moved station, ending these proofs is not enough. A bridge learns from the frames of a
//! station, and weir's forwarding bypasses the bridge: a single frame with a forged source address
//! would take all frames to the victim, until a frame of the victim happens to go through the
//! kernel. So all proofs end, also those of frames from the victim, and the victim's next frame
//! shows the bridge its location, as without weir. A forgotten station also ends all proofs, as the
//! bridge floods until it receives a frame from the station; but large networks forget hundreds of
//! stations, so forgotten stations end all proofs ten times a second at most.
//!
//! A bridge can be made to learn any number of addresses, so weir remembers a limited number.
//! Beyond that, a station that seems new may have been elsewhere before: then all proofs end, but
//! once a second at most. For that second a packet may go to the old location. But a moved station
//! sends, and a packet of its own flow that enters elsewhere ends the proofs to the station in the
//! packet path, without this module.

use std::collections::HashMap;

use kernel::{Fdb, Mac};

use crate::time::Millis;

/// Maximum number of stations remembered: those that came first.
pub(crate) const STATIONS_MAX: usize = 16_384;
/// Maximum number of hardware addresses whose proofs end one by one: as many as the packet path
/// knows hops. If more change at once, all proofs end.
pub(crate) const CHANGES_MAX: usize = 4_096;
/// Minimum time between two ends of all proofs for stations that are not remembered.
const PAUSE: Millis = 1_000;
/// Like [`PAUSE`], for stations that a bridge forgot.
const PAUSE_FORGOTTEN: Millis = 100;

/// A station as a bridge knows it: bridge, VLAN, hardware address.
type Key = (u32, u16, Mac);

/// Known stations, and their ports.
#[derive(Default)]
pub(crate) struct Stations {
    /// Stations with the generation of the dump by which each was last seen.
    known: HashMap<Key, (u32, u32)>,
    /// True if some stations are not remembered.
    forgot: bool,
    /// True if the kernel reported some of those since the dump under way began.
    forgot_lately: bool,
    /// True if one of those may have changed.
    due: bool,
    /// Time when all proofs last ended for one of those.
    last: Option<Millis>,
    /// True if a known station moved, or its bridge forgot it.
    moved: bool,
    lost: bool,
    /// Time when all proofs last ended for a forgotten station.
    last_lost: Option<Millis>,
}

impl Stations {
    /// Handles the start of a dump.
    pub(crate) fn ask(&mut self) {
        self.forgot_lately = false;
    }

    /// Handles the end of a dump: removes and returns the entries that the dump did not show.
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

    /// Removes a device, with all facts about it.
    pub(crate) fn forget(&mut self, index: u32) {
        self.known
            .retain(|(bridge, _, _), (link, _)| *bridge != index && *link != index);
    }

    /// Returns the stations that a bridge knows, by address: bridge, VLAN, port.
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

    /// Handles a report. Returns the member whose proofs over hops to this station must end.
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

    /// Returns true if all proofs have to end.
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
