//! A leaky average: added amounts leak out over a time.

use super::body::Micros;

/// Sum of recently added amounts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leak {
    level: u64,
    at: Micros,
}

impl Leak {
    /// Returns the remaining level, where all leaks out over the time `over`, microseconds.
    pub fn level(&self, over: Micros, now: Micros) -> u64 {
        let time = now.saturating_sub(self.at).min(over);
        self.level - (u128::from(self.level) * u128::from(time) / u128::from(over)) as u64
    }

    /// Returns the average per second.
    pub fn rate(&self, over: Micros, now: Micros) -> u64 {
        self.level(over, now).saturating_mul(1_000_000) / over
    }

    /// Adds an amount.
    pub fn add(&mut self, amount: u64, over: Micros, now: Micros) {
        let level = self.level(over, now);
        // Otherwise small time steps would leak nothing, by rounding.
        if level < self.level || self.level == 0 {
            self.at = now;
        }
        self.level = level.saturating_add(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_rate_in_the_end() {
        for step in [10, 1_000, 20_000] {
            let mut leak = Leak::default();
            for turn in 0..2_000_000 / step {
                leak.add(step, 250_000, turn * step);
            }
            let rate = leak.rate(250_000, 2_000_000);
            assert!((850_000..1_250_000).contains(&rate), "{step}: {rate}");
        }
    }

    #[test]
    fn it_runs_empty() {
        let mut leak = Leak::default();
        leak.add(5, 1000, 0);
        assert_eq!(leak.level(1000, 1000), 0);
    }
}
