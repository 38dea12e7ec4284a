//! Forwarding between members of a bridge: its switch, and the pairs of stations that the packet
//! path saw.

use kernel::Mac;
use libbpf_rs::{MapCore, MapHandle};

use crate::control::{Control, Word};
use crate::error::Error;
use crate::load::Options;
use crate::mapped::handle;
use crate::skel::WeirSkel;

/// Pairs read at once: the next read gets the rest.
const MOST_READ: usize = 256;

/// Forwarding between members of a bridge.
pub struct Bridges {
    control: Control,
    pairs: MapHandle,
    /// True if the programs that forward bridged frames are loaded.
    loaded: bool,
}

impl Bridges {
    pub(crate) fn new(path: &WeirSkel<'_>, options: &Options) -> Result<Self, Error> {
        Ok(Self {
            control: Control::new(path)?,
            pairs: handle(&path.maps.pairs)?,
            loaded: options.bridge,
        })
    }

    /// Switches the forwarding of bridged frames. Off at first; switching it off takes effect with
    /// the next frame, and proofs stay until they end.
    pub fn set(&mut self, on: bool) {
        self.control.set(Word::Bridge, u32::from(on && self.loaded));
    }

    /// Returns unknown pairs of stations, as `[to, from]`, between which a bridge forwarded frames.
    /// Reports each pair once, at most 256 at a time.
    ///
    /// # Errors
    /// The kernel refuses to delete the pairs that were read.
    pub fn take_pairs(&mut self) -> Result<Vec<[Mac; 2]>, Error> {
        if !self.loaded {
            return Ok(Vec::new());
        }
        let keys: Vec<Vec<u8>> = self.pairs.keys().take(MOST_READ).collect();
        let mut pairs = Vec::with_capacity(keys.len());
        for key in keys {
            match self.pairs.delete(&key) {
                // If there are many pairs, the oldest are gone meanwhile.
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
