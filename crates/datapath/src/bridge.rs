//! Forwarding between members of a bridge: its switch, and the pairs of stations that the packet
//! path saw.

use kernel::Mac;
use libbpf_rs::MapCore;

use crate::Datapath;
use crate::error::Error;
use crate::table::PAIRS;

/// Pairs read in one go: what is left is read the next time.
const MOST_READ: usize = 256;

impl Datapath {
    /// Makes frames between two stations known, both ways, under `pair`, a number of the caller's
    /// from [`PAIRS`] on. With that number [`Datapath::remove`], [`Datapath::prove`],
    /// [`Datapath::read`] and [`Datapath::inspect`] take it as they take a flow: the first
    /// direction is to the first station. Lengths and bytes are those behind the EtherType.
    ///
    /// # Errors
    /// [`Error::Full`] when no bucket of one of the directions has room.
    pub fn install_pair(&mut self, pair: u32, stations: [Mac; 2]) -> Result<(), Error> {
        debug_assert!(pair & PAIRS != 0);
        self.table.install_pair(pair, stations, &mut self.trials)
    }

    /// Whether anything is forwarded between members of a bridge. Off at first; switching it off
    /// takes effect with the next frame, and what was proven stays so until proofs end.
    pub fn set_bridging(&mut self, on: bool) {
        self.control().bridge = u32::from(on && self.options.bridge);
    }

    /// Whether it is on.
    pub fn bridging(&mut self) -> bool {
        self.control().bridge != 0
    }

    /// Pairs of stations, as `[to, from]`, that a bridge passed frames on between and that were not
    /// known; each is given once, at most 256 at a time.
    ///
    /// # Errors
    /// The kernel refuses to delete what was read.
    pub fn take_pairs(&mut self) -> Result<Vec<[Mac; 2]>, Error> {
        if !self.options.bridge {
            return Ok(Vec::new());
        }
        let map = &self.skel.maps.pairs;
        let keys: Vec<Vec<u8>> = map.keys().take(MOST_READ).collect();
        let mut pairs = Vec::with_capacity(keys.len());
        for key in keys {
            match map.delete(&key) {
                // The oldest are forgotten where there are many: read, and gone meanwhile.
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(Error::bpf("take a pair of stations", error));
                }
                _ => {}
            }
            let (to, from) = key.split_at(key.len().min(6));
            if let (Ok(to), Ok(from)) = (Mac::try_from(to), Mac::try_from(from)) {
                pairs.push([to, from]);
            }
        }
        Ok(pairs)
    }
}
