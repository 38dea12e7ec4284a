//! Traffic that is counted but not in the file yet. Its size is bounded: beyond, devices or hours
//! are merged.

use std::collections::{BTreeMap, HashMap};

use monitor_core::count::{Count, Counts, Traffic};

use crate::Mac;

/// Number of the entry for all merged devices; as in the file.
pub const OTHER: i64 = -1;

/// Returns the number of a device in the file: its address, or [`OTHER`].
pub fn code(device: Option<Mac>) -> i64 {
    device.map_or(OTHER, |mac| {
        mac.iter()
            .fold(0, |code, byte| code << 8 | i64::from(*byte))
    })
}

/// Converts a code back to a device.
pub fn device(code: i64) -> Option<Mac> {
    let [0, 0, mac @ ..] = code.to_be_bytes() else {
        return None;
    };
    Some(mac)
}

/// A greater value is an error, not a count (a year at 570 Gbit/s). Two such counts can be added in
/// SQLite's signed 64 bits.
pub const MOST: u64 = 1 << 61;

/// Adds up; never beyond [`MOST`].
pub fn add(sum: &mut Traffic, more: &Traffic) {
    add_both(&mut sum.internet, &more.internet);
    add_both(&mut sum.lan, &more.lan);
}

fn add_both(sum: &mut Counts, more: &Counts) {
    let plus = |sum: &mut Count, more: &Count| {
        sum.bytes = sum.bytes.saturating_add(more.bytes).min(MOST);
        sum.packets = sum.packets.saturating_add(more.packets).min(MOST);
    };
    plus(&mut sum.received, &more.received);
    plus(&mut sum.sent, &more.sent);
}

/// Returns the bytes of both directions that crossed an uplink, which count for quotas.
pub fn bytes(traffic: &Traffic) -> u64 {
    size(traffic)[0]
}

/// Returns the size for sorting: first Internet traffic, then LAN traffic.
pub fn size(traffic: &Traffic) -> [u64; 2] {
    [&traffic.internet, &traffic.lan]
        .map(|both| both.received.bytes.saturating_add(both.sent.bytes))
}

/// Traffic by device and application (a number, see [`crate::words::ApplicationIds`]).
#[derive(Clone, Debug, Default)]
pub struct Sums {
    // Few applications have traffic of one device in an hour: a list is small and quick.
    devices: HashMap<i64, Vec<(u16, Traffic)>>,
    entries: usize,
}

impl Sums {
    /// Adds traffic.
    pub fn add(&mut self, device: i64, application: u16, traffic: &Traffic) {
        let applications = self.devices.entry(device).or_default();
        match applications
            .iter_mut()
            .find(|(known, _)| *known == application)
        {
            Some((_, sum)) => add(sum, traffic),
            None => {
                let mut sum = Traffic::default();
                add(&mut sum, traffic);
                applications.push((application, sum));
                self.entries += 1;
            }
        }
    }

    /// Adds all of another.
    pub fn absorb(&mut self, other: Self) {
        for (device, application, traffic) in other.iter() {
            self.add(device, application, &traffic);
        }
    }

    /// Returns the traffic of each device and application.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u16, Traffic)> + '_ {
        self.devices.iter().flat_map(|(device, applications)| {
            applications
                .iter()
                .map(|(application, sum)| (*device, *application, *sum))
        })
    }

    /// Returns the sums in the order of the file, so that neighbours are written together.
    pub fn sorted(&self) -> Vec<(i64, u16, Traffic)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by_key(|(device, application, _)| (*device, *application));
        all
    }

    /// Pairs of device and application.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Returns the number of distinct devices.
    pub fn devices(&self) -> usize {
        self.devices.len() - usize::from(self.devices.contains_key(&OTHER))
    }

    /// Renumbers the applications: `numbers[old]`.
    pub fn renumber(&mut self, numbers: &[u16]) {
        let old = std::mem::take(self);
        for (device, application, traffic) in old.iter() {
            let number = numbers.get(usize::from(application)).copied();
            self.add(device, number.unwrap_or(0), &traffic);
        }
    }

    /// Keeps the largest devices separate, and merges the others into [`OTHER`].
    pub fn fold(&mut self, keep: usize) {
        let mut sizes: Vec<([u64; 2], i64)> = self
            .devices
            .iter()
            .filter(|(device, _)| **device != OTHER)
            .map(|(device, applications)| {
                let sizes = applications.iter().map(|(_, sum)| size(sum));
                let all = sizes.fold([0u64; 2], |[internet, lan], [more, more_lan]| {
                    [internet.saturating_add(more), lan.saturating_add(more_lan)]
                });
                (all, *device)
            })
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (_, device) in sizes.into_iter().skip(keep) {
            let Some(applications) = self.devices.remove(&device) else {
                continue;
            };
            self.entries -= applications.len();
            for (application, sum) in applications {
                self.add(OTHER, application, &sum);
            }
        }
    }
}

/// Traffic by hour.
#[derive(Debug, Default)]
pub struct Pending {
    hours: BTreeMap<i64, Sums>,
    entries: usize,
}

impl Pending {
    /// Adds to an hour, given by its start. At most `devices` large devices, and some small ones,
    /// have sums of their own; the hour keeps at most `entries` pairs.
    pub fn add(
        &mut self,
        hour: i64,
        (device, application): (i64, u16),
        traffic: &Traffic,
        devices: usize,
        entries: usize,
    ) {
        let sums = self.hours.entry(hour).or_default();
        let before = sums.entries();
        sums.add(device, application, traffic);
        // Twice as many, so that a device that begins small can still become large.
        if sums.devices() > 2 * devices {
            sums.fold(devices);
        }
        self.entries = self.entries + sums.entries() - before;
        if self.entries > entries {
            self.shrink(entries - entries / 4);
        }
    }

    /// Adds all of another to an hour.
    pub fn absorb(&mut self, hour: i64, sums: Sums) {
        if sums.entries() > 0 {
            self.hours.entry(hour).or_default().absorb(sums);
            self.count();
        }
    }

    /// Returns the hours, in order.
    pub fn hours(&self) -> impl Iterator<Item = (i64, &Sums)> {
        self.hours.iter().map(|(hour, sums)| (*hour, sums))
    }

    /// Returns true if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.hours.is_empty()
    }

    /// Pairs of device and application, of all hours.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Renumbers the applications: `numbers[old]`.
    pub fn renumber(&mut self, numbers: &[u16]) {
        self.hours
            .values_mut()
            .for_each(|sums| sums.renumber(numbers));
        self.count();
    }

    /// Forgets all: it was written.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Merges the oldest hours first, as no traffic may be lost; then devices.
    fn shrink(&mut self, entries: usize) {
        while self.entries > entries && self.hours.len() > 1 {
            let Some((_, oldest)) = self.hours.pop_first() else {
                break;
            };
            if let Some(mut second) = self.hours.first_entry() {
                second.get_mut().absorb(oldest);
            }
            self.count();
        }
        while self.entries > entries {
            let Some(mut hour) = self.hours.first_entry() else {
                break;
            };
            let devices = hour.get().devices();
            if devices == 0 {
                break;
            }
            hour.get_mut().fold(devices / 2);
            self.count();
        }
    }

    fn count(&mut self) {
        self.entries = self.hours.values().map(Sums::entries).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(octets: u64) -> Traffic {
        let count = Count {
            packets: 1,
            bytes: octets,
        };
        let both = Counts {
            sent: count,
            received: Count::default(),
        };
        Traffic::new(both, true)
    }

    fn total(pending: &Pending) -> u64 {
        pending
            .hours()
            .flat_map(|(_, sums)| sums.sorted())
            .map(|(_, _, sum)| sum.internet.sent.bytes)
            .sum()
    }

    #[test]
    fn addresses_are_numbers_and_back() {
        for mac in [[0; 6], [0xff; 6], [2, 0, 0x5e, 0x10, 0, 1]] {
            assert_eq!(device(code(Some(mac))), Some(mac));
        }
        assert_eq!(code(None), OTHER);
        assert_eq!(device(OTHER), None);
        assert_eq!(device(1 << 48), None);
    }

    #[test]
    fn a_flood_of_devices_is_bounded_and_keeps_the_large_ones_and_the_sum() {
        let mut pending = Pending::default();
        for flood in 0..100_000i64 {
            pending.add(0, (flood, 1), &traffic(10), 100, 1600);
            pending.add(0, (7 << 40, 2), &traffic(1000), 100, 1600);
            assert!(pending.entries() <= 400);
        }
        let (_, sums) = pending.hours().next().expect("an hour");
        assert!(sums.devices() <= 200);
        let large = sums
            .sorted()
            .into_iter()
            .find(|(device, _, _)| *device == 7 << 40);
        assert_eq!(
            large.map(|(_, _, sum)| sum.internet.sent.bytes),
            Some(100_000_000)
        );
        assert_eq!(total(&pending), 101_000_000);
    }

    #[test]
    fn hours_that_cannot_be_written_become_one() {
        let mut pending = Pending::default();
        for hour in 0..1000 {
            for device in 0..10 {
                pending.add(hour * 3600, (device, 1), &traffic(1), 100, 200);
            }
            assert!(pending.entries() <= 200);
        }
        assert_eq!(total(&pending), 10_000);
        // The latest hours are still separate.
        let hours: Vec<i64> = pending.hours().map(|(hour, _)| hour).collect();
        assert!(hours.len() > 10 && hours.ends_with(&[998 * 3600, 999 * 3600]));
    }

    #[test]
    fn one_hour_of_many_applications_is_bounded_too() {
        let mut pending = Pending::default();
        for device in 0..100 {
            for application in 0..64 {
                pending.add(0, (device, application), &traffic(1), 100, 1600);
                assert!(pending.entries() <= 1600);
            }
        }
        assert_eq!(total(&pending), 6400);
    }

    #[test]
    fn sums_do_not_wrap() {
        let mut pending = Pending::default();
        for _ in 0..3 {
            pending.add(0, (1, 1), &traffic(u64::MAX), 10, 160);
        }
        assert_eq!(total(&pending), MOST);
    }
}
