//! A flood of short conversations: when it is one, how full records count as, and whether they are
//! read more often.

use std::time::Duration;

/// Fill level of a family's records, in 256ths, from which records of a flood are given back at
/// once. Each conversation has two buckets of four: at half full, one of 256 finds no place; at
/// three quarters, one of ten.
pub const FLOOD_LEVEL: u32 = 128;
/// Fill level, in 256ths, below which a flood is over.
const OVER: u32 = FLOOD_LEVEL / 2;
/// Records of a family evicted in a reading, in 1/256, from which on the next tick reads again.
/// Fewer would not be worth the time.
const MANY_REST: u32 = 24;
/// Packets of both ways up to which a conversation is a short one.
pub(crate) const FEW: u64 = 2;
/// Time for which a silent short conversation keeps its record in a flood: long enough for most
/// answers. A conversation with an answer stays, even when memory is full.
pub(crate) const FLOOD_TIMEOUT: Duration = Duration::from_millis(100);

/// Flood state for IPv4 and IPv6: true if a flood fills the records, and each reading frees many of
/// them.
#[derive(Debug, Default)]
pub struct Flood([bool; 2]);

impl Flood {
    /// Returns the effective fill level, in 256ths. During a flood, records count as full down to
    /// half of that level: otherwise the flood would return at once.
    pub fn pressure(&self, full: [u32; 2]) -> [u32; 2] {
        let mut pressure = full;
        for (of, flood) in pressure.iter_mut().zip(self.0) {
            if flood && (OVER..FLOOD_LEVEL).contains(of) {
                *of = FLOOD_LEVEL;
            }
        }
        pressure
    }

    /// Updates the state after a reading. `before`: effective fill level; `full`: fill level found;
    /// `resting`: share of records given up and not free yet. All in 256ths.
    pub fn read(&mut self, before: [u32; 2], full: [u32; 2], resting: [u32; 2]) {
        let now = self.pressure(full);
        for family in 0..2 {
            self.0[family] = match before[family] >= FLOOD_LEVEL {
                true => resting[family] >= MANY_REST,
                // The reading has not evicted any records yet.
                false => now[family] >= FLOOD_LEVEL,
            };
        }
    }

    /// Returns true during a flood: each tick then reads the records, instead of when they are due.
    pub fn is_active(&self) -> bool {
        self.0.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates readings, each with fill levels and the records given up.
    fn after(readings: &[([u32; 2], [u32; 2])]) -> Flood {
        let (mut flood, mut before) = (Flood::default(), [0; 2]);
        for (full, resting) in readings {
            flood.read(flood.pressure(before), *full, *resting);
            before = *full;
        }
        flood
    }

    const NONE: [u32; 2] = [0; 2];

    #[test]
    fn half_of_a_family_begins_one() {
        assert!(!after(&[([FLOOD_LEVEL - 1, FLOOD_LEVEL - 1], NONE)]).is_active());
        for full in [[FLOOD_LEVEL, 0], [0, FLOOD_LEVEL]] {
            assert!(after(&[(full, NONE)]).is_active(), "{full:?}");
        }
    }

    /// A flood of IPv6 alone is noticed, although IPv6 has fewer records.
    #[test]
    fn each_family_is_judged_by_its_own() {
        for (full, resting) in [([0, 200], [0, MANY_REST]), ([200, 0], [MANY_REST, 0])] {
            let flood = after(&[(full, NONE), (full, resting)]);
            assert!(flood.is_active(), "{full:?}");
            // Many idle records elsewhere do not compensate.
            let [ipv4, ipv6] = resting;
            let flood = after(&[(full, NONE), (full, [ipv6, ipv4])]);
            assert!(!flood.is_active(), "{full:?}");
        }
    }

    #[test]
    fn where_few_go_it_is_none() {
        let long = [200, 0];
        let few = [MANY_REST - 1, 0];
        assert!(!after(&[(long, NONE), (long, few)]).is_active());
        assert!(!after(&[(long, NONE), (long, few), (long, few)]).is_active());
    }

    #[test]
    fn it_is_over_at_a_quarter() {
        let many = [MANY_REST, 0];
        let begun = [([FLOOD_LEVEL, 0], NONE), ([OVER, 0], many)];
        let flood = after(&begun);
        assert!(flood.is_active());
        assert_eq!(flood.pressure([OVER, OVER]), [FLOOD_LEVEL, OVER]);
        assert_eq!(
            flood.pressure([OVER - 1, FLOOD_LEVEL + 1]),
            [OVER - 1, FLOOD_LEVEL + 1]
        );
        assert!(after(&[begun, [([OVER, 0], many); 2]].concat()).is_active());
        // A fill level below the limit gives up no record at the next reading.
        let [below, next] = [([OVER - 1, 0], many), ([OVER, 0], many)];
        let flood = after(&[&begun[..], &[below]].concat());
        assert!(flood.is_active(), "many rest");
        let flood = after(&[&begun[..], &[below, ([OVER - 1, 0], many)]].concat());
        assert!(!flood.is_active());
        assert_eq!(flood.pressure([FLOOD_LEVEL - 1; 2]), [FLOOD_LEVEL - 1; 2]);
        assert!(!after(&[&begun[..], &[below, below, next]].concat()).is_active());
    }
}
