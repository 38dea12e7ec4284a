//! Reading the meter's records, and adding up what they count.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use kernel::ConversationKey;

use super::{TrafficCounts, types};
use crate::headers;
use crate::mapped::{Mapped, read_shared};

/// Rest of a retired record before reuse: by then no packet can still be adding to it.
pub const REST: Duration = Duration::from_millis(200);
pub const WAYS: u32 = headers::METER_WAYS as u32;
pub const TIMED: u8 = headers::METER_TIMED as u8;
pub const OUTSIDE: u8 = headers::METER_OUTSIDE as u8;
pub const IPV6: u32 = headers::METER_REF_IPV6 as u32;

/// The low byte of an owner word.
pub const STATE: u32 = 0xff;
pub const FREE: u32 = headers::METER_FREE as u32;
pub const LIVE: u32 = headers::METER_LIVE as u32;
pub const RETIRED: u32 = headers::METER_RETIRED as u32;

/// Two shared counters as they were last read: 24 bits of packets, 40 of bytes, either of which
/// may wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts([u64; 2]);

impl Counts {
    /// Growth of the counters: sent, received.
    pub fn grown(&mut self, now: [u64; 2]) -> TrafficCounts {
        let mut ways = [(0, 0); 2];
        for (way, count) in now.into_iter().enumerate() {
            let grown = count.wrapping_sub(self.0[way]);
            self.0[way] = count;
            ways[way] = (grown >> 40, grown & ((1 << 40) - 1));
        }
        TrafficCounts {
            sent: ways[0],
            received: ways[1],
        }
    }
}

/// A bucket of records of one family.
pub trait Bucket: Copy {
    /// Part of a slot that both families share.
    fn meter(bucket: *mut Self, way: usize) -> *mut types::meter;
    /// Key of a slot, by 64-bit words as they lie in memory. Copies nothing of the other slots:
    /// they are other cache lines.
    ///
    /// # Safety
    /// `bucket` points into a live mapping.
    unsafe fn words(bucket: *const Self, way: usize) -> [u64; 5];
}

impl Bucket for types::meter_bucket4 {
    fn meter(bucket: *mut Self, way: usize) -> *mut types::meter {
        // SAFETY: only an address is taken, of a way that exists.
        unsafe { &raw mut (*bucket).way[way].m }
    }

    unsafe fn words(bucket: *const Self, way: usize) -> [u64; 5] {
        // SAFETY: a way that exists in a live mapping, as the caller guarantees; copied out.
        let key = unsafe { (&raw const (*bucket).way[way].key).read_volatile() };
        let mut words = [0; 5];
        words[0] = pair(key.station, key.far);
        words[1] = pair(ports(key.station_port, key.remote_port), key.r#where);
        words
    }
}

impl Bucket for types::meter_bucket6 {
    fn meter(bucket: *mut Self, way: usize) -> *mut types::meter {
        // SAFETY: as above.
        unsafe { &raw mut (*bucket).way[way].m }
    }

    unsafe fn words(bucket: *const Self, way: usize) -> [u64; 5] {
        // SAFETY: as above.
        let key = unsafe { (&raw const (*bucket).way[way].key).read_volatile() };
        [
            pair(key.station[0], key.station[1]),
            pair(key.station[2], key.station[3]),
            pair(key.far[0], key.far[1]),
            pair(key.far[2], key.far[3]),
            pair(ports(key.station_port, key.remote_port), key.r#where),
        ]
    }
}

/// Joins two words, in the order of memory.
fn pair(first: u32, second: u32) -> u64 {
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&first.to_ne_bytes());
    octets[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(octets)
}

fn ports(first: u16, second: u16) -> u32 {
    let mut octets = [0; 4];
    octets[..2].copy_from_slice(&first.to_ne_bytes());
    octets[2..].copy_from_slice(&second.to_ne_bytes());
    u32::from_ne_bytes(octets)
}

/// Decodes a key from its words; `place` splits the place word into port, VLAN and protocol.
pub fn key(words: &[u64; 5], ipv6: bool, place: impl Fn(u32) -> (u32, u16, u8)) -> ConversationKey {
    let mut octets = [0u8; 40];
    for (to, word) in octets.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    let (station, far, tail) = if ipv6 {
        (v6(&octets[..16]), v6(&octets[16..32]), &octets[32..])
    } else {
        (v4(&octets[..4]), v4(&octets[4..8]), &octets[8..16])
    };
    let at = u32::from_ne_bytes([tail[4], tail[5], tail[6], tail[7]]);
    let (port, vlan, protocol) = place(at);
    ConversationKey {
        port,
        vlan,
        protocol,
        station,
        station_port: u16::from_be_bytes([tail[0], tail[1]]),
        remote: far,
        remote_port: u16::from_be_bytes([tail[2], tail[3]]),
    }
}

fn v4(octets: &[u8]) -> IpAddr {
    let octets: [u8; 4] = octets.try_into().unwrap_or_default();
    IpAddr::V4(Ipv4Addr::from(octets))
}

fn v6(octets: &[u8]) -> IpAddr {
    let octets: [u8; 16] = octets.try_into().unwrap_or_default();
    IpAddr::V6(Ipv6Addr::from(octets))
}

/// All records of one family, and the last read counts of each.
pub struct Slots<B> {
    buckets: Mapped<B>,
    counts: Vec<Counts>,
}

impl<B: Bucket> Slots<B> {
    pub fn new(buckets: Mapped<B>) -> Self {
        let counts = vec![Counts::default(); (buckets.len() * WAYS) as usize];
        Self { buckets, counts }
    }

    /// Number of records.
    pub fn len(&self) -> u32 {
        self.buckets.len() * WAYS
    }

    fn bucket(&self, index: u32) -> (*mut B, usize) {
        let bucket = self.buckets.at(index / WAYS);
        (
            bucket.expect("a record's number is valid"),
            (index % WAYS) as usize,
        )
    }

    fn meter(&self, index: u32) -> *mut types::meter {
        let (bucket, way) = self.bucket(index);
        B::meter(bucket, way)
    }

    pub fn owner(&self, index: u32) -> &AtomicU32 {
        // SAFETY: aligned, in a mapping that lives as long as self, and only accessed atomically by
        // either side.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.meter(index)).owner) }
    }

    /// Returns a record's common part, its key, and its counts since the last read.
    pub fn read(&mut self, index: u32) -> (types::meter, [u64; 5], TrafficCounts) {
        let (bucket, way) = self.bucket(index);
        let meter = B::meter(bucket, way);
        // SAFETY: points into a live mapping.
        let counts = [0, 1].map(|way| unsafe { read_shared(&raw const (*meter).count[way]) });
        // The kernel side writes flags first: they are of all packets that are counted here.
        fence(Ordering::Acquire);
        // SAFETY: a live mapping, copied out.
        let (copy, words) = unsafe { (meter.read_volatile(), B::words(bucket, way)) };
        (copy, words, self.counts[index as usize].grown(counts))
    }

    /// Resets an unused record, which counts from 0 again.
    pub fn clear(&mut self, index: u32) {
        let meter = self.meter(index);
        // SAFETY: a retired record of a live mapping: the kernel side does not write to it any
        // more.
        unsafe { (&raw mut (*meter).count).write_volatile([0; 2]) };
        self.counts[index as usize] = Counts::default();
    }
}
