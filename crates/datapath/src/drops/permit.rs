//! What user space says of learned drops.

use std::sync::atomic::{Ordering, fence};

use kernel::Tuple;

use super::{ID_MIN, WAYS, tuple};
use crate::Datapath;

impl Datapath {
    /// Says of each tuple that netfilter was seen to drop whether weir may drop it, too. What
    /// nothing was said of, in this epoch, is not dropped.
    pub fn permit_drops(&mut self, mut may: impl FnMut(&Tuple) -> bool) {
        let epoch = self.control().epoch;
        for index in 0..self.drops.buckets.len() {
            let Some(bucket) = self.drops.buckets.at(index) else {
                return;
            };
            for way in 0..WAYS as usize {
                // SAFETY: within the mapping; plain numbers, of which the kernel may change any at
                // any time.
                let (id, entry, allowed) = unsafe {
                    let id = (&raw const (*bucket).id[way]).read_volatile();
                    // The key belongs to this number, or to a later one, which what is written
                    // below does not fit.
                    fence(Ordering::Acquire);
                    let entry = &raw mut (*bucket).way[way];
                    (id, entry.read_volatile(), &raw mut (*entry).allowed)
                };
                let permitted = permit(id, epoch);
                // A flood leaves thousands of which one packet came.
                if id < ID_MIN || (entry.epoch != epoch && entry.allowed != permitted) {
                    continue;
                }
                let permit = match tuple(&entry) {
                    Some(tuple) if may(&tuple) => permitted,
                    // Any other number forbids.
                    _ => !permitted,
                };
                if permit != entry.allowed {
                    // SAFETY: as above; nobody else writes it.
                    unsafe { allowed.write_volatile(permit) };
                }
            }
        }
    }
}

/// drop_permit of bpf/include/drop_table.h.
fn permit(id: u64, epoch: u32) -> u32 {
    (id >> 32) as u32 ^ epoch
}
