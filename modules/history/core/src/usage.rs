//! Internet traffic of each device in the present day, week and month: for quotas.

use std::collections::HashMap;

use crate::Mac;
use crate::periods::{Calendar, Span, Unit};

/// The units that a quota may have, in the order of the sums.
const UNITS: [Unit; 3] = [Unit::Day, Unit::Week, Unit::Month];

/// Bytes of Internet traffic by device, both ways together, in the periods that an instant is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    spans: [Option<Span>; 3],
    used: HashMap<Mac, [u64; 3]>,
}

impl Usage {
    /// Creates an empty usage, for the periods that contain `now`.
    pub fn new(calendar: &Calendar, now: i64) -> Self {
        Self {
            spans: UNITS.map(|unit| Some(calendar.span(unit, now))),
            used: HashMap::new(),
        }
    }

    /// Adds bytes that passed at an instant, to those periods that it is in.
    pub fn add(&mut self, at: i64, mac: Mac, octets: u64) {
        if !self.spans.iter().flatten().any(|span| span.holds(at)) {
            return;
        }
        let used = self.used.entry(mac).or_default();
        for (span, used) in self.spans.iter().zip(used) {
            if span.is_some_and(|span| span.holds(at)) {
                *used = used.saturating_add(octets);
            }
        }
    }

    /// Returns the period of a unit; `None` for hours.
    pub fn span(&self, unit: Unit) -> Option<Span> {
        UNITS
            .iter()
            .position(|known| *known == unit)
            .and_then(|index| self.spans[index])
    }

    /// Returns the usage of a device in that period.
    pub fn used(&self, mac: Mac, unit: Unit) -> u64 {
        UNITS
            .iter()
            .position(|known| *known == unit)
            .and_then(|index| Some(self.used.get(&mac)?[index]))
            .unwrap_or(0)
    }

    /// Returns the devices with usage.
    pub fn devices(&self) -> impl Iterator<Item = Mac> + '_ {
        self.used.keys().copied()
    }

    /// Returns true if all periods contain an instant.
    pub(crate) fn holds(&self, now: i64) -> bool {
        self.spans
            .iter()
            .all(|span| span.is_some_and(|span| span.holds(now)))
    }

    /// Returns the earliest start of the periods.
    pub(crate) fn start(&self) -> i64 {
        self.spans
            .iter()
            .flatten()
            .map(|span| span.start)
            .min()
            .unwrap_or(0)
    }

    /// Removes the smallest entries if there are twice as many as `most`: invented addresses must
    /// not fill memory.
    pub(crate) fn bound(&mut self, most: usize) {
        if self.used.len() <= 2 * most {
            return;
        }
        let mut sizes: Vec<(u64, Mac)> = self
            .used
            .iter()
            .map(|(mac, used)| (used[2].max(used[1]), *mac))
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (_, mac) in sizes.into_iter().skip(most) {
            self.used.remove(&mac);
        }
    }
}
