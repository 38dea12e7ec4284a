//! How much power is spent to hear others soon: when the next round of looking for them begins.

/// How much power may be spent to hear others soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// As little as can be: there are rests between rounds.
    Low,
    /// One round after the other.
    Balanced,
    /// Whatever it takes: shorter rounds, as an adapter tells of each once a round.
    Fast,
}

/// From the begin of a round to that of the next, ms, where little power is spent.
pub const EACH: u64 = 30_000;
/// The same where nobody is near, or something waits for who is not connected, ms.
pub const SOONER: u64 = 15_000;

impl Power {
    /// How long a round is, ms. BlueZ itself makes one of 10 s and rests for 5 s.
    pub fn round(self) -> u64 {
        match self {
            Self::Low | Self::Balanced => 5_000,
            Self::Fast => 2_000,
        }
    }

    /// How often an adapter says that it is there, at least and at most, ms. BlueZ 5.66 as it is takes
    /// none of this: each 1.28 s was seen, as the interval is one of its experimental interfaces.
    pub fn says(self) -> [u64; 2] {
        match self {
            Self::Low => [1_000, 1_300],
            Self::Balanced => [150, 250],
            Self::Fast => [50, 100],
        }
    }

    /// So much longer it takes until who is near is heard again, ms.
    pub fn rests(self) -> u64 {
        match self {
            Self::Low => EACH - self.round(),
            Self::Balanced | Self::Fast => 0,
        }
    }
}

/// What there is to be looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// How many are near.
    pub near: usize,
    /// How many messages wait for those to whom there is no connection.
    pub waiting: usize,
}

/// When others are looked for.
#[derive(Debug)]
pub struct Rounds {
    power: Power,
    /// When the last whole round began, and for how many messages it was made.
    last: Option<(u64, usize)>,
}

impl Rounds {
    /// There was none yet.
    pub fn new(power: Power) -> Self {
        Self { power, last: None }
    }

    /// A round went by that began then, with these needs. One that was broken off does not count.
    pub fn done(&mut self, begun: u64, needs: Needs) {
        self.last = Some((begun, needs.waiting));
    }

    /// When the next one may begin.
    pub fn next(&mut self, needs: Needs) -> u64 {
        let Some((begun, waited)) = &mut self.last else {
            return 0;
        };
        // One more than there were: it is looked for its receiver at once, not as long as it waits.
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

    /// A message for somebody who is away for a week is no reason to look for a week.
    #[test]
    fn for_a_message_that_waits_it_is_looked_at_once_and_then_sooner_than_else() {
        let mut rounds = Rounds::new(Power::Low);
        rounds.done(1_000, NEAR);
        assert_eq!(rounds.next(waits(1)), 1_000, "at once");
        rounds.done(7_000, waits(1));
        assert_eq!(rounds.next(waits(1)), 7_000 + SOONER);
        assert_eq!(rounds.next(waits(2)), 7_000, "one more");
        // One was taken to its receiver, and there is another.
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
