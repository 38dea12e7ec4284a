//! Learned drops: the table of tuples that netfilter drops.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{Ordering, fence};

use kernel::{Protocol, Tuple};

use crate::error::Error;
use crate::headers;
use crate::mapped::Mapped;
use crate::skel::{WeirSkel, types};

/// Buckets of four tuples where drops are learned: half a megabyte.
const BUCKETS: u32 = 1024;
const WAYS: u32 = headers::DROP_WAYS as u32;
/// First identity of a rule.
const ID_MIN: u64 = headers::DROP_ID_MIN;

/// Events under a prefix, or of a tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCount {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets let through to the kernel as samples.
    pub sampled: u64,
    /// Packets that netfilter was seen to drop. Of a tuple: since the row began.
    pub confirmed: u64,
}

/// A tuple that netfilter drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// Tuple of its packets at ingress.
    pub tuple: Tuple,
    /// Ingress device in the kernel's view: the topmost one.
    pub link: u32,
    /// Weir drops them now.
    pub cached: bool,
    /// Packets let through since the row began; [`DropCount::confirmed`] of them were dropped.
    pub tried: u64,
    /// Counters of the tuple.
    pub count: DropCount,
}

/// Sums over learned drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearnedTotals {
    /// Packets dropped, including those of former entries.
    pub dropped: u64,
    /// Entries ever made.
    pub learned: u64,
    /// Entries not made because drops that hold occupied all slots.
    pub crowded: u64,
    /// Number of entries, and of those that are dropped now.
    pub entries: u32,
    /// See `entries`.
    pub cached: u32,
    /// Room for entries.
    pub capacity: u32,
}

/// Buckets to make room for.
pub(super) fn buckets(learn: bool) -> u32 {
    if learn { BUCKETS } else { 1 }
}

/// The table.
pub(super) struct Buckets(Mapped<types::drop_bucket>);

impl Buckets {
    pub fn new(path: &WeirSkel<'_>, learn: bool) -> Result<Self, Error> {
        Mapped::new(&path.maps.drops, buckets(learn)).map(Self)
    }

    /// Room for entries.
    pub fn capacity(&self) -> u32 {
        self.0.len() * WAYS
    }

    fn entries(&self) -> impl Iterator<Item = (bool, types::drop)> {
        (0..self.0.len())
            .filter_map(|index| self.0.get(index))
            .flat_map(|bucket| {
                (0..WAYS as usize)
                    .filter(move |way| bucket.id[*way] >= ID_MIN)
                    .map(move |way| (bucket.cached[way] != 0, bucket.way[way]))
            })
    }

    /// Returns all tuples with their state in this epoch.
    pub fn all(&self, epoch: u32) -> impl Iterator<Item = Learned> {
        self.entries().filter_map(move |(cached, entry)| {
            let current = entry.epoch == epoch;
            Some(Learned {
                tuple: tuple(&entry)?,
                link: entry.top,
                cached: cached && current,
                tried: if current { u64::from(entry.tried) } else { 0 },
                count: DropCount {
                    dropped: dropped(&entry),
                    sampled: entry.sampled,
                    confirmed: if current { u64::from(entry.dropped) } else { 0 },
                },
            })
        })
    }

    /// Adds the present entries.
    pub fn add_to(&self, mut sum: LearnedTotals, epoch: u32) -> LearnedTotals {
        for (cached, entry) in self.entries() {
            sum.entries += 1;
            sum.cached += u32::from(cached && entry.epoch == epoch);
            sum.dropped += dropped(&entry);
        }
        sum
    }

    /// See [`Drops::permit`](super::Drops::permit).
    pub fn permit(&mut self, epoch: u32, mut may: impl FnMut(&Tuple) -> bool) {
        for index in 0..self.0.len() {
            let Some(bucket) = self.0.at(index) else {
                return;
            };
            for way in 0..WAYS as usize {
                // SAFETY: within the mapping; plain numbers, of which the kernel may change any at
                // any time.
                let (id, entry, allowed) = unsafe {
                    let id = (&raw const (*bucket).id[way]).read_volatile();
                    // The key belongs to this number, or to a later one, to which the write below
                    // does not apply.
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
                    // SAFETY: as above; there is no other writer.
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

/// Packets that an entry dropped.
fn dropped(entry: &types::drop) -> u64 {
    entry.seen.saturating_sub(entry.sampled)
}

/// Decodes the words of a key, as they lie in memory: addresses, ports, protocol.
fn tuple(entry: &types::drop) -> Option<Tuple> {
    let octets: Vec<u8> = entry.key.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let (source, destination, ports): (IpAddr, IpAddr, usize) = if entry.ipv6 != 0 {
        let at = |at: usize| <[u8; 16]>::try_from(octets.get(at..at + 16)?).ok();
        (
            Ipv6Addr::from(at(0)?).into(),
            Ipv6Addr::from(at(16)?).into(),
            32,
        )
    } else {
        let at = |at: usize| <[u8; 4]>::try_from(octets.get(at..at + 4)?).ok();
        (
            Ipv4Addr::from(at(0)?).into(),
            Ipv4Addr::from(at(4)?).into(),
            8,
        )
    };
    let port = |at: usize| Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]));
    Some(Tuple {
        protocol: Protocol::from_number(*octets.get(ports + 4)?)?,
        source,
        source_port: port(ports)?,
        destination,
        destination_port: port(ports + 2)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = |octets: &[u8]| {
            let mut words = [0u64; 5];
            for (word, eight) in words.iter_mut().zip(octets.chunks(8)) {
                let mut all = [0; 8];
                all[..eight.len()].copy_from_slice(eight);
                *word = u64::from_ne_bytes(all);
            }
            words
        };
        let v4 = types::drop {
            key: key(&[192, 0, 2, 1, 10, 0, 0, 1, 0x9c, 0x40, 1, 0xbb, 17, 0, 0, 0]),
            ..Default::default()
        };
        assert_eq!(
            tuple(&v4).expect("a tuple").to_string(),
            "udp 192.0.2.1:40000 > 10.0.0.1:443"
        );
        let mut octets = [0; 40];
        octets[0] = 0x20;
        octets[31] = 1;
        octets[32..37].copy_from_slice(&[0, 53, 0, 80, 6]);
        let v6 = types::drop {
            key: key(&octets),
            ipv6: 1,
            ..Default::default()
        };
        let found = tuple(&v6).expect("a tuple");
        assert_eq!(found.source.to_string(), "2000::");
        assert_eq!(found.destination.to_string(), "::1");
        assert_eq!((found.source_port, found.destination_port), (53, 80));
        let other = types::drop::default();
        assert_eq!(tuple(&other), None, "of no protocol that is forwarded");
    }
}
