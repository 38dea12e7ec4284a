//! Lists hops, ends their proofs, and forgets them.

use std::collections::HashSet;

use kernel::Mac;
use libbpf_rs::{MapCore, MapMut};

use crate::error::Error;
use crate::headers;
use crate::mapped::Mapped;
use crate::skel::types;

/// Maximum number of hops.
pub const MAX: u32 = headers::HOPS_MAX as u32;
/// A hop's flag: XDP may send it.
pub const XDP: u32 = headers::HOP_XDP as u32;

/// Flag in a hop's form: the hop is of a bridge.
pub(crate) const BRIDGED: u8 = headers::HOP_BRIDGED as u8;
/// Bits in a hop's form: the kind of switch tag in its header.
const DSA: u8 = headers::HOP_DSA as u8;
const GSWIP: u8 = (headers::DSA_GSWIP << headers::HOP_DSA_SHIFT) as u8;

/// Each kind of tag has its own number in a hop's form.
const _: () = assert!(
    (headers::DSA_KINDS - 1) << headers::HOP_DSA_SHIFT <= headers::HOP_DSA
        && headers::HOP_DSA & (headers::HOP_TAGS | headers::HOP_PPPOE | headers::HOP_BRIDGED) == 0
);

/// An egress path: a device, and the header that the kernel was seen to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Number, as flows refer to it.
    pub index: u32,
    /// Egress device.
    pub link: u32,
    /// Link-layer header.
    pub header: Vec<u8>,
    /// Raised each time the neighbour of this hop changes.
    pub epoch: u32,
    /// True if the header has a switch's tag, which [`crate::Encapsulation::of_header`] does not
    /// parse.
    pub switched: bool,
    /// True if XDP may send by this hop.
    pub xdp: bool,
    /// True for a hop of a bridge: the addresses and the EtherType, which are 0 in the header, are
    /// those of each frame.
    pub bridged: bool,
    /// Number of proofs given for this hop.
    pub proofs: u64,
}

/// Returns the hops assigned so far.
pub fn list(hops: &Mapped<types::hop>, used: u32) -> Vec<Hop> {
    (0..used.min(MAX))
        .filter_map(|index| hops.get(index).map(|hop| (index, hop)))
        .filter(|(_, hop)| hop.key.ifindex != 0)
        .map(|(index, hop)| Hop {
            index,
            link: hop.key.ifindex,
            header: hop.key.header[..usize::from(hop.key.len).min(hop.key.header.len())].to_vec(),
            epoch: hop.epoch,
            switched: hop.key.form & DSA != 0,
            xdp: hop.flags & XDP != 0,
            bridged: hop.key.form & BRIDGED != 0,
            proofs: hop.packets,
        })
        .collect()
}

/// Raises the epoch of all hops to these stations, on any device; returns the number of such hops.
/// `used`: the hops assigned so far.
pub fn invalidate(hops: &mut Mapped<types::hop>, used: u32, macs: &HashSet<Mac>) -> u32 {
    let mut bumped = 0;
    for index in 0..used.min(MAX) {
        let Some(p) = hops.at(index) else { break };
        let Some(hop) = hops.get(index) else { break };
        // The tag of one kind of switch comes before the addresses.
        let at = if hop.key.form & DSA == GSWIP { 4 } else { 0 };
        let Ok(mac) = Mac::try_from(&hop.key.header[at..at + 6]) else {
            continue;
        };
        if hop.key.ifindex != 0 && macs.contains(&mac) {
            // SAFETY: an aligned word of a live mapping that only the daemon writes after the hop
            // was learned.
            unsafe { (&raw mut (*p).epoch).write_volatile(hop.epoch.wrapping_add(1)) };
            bumped += 1;
        }
    }
    bumped
}

/// Updates the hops of `link` after a change of whether XDP may send there.
pub fn set_transmit(hops: &mut Mapped<types::hop>, link: u32, transmit: bool) {
    for index in 0..MAX {
        let (Some(p), Some(hop)) = (hops.at(index), hops.get(index)) else {
            break;
        };
        if hop.key.ifindex == link {
            let flags = if transmit {
                hop.flags | XDP
            } else {
                hop.flags & !XDP
            };
            // SAFETY: as in `invalidate`.
            unsafe { (&raw mut (*p).flags).write_volatile(flags) };
        }
    }
}

/// Empties the table. The packet path must be disarmed and idle. Epochs are kept, so that no old
/// proof matches a new hop.
pub fn forget(hops: &mut Mapped<types::hop>, index: &MapMut<'_>) -> Result<(), Error> {
    let keys: Vec<_> = index.keys().collect();
    for key in keys {
        index
            .delete(&key)
            .map_err(|e| Error::bpf("forget a hop", e))?;
    }
    for slot in 0..MAX {
        let epoch = hops.get(slot).map_or(0, |h| h.epoch);
        let free = types::hop {
            epoch,
            ..Default::default()
        };
        hops.set(slot, free);
    }
    Ok(())
}
