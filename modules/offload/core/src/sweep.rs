//! Visits to all slots of a slab, spread over time.

use crate::time::Millis;

/// Visits the slab in a given time, a share of it at each tick.
#[derive(Default)]
pub(crate) struct Sweep {
    last: Option<Millis>,
    cursor: usize,
    /// Slots × milliseconds that no visit has been made for yet.
    owed: u128,
}

impl Sweep {
    /// Returns the slots to visit now, of `length`, for one visit of each in `period`.
    pub(crate) fn share(
        &mut self,
        length: usize,
        period: Millis,
        now: Millis,
    ) -> impl Iterator<Item = usize> + use<> {
        let elapsed = now.saturating_sub(self.last.unwrap_or(now));
        self.last = Some(now);
        let period = u128::from(period.max(1));
        self.owed += length as u128 * u128::from(elapsed);
        let mut visits = (self.owed / period) as usize;
        self.owed %= period;
        visits = visits.min(length);
        let start = if self.cursor < length { self.cursor } else { 0 };
        self.cursor = (start + visits) % length.max(1);
        (start..start + visits).map(move |slot| slot % length)
    }
}

#[cfg(test)]
mod tests {
    use super::Sweep;

    #[test]
    fn a_sweep_visits_every_slot_once_in_its_period_and_evenly() {
        let mut sweep = Sweep::default();
        let mut visits = vec![0; 1_000];
        assert_eq!(sweep.share(1_000, 20_000, 50).count(), 0);
        for tick in 1..=200 {
            let share: Vec<usize> = sweep.share(1_000, 20_000, 50 + tick * 100).collect();
            assert_eq!(share.len(), 5);
            share.into_iter().for_each(|slot| visits[slot] += 1);
        }
        assert!(visits.iter().all(|count| *count == 1));
    }

    #[test]
    fn few_slots_and_long_pauses_lose_and_double_nothing() {
        let mut sweep = Sweep::default();
        sweep.share(3, 1_000, 0).for_each(drop);
        let seen: Vec<usize> = (1..=10)
            .flat_map(|tick| sweep.share(3, 1_000, tick * 100).collect::<Vec<_>>())
            .collect();
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(
            sweep.share(3, 1_000, 1_000_000).count(),
            3,
            "never more than all of them"
        );
        assert_eq!(sweep.share(0, 1_000, 2_000_000).count(), 0);
    }
}
