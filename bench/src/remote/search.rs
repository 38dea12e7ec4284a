//! Searches the highest rate without loss (RFC 2544 section 26.1): doubles the rate, then halves
//! the gap.

use serde::{Deserialize, Serialize};

use super::verdict::{TrialObservation, TrialVerdict};

/// Gap between a passed and a failed rate, relative to the failed rate, that ends a search.
pub const RESOLUTION: f64 = 0.02;
/// Most trials, repeated ones included.
pub const MOST_TRIALS: u32 = 40;
/// Rate of the first trial.
pub const FIRST: f64 = 10_000.0;
/// Lowest rate of interest: a failure at or below it ends the search.
const LEAST: f64 = 100.0;
/// Trials in a row without a verdict on the router that end a search.
const AGAIN: u32 = 3;

/// Reason for the end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The gap between a passed and a failed rate is within the resolution.
    Found,
    /// The capacity of the link, or the highest rate of all, passed: no higher rate to try.
    Top,
    /// The sender is the limit: the router forwards at least the found rate.
    SenderLimit,
    /// The receiver is the limit: the router forwards at least the found rate.
    ReceiverLimit,
    /// Even the lowest rate lost packets.
    Nothing,
    /// A link was down for some time.
    LinkFlapped,
    /// The search used up its trials.
    Trials,
}

/// State of a search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Highest rate that passed, as sent.
    low: Option<f64>,
    /// Lowest rate that failed.
    high: Option<f64>,
    top: f64,
    next: f64,
    trials: u32,
    again: u32,
    end: Option<End>,
}

impl Search {
    /// Starts a search up to the rate `top`.
    pub fn new(top: f64) -> Self {
        Self {
            low: None,
            high: None,
            top,
            next: FIRST.min(top),
            trials: 0,
            again: 0,
            end: None,
        }
    }

    /// Returns the rate to try, or `None` at the end.
    pub fn next(&self) -> Option<f64> {
        self.end.is_none().then_some(self.next)
    }

    /// Takes the result of a trial, and the rate that the sender reached.
    pub fn told(&mut self, seen: &TrialObservation, sent: f64) {
        self.trials += 1;
        match seen.judge() {
            TrialVerdict::Passed => {
                self.again = 0;
                self.low = Some(self.low.unwrap_or(0.0).max(sent));
                match self.high {
                    None if self.next >= self.top => self.end = Some(End::Top),
                    None => self.next = (self.next * 2.0).min(self.top),
                    Some(_) => self.halve(),
                }
            }
            TrialVerdict::Lost => self.lost(self.next),
            judgement => {
                // Another program may have taken the processor, once.
                self.again += 1;
                if self.again >= AGAIN {
                    self.give_up(judgement, seen, sent);
                }
            }
        }
        if self.end.is_none() && self.trials >= MOST_TRIALS {
            self.end = Some(End::Trials);
        }
    }

    fn give_up(&mut self, judgement: TrialVerdict, seen: &TrialObservation, sent: f64) {
        let below = self.low.is_none_or(|low| sent > low);
        match judgement {
            // The sent packets were lost: a lower rate may pass.
            TrialVerdict::SenderLimit if seen.lost_too_many() && below => self.lost(sent),
            TrialVerdict::SenderLimit => {
                if !seen.lost_too_many() && seen.receiver_dropped == 0 && seen.sent > 0 && below {
                    self.low = Some(sent);
                }
                self.end = Some(End::SenderLimit);
            }
            TrialVerdict::ReceiverLimit => self.end = Some(End::ReceiverLimit),
            _ => self.end = Some(End::LinkFlapped),
        }
    }

    fn lost(&mut self, rate: f64) {
        self.again = 0;
        self.high = Some(self.high.map_or(rate, |high| high.min(rate)));
        self.halve();
    }

    fn halve(&mut self) {
        let high = self.high.unwrap_or(self.top);
        let low = self.low.unwrap_or(0.0);
        if self.low.is_some() && high - low <= high * RESOLUTION {
            self.end = Some(End::Found);
        } else if high <= LEAST {
            self.end = Some(End::Nothing);
        } else {
            self.next = match self.low {
                Some(low) => (low + high) / 2.0,
                // No rate passed so far: go down faster.
                None => (high / 4.0).max(LEAST / 2.0),
            };
        }
    }

    /// Returns the highest rate that passed so far.
    pub fn found(&self) -> Option<f64> {
        self.low
    }

    /// Returns the reason for the end.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns the number of trials so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Router and machines at its ends, each with its packets per second.
    struct World {
        router: f64,
        sender: f64,
        receiver: f64,
        random: u64,
        /// Trials between two in which another program takes the sender's processor.
        hiccup: u64,
        flaps: bool,
    }

    const WORLD: World = World {
        router: 1e9,
        sender: 1e9,
        receiver: 1e9,
        random: 1,
        hiccup: u64::MAX,
        flaps: false,
    };

    impl World {
        fn trial(&mut self, rate: f64) -> (TrialObservation, f64) {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = 1.0 + ((self.random >> 33) % 1000) as f64 / 1e5 - 0.005;
            let mut sent = rate.min(self.sender) * 0.999;
            if (self.random >> 33).is_multiple_of(self.hiccup) {
                sent *= 0.5;
            }
            let forwarded = sent.min(self.router * noise);
            let received = forwarded.min(self.receiver);
            let seen = TrialObservation {
                asked: rate * 2.0,
                sent: (sent * 2.0) as u64,
                received: (received * 2.0) as u64,
                receiver_dropped: ((forwarded - received) * 2.0).ceil() as u64,
                flapped: self.flaps,
                allowed: 0.0,
            };
            (seen, sent)
        }

        fn search(mut self, top: f64) -> Search {
            let mut search = Search::new(top);
            while let Some(rate) = search.next() {
                assert!(rate <= top && rate > 0.0);
                let (seen, sent) = self.trial(rate);
                search.told(&seen, sent);
            }
            assert!(search.trials() <= MOST_TRIALS);
            search
        }
    }

    #[test]
    fn finds_the_router_whatever_it_does() {
        for router in [
            150.0,
            1234.0,
            9_999.0,
            20_000.0,
            148_809.0,
            812_000.0,
            5_000_000.0,
        ] {
            for random in 1..20 {
                let world = World {
                    router,
                    random,
                    hiccup: 50,
                    ..WORLD
                };
                let search = world.search(20e6);
                assert_eq!(search.end(), Some(End::Found), "{router}");
                let found = search.found().expect("a rate");
                assert!(
                    (0.965..1.01).contains(&(found / router)),
                    "{found} of {router}"
                );
            }
        }
    }

    #[test]
    fn a_slow_sender_is_never_taken_for_a_slow_router() {
        let world = World {
            sender: 300_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::SenderLimit));
        let found = search.found().expect("a rate");
        assert!((295_000.0..300_000.0).contains(&found), "at least {found}");
        // Loss at the rate that the sender reaches: a lower rate passes.
        let world = World {
            sender: 300_000.0,
            router: 250_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::Found));
        let found = search.found().expect("a rate");
        assert!((240_000.0..252_000.0).contains(&found), "{found}");
    }

    #[test]
    fn a_slow_receiver_is_never_taken_for_a_slow_router() {
        let world = World {
            receiver: 300_000.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(search.end(), Some(End::ReceiverLimit));
        assert!(search.found().is_some_and(|found| found < 300_000.0));
    }

    #[test]
    fn ends_at_what_the_link_carries() {
        let search = WORLD.search(148_809.0);
        assert_eq!(search.end(), Some(End::Top));
        assert!(search.found().is_some_and(|found| found > 148_000.0));
        assert!(search.trials() <= 6);
    }

    #[test]
    fn nothing_gets_through() {
        let world = World {
            router: 0.0,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!((search.end(), search.found()), (Some(End::Nothing), None));
        let world = World {
            flaps: true,
            ..WORLD
        };
        let search = world.search(20e6);
        assert_eq!(
            (search.end(), search.found()),
            (Some(End::LinkFlapped), None)
        );
    }
}
