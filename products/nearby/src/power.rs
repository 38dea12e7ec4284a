//! Power profiles: the time between rounds of discovery.

/// Power profile of the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Least power: pauses between rounds.
    Low,
    /// Continuous rounds.
    Balanced,
    /// Continuous and shorter rounds, as an adapter reports each device once a round.
    Fast,
}

/// Interval between the starts of two rounds, ms, in the low power profile.
pub const EACH: u64 = 30_000;
/// Interval if no peer is near, or a message waits for a peer without a connection, ms.
pub const SOONER: u64 = 15_000;

impl Power {
    /// Returns the duration of a round, ms. BlueZ itself makes a round of 10 s and pauses for 5 s.
    pub fn round(self) -> u64 {
        match self {
            Self::Low | Self::Balanced => 5_000,
            Self::Fast => 2_000,
        }
    }

    /// Returns the shortest and longest interval of advertisements, ms. BlueZ 5.66 ignores both by
    /// default: 1.28 s was measured, as the interval is an experimental interface.
    pub fn says(self) -> [u64; 2] {
        match self {
            Self::Low => [1_000, 1_300],
            Self::Balanced => [150, 250],
            Self::Fast => [50, 100],
        }
    }

    /// Returns the delay that pauses add until a peer is found again, ms.
    pub fn rests(self) -> u64 {
        match self {
            Self::Low => EACH - self.round(),
            Self::Balanced | Self::Fast => 0,
        }
    }
}

/// Reasons to discover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Number of peers nearby.
    pub near: usize,
    /// Number of messages that wait for peers without a connection.
    pub waiting: usize,
}

/// Schedule of discovery rounds.
#[derive(Debug)]
pub struct Rounds {
    power: Power,
    /// Start of the last complete round, and the number of messages that waited then.
    last: Option<(u64, usize)>,
}

impl Rounds {
    /// Creates a schedule without a past round.
    pub fn new(power: Power) -> Self {
        Self { power, last: None }
    }

    /// Notes a completed round with its begin and needs. An aborted round does not count.
    pub fn done(&mut self, begun: u64, needs: Needs) {
        self.last = Some((begun, needs.waiting));
    }

    /// Returns the earliest begin of the next round.
    pub fn next(&mut self, needs: Needs) -> u64 {
        let Some((begun, waited)) = &mut self.last else {
            return 0;
        };
        // An additional message starts discovery at once; a message that still waits does not.
        if self.power != Power::Low || needs.waiting > *waited {
            return *begun;
        }
        *waited = needs.waiting;
        let is_sooner = needs.near == 0 || needs.waiting > 0;
        *begun + if is_sooner { SOONER } else { EACH }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Needs = Needs {
        near: 2,
        waiting: 0,
    };

    fn waits(waiting: usize) -> Needs {
        Needs { waiting, ..NEAR }
    }

    #[test]
    fn only_where_little_power_is_spent_there_are_rests() {
        for power in [Power::Balanced, Power::Fast] {
            let mut rounds = Rounds::new(power);
            assert_eq!(rounds.next(NEAR), 0);
            rounds.done(1_000, NEAR);
            assert_eq!(rounds.next(NEAR), 1_000);
            assert_eq!(power.rests(), 0);
        }
        let mut rounds = Rounds::new(Power::Low);
        assert_eq!(rounds.next(NEAR), 0);
        rounds.done(1_000, NEAR);
        assert_eq!(rounds.next(NEAR), 1_000 + EACH);
        assert_eq!(rounds.next(Needs::default()), 1_000 + SOONER);
        assert_eq!(Power::Low.rests() + Power::Low.round(), EACH);
    }

    /// A message for a peer that is away for a week does not keep discovery running for a week.
    #[test]
    fn for_a_message_that_waits_it_is_looked_at_once_and_then_sooner_than_else() {
        let mut rounds = Rounds::new(Power::Low);
        rounds.done(1_000, NEAR);
        assert_eq!(rounds.next(waits(1)), 1_000, "at once");
        rounds.done(7_000, waits(1));
        assert_eq!(rounds.next(waits(1)), 7_000 + SOONER);
        assert_eq!(rounds.next(waits(2)), 7_000, "one more");
        // A message was delivered, and another one is new.
        rounds.done(9_000, waits(2));
        assert_eq!(rounds.next(waits(1)), 9_000 + SOONER);
        assert_eq!(rounds.next(waits(2)), 9_000);
        assert_eq!(rounds.next(NEAR), 9_000 + EACH);
    }

    #[test]
    fn more_power_hears_and_is_heard_sooner() {
        let all = [Power::Low, Power::Balanced, Power::Fast];
        for pair in all.windows(2) {
            assert!(pair[0].says() > pair[1].says());
            assert!(pair[0].round() >= pair[1].round());
        }
        for power in all {
            let [least, most] = power.says();
            assert!(least < most && most < SOONER - power.round());
        }
    }
}
