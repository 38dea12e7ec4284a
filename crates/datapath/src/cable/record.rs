//! A port's record, read from and cleared in memory that the programs write meanwhile.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use kernel::Mac;

use super::types;
use crate::headers;
use crate::mapped::read_shared;

/// Sorts of frames (`enum cable_sort`).
pub const SORTS: usize = headers::CABLE_SORTS as usize;
/// Maximum number of attempts to read a text while the kernel writes it: each write takes less than
/// a microsecond.
const TRIES: u32 = 1000;

/// Frames of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRecord {
    /// Number of frames.
    pub frames: u32,
    /// Arrival of the last frame, by [`super::now`]; up to 11 ms early, as are the two below.
    pub last: u64,
    /// Sender of the last frame.
    pub from: Mac,
    /// The VLAN in its outermost tag.
    pub vlan: Option<u16>,
}

/// Record of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRecord {
    /// Records by number of the sort.
    pub sorts: [ClassRecord; SORTS],
    /// Senders of frames, without own addresses; 16 at most.
    pub stations: Vec<Mac>,
    /// True if there were more stations.
    pub more_stations: bool,
    /// Numbers of VLANs, 8 at most.
    pub vlans: Vec<u16>,
    /// The last LLDP frame, at most 320 octets of it; empty without one.
    pub lldp: Vec<u8>,
    /// The last frame of CDP.
    pub cdp: Vec<u8>,
    /// The last frame of MNDP.
    pub mndp: Vec<u8>,
    /// A hello of weir's.
    pub hello: Vec<u8>,
    /// Incoming frames that the gate stopped.
    pub dropped_in: u64,
    /// Outgoing frames that the gate stopped.
    pub dropped_out: u64,
}

/// A MAC as the programs have it.
pub(super) fn number(mac: Mac) -> u64 {
    mac.iter()
        .fold(0, |all, octet| all << 8 | u64::from(*octet))
}

fn mac(number: u64) -> Mac {
    let octets = number.to_be_bytes();
    std::array::from_fn(|at| octets[at + 2])
}

/// # Safety
/// `cable` points into a live mapping.
pub(super) unsafe fn read(cable: *const types::cable) -> PortRecord {
    // SAFETY: the caller's word, for all that is read here. The programs write numbers as a whole.
    unsafe {
        let stations = (0..headers::CABLE_STATIONS as usize)
            .map(|at| read_shared(&raw const (*cable).station[at]))
            .filter(|number| *number != 0);
        let vlans = (0..headers::CABLE_VLANS as usize)
            .map(|at| (&raw const (*cable).vlan[at]).read_volatile())
            .filter(|number| *number != 0);
        let text = |of: u64| text(&raw const (*cable).text[of as usize]);
        PortRecord {
            sorts: std::array::from_fn(|sort| note(&raw const (*cable).note[sort])),
            stations: stations.map(mac).collect(),
            more_stations: (&raw const (*cable).more).read_volatile() != 0,
            vlans: vlans.map(|number| number as u16).collect(),
            lldp: text(headers::CABLE_TEXT_LLDP),
            cdp: text(headers::CABLE_TEXT_CDP),
            mndp: text(headers::CABLE_TEXT_MNDP),
            hello: text(headers::CABLE_TEXT_HELLO),
            dropped_in: read_shared(&raw const (*cable).dropped_in),
            dropped_out: read_shared(&raw const (*cable).dropped_out),
        }
    }
}

/// # Safety
/// As for [`read`].
unsafe fn note(note: *const types::cable_note) -> ClassRecord {
    // SAFETY: the caller's word.
    let (frames, last, from) = unsafe {
        (
            (&raw const (*note).frames).read_volatile(),
            read_shared(&raw const (*note).last),
            read_shared(&raw const (*note).from),
        )
    };
    let vlan = (from >> headers::CABLE_MAC_BIT) as u16;
    ClassRecord {
        frames,
        last,
        from: mac(from),
        vlan: (frames != 0 && u64::from(vlan) != headers::CABLE_NO_VLAN).then_some(vlan),
    }
}

/// # Safety
/// As for [`read`].
unsafe fn text(text: *const types::cable_text) -> Vec<u8> {
    // SAFETY: the caller's word; the programs write this word by atomic instructions only.
    let sequence = unsafe { AtomicU32::from_ptr((&raw const (*text).sequence).cast_mut()) };
    for _ in 0..TRIES {
        let before = sequence.load(Ordering::Acquire);
        if before % 2 == 0 {
            // SAFETY: the caller's word. A torn copy is discarded.
            let (length, octets) = unsafe {
                (
                    (&raw const (*text).length).read_volatile(),
                    (&raw const (*text).octets).read_volatile(),
                )
            };
            fence(Ordering::Acquire);
            if sequence.load(Ordering::Relaxed) == before {
                return octets[..octets.len().min(length as usize)].to_vec();
            }
        }
        spin_loop();
    }
    Vec::new()
}

/// Clears the record, except for the identity of the port and its mode.
///
/// # Safety
/// As for [`read`], and only the programs write the record meanwhile.
pub(super) unsafe fn clear(cable: *mut types::cable) {
    // SAFETY: the caller's word. Numbers are written as a whole where the processor can.
    unsafe {
        for at in 0..headers::CABLE_STATIONS as usize {
            (&raw mut (*cable).station[at]).write_volatile(0);
        }
        for at in 0..headers::CABLE_VLANS as usize {
            (&raw mut (*cable).vlan[at]).write_volatile(0);
        }
        (&raw mut (*cable).more).write_volatile(0);
        for sort in 0..SORTS {
            let note = &raw mut (*cable).note[sort];
            (&raw mut (*note).frames).write_volatile(0);
            (&raw mut (*note).from).write_volatile(0);
            (&raw mut (*note).last).write_volatile(0);
        }
        (&raw mut (*cable).dropped_in).write_volatile(0);
        (&raw mut (*cable).dropped_out).write_volatile(0);
        for of in 0..headers::CABLE_TEXTS as usize {
            forget(&raw mut (*cable).text[of]);
        }
    }
}

/// Forgets a text, as its writer.
///
/// # Safety
/// As for [`clear`].
unsafe fn forget(text: *mut types::cable_text) {
    // SAFETY: the caller's word.
    let sequence = unsafe { AtomicU32::from_ptr(&raw mut (*text).sequence) };
    for _ in 0..TRIES {
        let before = sequence.load(Ordering::Relaxed) & !1;
        let writing = before.wrapping_add(1);
        if sequence
            .compare_exchange(before, writing, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            // SAFETY: no program writes it now.
            unsafe { (&raw mut (*text).length).write_volatile(0) };
            sequence.store(before.wrapping_add(2), Ordering::Release);
            return;
        }
        spin_loop();
    }
}
